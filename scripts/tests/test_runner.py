"""Tests of the test runner: a run fails when it must, and the counts are right."""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import threading
import time
import tomllib
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from testrun import again, jobs, main, parse, skips, suites, summary  # noqa: E402

CLEAN = """\
     Running unittests src/lib.rs (target/debug/deps/wirelab_wire-0123456789abcdef)

running 2 tests
test rate::tests::gigabit ... ok
test rate::tests::hundred ... ok

successes:

successes:
    rate::tests::gigabit
    rate::tests::hundred

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/lab.rs (target/debug/deps/lab-fedcba9876543210)

running 1 test
test lab_goes_away ... ok

successes:

---- lab_goes_away stdout ----
{output}

successes:
    lab_goes_away

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests wirelab_wire

running 1 test
test crates/wire/src/lib.rs - (line 12) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s
"""
BINARIES = {"wirelab_wire-0123456789abcdef": "wirelab-wire", "lab-fedcba9876543210": "wirelab-port"}
PASSED = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
LISTED = '[[skip]]\nfeature = "tap"\nwhy = "no TAP"\nprobe = "probe-tap"\n'


def run(text, present=False, binaries=BINARIES, listed=LISTED):
    """The summary of a fake cargo output, on a machine where the probe of `tap` says `present`."""
    reader = parse.Libtest(binaries)
    for line in text.splitlines(keepends=True):
        reader.feed(line)
    reader.finish()
    return total(reader, present, listed)


def total(reader, present=False, listed=LISTED):
    """The summary of a reader."""
    result = summary.Summary(skips.Judge(skips.load(listed), lambda _: present))
    result.add(reader.tallies)
    return result


class Again(unittest.TestCase):
    """Tests that fail beside others run once more, alone."""

    LINES = (
        "running 3 tests\n",
        "test fine ... ok\n",
        "test late ... FAILED\n",
        "test wrong ... FAILED\n",
        "failures:\n",
        "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
    )

    def done(self, lines=LINES, status=101):
        """The end of a test binary."""
        job = jobs.Job("port/lab", ["lab", "--show-output"], "/", None, "     Running tests/lab.rs (deps/lab-fedcba9876543210)\n")
        return jobs.Done(job, list(lines), status)

    def counted(self, done, good):
        """The tallies and the tests that passed alone, if the tests in `good` pass alone."""
        commands, told = [], []

        def run(job):
            commands.append((*job.command, *job.tests))
            (name,) = job.tests
            word, status = ("ok", 0) if name in good else ("FAILED", 101)
            return jobs.Done(job, [f"test {name} ... {word}\n"], status)

        (end,) = again.alone([done], lambda *what: told.append(what), run)
        reader = parse.Libtest({"lab-fedcba9876543210": "wirelab-port"})
        for line in (end.job.heading, *end.lines):
            reader.feed(line)
        reader.finish()
        reader.ended(end.job.title, end.status)
        return reader.tallies["wirelab-port"], told, commands

    def test_one_that_passes_alone_counts_and_one_that_fails_twice_fails(self):
        tally, told, commands = self.counted(self.done(), {"late"})
        self.assertEqual((tally.passed, tally.failed, tally.problems), (2, 1, []))
        self.assertEqual(told, [("port/lab", "late")])
        self.assertEqual(commands, [("lab", "--show-output", name) for name in ("late", "wrong")])
        tally, told, _ = self.counted(self.done(), {"late", "wrong"})
        self.assertEqual((tally.passed, tally.failed, tally.problems, len(told)), (3, 0, [], 2))
        self.assertEqual(self.counted(self.done(), set())[0].failed, 2)

    def test_many_failures_and_a_crash_are_not_run_again(self):
        names = [f"t{number}" for number in range(again.MOST + 1)]
        lines = [*(f"test {name} ... FAILED\n" for name in names), f"test result: FAILED. 0 passed; {len(names)} failed; 0 ignored\n"]
        calls = []
        (end,) = again.alone([self.done(lines)], calls.append, calls.append)
        self.assertEqual((calls, end.lines), ([], lines))
        self.assertEqual(again.tests_of(self.done(self.LINES[:4])), [])
        self.assertEqual(again.tests_of(self.done(status=0)), [])

    def test_a_name_that_runs_nothing_has_not_passed(self):
        done = self.done()
        (end,) = again.alone([done], self.fail, lambda job: jobs.Done(job, ["running 0 tests\n"], 0))
        self.assertIs(end, done)

    def test_the_last_lines_name_them(self):
        total = summary.Summary(None)
        total.passed_alone("port/lab", "late")
        self.assertIn("failed beside other tests and passed alone:", total.lines())
        self.assertIn("  port/lab late", total.lines())


