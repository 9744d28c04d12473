"""The machine of the figures: processor, kernel, versions, date."""

import datetime
import os
import platform
import re
import subprocess
import time
from pathlib import Path

# With more processors in use by other programs, figures are unreliable.
QUIET = 0.1


def first_line(*words):
    """The first line of a command's output, or a dash."""
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
    """SimPy's version, as the set-up installs it."""
    text = Path(__file__).resolve().parents[1].joinpath("lib/setup-simpy.sh").read_text()
    return re.search(r"^SIMPY_VERSION=(\S+)$", text, re.M).group(1)


def used(before, after):
    """Processors in use between two readings of /proc/stat; time taken by the hypervisor counts as used."""

    def read(text):
        ticks = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]

    (total0, idle0), (total1, idle1) = read(before), read(after)
    cores = len(re.findall(r"^cpu\d", after, re.M))
    return cores * (1 - (idle1 - idle0) / max(1, total1 - total0))


def used_now(seconds=3):
    """Processors in use by other programs. The load average would still include the builds before."""
    stat = Path("/proc/stat")
    before = stat.read_text()
    time.sleep(seconds)
    return used(before, stat.read_text())


def busy(processors):
    """A warning if other programs use the processors: wall-clock figures are then low and scatter."""
    if processors < QUIET:
        return ""
    return (
        f"**The machine was busy** ({processors:.2f} processors in use before the run): do not rely on these figures, "
        "measure again."
    )


def describe(tree, processors, trafficgen):
    """Rows of name and value."""
    revision = first_line("git", "-C", str(tree), "describe", "--always", "--dirty")
    return [
        ("processor", f"{processor()}, {os.cpu_count()} cores, {hypervisor()}"),
        ("in use before the run", f"{processors:.2f} processors"),
        ("kernel", f"{platform.system()} {re.sub(r'-.*', '', platform.release())}, clock source {clock()}"),
        ("distribution", distribution()),
        ("wirelab", revision),
        ("Rust", first_line("rustc", "--version")),
        ("trafgen", first_line("trafgen", "--version")),
        ("xdp-trafficgen", first_line(trafficgen, "udp", "--version")),
        ("SimPy", f"{simpy_version()}, Python {platform.python_version()}"),
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
    ]
