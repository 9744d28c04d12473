"""The figures of a datasheet (`wirelab report --format datasheet-json`) as ranges, and which of two runs contradict each other.

A figure states a range: its interval if it has one, else a stated spread. A limit opens the range: the rate of a trial that the
tester limited, or of a node with other work, is a lower bound. The losses of such a node's reception are an upper bound, and
its times are only bounded by the least of an idle one. A search states its bracket.

Node and tester are on one machine here, and nothing between them loses a frame. Frames that a node sent and the tester did not
receive are the tester's loss, however busy the node was: such a loss has no open end, and is certainly 0.
"""

import math
from dataclasses import dataclass

# With this busy share before the trial a node does other work (NODE_BUSY in crates/trial/src/observation.rs).
NODE_BUSY = 0.1
# The difference of two quiet runs of one trial on the same host, as a share. It is the spread of a figure without an interval.
# An interval within one run is widened by it, because that does not include differences between runs.
SPREAD = 0.15
# A percentile with fewer samples beyond it is chance (docs/trust.md).
SAMPLES_BEYOND = 5
# Fewer common figures of both pages prove too little; the quick datasheet has one and a half times as many.
FEWEST_COMPARED = 24


@dataclass(frozen=True)
class Figure:
    """A cell of the page: a range from `low` to `high`; `bound` says why an end is open, if one is."""

    low: float
    high: float
    bound: str = ""

    def agrees(self, quiet):
        return self.low <= quiet.high and quiet.low <= self.high


@dataclass(frozen=True)
class CertainLoss:
    """A loss that only the tester can have caused: the smallest and the largest possible."""

    low: float
    high: float
    bound: str = ""

    def agrees(self, quiet):
        return self.low == 0 and quiet.low == 0


@dataclass(frozen=True)
class Time:
    """A time, and the least of its series. Beside other work most times are longer; but a core that never sleeps saves
    wake-ups, so the median may be shorter than an idle node's. The time of the path itself remains."""

    low: float
    high: float
    least: float
    bound: str = ""

    def agrees(self, quiet):
        if self.bound or quiet.bound:
            return quiet.least <= self.high
        return self.low <= quiet.high and quiet.low <= self.high


@dataclass(frozen=True)
class Page:
    """The figures of a page by place, and the page's reasons for places without one."""

    figures: dict
    absent: dict


def value(field):
    """The value of a field, None if it is absent."""
    return field.get("value") if isinstance(field, dict) else None


def interval(holder, name):
    """The stated 95 % interval of a figure, None if there is none."""
    found = holder.get("intervals", {}).get(name)
    return (found["low"], found["high"]) if isinstance(found, dict) and "low" in found else None


def is_over_repeats(holder, name):
    """Whether the interval of a figure was taken over the repeats of its trial."""
    return holder.get("intervals", {}).get(name, {}).get("over") == "repeats"


def stated(holder, name):
    """The range of a figure before a limit opens it; None if the figure is absent."""
    is_at = value(holder.get(name))
    if is_at is None:
        return None
    low, high = interval(holder, name) or (is_at, is_at)
    if is_over_repeats(holder, name):
        return low, high
    return low * (1 - SPREAD), high * (1 + SPREAD)


def bound_of(rate):
    """Why a rate is a lower bound, in words; empty if it is the node's own."""
    if value(rate.get("tester_was_limit")) or rate.get("tester_missed_frames"):
        return "tester limited"
    if rate.get("node_held_up") or (value(rate.get("cpu_idle_ratio")) or 0) >= NODE_BUSY:
        return "node busy"
    return ""


def rate_figure(rate):
    """Bits per second of a rate."""
    found = stated(rate, "bits_per_s")
    if found is None or rate.get("status") != "complete":
        return None
    bound = bound_of(rate)
    return Figure(found[0], math.inf if bound else found[1], bound)


def certain_loss(rate):
    """The lost share if only the tester can lose. Only certain losses count, not those that an interval allows."""
    low = value(rate.get("loss_ratio"))
    if low is None or rate.get("status", "complete") != "complete":
        return None
    return CertainLoss(low, max(low, rate.get("loss_ratio_at_most") or 0))


def received_loss(rate):
    """The share of the frames sent to the node that it lost."""
    low = value(rate.get("loss_ratio"))
    if low is None or rate.get("status") != "complete":
        return None
    high = max(low, rate.get("loss_ratio_at_most") or 0)
    stated_interval = interval(rate, "loss_ratio")
    if stated_interval:
        low, high = min(low, stated_interval[0]), max(high, stated_interval[1])
    bound = bound_of(rate)
    return Figure(0 if bound else low, high, bound)


def loss_of(rate):
    """The loss of a trial, by the side that can have lost."""
    is_udp_or_raw = not rate.get("layer", "").startswith("tcp")
    return received_loss(rate) if is_udp_or_raw and rate["direction"] == "receive" else certain_loss(rate)


