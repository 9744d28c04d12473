// The model of a port for src/sys.rs: clock by clock, with inputs and outputs in two plain structures.
#include "Vethernet_port.h"
#include "Vethernet_port___024root.h"
#include "verilated.h"

#include <cstdint>
#include <memory>

// Laid out like Inputs and Outputs of src/sys.rs.
struct Inputs {
  uint32_t wdata;
  uint16_t awaddr, araddr;
  uint8_t rst, rxd, rx_dv, rx_er;
  uint8_t awvalid, wvalid, bready, arvalid, rready;
};

struct Outputs {
  uint32_t rdata;
  uint8_t awready, wready, bvalid, bresp, arready, rvalid, rresp;
  uint8_t txd, tx_en, tx_er, wanted;
};

struct Port {
  VerilatedContext context;
  Vethernet_port top{&context, "port"};

  // The first evaluation takes the clock's level and sees no edge.
  Port() { top.eval(); }
};

// Verilator's own functions, which its eval() calls among others that only models with more than clocks and
// flip-flops need: which clocks have risen, and what follows from that.
void Vethernet_port___024root___eval_triggers_vec__act(Vethernet_port___024root *);
void Vethernet_port___024root___eval_nba(Vethernet_port___024root *);

extern "C" {
Port *wirelab_hdl_new() { return new (std::nothrow) Port; }

void wirelab_hdl_free(Port *port) { delete port; }

// One clock. The outputs have the bus at the edge and the line after it. No output depends on an input between two
// clocks (rtl/tools/model.py ensures that), so the falling edge changes nothing and is not evaluated.
void wirelab_hdl_clock(Port *port, const Inputs *in, Outputs *out) {
  Vethernet_port &top = port->top;
  out->rdata = top.s_axil_rdata;
  out->awready = top.s_axil_awready;
  out->wready = top.s_axil_wready;
  out->bvalid = top.s_axil_bvalid;
  out->bresp = top.s_axil_bresp;
  out->arready = top.s_axil_arready;
  out->rvalid = top.s_axil_rvalid;
  out->rresp = top.s_axil_rresp;
  top.rst = in->rst;
  top.tx_ce = 1;
  top.rx_ce = 1;
  top.gmii_rxd = in->rxd;
  top.gmii_rx_dv = in->rx_dv;
  top.gmii_rx_er = in->rx_er;
  top.s_axil_awvalid = in->awvalid;
  top.s_axil_awaddr = in->awaddr;
  top.s_axil_awprot = 0;
  top.s_axil_wvalid = in->wvalid;
  top.s_axil_wdata = in->wdata;
  top.s_axil_wstrb = 15;
  top.s_axil_bready = in->bready;
  top.s_axil_arvalid = in->arvalid;
  top.s_axil_araddr = in->araddr;
  top.s_axil_arprot = 0;
  top.s_axil_rready = in->rready;
  Vethernet_port___024root &root = *top.rootp;
  // Verilator's name for the previous value of the clock.
  root.__Vtrigprevexpr___TOP__clk__0 = 0;
  top.clk = 1;
  Vethernet_port___024root___eval_triggers_vec__act(&root);
  root.__VnbaTriggered = root.__VactTriggered;
  Vethernet_port___024root___eval_nba(&root);
  out->txd = top.gmii_txd;
  out->tx_en = top.gmii_tx_en;
  out->tx_er = top.gmii_tx_er;
  out->wanted = top.wanted;
}
}
