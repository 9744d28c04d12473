"""Port level tests of ethernet_port, for cocotb: cocotbext-axi at its registers, cocotbext-eth on its line, from generator to checker.

The same module runs on the sources in GHDL and on their translation in Verilator (`rtl/cocotb/run.py`). Each test writes a
trace of the changes in each cycle and of the values read, and both traces must be equal. Frames are built and judged by
rtl/tb/frame_model.py.
"""

import itertools
import logging
import random
import sys
import zlib
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource
from line_trace import Trace

RTL = Path(__file__).resolve().parents[1]
sys.path += [str(RTL / "tools"), str(RTL / "tb")]

import frame_model as model  # noqa: E402
import registers  # noqa: E402

PERIOD_NS = 8
STREAM = 7
FLOW = model.Flow(stream=STREAM)
# Bytes around a payload on the line: header, FCS, preamble and gap; and those of a tag.
AROUND, TAG = 38, 4
BAD_FCS, STALE = 5, 6
PLACES = {name: (node.absolute_address, node.size) for node, name in registers.registers_of(registers.MAPS / "ethernet_port.rdl")}
WATCHED = (
    "gmii_tx_en gmii_tx_er decided wanted result_valid result_wanted s_axil_awready s_axil_wready s_axil_bvalid s_axil_arready"
    " s_axil_rvalid"
).split()


class Port:
    """The port after its reset, its registers behind a master and a cable from its line to itself."""

    def __init__(self, dut):
        self.dut, self.trace = dut, Trace(dut, WATCHED, dut.tx_ce)
        # Carriers into the cable, and out of it.
        self.left, self.arrived = [], []
        self.spoil = {}

    async def start(self):
        """Drives every input before the first edge, resets, and only then connects: the models cannot read a 'U'."""
        dut = self.dut
        logging.getLogger(f"cocotb.{dut._name}").setLevel("WARNING")
        for name in "gmii_rxd gmii_rx_dv gmii_rx_er word".split():
            getattr(dut, name).value = 0
        for name in "awvalid awaddr awprot wvalid wdata wstrb bready arvalid araddr arprot rready".split():
            getattr(dut, f"s_axil_{name}").value = 0
        dut.tx_ce.value = dut.rx_ce.value = dut.rst.value = 1
        Clock(dut.clk, PERIOD_NS, "ns").start()
        await self.cycles(4)
        dut.rst.value = 0
        await self.cycles(20)
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.sink = GmiiSink(dut.gmii_txd, dut.gmii_tx_er, dut.gmii_tx_en, dut.clk)
        self.line = GmiiSource(dut.gmii_rxd, dut.gmii_rx_er, dut.gmii_rx_dv, dut.clk)
        cocotb.start_soon(self._cable())
        cocotb.start_soon(self.trace.run())
        return self

    async def _cable(self):
        """Passes on each frame when it is whole; `spoil` says how to damage some, by their numbers."""
        while True:
            frame = await self.sink.recv()
            raw = bytes(frame.get_payload(strip_fcs=False))
            self.left.append(raw)
            raw = self.spoil.get(len(self.left) - 1, bytes)(raw)
            self.arrived.append(raw)
            await self.line.send(GmiiFrame.from_raw_payload(raw))

    async def cycles(self, count):
        """Lets cycles pass."""
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def write(self, name, value):
        """Writes all words of a register."""
        place, size = PLACES[name]
        assert (await self.master.write(place, value.to_bytes(size, "little"))).resp == AxiResp.OKAY, name

    async def read(self, name):
        """Reads all words of a register, the low one first."""
        answer = await self.master.read(*PLACES[name])
        assert answer.resp == AxiResp.OKAY, name
        value = int.from_bytes(answer.data, "little")
        self.trace.note(name, value)
        return value

    async def expect(self, **values):
        """Compares registers with what they must be."""
        assert {name: await self.read(name) for name in values} == values

    async def send(self, frames, payload, control=0, spoil=None):
        """Has the generator send so many frames of such a payload, and waits until the checker has judged the last."""
        self.left, self.arrived, self.spoil = [], [], spoil or {}
        await self.write("GENERATOR_CONTROL", 0)
        for name, value in (("PAYLOAD_BYTES", payload), ("FRAME_COUNT", frames), ("FLOW", STREAM << 16 | 0x2005)):
            await self.write(f"GENERATOR_{name}", value)
        for name, octets in (("GENERATOR_DESTINATION", model.DESTINATION), ("GENERATOR_SOURCE", model.SOURCE), ("CHECKER_SOURCE", model.SOURCE)):
            await self.write(name, int.from_bytes(octets, "big"))
        await self.write("CHECKER_FLOW", STREAM << 16 | FLOW.udp_port)
        await self.write("MAC_CONTROL", 1)
        await self.write("CHECKER_CONTROL", 0b1111)
        while not await self.read("CHECKER_STATUS") & 1:
            await self.cycles(50)
        await self.write("GENERATOR_CONTROL", 1 | control)
        while not await self.read("GENERATOR_STATUS") & 2:
            await self.cycles(50)
        while len(self.arrived) < await self.read("MAC_SENT"):
            await self.cycles(50)
        await self.line.wait()
        await self.cycles(100)

    async def judged(self):
        """What the checker must say of the frames that arrived, by the model; and that it says it."""
        checker = model.Checker(FLOW)
        whole = [raw[:-4] for raw in self.arrived if raw[-4:] == zlib.crc32(raw[:-4]).to_bytes(4, "little")]
        for frame in whole:
            checker.take(frame)
        names = [f"CHECKER_{name.upper()}" for name in model.COUNTS if name not in ("bad_fcs", "next")]
        counts = dict(zip(model.COUNTS, checker.counts(), strict=True))
        await self.expect(**{name: counts[name.removeprefix("CHECKER_").lower()] for name in names})
        bad = len(self.arrived) - len(whole)
        await self.expect(CHECKER_NEXT_SEQUENCE=counts["next"], CHECKER_BAD_FCS=bad, MAC_BAD_FCS=bad, MAC_RECEIVED=len(self.arrived))
        return counts


