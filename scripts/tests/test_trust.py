"""scripts/trust.py: which figures of two runs contradict each other, on pages made for the test."""

import copy
import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trust"))

import figures  # noqa: E402
import ledger  # noqa: E402


def rate(bits_per_s, **more):
    return {
        "trials": [1],
        "status": "complete",
        "trial_direction": "receive",
        "direction": "receive",
        "bits_per_s": {"value": bits_per_s, "kind": "measured"},
        "loss_ratio": {"value": 0.0, "kind": "measured"},
        "tester_was_limit": {"value": False, "kind": "measured"},
        "tester_missed_frames": False,
        "cpu_idle_ratio": {"value": 0.0, "kind": "measured"},
        **more,
    }


def searched(bits_per_s, width, outcome="found", **more):
    return {
        "outcome": outcome,
        "limited_by": {"value": "node", "kind": "measured"},
        "width_ratio": {"value": width, "kind": "measured"},
        "rate": rate(bits_per_s, **more),
    }


def page(**more):
    empty = {"warnings": [], "layer2_latency": [], "layer2_throughput": [], "tcp": [], "udp": [], "echo": []}
    return {**empty, **more}


def verdict(quiet, loaded):
    return figures.compare(figures.page(quiet), figures.page(loaded))


def contradicted(quiet, loaded):
    return [name for name, _, _ in verdict(quiet, loaded).contradicted]


BUSY = {"cpu_idle_ratio": {"value": 1.0}}


def lossy(ratio, **more):
    return rate(1e8, loss_ratio={"value": ratio, "kind": "measured"}, **more)


def echo(p50_us, **more):
    times = {"min_ps": 0.6 * p50_us, "p50_ps": p50_us, "p90_ps": 1.2 * p50_us, "p99_ps": 2 * p50_us}
    fields = {name: {"value": us * 1e6, "kind": "measured"} for name, us in times.items()}
    return {"trials": [1], "size_bytes": 64, "samples": 512, "loss_ratio": {"value": 0.0}, **fields, **more}


def busy_page(**more):
    return page(warnings=[{"code": "node-busy", "trials": [1]}], **more)


