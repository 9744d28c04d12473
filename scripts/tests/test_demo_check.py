"""Tests of demo-check.py: a right set of results passes, and each broken one is found."""

import copy
import contextlib
import io
import importlib.util
import json
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "demo-check.py"
SPEC = importlib.util.spec_from_file_location("demo_check", SCRIPT)
demo_check = importlib.util.module_from_spec(SPEC)
# Its data classes look their module up by name.
sys.modules["demo_check"] = demo_check
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
    """The files of a good demo."""
    link = [observation(p, [flow(100, p / (p + 38)) for _ in range(8)]) for p in demo_check.SIZES]
    most = [observation(p, [flow(100, None)]) for p in demo_check.SIZES]
    runs = [{"raw_ticks": demo_check.RUNS}]
    buffers = [
        observation(1500, [flow(50, None)], trial={"buffers": b}, series=runs) for b in demo_check.BUFFERS
    ]
    board = [
        observation(length - 14, [flow(512, None)], trial={"direction": way}, sizes={"length_bytes": length})
        for length in demo_check.BOARD_LENGTHS
        for way in demo_check.BOARD_WAYS
    ]
    parts = [("link", link), ("max", most), ("buffers", buffers), ("board", board)]
    counts = {"received_frames": demo_check.CAPTURED, "good_frames": demo_check.CAPTURED, "lost_frames": 0}
    capture = {"flows": [{"counts": counts}]}
    return {**{name: {"observations": o} for name, o in parts}, "capture": capture}


def run(files, busy_cores="0 0.1 0"):
    """The judge's status and output for these files, on a host with so much other work."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, f"{name}.json").write_text(json.dumps(content))
        Path(folder, "busy.txt").write_text(busy_cores.replace(" ", "\n"))
        said = io.StringIO()
        with unittest.mock.patch.object(sys, "argv", ["demo-check.py", folder]), contextlib.redirect_stderr(said):
            return demo_check.main(), said.getvalue()


BUSY = "0 1.8 0.2"


def link(files):
    """A trial of the link."""
    return files["link"]["observations"][2]


def first(files):
    """A flow of it."""
    return link(files)["flows"][0]


def lose(files):
    """Loses a frame of that flow."""
    first(files)["counts"]["value"].update(received_frames=99, good_frames=99, lost_frames=1)


# Effects of a busy host, each with the text for the figure that is not judged.
BY_THE_HOST = {
    "a lost frame": (lose, "link, payload 810, n0 transmit was not judged"),
    "below the limit": (lambda f: first(f)["efficiency"].update(value=0.94), "link, payload 810, n0 transmit was not judged"),
    "a partial trial": (lambda f: link(f).update(status="partial"), "link, payload 810 was not judged"),
    "a void run": (lambda f: f["buffers"]["observations"][0].update(status="void"), "buffers, payload 1500 was not judged"),
    "a lost frame of the capture": (
        lambda f: f["capture"]["flows"][0]["counts"].update(received_frames=4999, good_frames=4999, lost_frames=1),
        "capture was not judged",
    ),
    "a dead board": (lambda f: f["board"]["observations"][0].update(status="partial"), "board, length 64, echo was not judged"),
}
# Faults on any host.
WRONG = {
    "a bad frame": lambda f: first(f)["counts"]["value"].update(good_frames=99),
    "an extra frame": lambda f: first(f)["counts"]["value"].update(received_frames=101, good_frames=101),
    "nothing arrived": lambda f: first(f)["counts"]["value"].update(received_frames=0),
    "no counts": lambda f: first(f).update(counts={"absent": "x"}),
    "above the limit": lambda f: first(f)["efficiency"].update(value=0.961),
    "no efficiency": lambda f: first(f).update(efficiency={"absent": "x"}),
    "a direction missing": lambda f: link(f)["flows"].pop(),
    "a size missing": lambda f: f["link"]["observations"].pop(),
    "a size of max missing": lambda f: f["max"]["observations"].pop(),
    "no rate": lambda f: f["max"]["observations"][0]["flows"][0].update(frames_per_s={"absent": "x"}),
    "a kind of buffers missing": lambda f: f["buffers"]["observations"].pop(),
    "too few runs": lambda f: f["buffers"]["observations"][0]["series"][0].update(raw_ticks=199),
    "a trial of the board missing": lambda f: f["board"]["observations"].pop(),
    "a byte wrong on the board": lambda f: f["board"]["observations"][0]["flows"][0]["counts"]["value"].update(good_frames=511),
    "a bad frame of the capture": lambda f: f["capture"]["flows"][0]["counts"].update(good_frames=4999),
    "an empty capture": lambda f: f["capture"].update(flows=[]),
    "no file": lambda f: f.pop("max"),
}


class DemoCheck(unittest.TestCase):
    """The judge of the demo."""

    def broken(self, change, *more):
        """The judge's output after one change."""
        files = copy.deepcopy(good())
        change(files)
        return run(files, *more)

    def test_a_good_demo_passes_without_a_word(self):
        self.assertEqual(run(good()), (0, ""))
        self.assertEqual(run(good(), BUSY), (0, ""))

    def test_a_demo_without_a_board_passes(self):
        files = good()
        del files["board"]
        self.assertEqual(run(files), (0, ""))

    def test_a_board_may_lose(self):
        lost = {"received_frames": 510, "good_frames": 510, "lost_frames": 2}
        said = self.broken(lambda f: f["board"]["observations"][0]["flows"][0]["counts"]["value"].update(lost))
        self.assertEqual(said, (0, ""))

    def test_what_is_wrong_fails_on_any_host(self):
        for what, change in WRONG.items():
            for busy in ("0", BUSY):
                with self.subTest(what, busy=busy):
                    status, said = self.broken(change, busy)
                    self.assertEqual(status, 1)
                    self.assertNotIn("not judged", said)

    def test_what_a_busy_host_does_is_not_judged_there_and_fails_elsewhere(self):
        for what, (change, words) in BY_THE_HOST.items():
            with self.subTest(what):
                status, said = self.broken(change, BUSY)
                self.assertEqual(status, 0)
                self.assertIn(f"this host was busy: {words}", said)
                self.assertEqual(self.broken(change)[0], 1)

    def test_a_trial_that_says_that_it_was_held_up_is_not_judged(self):
        for code, status in (("tester-held-up", 0), ("sender-below-rate", 0), ("checker", 1)):
            with self.subTest(code):
                self.assertEqual(self.broken(lambda f: (lose(f), link(f).update(warnings=[{"code": code}])))[0], status)

    def test_a_wrong_figure_beside_one_that_is_not_judged_fails(self):
        status, said = self.broken(lambda f: (lose(f), WRONG["too few runs"](f)), BUSY)
        self.assertEqual(status, 1)
        self.assertIn("was not judged", said)
        self.assertIn("199] runs", said)


if __name__ == "__main__":
    unittest.main()
