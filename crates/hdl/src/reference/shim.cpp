// The model of the reference node for sys.rs: clock by clock, with inputs and outputs in two plain structures.
#include "Vreference_node.h"
#include "Vreference_node___024root.h"
#include "verilated.h"

#include <cstdint>
#include <memory>

// Laid out like Inputs, Outputs and Trace of sys.rs.
struct Inputs {
  uint32_t load_address, load_data;
  uint8_t rst, load_enable;
  uint8_t attachment, fast_track, loopback_1, reading, writing;
  uint8_t rxd, rx_dv, rx_er;
  uint8_t line_1_rxd, line_1_rx_dv, line_1_rx_er;
  uint8_t uart_data, uart_valid;
};

struct Outputs {
  uint32_t exit_status;
  uint8_t line_ce, txd, tx_en, tx_er;
  uint8_t line_1_txd, line_1_tx_en, line_1_tx_er;
  uint8_t uart_data, uart_valid, uart_ready;
  uint8_t exited, trap;
};

struct Trace {
  uint32_t pc, instruction, address;
  uint8_t valid, retires, fetch, request, write, burst, answer, mac_irq;
};

struct Node {
  VerilatedContext context;
  Vreference_node top{&context, "node"};

  // The first evaluation takes the clock's level and sees no edge.
  Node() { top.eval(); }
};

// Verilator's own functions, which its eval() calls among others that only models with more than clocks and
// flip-flops need: which clocks have risen, and what follows from that.
void Vreference_node___024root___eval_triggers_vec__act(Vreference_node___024root *);
void Vreference_node___024root___eval_nba(Vreference_node___024root *);

extern "C" {
Node *wirelab_reference_new() { return new (std::nothrow) Node; }

void wirelab_reference_free(Node *node) { delete node; }

// One clock; the outputs are those after its edge. No output depends on an input between two clocks
// (rtl/tools/model.py ensures that), so the falling edge changes nothing and is not evaluated.
void wirelab_reference_clock(Node *node, const Inputs *in, Outputs *out) {
  Vreference_node &top = node->top;
  // Whether port 1 has this clock is known before its edge.
  const uint8_t port_1_runs = top.port_1_clock;
  top.rst = in->rst;
  top.load_enable = in->load_enable;
  top.load_address = in->load_address;
  top.load_data = in->load_data;
  top.attachment = in->attachment;
  top.fast_track = in->fast_track;
  top.loopback_1 = in->loopback_1;
  top.reading = in->reading;
  top.writing = in->writing;
  top.rxd = in->rxd;
  top.rx_dv = in->rx_dv;
  top.rx_er = in->rx_er;
  top.line_1_rxd = in->line_1_rxd;
  top.line_1_rx_dv = in->line_1_rx_dv;
  top.line_1_rx_er = in->line_1_rx_er;
  top.uart_in_data = in->uart_data;
  top.uart_in_valid = in->uart_valid;
  // The reader of the debug link is never slower than the node.
  top.uart_out_ready = 1;
  Vreference_node___024root &root = *top.rootp;
  // Verilator's names for the previous values of the clocks.
  root.__Vtrigprevexpr___TOP__clk__0 = 0;
  root.__Vtrigprevexpr___TOP__port_1_clk__0 = 0;
  top.clk = 1;
  top.port_1_clk = port_1_runs;
  Vreference_node___024root___eval_triggers_vec__act(&root);
  root.__VnbaTriggered = root.__VactTriggered;
  Vreference_node___024root___eval_nba(&root);
  out->exit_status = top.exit_status;
  out->line_ce = top.line_ce;
  out->txd = top.txd;
  out->tx_en = top.tx_en;
  out->tx_er = top.tx_er;
  out->line_1_txd = top.line_1_txd;
  out->line_1_tx_en = top.line_1_tx_en;
  out->line_1_tx_er = top.line_1_tx_er;
  out->uart_data = top.uart_out_data;
  out->uart_valid = top.uart_out_valid;
  out->uart_ready = top.uart_in_ready;
  out->exited = top.exited;
  out->trap = top.trap;
}

// The CPU's activity in the clock of the outputs.
void wirelab_reference_trace(const Node *node, Trace *out) {
  const Vreference_node &top = node->top;
  out->pc = top.trace_pc;
  out->instruction = top.trace_instruction;
  out->address = top.trace_address;
  out->valid = top.trace_valid;
  out->retires = top.trace_retires;
  out->fetch = top.trace_fetch;
  out->request = top.trace_request;
  out->write = top.trace_write;
  out->burst = top.trace_burst;
  out->answer = top.trace_answer;
  out->mac_irq = top.trace_mac_irq;
}
}
