"""A LiteX SoC with a port and its line looped back, as Verilog: `litex_soc.py FILE`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from litex.build.generic_platform import Pins  # noqa: E402
from litex.build.sim import SimPlatform  # noqa: E402
from litex.soc.integration.soc import SoCRegion  # noqa: E402
from litex.soc.integration.soc_core import SoCMini  # noqa: E402
from litex_port import WirelabPort  # noqa: E402
from migen import ClockDomain  # noqa: E402


class Soc(SoCMini):
    """No CPU: a port at 0x90000000 and a UART bridge as the bus's master."""

    def __init__(self, platform):
        self.cd_sys = ClockDomain("sys")
        self.comb += [self.cd_sys.clk.eq(platform.request("sys_clk")), self.cd_sys.rst.eq(platform.request("sys_rst"))]
        super().__init__(platform, 125_000_000, bus_standard="axi-lite", uart_name="stub", with_timer=False)
        self.port = WirelabPort(platform)
        self.bus.add_slave("port", self.port.bus, SoCRegion(origin=0x9000_0000, size=WirelabPort.SIZE, cached=False))
        self.add_uartbone(uart_name="serial")
        self.comb += [self.port.rxd.eq(self.port.txd), self.port.rx_dv.eq(self.port.tx_en), self.port.rx_er.eq(self.port.tx_er)]


class Platform(SimPlatform):
    """A clock, a reset, and a serial line."""

    default_clk_name = "sys_clk"

    def __init__(self):
        from litex.build.generic_platform import Subsignal

        super().__init__("SIM", [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)), ("serial", 0, Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1)))])


def main():
    """Entry point."""
    platform = Platform()
    soc = Soc(platform)
    Path(sys.argv[1]).write_text(str(platform.get_verilog(soc, name="soc")))
    print(*(path for path, *_ in platform.sources), sep="\n")


if __name__ == "__main__":
    main()
