"""What the figures were measured on: processor, kernel, versions, date."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path


def first_line(*words):
    """The first line a command says, or a dash."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        return "not installed"
    lines = done.stdout.strip().split("\n")
    return lines[0].strip() or "–"


def processor():
    found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return found.group(1) if found else platform.machine()


def hypervisor():
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return "in a virtual machine" if flags and "hypervisor" in flags.group(1).split() else "no hypervisor seen"


def clock():
    path = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return path.read_text().strip() if path.is_file() else "–"


def distribution():
    release = Path("/etc/os-release")
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', release.read_text(), re.M) if release.is_file() else None
    return found.group(1) if found else "–"


def simpy_version():
    """The version that the set-up installs."""
    text = Path(__file__).resolve().parents[1].joinpath("lib/setup-simpy.sh").read_text()
    return re.search(r"^SIMPY_VERSION=(\S+)$", text, re.M).group(1)


def busy():
    """A warning where others use the processors: wall-clock figures are then low and scatter."""
    load = os.getloadavg()[0]
    if load < 0.5:
        return ""
    return f"**The machine was busy** (load {load:.2f} before the run): do not rely on these figures, measure again."


def describe(tree):
    """Rows of name and value."""
    revision = first_line("git", "-C", str(tree), "describe", "--always", "--dirty")
    return [
        ("processor", f"{processor()}, {os.cpu_count()} cores, {hypervisor()}"),
        ("load before the run", f"{os.getloadavg()[0]:.2f}"),
        ("kernel", f"{platform.system()} {re.sub(r'-.*', '', platform.release())}, clock source {clock()}"),
        ("distribution", distribution()),
        ("wirelab", revision),
        ("Rust", first_line("rustc", "--version")),
        ("trafgen", first_line("trafgen", "--version")),
        ("xdp-trafficgen", first_line("xdp-trafficgen", "udp", "--version")),
        ("SimPy", f"{simpy_version()}, Python {platform.python_version()}"),
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
    ]
