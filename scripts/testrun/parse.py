"""Readers of test output: libtest (cargo), unittest (Python) and TAP (shell, Node).

Each reader gets the merged output line by line and fills a `Tally` for each crate or suite.
Output that does not follow the format is a problem, never a pass.
"""

import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import PurePath

# How many lines show the cause of a failure without a section of its own, and how many are kept for each crate or suite.
BEFORE = 20
MOST = 300


@dataclass(frozen=True)
class Skip:
    """A test that did not run: the missing feature of tests/skips.toml, and the reason."""

    owner: str
    test: str
    feature: str
    why: str


@dataclass
class Tally:
    """The results of the tests of one crate or suite."""

    passed: int = 0
    failed: int = 0
    skips: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    # The output of failures.
    failures: list = field(default_factory=list)

    def tell(self, *lines):
        """Keeps the output of a failure, which is shown again after all tests."""
        self.failures += lines[: MOST - len(self.failures)]


class Reader:
    """The common part: a tally for each owner, made on first use."""

    def __init__(self, owner):
        """`owner`: the owner of the first output."""
        self.owner = owner
        self.tallies = {}
        self.failed = 0
        self.before = deque(maxlen=BEFORE)

    def tell_before(self):
        """Keeps the last lines before a failure."""
        self.tally(self.owner).tell(*self.before)
        self.before.clear()

    def tally(self, owner):
        """The tally of a crate or suite."""
        return self.tallies.setdefault(owner, Tally())

    def feed(self, line):
        """Takes one line; returns whether it is worth showing."""
        raise NotImplementedError

    def ended(self, title, status):
        """Takes the end of a job: a bad status without a failed test is a failure."""
        self.close()
        failed = sum(tally.failed for tally in self.tallies.values())
        if status != 0 and failed == self.failed:
            failed += 1
            self.tell_before()
            tally = self.tally(self.owner)
            tally.failed += 1
            tally.problems.append(f"{title} ended with status {status} though no test failed")
        self.failed = failed
        self.before.clear()

    def close(self):
        """Takes an output without an end."""

    def finish(self):
        """Takes what is missing after all output."""


class Libtest(Reader):
    """Reads `cargo test … -- --show-output`, or the same binary by binary, whose success sections carry the WIRELAB-SKIP lines."""

    RUNNING = re.compile(r"^\s*Running .*\((?P<exe>[^()]+)\)\s*$")
    DOCTESTS = re.compile(r"^\s*Doc-tests (?P<crate>\S+)\s*$")
    BEGIN = re.compile(r"running \d+ tests?$")
    RESULT = re.compile(
        r"test result: (ok|FAILED)\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; "
        r"(?P<ignored>\d+) ignored; \d+ measured; (?P<filtered>\d+) filtered out"
    )
    IGNORED = re.compile(r"^test (?P<test>.+?) \.\.\. ignored")
    OUTPUT_OF = re.compile(r"^---- (?P<test>.+) stdout ----$")
    SKIP = re.compile(r"WIRELAB-SKIP(?:\s+(?P<feature>[\w.-]+)\s*:?\s*(?P<why>.*))?$")

    def __init__(self, binaries, parts=None):
        """`binaries`: file name of each test binary → its crate; all of them must give a result. `parts`: file name of each
        binary that runs in parts → how many tests its parts have."""
        super().__init__("cargo")
        self.binaries = binaries
        self.pending = set(binaries)
        self.due = dict(parts or {})
        self.broken = set()
        self.binary = ""
        self.open = False
        self.section = ""
        self.test = ""
        self.skips = {}

    def feed(self, line):
        line = line.rstrip("\n")
        self.before.append(line)
        if match := self.RUNNING.match(line):
            self._start(PurePath(match["exe"]).name)
        elif match := self.DOCTESTS.match(line):
            self.close()
            self.owner, self.binary = match["crate"].replace("_", "-"), "doc tests"
        elif self.BEGIN.search(line):
            self.close()
            self.open, self.section, self.skips = True, "", {}
        elif match := self.RESULT.search(line):
            self._result(match)
        else:
            return self._inside(line)
        return True

    def finish(self):
        self.close()
        for binary in sorted(self.pending):
            tally = self.tally(self.binaries[binary])
            tally.failed += 1
            tally.problems.append(f"{binary} was built and gave no result")
        for binary, due in self.due.items():
            # A binary that ended in the middle is reported already.
            if due != 0 and binary not in self.pending | self.broken:
                tally = self.tally(self.binaries[binary])
                tally.failed += 1
                tally.problems.append(f"{binary}: {due} tests of its parts gave no result")

    def _start(self, binary):
        self.close()
        self.owner, self.binary = self.binaries.get(binary, "unknown"), binary
        self.section = ""

    def close(self):
        if self.open:
            self.tell_before()
            tally = self.tally(self.owner)
            tally.failed += 1
            tally.problems.append(f"{self.binary} ended in the middle (crash, exit or kill)")
            self.pending.discard(self.binary)
            self.broken.add(self.binary)
            self.open = False

    def _inside(self, line):
        if line in ("successes:", "failures:"):
            self.section, self.test = line[:-1], ""
        elif match := self.OUTPUT_OF.match(line):
            self.test = match["test"]
        elif match := self.IGNORED.match(line):
            self.tally(self.owner).problems.append(f"{match['test']} is ignored; a test runs or does not exist")
        elif (match := self.SKIP.search(line)) and self.section != "failures":
            # Only the first captured line of a test counts. A line outside of a capture names no test, so each counts as one.
            test = self.test or f"(test {len(self.skips) + 1} that skipped)"
            self.skips.setdefault(test, (match["feature"] or "", match["why"] or ""))
            return True
        if self.section == "failures":
            self.tally(self.owner).tell(line)
        return self.section != "successes"

    def _result(self, match):
        tally = self.tally(self.owner)
        if not self.open:
            tally.failed += 1
            tally.problems.append(f"{self.binary} gave a second result")
            return
        self.open, self.section = False, ""
        self.pending.discard(self.binary)
        ignored = int(match["ignored"])
        tally.passed += int(match["passed"]) - len(self.skips)
        tally.failed += int(match["failed"]) + ignored
        for test, (feature, why) in self.skips.items():
            tally.skips.append(Skip(self.owner, test, feature, why))
        if self.binary in self.due:
            self.due[self.binary] -= sum(int(match[word]) for word in ("passed", "failed", "ignored"))
        elif int(match["filtered"]) > 0:
            tally.problems.append(f"{self.binary}: {match['filtered']} tests were filtered out")