def with_fcs(frame):
    """The frame with its FCS, by zlib."""
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def stale(raw):
    """The frame with the LFSR part of the sequence before it, and a right FCS."""
    number = int.from_bytes(raw[18:22], "big")
    return with_fcs(raw[:32] + model.SPEC.lfsr(number - 1, len(raw) - 36))


def wrong_bit(raw):
    """The frame with one bit of its content wrong."""
    return model.SPEC.inverted(raw, 300)


@cocotb.test()
async def registers_are_where_the_map_has_them_on_a_bus_that_hesitates(dut):
    port = await Port(dut).start()
    dice, master = random.Random("registers"), port.master
    master.write_if.b_channel.set_pause_generator(itertools.cycle([1, 1, 0]))
    master.write_if.w_channel.set_pause_generator(itertools.cycle([0, 1, 1, 0]))
    master.read_if.r_channel.set_pause_generator(itertools.cycle([1, 0, 1, 1]))
    assert await port.read("ID") == 0x574C0001
    await port.expect(MAC_GAP=12, MAC_MAX_FRAME=1518, CLOCK_STEP=8, GENERATOR_PAYLOAD_BYTES=46)
    kept = {"GENERATOR_FRAME_COUNT": 32, "GENERATOR_DESTINATION": 48, "CHECKER_SOURCE": 48, "IDENTIFIER_UDP_PORT3": 32, "CHECKER_SLOTS": 13}
    kept = {name: dice.getrandbits(bits) for name, bits in kept.items()}
    # Competing reads and writes, in turn.
    writing = [cocotb.start_soon(port.write(name, value)) for name, value in kept.items()]
    await port.expect(MAC_GAP=12, CLOCK_STEP=8, MAC_MAX_FRAME=1518)
    for one in writing:
        await one
    await port.expect(**kept)
    # A single byte of a word, by its strobe.
    place, _ = PLACES["GENERATOR_FRAME_COUNT"]
    assert (await master.write(place, b"\x5a")).resp == AxiResp.OKAY
    kept["GENERATOR_FRAME_COUNT"] = kept["GENERATOR_FRAME_COUNT"] & 0xFFFFFF00 | 0x5A
    # A missing or read-only register refuses, and nothing changes.
    assert (await master.write(place + 2, b"\xa5")).resp == AxiResp.SLVERR
    await port.expect(**kept)
    assert (await master.read(0x7F0, 4)).resp == AxiResp.SLVERR
    assert (await master.write(PLACES["MAC_SENT"][0], b"\1\0\0\0")).resp == AxiResp.SLVERR
    await port.expect(MAC_SENT=0)
    port.trace.write("registers")


