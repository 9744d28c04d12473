"""Boards under QEMU for the tests: each in a network namespace of its own with a TAP, a console, QMP and gdb's wire.

`Board(name)` starts the image of scripts/firmware.sh as it is; `board.faults()` changes its memory as a debugger does, for rare
states of hardware: memory that is used up, a transmit ring that does not empty.
"""

import contextlib
import ctypes
import itertools
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
IMAGES = Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target"), "firmware")
MACHINES = {
    "zynq7000": ["-M", "xilinx-zynq-a9", "-m", "64M"],
    "mps2-an385": ["-M", "mps2-an385"],
}
# A wait is given up after this time; a machine with busy cores is slow, not broken.
PATIENCE_S = 60
HOST_IP = "10.55.0.1"
BOARD_IP = "10.55.0.2"
BOARD_MAC = bytes.fromhex("02000a370002")
numbers = itertools.count()
libc = ctypes.CDLL(None, use_errno=True)


def need(*features):
    """Raises SkipTest if one of these features of tests/skips.toml is missing; without names, those that a board needs."""
    probes = {
        "arm-none-eabi-gcc": ["sh", "-c", "command -v arm-none-eabi-gcc"],
        "riscv64-unknown-elf-gcc": ["sh", "-c", "command -v riscv64-unknown-elf-gcc"],
        "qemu": ["sh", "-c", "command -v qemu-system-arm"],
        "root": ["unshare", "--net", "true"],
        "tun": ["unshare", "--net", "ip", "tuntap", "add", "dev", "probe", "mode", "tap"],
    }
    for feature in features or probes:
        command = probes[feature]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            raise unittest.SkipTest(f"{feature}: a board is built, and started in a network namespace with a TAP")


def build():
    """Builds the images as `make firmware` does."""
    done = subprocess.run([TREE / "scripts/firmware.sh"], check=False, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)


