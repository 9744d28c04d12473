"""The cost of counting: the same work in QEMU without and with the plugin, as processor time of the whole process."""

import mmap
import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median

import page
from subjects import TREE, Missing

ROUNDS = 30_000_000
MOST = 3
# The layout of crates/board/src/machine/ring/mod.rs.
MAGIC, HEADER_BYTES, RECORD_BYTES, RECORDS = 0x51574C31, 128, 40, 1 << 17
WANTED, ARMED, HEAD, TAIL, NOW = 16, 24, 40, 48, 64
BEGINS = 1
QEMU = ["qemu-system-arm", "-M", "xilinx-zynq-a9", "-m", "64M", "-display", "none", "-monitor", "none", "-serial", "none",
        "-nic", "none", "-semihosting-config", "enable=on,target=native"]
ICOUNT = ["-icount", "shift=7,align=off,sleep=on"]


def run(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()
        raise Missing(last[-1] if last else f"{words[0]} failed")
    return done.stdout


def build(folder):
    """The image, and the plugin as crates/board/build.rs makes it."""
    image, plugin = Path(folder, "loop.elf"), Path(folder, "wirelab.so")
    try:
        run(["arm-none-eabi-gcc", "-O2", "-marm", "-mcpu=cortex-a9", "-nostdlib", "-ffreestanding", f"-DROUNDS={ROUNDS}u",
             "-Wl,-Ttext=0x100000,-e,_start", "-o", image, TREE / "scripts/bench/loop.c"])
        run(["cc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-o", plugin, TREE / "qemu-plugin/wirelab.c"])
        symbols = run(["arm-none-eabi-nm", "-n", image])
    except FileNotFoundError as why:
        raise Missing(str(why)) from why
    lines = [line.split() for line in symbols.splitlines()]
    starts = sorted(int(address, 16) for address, kind, _ in lines if kind in "tT")
    return image, plugin, list(zip(starts, starts[1:] + [starts[-1] + 64])), int(symbols_of(lines, "work"), 16)


def symbols_of(lines, name):
    return next(address for address, _, symbol in lines if symbol == name)


def share(folder, functions, begin, kinds, records):
    """The plugin's shared memory."""
    points = [(begin, 0, BEGINS)] if records else []
    size = HEADER_BYTES + 16 * (len(points) + len(functions)) + RECORD_BYTES * RECORDS
    head = struct.pack("=7I", MAGIC, len(points), len(functions), RECORDS, int(kinds), 0, int(records)).ljust(HEADER_BYTES, b"\0")
    table = b"".join(struct.pack("=QII", *point) for point in points) + b"".join(struct.pack("=QQ", *f) for f in functions)
    path = Path(folder, "shm")
    path.write_bytes((head + table).ljust(size, b"\0"))
    return path


def take(path, over, seen):
    """Reads the ring empty, as wirelab does while a frame is in flight."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        while not over.is_set():
            head = memory[HEAD:HEAD + 8]
            memory[TAIL:TAIL + 8] = head
            time.sleep(0.0005)
        seen.append((struct.unpack("=Q", memory[HEAD:HEAD + 8])[0], struct.unpack("=Q", memory[NOW:NOW + 8])[0]))


def processor_seconds(words):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise Missing(f"{words[0]} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def once(folder, built, name, icount):
    """Processor time of a run in s."""
    image, plugin, functions, begin = built
    words = [*QEMU, *icount, "-kernel", str(image)]
    if name == "none":
        return processor_seconds(words)
    path = share(folder, functions, begin, name == "kinds", name == "records")
    over, seen = threading.Event(), []
    reader = threading.Thread(target=take, args=(path, over, seen))
    reader.start()
    try:
        took = processor_seconds([*words, "-plugin", f"{plugin},shm={path}"])
    finally:
        over.set()
        reader.join()
    records, instructions = seen[0]
    if instructions < ROUNDS or (records > ROUNDS) != (name == "records"):
        raise Missing(f"the plugin counted {instructions} instructions and recorded {records} steps")
    return took


SUBJECTS = {
    "counting": "counting each instruction",
    "kinds": "counting loads and stores too",
    "records": "recording each step between functions, as while a frame is in flight",
}
MODES = {"with -icount": ICOUNT, "by the wall clock": []}


def rows(paired, subjects, rounds):
    try:
        built = build(subjects.folder)
        runs = {(name, mode): [] for mode in MODES for name in ["none", *SUBJECTS]}
        for number in range(rounds):
            for name, mode in list(runs)[:: -1 if number % 2 else 1]:
                runs[name, mode].append(once(subjects.folder, built, name, MODES[mode]))
    except Missing as why:
        print(f"plugin: {why}", file=sys.stderr)
        return [{"what": "QEMU's plugin", "requirement": f"≤ {MOST} ×", "goal": "–", "ours": str(why), "peer": "–", "ratio": "–",
                 "verdict": "missed", "runs": []}]
    return [row(paired, runs, name, mode) for mode in MODES for name in SUBJECTS]


def row(paired, runs, name, mode):
    ours, theirs = runs[name, mode], runs["none", mode]
    ratio = paired(list(zip(ours, theirs)))
    return {
        "what": f"QEMU's plugin, {SUBJECTS[name]}, {mode}; processor time without the plugin", "requirement": f"≤ {MOST} ×",
        "goal": "–", "ours": f"{median(ours):.2f} s", "peer": f"{median(theirs):.2f} s", "ratio": page.ratio(ratio),
        "verdict": page.verdict(ratio["ratio"] <= MOST, MOST, None),
        "runs": [("wirelab", "s", ours), ("without", "s", theirs)],
    }