@cocotb.test()
async def from_generator_to_checker_all_is_good(dut):
    port = await Port(dut).start()
    # A rule for test frames.
    await port.write("IDENTIFIER_RULE0_WHAT", 0b101)
    await port.write("IDENTIFIER_RULE0_VALUES", 0x88B5)
    await port.send(6, 60)
    verdicts = [model.judge(raw[:-4], FLOW)[:2] for raw in port.left]
    assert verdicts == [(model.GOOD, number) for number in range(6)]
    assert all(raw == with_fcs(raw[:-4]) for raw in port.left)
    assert [b - a for a, b in itertools.pairwise(port.trace.rises("gmii_tx_en"))] == [60 + AROUND] * 5
    assert (await port.judged())["good"] == 6
    await port.expect(GENERATOR_SENT_FRAMES=6, GENERATOR_SENT_BYTES=360, GENERATOR_USED_SEQUENCES=6, CHECKER_OVERFLOW=0)
    await port.expect(IDENTIFIER_FRAMES=6, IDENTIFIER_WANTED=6, IDENTIFIER_STATUS=0x11)
    assert len(port.trace.rises("wanted")) == 6
    first, last = await port.read("CHECKER_FIRST_TIME"), await port.read("CHECKER_LAST_TIME")
    assert last - first == 5 * (60 + AROUND) * PERIOD_NS
    # As UDP datagrams in a tagged frame, which the rule does not want.
    before = len(port.trace.rises("gmii_tx_en"))
    await port.send(3, 90, control=0b110)
    assert [model.judge(raw[:-4], FLOW)[:2] for raw in port.left] == [(model.GOOD, number) for number in range(3)]
    assert all(raw[12:18] == bytes.fromhex("810020050800") for raw in port.left)
    assert [b - a for a, b in itertools.pairwise(port.trace.rises("gmii_tx_en")[before:])] == [90 + AROUND + TAG] * 2
    assert (await port.judged())["good"] == 3
    await port.expect(IDENTIFIER_FRAMES=9, IDENTIFIER_WANTED=6)
    port.trace.write("generator to checker")


@cocotb.test()
async def a_bad_fcs_and_a_stale_frame_of_the_cable_are_found(dut):
    port = await Port(dut).start()
    await port.send(7, 64, spoil={2: wrong_bit, 4: stale})
    assert port.left != port.arrived
    counts = await port.judged()
    assert [counts[name] for name in ("good", "stale", "lost", "corrupted")] == [5, 1, 1, 0]
    await port.expect(CHECKER_BAD_FCS=1)
    port.trace.write("cable")


@cocotb.test()
async def a_bad_fcs_and_a_stale_frame_of_the_generator_are_found(dut):
    port = await Port(dut).start()
    await port.write("GENERATOR_FAULT_EVERY", 3)
    await port.send(5, 64, control=BAD_FCS << 8)
    assert [raw == with_fcs(raw[:-4]) for raw in port.left] == [True, True, False, True, True]
    assert (await port.judged())["lost"] == 1
    await port.send(5, 64, control=STALE << 8)
    assert [model.judge(raw[:-4], FLOW)[0] for raw in port.left] == [model.GOOD, model.GOOD, model.STALE, model.GOOD, model.GOOD]
    assert (await port.judged())["stale"] == 1
    await port.expect(GENERATOR_INJECTED_FAULTS=1)
    port.trace.write("faults")
