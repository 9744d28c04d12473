"""A small client of node control (spec/node-control.md) for the boards' tests, over UDP or the serial line."""

import itertools
import re
import socket
import sys
import time

import lab

sys.path.insert(0, str(lab.TREE / "spec/vectors"))

import generate  # noqa: E402

PORT = 5002
nonces = itertools.count(int(time.time()) & 0xFFFFFFF)


def check(line):
    """CRC-16/IBM-3740."""
    crc = 0xFFFF
    for byte in line:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ (0x1021 if crc & 0x8000 else 0)
        crc &= 0xFFFF
    return crc


def encode(text):
    """A request as it goes out."""
    line = text.encode()
    return line + b" *%04X\n" % check(line)


class Refused(Exception):
    """The node answered with an error."""


class Client:
    """A session; `wire` has send() and receive(), each a line."""

    def __init__(self, wire):
        self.wire, self.number = wire, 0
        nonce = next(nonces)
        _, self.about = self.exchange(f"0.{nonce}", "hello version=1")
        self.session = self.about["session"]

    def ask(self, command, **fields):
        """The fields of the answer."""
        self.number += 1
        words = [command, *(f"{key}={value}" for key, value in fields.items() if value is not None)]
        _, answer = self.exchange(f"{self.session}.{self.number}", " ".join(words))
        return answer

    def exchange(self, number, text):
        """Sends until the answer with this number comes."""
        wait_s, end = 0.1, time.monotonic() + lab.PATIENCE_S
        while time.monotonic() < end:
            self.wire.send(encode(f"?{number} {text}"))
            repeat = time.monotonic() + wait_s
            while (left := repeat - time.monotonic()) > 0:
                line = self.wire.receive(left)
                found = line and re.fullmatch(rb"([=!])(\S+) (.*?) \*([0-9A-F]{4})\r?\n?", line)
                if not found or found[2].decode() != number:
                    continue
                assert int(found[4], 16) == check(line[: line.rindex(b" *")]), line
                if found[1] == b"!":
                    raise Refused(found[3].decode())
                name, *fields = found[3].decode().split(" ")
                return name, dict(field.split("=", 1) for field in fields)
            wait_s = min(2 * wait_s, 2)
        raise AssertionError(f"no answer to {text}")

    def pages(self, command, prefix, **fields):
        """All items of a list."""
        items, at, count = {}, 0, 1
        while at < count:
            page = self.ask(command, **{"from": at}, **fields)
            items |= {key[len(prefix) :]: value for key, value in page.items() if key.startswith(prefix)}
            at, count = int(page["next"]), int(page["count"])
        return items

    def start(self, **fields):
        """Starts a trial; the answer."""
        return self.ask("start", **fields)

    def ended(self, trial):
        """The status of a trial once it has ended."""
        return lab.wait_for(
            "the trial ends",
            lambda: (status := self.ask("status", trial=trial)) and status["state"] != "running" and status,
        )

    def counters(self, trial):
        """The counters of a trial as numbers."""
        return {name: int(value) for name, value in self.pages("counters", "c.", trial=trial).items()}


class Udp:
    """Lines as datagrams."""

    def __init__(self, board):
        self.socket = board.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((lab.BOARD_IP, PORT))

    def send(self, line):
        """One line."""
        self.socket.send(line)

    def receive(self, within_s):
        """The next line, or nothing."""
        self.socket.settimeout(within_s)
        try:
            return self.socket.recv(2048)
        except (TimeoutError, ConnectionRefusedError):
            return b""


class Uart:
    """Lines on the serial line."""

    def __init__(self, board):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(board.folder / "u0"))
        self.came = b""
        self.socket.send(b"\n")

    def send(self, line):
        """One line."""
        self.socket.settimeout(lab.PATIENCE_S)
        self.socket.sendall(line)

    def receive(self, within_s):
        """The next line, or nothing."""
        end = time.monotonic() + within_s
        while b"\n" not in self.came:
            self.socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                self.came += self.socket.recv(65536)
            except TimeoutError:
                return b""
        line, self.came = self.came.split(b"\n", 1)
        return line + b"\n"


def test_frame(sequence, datagram_bytes, stream=0):
    """A datagram of the test flow, by the program that writes its vectors."""
    count = datagram_bytes - 18
    return generate.header(stream=stream, sequence=sequence, lfsr_len=count) + generate.lfsr(sequence, count)
