"""Rows of paced senders in the bench: sent datagrams are compared with those due, and the load runs during the measurement."""

import json
import os
import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS / "bench"))

import pacing  # noqa: E402
from subjects import Void  # noqa: E402


def said(packets, **more):
    return json.dumps({"end": {"sum": {"packets": packets}, **more}})


class Between:
    """Commands that count the loops beside them."""

    seconds = "3"

    def __init__(self, packets):
        self.packets, self.asked, self.beside = packets, [], []

    def wirelab(self, *words):
        return ["wirelab", *words]

    def between(self, name, server, client, usual):
        self.asked.append((client, usual))
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        self.beside.append(len(children))
        return said(self.packets)


class Kept(unittest.TestCase):
    def test_what_left_is_a_share_of_what_was_due(self):
        self.assertEqual(pacing.kept(said(30_000), 20_000, 3), {"kept": 0.5})
        self.assertEqual(pacing.kept(said(60_010), 20_000, 3), {"kept": 1.0})
        streams = {"wirelab": {"streams": [{"longest_burst": 3}, {"longest_burst": 7}]}}
        self.assertEqual(pacing.kept(said(60_000, **streams), 20_000, 3), {"kept": 1.0, "burst": 7})

    def test_nothing_sent_is_no_figure(self):
        with self.assertRaises(Void):
            pacing.kept(said(0), 20_000, 3)

    def test_both_run_at_the_usual_priority_beside_a_load_on_each_core(self):
        between = Between(300_000)
        subjects = pacing.Pacing(between).all()
        found = {name: subjects[name]() for name in ("wirelab 100000", "iperf3 100000")}
        self.assertEqual(found, {"wirelab 100000": {"kept": 1.0}, "iperf3 100000": {"kept": 1.0}})
        self.assertEqual(between.beside, [len(os.sched_getaffinity(0))] * 2)
        self.assertTrue(all(usual and "51200000" in client for client, usual in between.asked))

    def test_a_sender_that_keeps_less_misses(self):
        runs = {f"{who} {rate}": [{"kept": 0.9 if who == "wirelab" else 1.0}] * 7
                for rate in pacing.RATES for who in ("wirelab", "iperf3")}
        rows = pacing.rows(lambda pairs: {"ratio": pairs[0][0] / pairs[0][1], "low": 0.9, "high": 0.9}, runs, {})
        self.assertEqual([row["verdict"] for row in rows], ["missed"] * 3)


if __name__ == "__main__":
    unittest.main()
