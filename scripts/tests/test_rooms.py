"""The boxes and the rows of the map, written from crates' manifests."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import rooms  # noqa: E402

PAGE = """\
  upper["node types: old"]
  lower["the frame: wire"]
  upper --> lower

| room | what it is | start reading at |
|---|---|---|
| `crates/old/` | gone | `crates/old/src/lib.rs` |

The end.
"""
FOUND = {
    "radio": {"layer": "node types", "is": "a node type", "start": ["src/node_type.rs::RADIO"]},
    "wire": {"layer": "the frame", "is": "the frame", "start": ["src/frame.rs", "src/size.rs"]},
}


class Written(unittest.TestCase):
    def test_a_new_crate_gets_its_box_and_its_row_below_the_lower_layer(self):
        right = PAGE.replace(": old", ": radio").replace(
            "| `crates/old/` | gone | `crates/old/src/lib.rs` |",
            "| `crates/wire/` | the frame | `crates/wire/src/frame.rs`, `crates/wire/src/size.rs` |\n"
            "| `crates/radio/` | a node type | `crates/radio/src/node_type.rs::RADIO` |",
        )
        self.assertEqual(rooms.written(PAGE, FOUND), right)

    def test_what_is_right_stays(self):
        once = rooms.written(PAGE, FOUND)
        self.assertEqual(rooms.written(once, FOUND), once)


if __name__ == "__main__":
    unittest.main()