class Libtest(unittest.TestCase):
    """Output of cargo."""

    def last(self, result, line, ok):
        """The last line and the verdict."""
        self.assertEqual(result.lines()[-1], line, "\n".join(result.lines()))
        self.assertEqual(result.ok(), ok, "\n".join(result.lines()))

    def test_clean_run_passes_and_is_counted_by_crate(self):
        result = run(CLEAN.format(output="all fine"))
        self.last(result, "4 passed, 0 failed, 0 skipped", True)
        self.assertEqual(result.rows, {"wirelab-wire": [3, 0, 0], "wirelab-port": [1, 0, 0]})

    def test_listed_skip_of_an_absent_feature_passes(self):
        result = run(CLEAN.format(output="WIRELAB-SKIP tap: no /dev/net/tun"))
        self.last(result, "3 passed, 0 failed, 1 skipped", True)
        self.assertIn("  wirelab-port lab_goes_away: no /dev/net/tun", result.lines())

    def test_unlisted_skip_fails(self):
        self.last(run(CLEAN.format(output="WIRELAB-SKIP moon: not full")), "3 passed, 1 failed, 0 skipped", False)

    def test_skip_of_a_present_feature_fails(self):
        result = run(CLEAN.format(output="WIRELAB-SKIP tap: felt like it"), present=True)
        self.last(result, "3 passed, 1 failed, 0 skipped", False)

    def test_skip_that_names_nothing_fails(self):
        self.last(run(CLEAN.format(output="WIRELAB-SKIP")), "3 passed, 1 failed, 0 skipped", False)

    def test_two_skip_lines_of_one_test_are_one_skip(self):
        output = "WIRELAB-SKIP tap: first\nWIRELAB-SKIP tap: second"
        self.last(run(CLEAN.format(output=output)), "3 passed, 0 failed, 1 skipped", True)

    def test_skip_outside_capture_counts(self):
        text = CLEAN.format(output="x").replace("test lab_goes_away", "WIRELAB-SKIP moon: raw\ntest lab_goes_away", 1)
        self.last(run(text), "3 passed, 1 failed, 0 skipped", False)

    def test_equal_skips_outside_capture_are_counted_each(self):
        text = CLEAN.replace("test rate::tests::gigabit", "WIRELAB-SKIP tap: no\ntest rate::tests::gigabit", 1)
        text = text.replace("test rate::tests::hundred", "WIRELAB-SKIP tap: no\ntest rate::tests::hundred", 1)
        self.last(run(text.format(output="x")), "2 passed, 0 failed, 2 skipped", True)

    def test_failing_test_fails(self):
        text = CLEAN.format(output="x").replace("ok. 1 passed; 0 failed", "FAILED. 0 passed; 1 failed", 1)
        self.last(run(text), "3 passed, 1 failed, 0 skipped", False)

    def test_ignored_test_fails(self):
        text = CLEAN.format(output="x").replace("test lab_goes_away ... ok", "test lab_goes_away ... ignored, slow")
        text = text.replace("1 passed; 0 failed; 0 ignored", "0 passed; 0 failed; 1 ignored", 1)
        result = run(text)
        self.last(result, "3 passed, 1 failed, 0 skipped", False)
        self.assertIn("PROBLEM: wirelab-port: lab_goes_away is ignored", "\n".join(result.lines()))

    def test_crashed_binary_fails(self):
        text = CLEAN.format(output="x").replace("test result: ok. 1 passed", "killed", 1)
        result = run(text)
        self.last(result, "3 passed, 1 failed, 0 skipped", False)
        self.assertIn("ended in the middle", "\n".join(result.lines()))

    def test_binary_that_never_ran_fails(self):
        result = run(CLEAN.format(output="x"), binaries={**BINARIES, "quiet-00": "wirelab-quiet"})
        self.last(result, "4 passed, 1 failed, 0 skipped", False)

    def test_result_printed_by_a_test_is_noticed(self):
        forged = "test result: ok. 90 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
        self.assertFalse(run(CLEAN.format(output=forged)).ok())

    def test_filtered_run_is_not_a_full_run(self):
        self.assertFalse(run(CLEAN.format(output="x").replace("0 filtered", "7 filtered")).ok())

    def test_no_output_fails(self):
        self.last(run("", binaries={}), "0 passed, 0 failed, 0 skipped", False)

    def test_zero_tests_fail(self):
        text = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
        self.last(run(text, binaries={}), "0 passed, 0 failed, 0 skipped", False)

    def test_captured_output_of_passing_tests_is_not_shown(self):
        reader = parse.Libtest(BINARIES)
        text = CLEAN.format(output="chatter\nWIRELAB-SKIP tap: why")
        shown = [line for line in text.splitlines() if reader.feed(line + "\n")]
        self.assertNotIn("chatter", shown)
        self.assertIn("WIRELAB-SKIP tap: why", shown)


