#!/usr/bin/env python3
"""guest.py WIRELAB CARD.ko [ptp_only], in the virtual machine of scripts/kernel/run.sh: runs wirelab with a card that stamps
frames, and prints the results as JSON."""

import array
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

FINIT_MODULE = 313
SIOCGHWTSTAMP = 0x89B1
HOST, NODE = "10.78.0.1", "10.78.0.2"
ECHO = ["--layer", "udp4", "--datagram", "64", "--load", "50pps", "--direction", "echo"]
RESULTS = Path("/run/results.json")


def stamps(interface="card0"):
    """The current settings of stamps: the type for sent frames and the filter for received ones."""
    config = array.array("i", [0, 0, 0])
    request = struct.pack("16sP16x", interface.encode(), config.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCGHWTSTAMP, request)
    return config[1], config[2]


def load(path, options):
    """Loads the module, without insmod."""
    descriptor = os.open(path, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).syscall(FINIT_MODULE, descriptor, options.encode(), 0):
        raise OSError(ctypes.get_errno(), f"{path} is not loaded")
    os.close(descriptor)


def lay_out():
    """Sets up both ports of the card, the second in a namespace of its own."""
    for words in (
        "netns add node", "link set card1 netns node",
        f"addr add {HOST}/24 dev card0", "link set card0 up",
        f"-n node addr add {NODE}/24 dev card1", "-n node link set card1 up", "-n node link set lo up",
    ):
        subprocess.run(["ip", *words.split()], check=True)


def measured(wirelab, *words):
    """The set-up, the paths and the series of a complete run."""
    done = subprocess.run([wirelab, "measure", f"node:{NODE}", *words, "-o", RESULTS], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return json.loads(RESULTS.read_text())


def ended_by(wirelab, number):
    """The settings of stamps during a run, and after a signal has ended it."""
    run = subprocess.Popen([wirelab, "measure", f"node:{NODE}", *ECHO, "--time", "60s"], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while stamps() == (0, 0) and time.monotonic() < end:
        time.sleep(0.1)
    during = stamps()
    time.sleep(1)
    run.send_signal(number)
    run.wait(60)
    return during, stamps()


def main():
    """Entry point."""
    wirelab, module, *rest = sys.argv[1:]
    load(module, " ".join(f"{name}=1" for name in rest))
    lay_out()
    node = subprocess.Popen(["ip", "netns", "exec", "node", wirelab, "node", "serve", "--listen", NODE], stdout=subprocess.PIPE, text=True)
    node.stdout.readline()
    seen = {"echo": measured(wirelab, *ECHO, "--time", "2s"), "after echo": stamps()}
    if not rest:
        seen["sent by the node"] = measured(wirelab, *ECHO[:-2], "--direction", "tx", "--time", "2s")
        seen["SIGTERM"] = ended_by(wirelab, signal.SIGTERM)
        seen["SIGKILL"] = ended_by(wirelab, signal.SIGKILL)
        measured(wirelab, *ECHO, "--time", "1s")
        seen["the next run"] = stamps()
    node.terminate()
    node.wait(60)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