def search_figure(searched):
    """The bracket of a search, in bit/s: from the highest carried load to the smallest that was not."""
    if searched is None or value(searched["rate"].get("bits_per_s")) is None:
        return None
    found = stated(searched["rate"], "bits_per_s")
    width = value(searched.get("width_ratio"))
    high = found[1] / (1 - width) if width is not None and width < 1 else math.inf
    bound = bound_of(searched["rate"])
    if searched["outcome"] != "found":
        bound = bound or "unfinished"
    if value(searched.get("limited_by")) == "tester":
        bound = bound or "tester limited"
    return Figure(found[0], math.inf if bound else high, bound)


def time_figure(holder, name, least, bound):
    """A time in ps; `least` names the shortest of its series."""
    found = stated(holder, name)
    at_least = stated(holder, least)
    return found and at_least and Time(*found, at_least[0], bound)


def why_no_rate(rate):
    """Why a trial has no figure, from its page; empty without a reason."""
    if rate.get("status", "complete") == "complete":
        return ""
    return why_absent(rate.get("bits_per_s")) or rate["status"]


def why_no_search(size, which):
    """The same of a search."""
    searched = size.get(which)
    if searched is None:
        return size.get("search_refused") or ""
    return "" if searched["outcome"] == "found" else searched["outcome"]


def why_absent(field):
    """The same of a field."""
    return field.get("absent", "") if isinstance(field, dict) else ""


def echo_figures(echo, bound):
    """Figures of round trips, and why some have none."""
    name = f"echo {echo['size_bytes']}"
    for which, beyond in (("p50_ps", 0.5), ("p90_ps", 0.1), ("p99_ps", 0.01)):
        if beyond * echo["samples"] >= SAMPLES_BEYOND:
            figure, why = time_figure(echo, which, "min_ps", bound), why_absent(echo[which])
        else:
            figure, why = None, f"{echo['samples']} samples are too few"
        yield f"{name}, {which}", figure, why
    yield f"{name}, loss", certain_loss(echo), why_absent(echo.get("loss_ratio"))


def places(sheet):
    """Each place of a sheet: name, figure or None, and why there is none."""
    busy = {n for warning in sheet["warnings"] if warning["code"] == "node-busy" for n in warning["trials"]}
    busy_of = lambda holder: "node busy" if busy.intersection(holder["trials"]) else ""
    for latency in sheet["layer2_latency"]:
        name = f"layer2_latency, {latency['direction']}"
        figure = time_figure(latency, "node_ps", "node_min_ps", busy_of(latency))
        yield name, figure, why_absent(latency["node_ps"])
    for section in ("layer2_throughput", "tcp"):
        for rate in sheet[section]:
            name = f"{section}, {rate['trial_direction']}, {rate['direction']}"
            yield name, rate_figure(rate), why_no_rate(rate)
            yield f"{name}, loss", loss_of(rate), why_no_rate(rate)
    for size in sheet["udp"]:
        name = f"udp {size['datagram_bytes']}"
        for which in ("receive_max", "receive_no_loss"):
            yield f"{name}, {which}", search_figure(size.get(which)), why_no_search(size, which)
        transmit = size.get("transmit_max")
        if transmit:
            yield f"{name}, transmit_max", rate_figure(transmit), why_no_rate(transmit)
            yield f"{name}, transmit_max, loss", certain_loss(transmit), why_no_rate(transmit)
    for echo in sheet["echo"]:
        yield from echo_figures(echo, busy_of(echo))


def page(sheet):
    """All figures of a sheet that do not depend on the results of its searches, by their place on the page."""
    found = list(places(sheet))
    return Page(
        {name: figure for name, figure, _ in found if figure is not None},
        {name: why for name, figure, why in found if figure is None and why},
    )


@dataclass(frozen=True)
class Verdict:
    """The comparison of one run's figures with another's."""

    agree: list
    true_bounds: list
    contradicted: list
    explained: list
    unexplained: list

    def compared(self):
        return len(self.agree) + len(self.true_bounds) + len(self.contradicted)

    def empty_sections(self, quiet):
        """Sections of the quiet page without any compared or explained figure."""
        said = [*self.agree, *(of[0] for of in [*self.true_bounds, *self.contradicted, *self.explained])]
        section = lambda name: name.split(",")[0].split(" ")[0]
        return sorted({section(name) for name in quiet.figures} - {section(name) for name in said})

    def holds(self, quiet):
        """Whether enough figures were compared without a finding."""
        wrong = self.contradicted or self.unexplained or self.empty_sections(quiet)
        return not wrong and self.compared() >= FEWEST_COMPARED


def compare(quiet, loaded):
    """Compares each figure of the loaded page with that of the quiet one."""
    verdict = Verdict([], [], [], [], [])
    for name, theirs in sorted(quiet.figures.items()):
        ours = loaded.figures.get(name)
        if ours is None and name in loaded.absent:
            verdict.explained.append((name, loaded.absent[name]))
        elif ours is None:
            verdict.unexplained.append(name)
        elif not ours.agrees(theirs):
            verdict.contradicted.append((name, ours, theirs))
        elif ours.bound:
            verdict.true_bounds.append((name, ours.bound))
        else:
            verdict.agree.append(name)
    return verdict