class Build(unittest.TestCase):
    """How the Rust tests are built."""

    def asked(self, tree):
        """cargo's settings of incremental builds and debug information."""
        with unittest.mock.patch.dict(os.environ), unittest.mock.patch.object(suites, "cargo_json", return_value=[]):
            for name in (*suites.FRESH, "CARGO_TARGET_DIR"):
                os.environ.pop(name, None)
            suites.built(tree, [])
            return [os.environ.get(name) for name in suites.FRESH]

    def test_only_who_builds_change_by_change_pays_for_it(self):
        with tempfile.TemporaryDirectory() as tree:
            self.assertEqual(self.asked(tree), ["0", "false"])
            Path(tree, "target/debug/incremental").mkdir(parents=True)
            self.assertEqual(self.asked(tree), ["0", "false"])
            Path(tree, "target/debug/incremental/wirelab_wire-1").mkdir()
            self.assertEqual(self.asked(tree), [None, None])


    def test_beside_suites_that_are_alone_it_is_idle_work_and_ends_with_them(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ):
            Path(folder, "cargo").write_text('#!/bin/sh\nchrt -p $$ >"$0.new" && mv "$0.new" "$0.said"\nsleep 600\n')
            Path(folder, "cargo").chmod(0o755)
            os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
            said = Path(folder, "cargo.said")
            with suites.begun({}, folder):
                while not said.exists():
                    time.sleep(0.01)
            self.assertIn("SCHED_IDLE", said.read_text())


