"""Node control (spec/node-control.md) over a board's serial line, as a client of a few lines."""

import contextlib
import socket
import time
from urllib.parse import unquote

import lab

# A request is repeated after this time: a board does not listen during a counted trial.
AGAIN_S = 2.0


def crc16(data):
    """CRC-16/IBM-3740."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ (0x1021 if crc & 0x8000 else 0)
        crc &= 0xFFFF
    return crc


class Refused(AssertionError):
    """An error line of the node."""


class Control:
    """A session on the serial line of a lab.Board; a context manager that closes it."""

    def __init__(self, board):
        self.board = board
        self.session, self.number = 0, int(time.monotonic() * 1000) & 0xFFFFFFF
        self.came = b""

    def __enter__(self):
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(str(self.board.folder / "u0"))
        # Ends a partly received line.
        self.line.sendall(b"\n")
        self.hello = self.ask("hello", version=1)
        self.session, self.number = int(self.hello["session"]), 0
        return self

    def __exit__(self, *_):
        self.line.close()

    def ask(self, command, **fields):
        """The fields of the reply."""
        self.number += 1
        mark = f"{self.session}.{self.number}"
        line = " ".join([f"?{mark} {command}", *(f"{key}={value}" for key, value in fields.items())])
        line = f"{line} *{crc16(line.encode()):04X}\n".encode()
        end = time.monotonic() + lab.PATIENCE_S
        while time.monotonic() < end:
            self.line.sendall(line)
            if answer := self._answer(mark):
                words = answer.split()[1:-1]
                if answer[0] == "!":
                    raise Refused(answer)
                return dict(word.split("=", 1) for word in words if "=" in word)
        raise AssertionError(f"no answer to {line}; the console says: {self.board.console()[-2000:]}")

    def _answer(self, mark):
        end = time.monotonic() + AGAIN_S
        while (left := end - time.monotonic()) > 0:
            line, found, rest = self.came.partition(b"\n")
            if found:
                self.came = rest
                text = line.decode(errors="replace")
                if text[:1] in ("=", "!") and text[1:].split(" ")[0] == mark:
                    assert int(text[-4:], 16) == crc16(line[:-6]), text
                    return text
                continue
            self.line.settimeout(left)
            with contextlib.suppress(TimeoutError):
                more = self.line.recv(65536)
                if not more:
                    raise AssertionError(f"the board ended: {self.board.console()[-2000:]}")
                self.came += more
        return None

    def trial(self, **fields):
        """Runs a trial to its end; returns the status."""
        started = self.ask("start", **fields)
        while (status := self.ask("status", trial=started["trial"]))["state"] == "running":
            time.sleep(0.05)
        if status["state"] != "done":
            raise AssertionError(f"{fields}: {status}")
        return started | status

    def setup(self):
        """All set-up keys with their texts."""
        found = self._pages("hello")
        return {key[4:]: unquote(text) for page in found for key, text in page.items() if key.startswith("set.")}

    def counters(self, trial):
        """All counters of a trial."""
        found = self._pages("counters", trial=trial)
        return {key[2:]: int(value) for page in found for key, value in page.items() if key.startswith("c.")}

    def captures(self, trial):
        """The points of a trial as (name, {sequence: ticks}), in their order."""
        points, wanted = [], 1
        while len(points) < wanted:
            pages = self._pages("captures", trial=trial, point=len(points))
            records = {}
            for page in pages:
                for pair in page["data"].split(",") if page.get("data") else []:
                    sequence, ticks = map(int, pair.split(":"))
                    records[int(page["base_sequence"]) + sequence] = int(page["base_ticks"]) + ticks
            wanted = int(pages[0]["points"])
            points.append((pages[0]["name"], records))
        return points

    def _pages(self, command, **fields):
        pages, start = [], 0
        while True:
            page = self.ask(command, **fields, **{"from": start})
            pages.append(page)
            start = int(page["next"])
            if start >= int(page["count"]):
                return pages
