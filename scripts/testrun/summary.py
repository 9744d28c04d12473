"""The result of a whole run: the table, the problems, and the last line."""

# How many of the longest jobs are named.
SLOWEST = 8


class Summary:
    """Adds up tallies; a skip that does not count is a failure."""

    def __init__(self, judge):
        self.judge = judge
        self.rows = {}
        self.skips = []
        self.problems = []
        self.failures = []
        self.times = []
        self.alone = []

    def took(self, title, seconds):
        """Takes the time of one job."""
        self.times.append((seconds, title))

    def passed_alone(self, title, test):
        """Takes a test that failed beside others and passed alone."""
        self.alone.append(f"  {title} {test}")

    def add(self, tallies):
        """Takes the tallies of one suite: owner → Tally."""
        for owner, tally in tallies.items():
            row = self.rows.setdefault(owner, [0, 0, 0])
            row[0] += tally.passed
            row[1] += tally.failed
            self.problems += [f"{owner}: {text}" for text in tally.problems]
            if tally.failures:
                self.failures += [f"what failed of {owner}, once more:", *tally.failures, ""]
            for skip in tally.skips:
                objection = self.judge.objection(skip)
                if objection:
                    row[1] += 1
                    self.problems.append(f"{owner}: {skip.test} skipped: {objection}")
                else:
                    row[2] += 1
                    self.skips.append(skip)

    def problem(self, text):
        """Takes a problem outside of the tests."""
        self.problems.append(text)

    def totals(self):
        """Passed, failed, skipped."""
        return [sum(row[column] for row in self.rows.values()) for column in range(3)]

    def ok(self):
        """Whether the run counts as passed: something ran, nothing failed, no problem."""
        passed, failed, _ = self.totals()
        return passed > 0 and failed == 0 and not self.problems

    def slowest(self):
        """The longest jobs."""
        longest = sorted(self.times, reverse=True)[:SLOWEST]
        if not longest:
            return []
        return ["took longest: " + ", ".join(f"{title} {seconds:.0f} s" for seconds, title in longest), ""]

    def lines(self):
        """The last lines of the run."""
        width = max([len("crate"), *map(len, self.rows)])
        text = ["", *self.failures, *self.slowest(), f"{'crate':<{width}} {'passed':>7} {'failed':>7} {'skipped':>7}"]
        for owner, row in sorted(self.rows.items()):
            text.append(f"{owner:<{width}} {row[0]:>7} {row[1]:>7} {row[2]:>7}")
        for feature in sorted({skip.feature for skip in self.skips}):
            tests = [skip for skip in self.skips if skip.feature == feature]
            text.append(f"skipped because {feature} is missing: {self.judge.features[feature]['why']}")
            text += [f"  {skip.owner} {skip.test}{': ' + skip.why if skip.why else ''}" for skip in tests]
        if self.alone:
            text += ["failed beside other tests and passed alone:", *sorted(self.alone)]
        passed, failed, skipped = self.totals()
        if passed == 0:
            text.append("PROBLEM: no test passed, so nothing was tested")
        text += [f"PROBLEM: {problem}" for problem in self.problems]
        text.append(f"{passed} passed, {failed} failed, {skipped} skipped")
        return text