class Selection(unittest.TestCase):
    """Which Rust tests run in which run."""

    LISTED = {"features": ["a/f"], "deep": ["a/slow"], "first": ["a/fast"]}

    def titles(self, long, listed=LISTED):
        """The titles of the jobs of a run, of a tree with two binaries and one behind the feature `long`."""

        def built(tree, selection):
            names = ["hours"] if "--release" in selection else ["fast", "slow"]
            self.assertIn("a/f", selection[selection.index("--features") + 1])
            message = {"manifest_path": "/t/a/Cargo.toml", "executable": "/t/x"}
            return {
                f"{name}-00": ({**message, "target": {"name": name, "src_path": f"/t/a/tests/{name}.rs"}}, "a") for name in names
            }

        behind = ({"a/long"}, ["--release", "--test", "hours"])
        with (
            unittest.mock.patch.object(suites, "built", built),
            unittest.mock.patch.object(suites, "long_selection", return_value=behind),
        ):
            return [job.title for job in suites.rust(listed, "/t", long, ())[1]]

    def test_each_binary_runs_in_one_of_the_two(self):
        self.assertEqual(self.titles(False), ["examples in docs", "a/fast"])
        self.assertEqual(self.titles(True), ["a/slow", "a/hours"])

    def modules(self, folder, listing, status=0):
        """The jobs of a crate's `tests/all.rs` whose binary lists this."""
        binary = Path(folder, "all-00")
        binary.write_text(f"#!/bin/sh\ncat <<'END'\n{listing}END\nexit {status}\n")
        binary.chmod(0o755)
        message = {"manifest_path": "/t/a/Cargo.toml", "executable": str(binary)}
        return suites.binary_jobs({**message, "target": {"name": "all", "src_path": "/t/a/tests/all.rs"}}, "a", [])

    def test_each_module_of_all_is_a_job_with_its_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            listing = "fast::b: test\nslow::of::c: test\nfast::a: test\nfast::speed: benchmark\n"
            found = self.modules(folder, listing)
            self.assertEqual(
                [(job.title, job.tests) for job in found], [("a/fast", ("fast::b", "fast::a")), ("a/slow", ("slow::of::c",))]
            )
            for job in found:
                self.assertEqual(job.command[:4], jobs.limited([], 900))
                self.assertEqual(job.limit_seconds, 900)
            for listing, status in (("", 0), ("fast::a: test\n", 1)):
                with self.assertRaisesRegex(suites.SuiteError, "lists no test"):
                    self.modules(folder, listing, status)

    def test_the_tests_of_a_job_are_chosen_by_their_whole_names(self):
        done = jobs.run(jobs.Job("a/fast", ["echo", "--show-output"], "/", tests=("fast::a", "fast::b")))
        self.assertEqual(done.lines, ["--show-output --exact fast::a fast::b\n"])

    def test_a_name_that_is_no_binary_is_an_error(self):
        for long in (False, True):
            with self.assertRaisesRegex(suites.SuiteError, "`deep` names a/gone"):
                self.titles(long, {**self.LISTED, "deep": ["a/gone"]})

    def test_the_features_that_test_targets_require_are_built(self):
        tree = Path(__file__).resolve().parents[2]
        listed = next(s for s in suites.load(Path(tree, "tests/suites.toml").read_text()) if s["format"] == "cargo")
        for manifest in tree.glob("crates/*/Cargo.toml"):
            for target in tomllib.loads(manifest.read_text()).get("test", []):
                given = {f.removeprefix(f"{manifest.parent.name}/") for f in listed["features"]} | {"long"}
                asked = set(target.get("required-features", []))
                if target["name"] == "all":
                    asked |= set(re.findall(r'feature = "(\w+)"', Path(manifest.parent, target["path"]).read_text()))
                self.assertLessEqual(asked, given, f"{manifest}: {target['name']} runs nowhere")

    def test_the_binaries_that_are_listed_are_files_of_tests(self):
        tree = Path(__file__).resolve().parents[2]
        listed = next(s for s in suites.load(Path(tree, "tests/suites.toml").read_text()) if s["format"] == "cargo")
        for crate, name in (title.split("/") for title in listed["first"] + listed["deep"]):
            self.assertTrue(Path(tree, "crates", crate, "tests", f"{name}.rs").is_file(), f"{crate}/{name}")

    def test_a_suite_of_both_runs_is_in_each(self):
        listed = [{"name": name, "format": "tap", **more} for name, more in
                  [("day", {}), ("depth", {"long": True}), ("both", {"long": "too"})]]
        for long, names in ((False, ["day", "both"]), (True, ["depth", "both"])):
            self.assertEqual([suite["name"] for suite in main.chosen(listed, "/", long, ())[0]], names)

    def test_a_suite_can_be_left_out(self):
        listed = [{"name": name, "format": "tap", "long": True} for name in ("depth", "kernel")]
        plain, _ = main.chosen(listed, "/", True, None, ["kernel"])
        self.assertEqual([suite["name"] for suite in plain], ["depth"])


