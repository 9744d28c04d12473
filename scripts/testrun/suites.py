"""The suites of tests/suites.toml, and the jobs of each."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

from . import parse
from .jobs import LIMIT_SECONDS, LONGEST_SECONDS, Job, limited

FORMATS = {"unittest": parse.Unittest, "tap": parse.Tap}
KEYS = {"name", "format", "command", "needs", "long", "first", "alone", "build", "features", "deep"}

# How cargo builds in a fresh clone; web/tests/run.sh does the same.
FRESH = {"CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "false"}


class SuiteError(Exception):
    """A suite's entry is invalid, or the suite cannot be built."""


def load(text):
    """The suites in order. Raises SuiteError."""
    suites = tomllib.loads(text).get("suite", [])
    for suite in suites:
        if extra := set(suite) - KEYS:
            raise SuiteError(f"suite {suite.get('name')}: unknown key {', '.join(sorted(extra))}")
        if suite.get("format") not in {"cargo", *FORMATS} or not suite.get("name"):
            raise SuiteError(f"a suite needs a name and a format of cargo, {', '.join(FORMATS)}: {suite}")
        if suite["format"] != "cargo" and not suite.get("command"):
            raise SuiteError(f"suite {suite['name']} has no command; fix: add one")
    if not suites:
        raise SuiteError("tests/suites.toml lists no suite; fix: restore it from git")
    return suites


