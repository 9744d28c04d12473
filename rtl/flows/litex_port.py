"""ethernet_port in a LiteX SoC: its registers behind the SoC's bus, its line as signals of GMII.

    from litex_port import WirelabPort
    self.port = WirelabPort(platform)                      # clk and rst are those of the domain sys: 125 MHz at 1 Gbit/s
    self.bus.add_slave("port", self.port.bus, SoCRegion(origin=0x9000_0000, size=WirelabPort.SIZE, cached=False))
    self.comb += [pads.tx_data.eq(self.port.txd), …]

A PHY's receive clock needs gmii_elastic before this. rtl/tools/registers.py makes the register block first.
"""

from pathlib import Path

from litex.gen import ClockSignal, Constant, Instance, LiteXModule, ResetSignal, Signal
from litex.soc.interconnect import axi

RTL = Path(__file__).resolve().parents[1]
MADE = RTL.parent / "target/rtl/registers"
FIX = "fix: rtl/tools/registers.py makes it"


def sources(made=MADE):
    """The VHDL of the port. Raises OSError if the register block is missing."""
    registers = [Path(made) / name for name in ("reg_utils.vhd", "ethernet_port_registers_pkg.vhd", "ethernet_port_registers.vhd")]
    for path in registers:
        if not path.is_file():
            raise OSError(f"{path} of the port's register block is not there; {FIX}")
    return [*registers, *sorted((RTL / "src").glob("*.vhd"))]


class WirelabPort(LiteXModule):
    """A port: `bus` (AXI4-Lite), the signals of the line, and the results of the packet identifier."""

    SIZE = 0x800

    def __init__(self, platform, made=MADE):
        self.bus = axi.AXILiteInterface(data_width=32, address_width=32)
        # The line; at 10 and 100 Mbit/s mii_tx and mii_rx drive the enables.
        self.tx_ce, self.rx_ce = Signal(reset=1), Signal(reset=1)
        self.txd, self.tx_en, self.tx_er = Signal(8), Signal(), Signal()
        self.rxd, self.rx_dv, self.rx_er = Signal(8), Signal(), Signal()
        self.decided, self.wanted, self.result_valid, self.result_wanted = (Signal() for _ in range(4))
        wires = {
            "i_clk": ClockSignal("sys"),
            "i_rst": ResetSignal("sys"),
            "i_tx_ce": self.tx_ce,
            "i_rx_ce": self.rx_ce,
            # The port has its own start words.
            "i_word": Constant(0, 32),
            "o_word_request": Signal(),
            "o_word_number": Signal(12),
        }
        for name, signal in (("gmii_txd", self.txd), ("gmii_tx_en", self.tx_en), ("gmii_tx_er", self.tx_er)):
            wires[f"o_{name}"] = signal
        for name, signal in (("gmii_rxd", self.rxd), ("gmii_rx_dv", self.rx_dv), ("gmii_rx_er", self.rx_er)):
            wires[f"i_{name}"] = signal
        for name in ("decided", "wanted", "result_valid", "result_wanted"):
            wires[f"o_{name}"] = getattr(self, name)
        for channel, to_port, fields in (
            ("aw", True, ("addr", "prot")),
            ("w", True, ("data", "strb")),
            ("b", False, ("resp",)),
            ("ar", True, ("addr", "prot")),
            ("r", False, ("data", "resp")),
        ):
            wires |= self._channel(channel, to_port, fields)
        self.specials += Instance("ethernet_port", **wires)
        for path in sources(made):
            platform.add_source(str(path), language="vhdl")

    def _channel(self, channel, to_port, fields):
        """The wires of a channel of AXI4-Lite."""
        stream = getattr(self.bus, channel)
        ahead, back = ("i", "o") if to_port else ("o", "i")
        wires = {f"{ahead}_s_axil_{channel}valid": stream.valid, f"{back}_s_axil_{channel}ready": stream.ready}
        for field in fields:
            if field == "prot":
                wires[f"i_s_axil_{channel}prot"] = Constant(0, 3)
            else:
                signal = getattr(stream, field)
                wires[f"{ahead}_s_axil_{channel}{field}"] = signal[:11] if field == "addr" else signal
        return wires
