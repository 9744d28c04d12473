"""Port level tests of line_port, for cocotb: cocotbext-eth on the line, cocotbext-axi on the streams.

The same module runs on the sources in GHDL and on their translation in Verilator (`rtl/cocotb/run.py`). Each test writes a
trace of the changes in each cycle, and both traces must be equal.
"""

import itertools
import random
import zlib

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamMonitor, AxiStreamSource
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource
from line_trace import Trace

PERIOD_NS = 8
PREAMBLE = bytes([0x55] * 7 + [0xD5])
MAC = bytes.fromhex("02574c000002")
IPV4 = bytes([198, 18, 0, 2])
PORT = 1026
WATCHED = (
    "gmii_tx_en gmii_tx_er sent underrun m_tvalid m_tlast m_tuser bad_fcs rx_error runt oversize no_sfd too_short"
    " bad_preamble decided wanted result_valid result level periods s_tready"
).split()


class Port:
    """The port after its reset, with a source and a sink on both sides."""

    def __init__(self, dut, pace=1):
        self.dut, self.pace, self.trace = dut, pace, Trace(dut, WATCHED, dut.ce)
        self.dice = random.Random(f"line {pace}")

    async def start(self, line=True):
        """Drives every input before the first edge, resets, and only then connects: the models cannot read a 'U'."""
        dut = self.dut
        for name in "s_tdata s_tvalid s_tlast s_tuser gmii_rxd gmii_rx_dv gmii_rx_er read_next clear".split():
            getattr(dut, name).value = 0
        dut.gap.value = 12
        dut.max_frame.value = 1518
        dut.own_mac.value = int.from_bytes(MAC, "big")
        dut.own_address.value = 0xFFFF << 32 | int.from_bytes(IPV4, "big")
        dut.udp_port.value = PORT
        dut.rst.value = 1
        dut.ce.value = 1
        Clock(dut.clk, PERIOD_NS, "ns").start()
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        for _ in range(20):
            await RisingEdge(dut.clk)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s"), dut.clk, dut.rst)
        self.monitor = AxiStreamMonitor(AxiStreamBus.from_prefix(dut, "m"), dut.clk, dut.rst)
        self.sink = GmiiSink(dut.gmii_txd, dut.gmii_tx_er, dut.gmii_tx_en, dut.clk, enable=dut.ce)
        parts = [self.source, self.monitor, self.sink]
        if line:
            self.line = GmiiSource(dut.gmii_rxd, dut.gmii_rx_er, dut.gmii_rx_dv, dut.clk, enable=dut.ce)
            parts.append(self.line)
        for part in parts:
            part.log.setLevel("WARNING")
        if self.pace > 1:
            cocotb.start_soon(self._enable())
        cocotb.start_soon(self.trace.run())
        return self

    async def _enable(self):
        for cycle in itertools.count():
            await RisingEdge(self.dut.clk)
            self.dut.ce.value = int(cycle % self.pace == 0)

    def frame(self, length):
        """A frame of random bytes."""
        return bytes(self.dice.randrange(256) for _ in range(length))

    async def cycles(self, count):
        """Lets cycles pass."""
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def received(self):
        """The next frame of the receive stream, and whether it is good."""
        frame = await self.monitor.recv(compact=False)
        return bytes(frame.tdata), not frame.tuser[-1]


def with_fcs(frame):
    """The frame with its FCS, by zlib."""
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def datagram(port, length=60):
    """A UDP datagram over IPv4 to the port's own addresses."""
    header = bytearray.fromhex("4500 0000 0000 0000 4011 0000 c612 0001".replace(" ", "")) + IPV4
    header[2:4] = (length - 14).to_bytes(2, "big")
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2))
    header[10:12] = (0xFFFF - (total % 0xFFFF)).to_bytes(2, "big")
    udp = (9).to_bytes(2, "big") + port.to_bytes(2, "big") + (length - 34).to_bytes(2, "big") + bytes(2)
    return MAC + bytes.fromhex("02574c0000010800") + bytes(header) + udp + bytes(length - 42)


async def transmit(port, lengths):
    """Sends frames back to back, and compares every byte and every gap on the line with the standard."""
    frames = [port.frame(length) for length in lengths]
    for frame in frames:
        await port.source.send(AxiStreamFrame(frame))
    for frame in frames:
        seen = await port.sink.recv()
        assert seen.check_fcs()
        assert bytes(seen.get_payload()) == frame.ljust(60, b"\0")
        assert not any(seen.error or [])
    await port.cycles(20 * port.pace)
    assert [carrier for _, carrier in port.trace.carriers] == [PREAMBLE + with_fcs(frame.ljust(60, b"\0")) for frame in frames]
    assert [silence for silence, _ in port.trace.carriers[1:]] == [12] * (len(frames) - 1)
    begins = port.trace.rises("gmii_tx_en")
    spacing = [b - a for a, b in itertools.pairwise(begins)]
    assert spacing == [(max(length, 60) + 24) * port.pace for length in lengths[:-1]]
    assert len(port.trace.rises("sent")) == len(frames)


@cocotb.test()
async def frames_leave_back_to_back_at_the_lines_limit(dut):
    port = await Port(dut).start()
    lengths = [1, 46, 60, 61, 80, 80, 452, 824, 60, 1196, 1512, 64]
    await transmit(port, lengths)
    # The rate meter saw the last bytes of long frames at the least distance on the line.
    assert int(dut.periods.value) == len(lengths) - 1
    assert int(dut.longest.value) == 1512 + 24
    port.trace.write("transmit")


@cocotb.test()
async def frames_leave_at_100_mbit(dut):
    port = await Port(dut, 10).start()
    await transmit(port, [60, 1, 61, 200])
    port.trace.write("transmit at a tenth")