class Unittest(Reader):
    """Reads `python3 -m unittest -v`; a skip's reason is "feature: why"."""

    SKIPPED = re.compile(r"^(?P<test>.*?)\s*\.\.\. skipped (['\"])(?P<reason>.*)\2$")
    RAN = re.compile(r"^Ran (?P<ran>\d+) tests? in ")
    END = re.compile(r"^(OK|FAILED|NO TESTS RAN)(?: \((?P<counts>.*)\))?$")
    # The line above each failure in the report after all tests.
    SECTION = "=" * 70

    def __init__(self, owner):
        super().__init__(owner)
        self.ran = None
        self.complete = False
        self.told = False
        self.tally(owner)

    def feed(self, line):
        line = line.rstrip("\n")
        self.before.append(line)
        tally = self.tally(self.owner)
        if match := self.SKIPPED.match(line):
            feature, _, why = match["reason"].partition(":")
            tally.skips.append(Skip(self.owner, match["test"], feature.strip(), why.strip()))
        elif match := self.RAN.match(line):
            self.ran = int(match["ran"])
            self.told = False
        elif (match := self.END.match(line)) and self.ran is not None and not self.complete:
            self.complete = True
            self._end(dict(part.split("=") for part in (match["counts"] or "").split(", ") if part))
        elif line.startswith(self.SECTION) or self.told:
            self.told = True
            tally.tell(line)
        return True

    def _end(self, counts):
        tally = self.tally(self.owner)
        bad = sum(int(counts.get(key, 0)) for key in ("failures", "errors", "unexpected successes"))
        skipped = int(counts.get("skipped", 0))
        tally.failed += bad
        tally.passed += max(0, self.ran - bad - skipped)
        if skipped != len(tally.skips):
            tally.problems.append(f"{skipped} skips were counted and {len(tally.skips)} named")

    def finish(self):
        if not self.complete:
            self.tell_before()
            tally = self.tally(self.owner)
            tally.failed += 1
            tally.problems.append("ended without a result")


class Tap(Reader):
    """Reads the Test Anything Protocol; a skip is `ok N - name # SKIP feature: why`."""

    POINT = re.compile(r"^(?P<bad>not )?ok\b\s*(?P<number>\d*)\s*-?\s*(?P<test>.*)$")
    PLAN = re.compile(r"^1\.\.(?P<count>\d+)\b")
    DIRECTIVE = re.compile(r"^(?P<test>.*?)\s*#\s*(?P<what>SKIP|TODO)\b\S*\s*(?P<reason>.*)$", re.I)

    def __init__(self, owner):
        super().__init__(owner)
        self.plan = None
        self.points = 0
        self.tally(owner)

    def feed(self, line):
        line = line.rstrip("\n")
        if match := self.PLAN.match(line):
            self.plan = int(match["count"])
        elif line.startswith("Bail out!"):
            self._problem(line)
        elif match := self.POINT.match(line):
            self.points += 1
            self._point(match)
        else:
            self.before.append(line)
        return True

    def _problem(self, text):
        self.tell_before()
        tally = self.tally(self.owner)
        tally.failed += 1
        tally.problems.append(text)

    def _point(self, match):
        tally = self.tally(self.owner)
        directive = self.DIRECTIVE.match(match["test"])
        if match["bad"]:
            tally.failed += 1
            self.tell_before()
            tally.tell(match[0])
        elif directive and directive["what"].upper() == "SKIP":
            feature, _, why = directive["reason"].partition(":")
            tally.skips.append(Skip(self.owner, directive["test"], feature.strip(), why.strip()))
        elif directive:
            self._problem(f"{directive['test']} is marked TODO")
        else:
            tally.passed += 1
        # Lines before a test point belong only to it.
        self.before.clear()

    def finish(self):
        if self.plan is None or self.plan != self.points:
            self._problem(f"planned {self.plan} tests, saw {self.points}")