def wait_for(what, look, every_s=0.02):
    """Waits until `look` is true and returns its value; fails with `what` after PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(every_s)
    return found


class Board:
    """A running board; as a context manager it ends the board."""

    def __init__(self, name, icount=None, image=None):
        self.name, self.icount = name, icount
        self.image = Path(image) if image else IMAGES / f"{name}.elf"
        self.namespace = f"wlfw{os.getpid()}n{next(numbers)}"
        self.process, self.folder, self.ready_s = None, None, None

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wlfw"))
        try:
            self._wire()
            self._start()
            wait_for("the board is ready", self._is_ready, every_s=0.001)
            self.ready_s = time.monotonic() - self.began
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        subprocess.run(["ip", "netns", "del", self.namespace], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wire(self):
        def ip(*words):
            subprocess.run(["ip", *words], check=True)

        ip("netns", "add", self.namespace)
        inside = ("-n", self.namespace)
        ip(*inside, "tuntap", "add", "dev", "tap0", "mode", "tap")
        ip(*inside, "addr", "add", f"{HOST_IP}/24", "dev", "tap0")
        # No frames of the host itself may arrive among those of a test.
        self.run("sysctl", "-qw", "net.ipv6.conf.tap0.disable_ipv6=1", check=False)
        ip(*inside, "link", "set", "tap0", "mtu", "9000", "txqueuelen", "10000", "up")
        ip(*inside, "link", "set", "lo", "up")

    def _start(self):
        mac = ":".join(f"{byte:02x}" for byte in BOARD_MAC)
        command = ["ip", "netns", "exec", self.namespace, "qemu-system-arm", *MACHINES[self.name]]
        command += ["-display", "none", "-monitor", "none", "-no-reboot", "-kernel", str(self.image)]
        if self.icount is not None:
            command += ["-icount", f"shift={self.icount},align=off,sleep=on"]
        for name, rest in {"u0": f",logfile={self.folder}/console", "q0": "", "g0": ""}.items():
            command += ["-chardev", f"socket,id={name},path={self.folder}/{name},server=on,wait=off{rest}"]
        command += ["-serial", "chardev:u0", "-qmp", "chardev:q0", "-gdb", "chardev:g0"]
        command += ["-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no", "-net", f"nic,netdev=n0,macaddr={mac}"]
        self.began = time.monotonic()
        with open(self.folder / "stderr", "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=errors)

    def _is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"QEMU ended: {(self.folder / 'stderr').read_text()}{self.console()}")
        return "READY " in self.console() and self.console().endswith("\n")

    def console(self):
        """What the board has printed so far."""
        log = self.folder / "console"
        return log.read_text(errors="replace") if log.exists() else ""

    def run(self, *command, check=True, **options):
        """Runs a program in the namespace."""
        return subprocess.run(["ip", "netns", "exec", self.namespace, *command], check=check, **options)

    @contextlib.contextmanager
    def inside(self):
        """Sockets made within belong to the namespace."""
        home = os.open("/proc/self/task/%d/ns/net" % libc.syscall(186), os.O_RDONLY)
        there = os.open(f"/var/run/netns/{self.namespace}", os.O_RDONLY)
        try:
            if libc.setns(there, 0):
                raise OSError(ctypes.get_errno(), "setns")
            yield
        finally:
            libc.setns(home, 0)
            os.close(home)
            os.close(there)

    def socket(self, *kind):
        """A socket in the namespace that waits PATIENCE_S at most."""
        with self.inside():
            made = socket.socket(*kind)
        made.settimeout(PATIENCE_S)
        return made

    def raw(self):
        """A socket for whole frames on the TAP."""
        made = self.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        made.bind(("tap0", 0))
        return made

    def ping(self, payload=56, within_s=None, count=1):
        """Whether `count` echo requests are answered in time, each with its payload."""
        with self.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as wire:
            for number in range(count):
                request = echo_request(number, payload)
                wire.sendto(request, (BOARD_IP, 0))
                end = time.monotonic() + (within_s or PATIENCE_S)
                answer = b""
                while not (answer[:1] == b"\0" and answer[4:] == request[4:]):
                    left = end - time.monotonic()
                    if left <= 0:
                        return False
                    wire.settimeout(left)
                    with contextlib.suppress(TimeoutError):
                        answer = wire.recv(65536)[20:]
            return True

    @contextlib.contextmanager
    def qmp(self):
        """A function that sends QEMU a command."""
        with socket.socket(socket.AF_UNIX) as wire:
            wire.settimeout(PATIENCE_S)
            wire.connect(str(self.folder / "q0"))
            lines = wire.makefile("rw")
            json.loads(lines.readline())

            def command(execute, **arguments):
                lines.write(json.dumps({"execute": execute, "arguments": arguments}) + "\n")
                lines.flush()
                while "return" not in (answer := json.loads(lines.readline())):
                    assert "error" not in answer, answer
                return answer["return"]

            command("qmp_capabilities")
            try:
                yield command
            finally:
                lines.close()

    def link(self, up):
        """Pulls the cable or plugs it in again."""
        with self.qmp() as command:
            command("set_link", name="n0", up=up)

    def faults(self):
        """The board's memory, while it stands still."""
        return Debugger(self)


