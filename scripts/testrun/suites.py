"""Starts the suites of tests/suites.toml and feeds their output to a reader."""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

from . import parse

FORMATS = {"unittest": parse.Unittest, "tap": parse.Tap}
# How long the output may stay open after the suite itself has ended.
DRAIN_SECONDS = 10


class SuiteError(Exception):
    """A suite could not be started or built, or ended badly without saying which test failed."""


def load(text):
    """The suites in order. Raises SuiteError."""
    suites = tomllib.loads(text).get("suite", [])
    for suite in suites:
        if extra := set(suite) - {"name", "format", "command", "needs", "long"}:
            raise SuiteError(f"suite {suite.get('name')}: unknown key {', '.join(sorted(extra))}")
        if suite.get("format") not in {"cargo", *FORMATS} or not suite.get("name"):
            raise SuiteError(f"a suite needs a name and a format of cargo, {', '.join(FORMATS)}: {suite}")
        if suite["format"] != "cargo" and not suite.get("command"):
            raise SuiteError(f"suite {suite['name']} has no command")
    if not suites:
        raise SuiteError("tests/suites.toml lists no suite")
    return suites


def stream(command, reader, cwd, env=None):
    """Runs a command, shows its output as it comes, feeds the reader; returns the exit status."""
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines = queue.Queue()

    def pump():
        for line in process.stdout:
            lines.put(line.decode("utf-8", "replace"))
        lines.put(None)

    threading.Thread(target=pump, daemon=True).start()
    left_open = False
    while True:
        try:
            # A suite may be silent as long as it lives; once it has ended a stray child may hold the pipe.
            line = lines.get(timeout=DRAIN_SECONDS)
        except queue.Empty:
            if process.poll() is None:
                continue
            left_open = True
            break
        if line is None:
            break
        if reader.feed(line):
            sys.stdout.write(line)
            sys.stdout.flush()
    status = process.wait()
    reader.finish()
    if not left_open:
        process.stdout.close()
    else:
        raise SuiteError("a process that the tests started outlives them and holds their output")
    return status


def run_plain(suite, tree):
    """A suite with a command and a format of its own; returns its tallies."""
    reader = FORMATS[suite["format"]](suite["name"])
    status = stream(suite["command"], reader, tree)
    return judged(reader, status, suite["name"])


def judged(reader, status, name):
    """The tallies, with a problem if the command failed and no test says why."""
    if status != 0 and not any(tally.failed for tally in reader.tallies.values()):
        reader.tally(name).failed += 1
        reader.tally(name).problems.append(f"ended with status {status} though no test failed")
    return reader.tallies


def cargo_json(arguments, tree):
    """Runs cargo and returns the JSON lines it prints; diagnostics go to the terminal."""
    done = subprocess.run(["cargo", *arguments], cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SuiteError(f"cargo {arguments[0]} failed (see above)")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def long_selection(tree):
    """Arguments that select the tests behind the feature `long`; raises SuiteError if there are none."""
    (metadata,) = cargo_json(["metadata", "--format-version=1", "--no-deps", "--locked"], tree)
    features, names = set(), []
    for package in metadata["packages"]:
        for target in package["targets"]:
            if "long" in target.get("required-features", []):
                features.add(f"{package['name']}/long")
                names += ["--test", target["name"]]
    if not names:
        raise SuiteError("no test target requires the feature `long`")
    # A hundred million frames are a matter for optimised code.
    return ["--release", "--features", ",".join(sorted(features)), *names]


def root_prefix(tree):
    """What runs a command as root here: nothing for root, the sudo wrapper, or nothing with a warning."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        print("tests: ports and eBPF need root, so the test binaries (not the build) run under sudo", flush=True)
        if subprocess.run(["sudo", "-v"], check=False).returncode == 0:
            return [str(Path(tree, "scripts/as-root.sh"))]
    print("tests: no root (and no sudo), so tests that need network namespaces or eBPF are skipped", flush=True)
    return []


def run_cargo(tree, long, prefix):
    """All Rust tests of the workspace; returns their tallies."""
    # --workspace and a selection of features keep the two calls on one build.
    selection = ["--workspace", "--locked", *(long_selection(tree) if long else [])]
    os.environ.update({"CARGO_TERM_COLOR": "never", "CARGO_TERM_QUIET": "false"})
    messages = cargo_json(["test", *selection, "--no-run", "--message-format=json-render-diagnostics"], tree)
    binaries = {
        Path(message["executable"]).name: Path(message["manifest_path"])
        for message in messages
        if message.get("executable") and message.get("profile", {}).get("test")
    }
    binaries = {name: tomllib.loads(path.read_text())["package"]["name"] for name, path in binaries.items()}
    env = dict(os.environ)
    if long:
        env["WIRELAB_LONG"] = "1"
    if prefix:
        host = next(
            line.split()[1]
            for line in subprocess.check_output(["rustc", "-vV"], text=True).splitlines()
            if line.startswith("host:")
        )
        env[f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER"] = prefix[0]
    reader = parse.Libtest(binaries)
    status = stream(["cargo", "test", *selection, "--no-fail-fast", "--", "--show-output"], reader, tree, env)
    return judged(reader, status, "cargo")