class BinaryByBinary(unittest.TestCase):
    """Output of test binaries that are started one by one."""

    def ended(self, *outputs):
        """The summary of binaries that ended with (output, status)."""
        reader = parse.Libtest({f"b{number}-00": "wirelab-wire" for number in range(len(outputs))})
        for number, (output, status) in enumerate(outputs):
            for line in [f"     Running tests/b.rs (/t/deps/b{number}-00)\n", *output.splitlines(keepends=True)]:
                reader.feed(line)
            reader.ended(f"wire/b{number}", status)
        reader.finish()
        return total(reader)

    GOOD = f"running 1 test\n{PASSED}\n"
    BAD = GOOD.replace("ok. 1 passed; 0 failed", "FAILED. 0 passed; 1 failed")

    def test_status_is_judged_for_each(self):
        self.assertEqual(self.ended((self.GOOD, 0), (self.GOOD, 0)).totals(), [2, 0, 0])
        self.assertEqual(self.ended((self.BAD, 101), (self.GOOD, 0)).totals(), [1, 1, 0])
        # An earlier failure does not excuse a later status.
        result = self.ended((self.BAD, 101), (self.GOOD, 134))
        self.assertEqual(result.totals(), [1, 2, 0])
        self.assertIn("PROBLEM: wirelab-wire: wire/b1 ended with status 134 though no test failed", result.lines())

    def parts(self, due, *outputs):
        """The summary of a binary whose parts have `due` tests and gave these outputs."""
        reader = parse.Libtest({"all-00": "wirelab-wire"}, {"all-00": due})
        for output in outputs:
            for line in ["     Running tests/all.rs (/t/deps/all-00)\n", *output.splitlines(keepends=True)]:
                reader.feed(line)
        reader.finish()
        return total(reader)

    def test_the_parts_of_a_binary_give_all_its_results(self):
        part = self.GOOD.replace("0 filtered out", "1 filtered out")
        self.assertTrue(self.parts(2, part, part).ok())
        result = self.parts(2, part)
        self.assertIn("PROBLEM: wirelab-wire: all-00: 1 tests of its parts gave no result", result.lines())
        self.assertEqual(result.totals(), [1, 1, 0])
        # One that crashed is one failure, not two.
        self.assertEqual(self.parts(2, part, "running 1 test\n").totals(), [1, 1, 0])

    def test_crash_is_one_failure_of_the_one_that_crashed(self):
        result = self.ended(("running 1 test\n", -11), (self.GOOD, 0))
        self.assertEqual(result.totals(), [1, 1, 0])
        self.assertIn("PROBLEM: wirelab-wire: b0-00 ended in the middle (crash, exit or kill)", result.lines())

    def test_those_named_first_are_begun_first_and_must_be_there(self):
        todo = [jobs.Job(title, ["true"], "/") for title in ("a/lib", "b/lib", "b/slow")]
        ordered = suites.in_order(todo, {"first": ["b/slow", "b/lib"]})
        self.assertEqual([job.title for job in ordered], ["b/slow", "b/lib", "a/lib"])
        with self.assertRaisesRegex(suites.SuiteError, "gone/slow"):
            suites.in_order(todo, {"first": ["gone/slow"]})


class Jobs(unittest.TestCase):
    """Commands that run beside each other."""

    def sh(self, script):
        """A job of the shell."""
        return jobs.Job("s", ["sh", "-c", script], "/")

    def test_output_and_status_are_the_commands(self):
        done = jobs.run(self.sh("echo out; echo err >&2; exit 3"))
        self.assertEqual((done.lines, done.status, done.problem), (["out\n", "err\n"], 3, ""))

    def test_what_cannot_be_started_is_a_problem(self):
        done = jobs.run(jobs.Job("s", ["/no/such/command"], "/"))
        self.assertNotEqual(done.status, 0)
        self.assertIn("/no/such/command", done.problem)

    def test_what_is_printed_at_the_very_end_of_a_long_silence_is_read(self):
        ended = threading.Event()

        class Late:
            """A process that prints its last line and ends just when it is polled."""

            class stdout:
                @staticmethod
                def close():
                    pass

                def __iter__(self):
                    ended.wait()
                    yield b"the last line\n"

            stdout = stdout()

            @staticmethod
            def poll():
                ended.set()
                return 0

        lines = []
        with unittest.mock.patch.object(jobs, "DRAIN_SECONDS", 0.5):
            self.assertTrue(jobs._gather(Late, lines))
        self.assertEqual(lines, ["the last line\n"])

    def test_a_child_that_stays_is_a_problem(self):
        with unittest.mock.patch.object(jobs, "DRAIN_SECONDS", 0.2):
            done = jobs.run(self.sh("sleep 3 & echo out"))
        self.assertEqual((done.lines, done.status), (["out\n"], 0))
        self.assertIn("outlives", done.problem)

    def test_what_does_not_end_is_stopped_and_named(self):
        slow = "echo test a::two has been running for over 60 seconds;"
        both = ("a::one", "a::two")
        for said, tests, hung in ((slow, (*both, "a::three"), "a::two"), ("", both, "a::two"), ("", (), "a/b")):
            script = f"echo test a::one ... ok; {said} exec sleep 60"
            done = jobs.run(jobs.Job("a/b", jobs.limited(["sh", "-c", script], 1), "/", tests=tests, limit_seconds=1))
            self.assertIn("it did not end within 0.01", done.problem)
            self.assertTrue(done.problem.endswith(f": {hung}"), done.problem)
            self.assertEqual((done.status, again.tests_of(done)), (124, []))
        # A command may end with this status on its own.
        done = jobs.run(jobs.Job("a/b", jobs.limited(["sh", "-c", "exit 124"], 9), "/", limit_seconds=9))
        self.assertEqual((done.status, done.problem), (124, ""))

    def test_as_many_at_a_time_as_lanes(self):
        with tempfile.TemporaryDirectory() as folder:
            # Each waits for the other.
            pair = [self.sh(f"mkfifo {folder}/f 2>/dev/null; {meet} {folder}/f") for meet in ("echo x >", "read x <")]
            with jobs.Lanes(2) as lanes:
                self.assertEqual([done.status for done in lanes.begin(pair)], [0, 0])
            order = [self.sh(f"echo {number} >>{folder}/order") for number in range(5)]
            with jobs.Lanes(1) as lanes:
                list(lanes.begin(order))
            self.assertEqual(Path(folder, "order").read_text().split(), list("01234"))