class Debugger:
    """gdb's remote protocol for access to memory: the board is stopped within `with`."""

    def __init__(self, board):
        self.board = board
        self.symbols, self.sizes = {}, {}
        table = subprocess.run(["arm-none-eabi-nm", "-S", board.image], check=True, capture_output=True, text=True)
        for line in table.stdout.splitlines():
            words = line.split()
            self.symbols[words[-1]] = int(words[0], 16)
            if len(words) == 4:
                self.sizes[words[-1]] = int(words[1], 16)

    def __enter__(self):
        self.wire = socket.socket(socket.AF_UNIX)
        self.wire.settimeout(PATIENCE_S)
        self.wire.connect(str(self.board.folder / "g0"))
        self.came = b""
        self.ask("?")
        return self

    def __exit__(self, *_):
        # A board that continues may end before its answer.
        with contextlib.suppress(OSError):
            self.ask("D")
        self.wire.close()

    def ask(self, text):
        """Sends a packet and returns the answer."""
        self.wire.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())
        # QEMU also reports on its own that the core stopped, so such a report answers only that question.
        while (answer := self.packet()).startswith("T") and text not in "?c":
            pass
        return answer

    def packet(self):
        """The next packet."""
        while not (found := re.search(rb"\$([^#]*)#..", self.came)):
            if not (more := self.wire.recv(65536)):
                raise ConnectionResetError("QEMU ended")
            self.came += more
        self.came = self.came[found.end() :]
        self.wire.sendall(b"+")
        return found[1].decode()

    def bytes(self, address, count):
        """Memory."""
        return bytes.fromhex(self.ask(f"m{address:x},{count:x}"))

    def at(self, symbol, offset=0):
        """The word at a symbol."""
        return struct.unpack("<I", self.bytes(self.symbols[symbol] + offset, 4))[0]

    def put(self, symbol, value, offset=0):
        """Writes the word at a symbol."""
        self.write(self.symbols[symbol] + offset, struct.pack("<I", value))

    def write(self, address, data):
        """Writes memory."""
        answer = self.ask(f"M{address:x},{len(data):x}:{data.hex()}")
        assert answer == "OK", answer

    def jump(self, address):
        """Continues the core at another address."""
        registers = self.ask("g")
        answer = self.ask("G" + registers[: 8 * 15] + struct.pack("<I", address).hex() + registers[8 * 16 :])
        assert answer == "OK", answer

    def stop_in(self, symbol):
        """Continues the core until it is in a function."""
        at = self.symbols[symbol]
        assert self.ask(f"Z0,{at:x},2") == "OK"
        self.ask("c")
        assert self.ask(f"z0,{at:x},2") == "OK"

    def call(self, symbol, *arguments):
        """Calls a function of the board's code, while nothing else runs there, and returns its result."""
        before = self.ask("g")
        words = list(struct.unpack("<16I", bytes.fromhex(before[: 8 * 16])))
        back = self.symbols["main"]
        words[: len(arguments)] = arguments
        words[14], words[15] = back | 1, self.symbols[symbol]
        assert self.ask(f"Z0,{back:x},2") == "OK"
        assert self.ask("G" + struct.pack("<16I", *words).hex() + before[8 * 16 :]) == "OK"
        self.ask("c")
        result, ended = self.registers()[0], self.registers()[15]
        assert ended == back, hex(ended)
        assert self.ask(f"z0,{back:x},2") == "OK"
        assert self.ask("G" + before) == "OK"
        return result

    def registers(self):
        """R0 to R15."""
        return struct.unpack("<16I", bytes.fromhex(self.ask("g")[: 8 * 16]))

    def function(self):
        """The function in which the core is."""
        counter = self.registers()[15]
        for name, size in self.sizes.items():
            if 0 <= counter - self.symbols[name] < size:
                return name
        return f"0x{counter:x}"

    def counters(self, source):
        """The counters of a MAC's driver, by the names in its source."""
        names = re.search(r"counter_names\[\w*\] = \{(.*?)\}", Path(source).read_text(), re.S)
        names = re.findall(r'"(\w+)"', names[1])
        values = struct.unpack(f"<{len(names)}Q", self.bytes(self.symbols["counters"], 8 * len(names)))
        return dict(zip(names, values, strict=True))


def checksum(data):
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_request(number, payload):
    """An ICMP echo request whose payload has distinct bytes."""
    body = struct.pack(">HH", os.getpid() & 0xFFFF, number) + bytes(n % 251 for n in range(payload))
    return struct.pack(">BBH", 8, 0, checksum(b"\x08\0\0\0" + body)) + body


def ethernet(frame_type, payload, to=BOARD_MAC, sender=bytes.fromhex("0200000000fe")):
    """A frame without FCS."""
    return to + sender + struct.pack(">H", frame_type) + payload


def ipv4(protocol, payload, length=None):
    """A datagram from the host to the board; `length` is the length in its header."""
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length or 20 + len(payload), 7, 0, 64, protocol, 0,
                         socket.inet_aton(HOST_IP), socket.inet_aton(BOARD_IP))
    return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + payload