class Contradictions(unittest.TestCase):
    def test_a_rate_that_a_quiet_run_does_not_have_is_found(self):
        quiet = page(tcp=[rate(1e9)])
        self.assertEqual(contradicted(quiet, page(tcp=[rate(0.95e9)])), [])
        self.assertEqual(contradicted(quiet, page(tcp=[rate(0.5e9)])), ["tcp, receive, receive"])

    def test_a_lower_bound_may_be_low_and_never_high(self):
        quiet = page(tcp=[rate(1e9)])
        for bound in ({"tester_was_limit": {"value": True}}, {"cpu_idle_ratio": {"value": 1.0}}):
            self.assertEqual(contradicted(quiet, page(tcp=[rate(0.2e9, **bound)])), [])
            self.assertEqual(len(contradicted(quiet, page(tcp=[rate(2e9, **bound)]))), 1)

    def test_an_interval_over_repeats_counts_alone_and_one_within_a_run_is_widened(self):
        for over, contradictions in (("repeats", 1), ("within_run", 0)):
            interval = lambda low, high: {"bits_per_s": {"low": low, "high": high, "over": over}}
            quiet = page(tcp=[rate(1e9, intervals=interval(0.99e9, 1.01e9))])
            near = rate(0.97e9, intervals=interval(0.96e9, 0.98e9))
            self.assertEqual(len(contradicted(quiet, page(tcp=[near]))), contradictions, over)
        wide = {"p50_ps": {"low": 30e6, "high": 60e6, "over": "within_run"}}
        found = figures.page(page(echo=[echo(40, intervals=wide)])).figures["echo 64, p50_ps"]
        self.assertTrue(found.low < 30e6 and found.high > 60e6)

    def test_a_loss_of_what_the_node_sent_is_the_testers_however_busy_the_node_was(self):
        sent = lambda ratio, **more: page(udp=[{"datagram_bytes": 64, "transmit_max": lossy(ratio, **more)}])
        place = ["udp 64, transmit_max, loss"]
        # An interval that reaches 0 does not excuse what was lost for certain, and the tester's limit even less.
        reaches_0 = {"intervals": {"loss_ratio": {"low": 0, "high": 0.9, "over": "within_run"}}}
        for state in ({}, BUSY, {"tester_was_limit": {"value": True}}, {**BUSY, **reaches_0}):
            self.assertEqual(contradicted(sent(0.0), sent(0.45, **state)), place, state)
            self.assertEqual(contradicted(sent(0.45), sent(0.0, **state)), place, state)
            ranged = sent(0.0, loss_ratio_at_most=0.45, **state)
            self.assertEqual(contradicted(sent(0.0), ranged), [], "a range may begin at none")
        self.assertEqual(figures.page(ranged).figures[place[0]].high, 0.45)
        for section in ("tcp", "layer2_throughput"):
            over = lambda ratio: page(**{section: [lossy(ratio, **{**BUSY, "direction": "transmit"})]})
            self.assertEqual(contradicted(over(0.0), over(0.1)), [f"{section}, receive, transmit, loss"])
        stream = lambda ratio: page(tcp=[lossy(ratio, layer="tcp_ipv4", **BUSY)])
        self.assertEqual(contradicted(stream(0.0), stream(0.1)), ["tcp, receive, receive, loss"])

    def test_a_busy_node_may_lose_more_of_what_it_receives_and_never_less(self):
        received = lambda ratio, **more: page(layer2_throughput=[lossy(ratio, **more)])
        place = ["layer2_throughput, receive, receive, loss"]
        self.assertEqual(contradicted(received(0.1), received(0.3)), place)
        self.assertEqual(contradicted(received(0.1), received(0.3, **BUSY)), [])
        self.assertEqual(contradicted(received(0.3), received(0.1, **BUSY)), place)

    def test_times_beside_other_work_are_bounded_by_the_least_of_an_idle_node(self):
        quiet = page(echo=[echo(40)])
        self.assertEqual(len(contradicted(quiet, page(echo=[echo(20)]))), 3)
        for p50_us, contradictions in ((400, 0), (30, 0), (5, 3)):
            self.assertEqual(len(contradicted(quiet, busy_page(echo=[echo(p50_us)]))), contradictions, p50_us)
        latency = lambda ns: {"trials": [1], "direction": "receive", "node_ps": {"value": ns}, "node_min_ps": {"value": ns}}
        quiet = page(layer2_latency=[latency(700e3)])
        self.assertEqual(contradicted(quiet, busy_page(layer2_latency=[latency(9e6)])), [])
        self.assertEqual(contradicted(quiet, busy_page(layer2_latency=[latency(9e3)])), ["layer2_latency, receive"])

    def test_a_percentile_of_too_few_samples_is_not_read(self):
        read = lambda samples: set(figures.page(page(echo=[echo(40, samples=samples)])).figures)
        self.assertIn("echo 64, p99_ps", read(500))
        self.assertEqual(read(50), {"echo 64, p50_ps", "echo 64, p90_ps", "echo 64, loss"})

    def test_round_trips_that_did_not_come_back_are_nobodys_work(self):
        lost = busy_page(echo=[echo(40, loss_ratio={"value": 0.1})])
        self.assertEqual(contradicted(page(echo=[echo(40)]), lost), ["echo 64, loss"])

    def test_searches_state_their_bracket(self):
        quiet = page(udp=[{"datagram_bytes": 64, "receive_max": searched(1e9, 0.1)}])
        found = page(udp=[{"datagram_bytes": 64, "receive_max": searched(0.3e9, 0.1)}])
        unfinished = page(udp=[{"datagram_bytes": 64, "receive_max": searched(0.3e9, 0.8, "unfinished")}])
        self.assertEqual(contradicted(quiet, found), ["udp 64, receive_max"])
        self.assertEqual(contradicted(quiet, unfinished), [])
        self.assertEqual(figures.search_figure(searched(1e9, 0.1, "unfinished")).high, math.inf)

    def test_what_the_loaded_run_lacks_it_explains(self):
        void = {"status": "void", "bits_per_s": {"absent": "held up"}}
        quiet = page(tcp=[rate(1e9)])
        held_up = verdict(quiet, page(tcp=[{**rate(1e9), **void}]))
        places = ["tcp, receive, receive", "tcp, receive, receive, loss"]
        self.assertEqual(held_up.explained, [(place, "held up") for place in places])
        self.assertEqual((held_up.compared(), held_up.unexplained, held_up.empty_sections(figures.page(quiet))), (0, [], []))
        gone = verdict(quiet, page())
        self.assertEqual((gone.explained, gone.unexplained), ([], places))
        self.assertEqual(gone.empty_sections(figures.page(quiet)), ["tcp"])
        size = {"datagram_bytes": 64, "receive_max": searched(1e9, 0.1)}
        quiet = page(udp=[size])
        for lacking, words in (
            ({"receive_max": searched(None, 0.1, "unfinished")}, "unfinished"),
            ({"search_refused": "no rate was found"}, "no rate was found"),
        ):
            cut = verdict(quiet, page(udp=[{"datagram_bytes": 64, **lacking}]))
            self.assertEqual((cut.explained, cut.unexplained), ([("udp 64, receive_max", words)], []))
        silent = verdict(quiet, page(udp=[{"datagram_bytes": 64, "receive_max": searched(None, 0.1)}]))
        self.assertEqual(silent.unexplained, ["udp 64, receive_max"])

    def test_a_round_holds_only_of_enough_figures_and_all_of_them(self):
        size = lambda bytes, ratio: {"datagram_bytes": bytes, "transmit_max": lossy(ratio, **BUSY)}
        sizes = lambda count, ratio=0.0: page(udp=[size(bytes, ratio) for bytes in range(count)])
        holds = lambda quiet, loaded: verdict(quiet, loaded).holds(figures.page(quiet))
        enough = figures.FEWEST_COMPARED // 2
        self.assertTrue(holds(sizes(enough), sizes(enough)))
        self.assertFalse(holds(sizes(enough - 1), sizes(enough - 1)), "too few")
        self.assertFalse(holds(sizes(enough + 1), sizes(enough)), "one lacks without a word")
        self.assertFalse(holds(sizes(enough), sizes(enough, 0.45)), "a loss that the tester made")