@cocotb.test()
async def a_wrong_fcs_is_sent_where_asked(dut):
    port = await Port(dut).start()
    for wrong in (0, 1, 0, 1):
        frame = port.frame(70)
        await port.source.send(AxiStreamFrame(frame, tuser=[0] * 69 + [wrong]))
        seen = await port.sink.recv()
        assert seen.check_fcs() == (not wrong)
        assert bytes(seen.get_payload()) == frame
    port.trace.write("wrong FCS")


@cocotb.test()
async def a_stream_that_stops_is_an_underrun(dut):
    port = await Port(dut).start()
    await port.source.send(AxiStreamFrame(port.frame(100)))
    await port.cycles(40)
    port.source.pause = True
    await port.cycles(5)
    port.source.pause = False
    broken = await port.sink.recv()
    assert sum(map(bool, broken.error)) == 1 and broken.error[-1]
    frame = port.frame(64)
    await port.source.send(AxiStreamFrame(frame))
    assert bytes((await port.sink.recv()).get_payload()) == frame
    await port.cycles(20)
    assert len(port.trace.rises("underrun")) == 1 and len(port.trace.rises("sent")) == 1
    port.trace.write("underrun")


@cocotb.test()
async def frames_arrive_and_damage_is_reported(dut):
    port = await Port(dut).start()

    def line(payload):
        return GmiiFrame.from_raw_payload(payload)

    frames = [port.frame(length) for length in (60, 61, 300, 1514)]
    for frame in frames:
        await port.line.send(GmiiFrame.from_payload(frame))
    for frame in frames:
        assert await port.received() == (frame, True)
    whole = with_fcs(port.frame(80))
    wrong = bytearray(whole)
    wrong[50] ^= 4
    await port.line.send(line(wrong))
    assert await port.received() == (bytes(wrong[:-4]), False)
    error = line(whole)
    error.normalize()
    error.error[30] = 1
    await port.line.send(error)
    assert await port.received() == (whole[:-4], False)
    await port.line.send(line(with_fcs(port.frame(59))))
    assert not (await port.received())[1]
    await port.line.send(line(with_fcs(port.frame(1600))))
    data, good = await port.received()
    assert len(data) == 1514 and not good
    await port.line.send(GmiiFrame(PREAMBLE[:3]))
    await port.line.send(GmiiFrame(b"\x54" + PREAMBLE[1:] + whole))
    assert await port.received() == (whole[:-4], True)
    await port.line.send(GmiiFrame(PREAMBLE[5:] + whole))
    assert await port.received() == (whole[:-4], True)
    for name in "bad_fcs rx_error runt oversize no_sfd bad_preamble".split():
        assert len(port.trace.rises(name)) == 1, name
    assert not port.trace.rises("too_short")
    port.trace.write("receive")


@cocotb.test()
async def wanted_frames_are_known_before_their_end(dut):
    port = await Port(dut).start()
    verdicts = [(PORT, True), (PORT + 1, False), (PORT, True)]
    for udp_port, _ in verdicts:
        await port.line.send(GmiiFrame.from_payload(datagram(udp_port)))
    for udp_port, _ in verdicts:
        assert await port.received() == (datagram(udp_port), True)
    await port.cycles(10)
    last_bytes, decided = port.trace.rises("m_tlast"), port.trace.rises("decided")
    assert len(port.trace.rises("wanted")) == 2
    # m_tlast is one cycle after the end of the frame on the line.
    assert [last - 1 - verdict for last, verdict in zip(last_bytes, decided, strict=True)] == [20] * 3
    assert [cycle - last for cycle, last in zip(port.trace.rises("result_valid"), last_bytes, strict=True)] == [3] * 3
    port.trace.write("identifier")


@cocotb.test()
async def a_cable_from_the_port_to_itself(dut):
    port = await Port(dut).start(line=False)

    async def cable():
        while True:
            await FallingEdge(dut.clk)
            data = [int(signal.value) for signal in (dut.gmii_txd, dut.gmii_tx_en, dut.gmii_tx_er)]
            await RisingEdge(dut.clk)
            dut.gmii_rxd.value, dut.gmii_rx_dv.value, dut.gmii_rx_er.value = data

    cocotb.start_soon(cable())
    await port.cycles(4)
    dut.clear.value = 1
    await port.cycles(1)
    dut.clear.value = 0
    frames = [datagram(PORT, length) for length in (60, 80, 452, 60, 200)]
    for frame in frames:
        await port.source.send(AxiStreamFrame(frame))
    for frame in frames:
        assert await port.received() == (frame, True)
    await port.cycles(20)
    # From the end of each received frame to the next sent one: the gap, less the one cycle of the cable.
    assert int(dut.level.value) == len(frames) - 1
    for _ in frames[1:]:
        assert int(dut.read_data.value) == 11
        dut.read_next.value = 1
        await port.cycles(1)
        dut.read_next.value = 0
        await port.cycles(3)
    assert len(port.trace.rises("result_valid")) == len(frames)
    port.trace.write("cable")


@cocotb.test()
async def a_reset_within_frames_in_both_directions(dut):
    port = await Port(dut).start()
    for at in range(1, 90, 11):
        await port.line.send(GmiiFrame.from_payload(port.frame(60)))
        await port.source.send(AxiStreamFrame(port.frame(60)))
        await port.cycles(at)
        dut.rst.value = 1
        await port.cycles(2)
        dut.rst.value = 0
        await port.cycles(100)
        port.monitor.clear()
        port.sink.clear()
        frame = port.frame(64)
        await port.line.send(GmiiFrame.from_payload(frame))
        await port.source.send(AxiStreamFrame(frame))
        assert await port.received() == (frame, True)
        assert bytes((await port.sink.recv()).get_payload()) == frame
    port.trace.write("resets")
