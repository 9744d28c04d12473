"""Rows of iperf and echo in the bench: losses count, and each program's output is read correctly."""

import json
import sys
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS / "bench"))

import sockets  # noqa: E402
from subjects import Void  # noqa: E402

PAIR = ("ours", "peer")
IPERF_2 = """\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-3.0012 sec  1.62 GBytes  4.64 Gbits/sec
[  1] Sent 1183301 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-3.0000 sec   431 MBytes  1.20 Gbits/sec   1.074 ms 600000/900000 (67%)
"""


def row(mine, theirs, ratio, limit, missing=None, **more):
    runs = {"ours": mine, "peer": theirs}
    interval = {"ratio": ratio, "low": ratio - 0.1, "high": ratio + 0.1}
    return sockets.row(lambda pairs: interval, runs, missing or {}, "x", PAIR, "f", (1, "u"), limit, None, **more)


class Verdicts(unittest.TestCase):
    def test_more_losses_than_the_peer_miss_the_requirement_whatever_arrived(self):
        peer = [{"f": 1.0, "loss": 0.01}]
        self.assertEqual(row([{"f": 3.0, "loss": 0.01}], peer, 3.0, 2)["verdict"], "met")
        worse = row([{"f": 3.0, "loss": 0.02}], peer, 3.0, 2)
        self.assertEqual(worse["verdict"], "missed, more was lost than by the peer")
        self.assertIn("2.00% lost", worse["ours"])

    def test_the_lower_bound_decides_where_it_is_asked_for(self):
        for limit, verdict in ((0.9, "met"), (0.95, "missed")):
            self.assertEqual(row([{"f": 1.0}], [{"f": 1.0}], 1.0, limit, by_lower_bound=True)["verdict"], verdict)

    def test_a_time_must_not_be_longer(self):
        for ratio, verdict in ((0.99, "met"), (1.01, "missed")):
            self.assertEqual(row([{"f": 1.0}], [{"f": 1.0}], ratio, 1, smaller=True)["verdict"], verdict)

    def test_a_missing_subject_is_named_and_neither_met_nor_missed(self):
        found = row([{"f": 1.0}], [], 1.0, 1, missing={"peer": "peer missing; install it with …"})
        self.assertEqual(found["verdict"], "not compared")
        self.assertIn("install it", found["peer"])


class Readings(unittest.TestCase):
    def test_iperf_2_by_the_report_of_its_server(self):
        self.assertEqual(
            sockets.iperf2_udp(IPERF_2), {"arrived_per_s": 100_000.0, "loss": 600_000 / 900_000, "segmented": False}
        )
        with self.assertRaises(Void):
            sockets.iperf2_udp("WARNING: did not receive ack of last datagram after 10 tries.")

    def test_iperf3_by_what_arrived_and_whether_it_was_segmented(self):
        end = {"sum": {"packets": 1000, "lost_packets": 200, "seconds": 2.0}}
        found = sockets.iperf3_udp(json.dumps({"end": end}))
        self.assertEqual(found, {"arrived_per_s": 400.0, "loss": 0.2, "segmented": False})
        end["wirelab"] = {"streams": [{"segmented": True}]}
        self.assertTrue(sockets.iperf3_udp(json.dumps({"end": end}))["segmented"])

    def test_our_iperf_2_by_the_report_of_our_server(self):
        report = {"datagrams": 500, "lost": 100, "duration_ns": 4_000_000_000}
        said = json.dumps({"legs": [{"segmented": True, "server_report": report}]})
        self.assertEqual(
            sockets.own_iperf2_udp(said), {"arrived_per_s": 100.0, "loss": 0.2, "segmented": True}
        )


if __name__ == "__main__":
    unittest.main()