def cargo_json(arguments, tree):
    """Runs cargo and returns the JSON lines it prints; diagnostics go to the terminal."""
    done = subprocess.run(["cargo", *arguments], cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SuiteError(f"cargo {arguments[0]} failed; fix: correct the errors above")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def long_selection(tree):
    """The features and the arguments that select the tests behind the feature `long`; raises SuiteError if there are none."""
    (metadata,) = cargo_json(["metadata", "--format-version=1", "--no-deps", "--locked"], tree)
    features, names = set(), []
    for package in metadata["packages"]:
        for target in package["targets"]:
            if "long" in target.get("required-features", []):
                features.add(f"{package['name']}/long")
                names += ["--test", target["name"]]
    if not names:
        raise SuiteError("no test target requires the feature `long`")
    # A hundred million frames need optimised code.
    return features, ["--release", *names]


def root_prefix(tree):
    """The prefix that runs a command as root here: nothing for root, the sudo wrapper, or nothing with a warning."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        print("tests: ports and eBPF need root, so the test binaries (not the build) run under sudo", flush=True)
        if subprocess.run(["sudo", "-v"], check=False).returncode == 0:
            return [str(Path(tree, "scripts/as-root.sh"))]
    print("tests: neither root nor sudo, so tests of network namespaces and eBPF are skipped; fix: run as root", flush=True)
    return []


def reader(suite):
    """The reader of a suite with a command and a format of its own."""
    return FORMATS[suite["format"]](suite["name"])


def job(suite, tree):
    """The job of a suite with a command of its own."""
    return Job(suite["name"], limited(suite["command"], LONGEST_SECONDS), tree, limit_seconds=LONGEST_SECONDS)


def built_by_steps(tree):
    """Whether this tree is built incrementally. A fresh clone does not need cargo's data for that (`incremental`), and builds
    the project's crates in two thirds of the time without it. Nor does it need debug information: a panic names its line
    without it, and it takes a tenth of the processor time and half of the space."""
    # cargo makes the folder in each build, and fills it only in incremental ones.
    return any(Path(os.environ.get("CARGO_TARGET_DIR", Path(tree, "target")), "debug/incremental").glob("*"))


def build_freshly(tree):
    """Sets the options of all further builds of a tree that is not built incrementally."""
    if not built_by_steps(tree):
        for name, value in FRESH.items():
            os.environ.setdefault(name, value)


def selection_of(suite, more=()):
    """cargo's options for the Rust tests. --workspace and a selection of features keep all calls on one build."""
    return ["--workspace", "--locked", "--features", ",".join(sorted({*suite.get("features", []), *more}))]


@contextlib.contextmanager
def begun(suite, tree):
    """Begins to build the Rust tests while a suite runs before all others: as an idle task, which gives way, and silently,
    because an error appears again in the build that follows."""
    build_freshly(tree)
    command = ["chrt", "--idle", "0", "cargo", "test", *selection_of(suite), "--no-run"]
    nothing = subprocess.DEVNULL
    # In the same session: Linux gives a session of its own as much of the cores as that of the suites (autogroup).
    cargo = subprocess.Popen(command, cwd=tree, stdin=nothing, stdout=nothing, stderr=nothing, process_group=0)
    try:
        yield
    finally:
        # Cargo and its compilers. A shell that waits for a command would outlive SIGINT.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(cargo.pid, signal.SIGTERM)
        cargo.wait()


def built(tree, selection):
    """Builds the Rust tests: file name of each test binary → cargo's message about it, and the name of its package."""
    os.environ.update({"CARGO_TERM_COLOR": "never", "CARGO_TERM_QUIET": "false"})
    build_freshly(tree)
    messages = cargo_json(["test", *selection, "--no-run", "--message-format=json-render-diagnostics"], tree)
    tests = [m for m in messages if m.get("executable") and m.get("profile", {}).get("test")]
    manifests = {m["manifest_path"] for m in tests}
    packages = {path: tomllib.loads(Path(path).read_text())["package"]["name"] for path in manifests}
    return {Path(m["executable"]).name: (m, packages[m["manifest_path"]]) for m in tests}


def rust(suite, tree, long, prefix):
    """Builds all Rust tests of the workspace. Returns their reader, the jobs for `long`, and without `long` a job for the
    examples in docs. Each job runs either with `long` or without."""
    selection = selection_of(suite)
    binaries = built(tree, selection)
    limit = LONGEST_SECONDS if long else LIMIT_SECONDS
    jobs = [(name, job) for name, binary in binaries.items() for job in binary_jobs(*binary, prefix, limit)]
    exist("deep", suite, [job.title for _, job in jobs])
    deep = set(suite.get("deep", []))
    jobs = [(name, job) for name, job in jobs if (job.title in deep) == long]
    if long:
        behind, targets = long_selection(tree)
        more = built(tree, [*selection_of(suite, behind), *targets])
        binaries |= more
        jobs += [(name, job) for name, binary in more.items() for job in binary_jobs(*binary, prefix, limit)]
    owners = {name: binaries[name][1] for name, _ in jobs}
    parts = Counter()
    for name, job in jobs:
        if job.tests:
            parts[name] += len(job.tests)
    jobs = [job for _, job in jobs]
    if not long:
        jobs = in_order(jobs, suite)
        # First, because it builds before it runs.
        jobs.insert(0, Job("examples in docs", doc_tests(selection), tree, as_root({**os.environ}, prefix)))
    return parse.Libtest(owners, parts), jobs


def binary_jobs(message, package, prefix, limit=LIMIT_SECONDS):
    """The jobs that run a test binary as cargo would, each for `limit` seconds at most. Of a crate's `tests/all.rs` each module is
    a job of its own, in a process of its own, called crate/module; any other binary is one job, called crate/binary."""
    folder, target = Path(message["manifest_path"]).parent, message["target"]
    # cargo's line before it runs a binary, and the binary's environment.
    heading = f"     Running {Path(target['src_path']).relative_to(folder)} ({message['executable']})\n"
    given = {**os.environ, "CARGO_MANIFEST_DIR": str(folder), "CARGO_PKG_NAME": package}
    modules = modules_of(message["executable"]) if target["name"] == "all" else {target["name"]: ()}
    command = [*prefix, *limited([message["executable"], "--show-output"], limit)]
    return [Job(f"{folder.name}/{name}", command, folder, given, heading, tests, limit) for name, tests in modules.items()]


def modules_of(executable):
    """The tests of a binary by module: name of the module → its tests, each by its whole name; raises SuiteError if it has none."""
    told = subprocess.run([executable, "--list", "--format", "terse"], stdout=subprocess.PIPE, text=True, check=False)
    tests = [line.removesuffix(": test") for line in told.stdout.splitlines() if line.endswith(": test")]
    if told.returncode != 0 or not tests:
        raise SuiteError(f"{executable} lists no test")
    modules = {}
    for test in tests:
        modules.setdefault(test.split("::")[0], []).append(test)
    return {name: tuple(tests) for name, tests in modules.items()}


def exist(key, suite, titles):
    """Raises SuiteError if a key of the suite names tests that do not exist."""
    if gone := set(suite.get(key, [])) - set(titles):
        raise SuiteError(f"tests/suites.toml: `{key}` names {', '.join(sorted(gone))}; fix: name existing tests")


def doc_tests(selection):
    """The command that runs the examples in the documentation of all crates."""
    return ["cargo", "test", *selection, "--doc", "--no-fail-fast", "--", "--show-output"]


def as_root(env, prefix):
    """The variables by which cargo runs its binaries as root."""
    if not prefix:
        return env
    said = subprocess.check_output(["rustc", "-vV"], text=True).splitlines()
    host = next(line.split()[1] for line in said if line.startswith("host:"))
    return {**env, f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER": prefix[0]}


def in_order(jobs, suite):
    """The jobs, those of the suite's key `first` first; raises SuiteError if one of these does not exist."""
    exist("first", suite, [job.title for job in jobs])
    place = {name: number for number, name in enumerate(suite.get("first", []))}
    return sorted(jobs, key=lambda job: place.get(job.title, len(place)))