class Unittest(unittest.TestCase):
    """Output of Python's unittest."""

    def read(self, text):
        """The totals and the verdict."""
        reader = parse.Unittest("py")
        for line in text.splitlines(keepends=True):
            reader.feed(line)
        reader.finish()
        result = total(reader)
        return result.totals(), result.ok()

    def test_passes_and_skips(self):
        text = "test_a (m.C.test_a) ... ok\ntest_b (m.C.test_b) ... skipped 'tap: none'\n\nRan 2 tests in 0.1s\n\nOK (skipped=1)\n"
        self.assertEqual(self.read(text), ([1, 0, 1], True))

    def test_failures_and_errors(self):
        text = "Ran 3 tests in 0.1s\n\nFAILED (failures=1, errors=1)\n"
        self.assertEqual(self.read(text), ([1, 2, 0], False))

    def test_unnamed_skip_fails(self):
        self.assertFalse(self.read("Ran 2 tests in 0.1s\n\nOK (skipped=1)\n")[1])

    def test_missing_end_fails(self):
        self.assertFalse(self.read("test_a (m.C.test_a) ... ok\n")[1])


class Tap(unittest.TestCase):
    """The Test Anything Protocol."""

    def read(self, text):
        """The totals and the verdict."""
        reader = parse.Tap("sh")
        for line in text.splitlines(keepends=True):
            reader.feed(line)
        reader.finish()
        result = total(reader)
        return result.totals(), result.ok()

    def test_passes_and_skips(self):
        self.assertEqual(self.read("ok 1 - a\nok 2 - b # SKIP tap: none\n1..2\n"), ([1, 0, 1], True))

    def test_not_ok_fails(self):
        self.assertEqual(self.read("1..2\nok 1 - a\nnot ok 2 - b\n"), ([1, 1, 0], False))

    def test_short_run_fails(self):
        self.assertFalse(self.read("1..3\nok 1 - a\n")[1])

    def test_todo_fails(self):
        self.assertFalse(self.read("1..2\nok 1 - a\nok 2 - b # TODO later\n")[1])