def observed(lost, told, direction="receive", layer="udp_ipv4", path="socket"):
    return {
        "trial": {"framing": {"layer": layer}},
        "sizes": {"datagram_bytes": 512},
        "node": {"setup": {"joining_rx": "no"}},
        "counters": {"node_checker_missed_frames": {"value": told}},
        "flows": [{"direction": direction, "counts": {"value": {"lost_frames": lost}}, "sender": {"value": {"path": path}}}],
    }


class Ledgers(unittest.TestCase):
    def nobodys(self, observation, queues=0):
        return [loss.lost for loss in ledger.ledger([observation]).contradictions(queues)]

    def test_what_the_node_or_a_queue_before_it_dropped_is_its_loss(self):
        self.assertEqual(self.nobodys(observed(300, 300)), [])
        self.assertEqual(self.nobodys(observed(300, 100)), [300])
        self.assertEqual(self.nobodys(observed(300, 100), queues=200), [])
        self.assertEqual(self.nobodys(observed(300, 100), queues=199), [300])
        void = observed(300, 0)
        void["flows"][0]["counts"] = {"absent": "held up"}
        self.assertEqual(self.nobodys(void), [])

    def test_a_dropped_buffer_holds_many_datagrams_only_where_something_joins_them(self):
        joined = observed(12_700, 100, path="socket, segmented")
        self.assertEqual(self.nobodys(joined), [])
        self.assertEqual(self.nobodys(observed(12_701, 100, path="socket, segmented")), [12_701])
        joining = observed(12_700, 100)
        joining["node"]["setup"]["joining_rx"] = "yes"
        self.assertEqual(self.nobodys(joining), [])
        self.assertEqual(self.nobodys(observed(12_700, 100)), [12_700])

    def test_what_nobody_can_drop_is_the_testers_whatever_was_counted(self):
        for direction, layer in (("transmit", "udp_ipv4"), ("echo", "udp_ipv4"), ("receive", "tcp_ipv4")):
            self.assertEqual(self.nobodys(observed(1, 9, direction, layer), queues=9), [1], (direction, layer))

    def test_drops_are_read_as_linux_shows_them(self):
        interfaces = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
    n0:  931000    1000    0    3    4     0          0         0   931000    1000    0    5    6     0       0          0
"""
        self.assertEqual(ledger.dropped_by_interfaces(interfaces), 7)
        self.assertEqual(ledger.dropped_by_processors("0000a1b2 00000010 0000\n00000001 00000002 0000\n"), 18)


if __name__ == "__main__":
    unittest.main()
