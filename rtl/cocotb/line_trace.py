"""The traces of the port level tests: which signal changed in which cycle. Both simulators must give the same."""

import json
import os

from cocotb.triggers import FallingEdge


class Trace:
    """The changes, cycle by cycle, and the carriers on the sending line."""

    def __init__(self, dut, watched, enable):
        """`watched` names the signals; `enable` is the byte enable of the line."""
        self.dut, self.changes, self.carriers, self.cycle = dut, [], [], 0
        self.watched, self.enable, self.data = {name: getattr(dut, name) for name in watched}, enable, dut.gmii_txd
        self.at = {}
        self.frame, self.silence = None, 0

    async def run(self):
        """Samples in the middle of each cycle, when all is settled in either simulator."""
        before = {}
        while True:
            await FallingEdge(self.dut.clk)
            now = {name: int(handle.value) for name, handle in self.watched.items()}
            for name, value in now.items():
                if value != before.get(name, 0):
                    self.note(name, value)
                    self.at.setdefault(name, []).append((self.cycle, value))
            self.line(now)
            before = now
            self.cycle += 1

    def note(self, name, value):
        """Adds a change in this cycle."""
        self.changes.append((self.cycle, name, value))

    def line(self, now):
        """Collects carriers: the silence before, the bytes."""
        if int(self.enable.value) == 0:
            return
        if not now["gmii_tx_en"]:
            if self.frame is not None:
                self.carriers.append((self.silence, bytes(self.frame)))
                self.frame, self.silence = None, 0
            self.silence += 1
            return
        if self.frame is None:
            self.frame = bytearray()
        self.frame.append(int(self.data.value))

    def rises(self, name):
        """The cycles in which a signal rose."""
        return [cycle for cycle, value in self.at.get(name, []) if value]

    def falls(self, name):
        """The cycles in which a signal fell."""
        return [cycle for cycle, value in self.at.get(name, []) if not value]

    def write(self, test):
        """Adds the trace to the file of this simulator."""
        line = {"test": test, "cycles": self.cycle, "changes": self.changes, "carriers": [(s, f.hex()) for s, f in self.carriers]}
        with open(os.environ["WIRELAB_TRACE"], "a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")