class OnceMore(unittest.TestCase):
    """Failures are shown again at the end, because they are printed in the middle of thousands of lines."""

    def told(self, reader, text, status=1):
        """The lines of the summary that report failures."""
        for line in text.splitlines(keepends=True):
            reader.feed(line)
        reader.ended("job", status)
        reader.finish()
        return total(reader).failures

    def test_panics_of_rust(self):
        text = CLEAN.replace("test rate::tests::hundred ... ok", "test rate::tests::hundred ... FAILED")
        text = text.replace("successes:\n\nsuccesses:\n    rate::tests::gigabit", "failures:\n\n---- rate::tests::hundred stdout ----\nleft: 1")
        text = text.replace("ok. 2 passed; 0 failed", "FAILED. 1 passed; 1 failed").format(output="chatter")
        told = self.told(parse.Libtest(BINARIES), text)
        self.assertIn("left: 1", told)
        self.assertEqual(told[0], "what failed of wirelab-wire, once more:")
        self.assertNotIn("chatter", told)

    def test_last_words_of_what_crashed(self):
        text = "     Running src/lib.rs (/t/wirelab_wire-0123456789abcdef)\nrunning 1 test\nterminate called\n"
        self.assertIn("terminate called", self.told(parse.Libtest(BINARIES), text, -6))

    def test_sections_of_unittest(self):
        bar, line = "=" * 70, "-" * 70
        text = f"test_a (m.C) ... FAIL\nx\n{bar}\nFAIL: test_a (m.C)\n{line}\n1 != 2\n\n{line}\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n"
        told = self.told(parse.Unittest("py"), text)
        self.assertEqual(told[1:6], [bar, "FAIL: test_a (m.C)", line, "1 != 2", ""])

    def test_comments_above_a_point_of_tap(self):
        told = self.told(parse.Tap("sh"), "ok 1 - a\n# b said\nnot ok 2 - b\n# c said\nok 3 - c\n1..3\n")
        self.assertEqual(told, ["what failed of sh, once more:", "# b said", "not ok 2 - b", ""])

    def test_no_more_than_can_be_read(self):
        told = self.told(parse.Tap("sh"), "".join(f"not ok {n} - x\n" for n in range(1, 2 * parse.MOST)))
        self.assertEqual(len(told), parse.MOST + 2)

    def test_nothing_of_a_good_run(self):
        self.assertEqual(self.told(parse.Tap("sh"), "# said\nok 1 - a\n1..1\n", 0), [])
        self.assertEqual(run(CLEAN.format(output="x")).failures, [])


class SkipList(unittest.TestCase):
    """tests/skips.toml itself."""

    def test_bad_lists_are_refused(self):
        entry = '[[skip]]\nfeature = "tap"\nwhy = "w"\nprobe = "p"\n'
        for bad in ["[[skip", "[other]\n", "[[skip]]\nfeature = 'tap'\n", entry.replace('"p"', '""'), entry * 2]:
            with self.assertRaises(skips.SkipListError, msg=bad):
                skips.load(bad)

    def test_probe_tells_present_from_absent(self):
        self.assertTrue(skips.run_probe("exit 0", [], "/"))
        self.assertFalse(skips.run_probe("exit 3", [], "/"))
        self.assertFalse(skips.run_probe("no-such-command-at-all", [], "/"))


