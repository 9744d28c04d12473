"""Tests of demo-check.py: a right set of results passes, and each broken one is found."""

import copy
import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "demo-check.py"
SPEC = importlib.util.spec_from_file_location("demo_check", SCRIPT)
demo_check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(demo_check)


def flow(frames, efficiency):
    """A clean flow."""
    counts = {"received_frames": frames, "good_frames": frames, "lost_frames": 0}
    return {
        "port": "n0",
        "direction": "transmit",
        "sent_frames": {"value": frames, "kind": "measured"},
        "counts": {"value": counts, "kind": "measured"},
        "efficiency": {"value": efficiency, "kind": "measured"} if efficiency else {"absent": "no link"},
        "frames_per_s": {"value": 1000.0, "kind": "measured"},
    }


def observation(payload, flows, **more):
    """A complete observation."""
    return {
        "status": "complete",
        "sizes": {"payload_bytes": payload},
        "trial": {},
        "series": [],
        "flows": flows,
        **more,
    }


def good():
    """The files of a demo that went well."""
    link = [observation(p, [flow(100, p / (p + 38)) for _ in range(8)]) for p in demo_check.SIZES]
    most = [observation(p, [flow(100, None)]) for p in demo_check.SIZES]
    runs = [{"raw_ticks": [1] * demo_check.RUNS}]
    buffers = [
        observation(1500, [flow(50, None)], trial={"buffers": b}, series=runs) for b in demo_check.BUFFERS
    ]
    board = [
        observation(length - 14, [flow(512, None)], trial={"direction": way}, sizes={"length_bytes": length})
        for length in demo_check.BOARD_LENGTHS
        for way in demo_check.BOARD_WAYS
    ]
    parts = [("link", link), ("max", most), ("buffers", buffers), ("board", board)]
    return {name: {"observations": o} for name, o in parts}


def findings(files):
    """What the judge says of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, f"{name}.json").write_text(json.dumps(content))
        return list(demo_check.findings(folder))


class DemoCheck(unittest.TestCase):
    """The judge of the demo."""

    def test_a_good_demo_passes(self):
        self.assertEqual(findings(good()), [])

    def test_a_demo_without_a_board_passes(self):
        files = good()
        del files["board"]
        self.assertEqual(findings(files), [])

    def test_a_board_on_a_busy_host_may_lose(self):
        files = good()
        counts = files["board"]["observations"][0]["flows"][0]["counts"]["value"]
        counts.update(received_frames=510, good_frames=510, lost_frames=2)
        self.assertEqual(findings(files), [])

    def broken(self, change):
        """The findings after one change."""
        files = copy.deepcopy(good())
        change(files)
        return findings(files)

    def test_each_broken_demo_is_found(self):
        link = lambda files: files["link"]["observations"][2]
        first = lambda files: link(files)["flows"][0]
        changes = {
            "a lost frame": lambda f: first(f)["counts"]["value"].update(lost_frames=1, good_frames=99),
            "a bad frame": lambda f: first(f)["counts"]["value"].update(good_frames=99),
            "an extra frame": lambda f: first(f)["counts"]["value"].update(received_frames=101),
            "nothing arrived": lambda f: first(f)["counts"]["value"].update(received_frames=0),
            "no counts": lambda f: first(f).update(counts={"absent": "x"}),
            "below the limit": lambda f: first(f)["efficiency"].update(value=0.94),
            "above the limit": lambda f: first(f)["efficiency"].update(value=0.961),
            "no efficiency": lambda f: first(f).update(efficiency={"absent": "x"}),
            "a direction missing": lambda f: link(f)["flows"].pop(),
            "a partial trial": lambda f: link(f).update(status="partial"),
            "a size missing": lambda f: f["link"]["observations"].pop(),
            "a size of max missing": lambda f: f["max"]["observations"].pop(),
            "no rate": lambda f: f["max"]["observations"][0]["flows"][0].update(frames_per_s={"absent": "x"}),
            "a kind of buffers missing": lambda f: f["buffers"]["observations"].pop(),
            "too few runs": lambda f: f["buffers"]["observations"][0]["series"][0]["raw_ticks"].pop(),
            "a void run": lambda f: f["buffers"]["observations"][0].update(status="void"),
            "a trial of the board missing": lambda f: f["board"]["observations"].pop(),
            "a dead board": lambda f: f["board"]["observations"][0].update(status="partial"),
            "a byte wrong on the board": lambda f: f["board"]["observations"][0]["flows"][0]["counts"]["value"].update(
                good_frames=511
            ),
            "no file": lambda f: f.pop("max"),
        }
        for what, change in changes.items():
            with self.subTest(what):
                self.assertNotEqual(self.broken(change), [])


if __name__ == "__main__":
    unittest.main()