class WholeRun(unittest.TestCase):
    """The runner with real processes."""

    def runs(self, *scripts, listed=LISTED.replace("probe-tap", "false"), **options):
        """The status and the output of a run whose suites are shell scripts that print TAP."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tests").mkdir()
            Path(folder, "tests/skips.toml").write_text(listed)
            table = "".join(
                f'[[suite]]\nname = "s{i}"\nformat = "tap"\ncommand = ["sh", "-c", {json.dumps(script)}]\n'
                f'long = {json.dumps(script.startswith(": long"))}\n'
                for i, script in enumerate(scripts)
            )
            Path(folder, "tests/suites.toml").write_text(table)
            out = []
            with contextlib.redirect_stdout(io.StringIO()):
                return main.run(folder, out=out.append, **options), out

    def test_good_suites_pass(self):
        status, out = self.runs("echo 1..1; echo ok 1 a", "echo 1..1; echo 'ok 1 b # SKIP tap: none'")
        self.assertEqual((status, out[-1]), (0, "1 passed, 0 failed, 1 skipped"))

    def test_probe_decides(self):
        status, out = self.runs(
            "echo 1..2; echo ok 1 a; echo 'ok 2 b # SKIP tap: none'", listed=LISTED.replace("probe-tap", "true")
        )
        self.assertEqual((status, out[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_bad_status_without_a_failed_test_fails(self):
        status, out = self.runs("echo 1..1; echo ok 1 a; exit 7")
        self.assertEqual((status, out[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_one_bad_suite_does_not_hide_the_others(self):
        status, out = self.runs("exit 1", "echo 1..1; echo ok 1 b")
        self.assertEqual((status, out[-1]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_long_suites_run_when_they_are_asked_for_and_then_alone(self):
        scripts = ("echo 1..1; echo ok 1 a", ": long; echo 1..2; echo ok 1 b; echo ok 2 c")
        self.assertEqual(self.runs(*scripts)[1][-1], "1 passed, 0 failed, 0 skipped")
        self.assertEqual(self.runs(*scripts, long=True)[1][-1], "2 passed, 0 failed, 0 skipped")

    def test_suites_that_are_named_run_alone_and_a_name_that_is_none_fails(self):
        scripts = ("echo 1..1; echo ok 1 a", "echo 1..2; echo ok 1 b; echo ok 2 c", "exit 1")
        self.assertEqual(self.runs(*scripts, only=["s0", "s1"])[1][-1], "3 passed, 0 failed, 0 skipped")
        self.assertEqual(self.runs(*scripts, only=["s1"])[1][-1], "2 passed, 0 failed, 0 skipped")
        self.assertEqual(self.runs(*scripts, only=["gone"])[0], 1)

    def test_two_jobs_a_core_run_at_a_time_and_one_beside_other_work(self):
        self.assertEqual([main.lanes_for(cores, 0.2) for cores in (1, 2, 4)], [2, 4, 8])
        self.assertEqual([main.lanes_for(2, others) for others in (0.4, 0.5, 2.0)], [4, 2, 2])

    def test_a_suite_that_must_be_alone_is_first_and_rust_tests_wait_for_no_other(self):
        """The suite that must be alone begins first though listed last, and the other one cannot end before the Rust tests."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tests").mkdir()
            Path(folder, "tests/skips.toml").write_text(LISTED)

            def suite(name, script, more=""):
                script = json.dumps(f"cd {folder}; {script}; echo 1..1; echo ok 1 {name}")
                return f'[[suite]]\nname = "{name}"\nformat = "tap"\ncommand = ["sh", "-c", {script}]\n{more}\n'

            late = "touch begun; while [ ! -e made-by-rust ]; do sleep 0.01; done"
            listed = suite("late", late) + suite("images", "test ! -e begun && touch image", "alone = true")
            Path(folder, "tests/suites.toml").write_text(listed + '[[suite]]\nname = "rust"\nformat = "cargo"\n')
            test = ["sh", "-c", f"cd {folder}; echo running 1 test; test -e image && touch made-by-rust && echo '{PASSED}'"]
            job = jobs.Job("a/b", test, folder, heading="     Running tests/b.rs (/t/deps/b-00)\n")
            built = parse.Libtest({"b-00": "wirelab-wire"}), [job]
            out = []
            with unittest.mock.patch.object(suites, "rust", return_value=built):
                status = main.run(folder, out=out.append)
        self.assertEqual((status, out[-1]), (0, "3 passed, 0 failed, 0 skipped"), out)

    def test_a_build_that_fails_hides_no_other_suite(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tests").mkdir()
            Path(folder, "tests/skips.toml").write_text(LISTED)
            plain = '[[suite]]\nname = "s"\nformat = "tap"\ncommand = ["sh", "-c", "echo 1..1; echo ok 1 a"]\n'
            Path(folder, "tests/suites.toml").write_text('[[suite]]\nname = "rust"\nformat = "cargo"\n' + plain)
            out = []
            with unittest.mock.patch.object(suites, "rust", side_effect=suites.SuiteError("no cargo")):
                status = main.run(folder, out=out.append)
        self.assertEqual((status, out[-2:]), (1, ["PROBLEM: rust: no cargo", "1 passed, 0 failed, 0 skipped"]))

    def test_empty_or_broken_registry_fails(self):
        self.assertEqual(self.runs()[0], 1)
        with self.assertRaises(suites.SuiteError):
            suites.load('[[suite]]\nname = "x"\nformat = "vibes"\ncommand = ["true"]\n')


if __name__ == "__main__":
    unittest.main()
