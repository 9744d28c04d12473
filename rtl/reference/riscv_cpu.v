// The CPU of the reference node: VexRiscv (pythondata-cpu-vexriscv from PyPI, its variant Full) with the port names of
// reference_node.vhd. Another CPU with two Wishbone buses would be connected here. It ignores errors on its buses, so none are
// signalled.
module riscv_cpu (
  input  wire        clk,
  input  wire        rst,
  input  wire [31:0] interrupts,
  output wire        code_request,
  output wire        code_burst,
  output wire [29:0] code_address,
  input  wire        code_answer,
  input  wire [31:0] code_rdata,
  output wire        data_request,
  output wire        data_write,
  output wire        data_burst,
  output wire [29:0] data_address,
  output wire [31:0] data_wdata,
  output wire [3:0]  data_bytes,
  input  wire        data_answer,
  input  wire [31:0] data_rdata,
  // The last stage of the pipeline: an instruction is there; it retires at the end of this clock.
  output wire        last_valid,
  output wire        last_retires,
  output wire [31:0] last_pc,
  output wire [31:0] last_instruction
);
  // Wishbone B4, 3.4: the address advances with each answer, until the last one.
  localparam [2:0] INCREMENTING = 3'b010;
  wire code_cycle, code_strobe, data_cycle, data_strobe;
  wire [2:0] code_kind, data_kind;

  assign code_request = code_cycle & code_strobe;
  assign code_burst = code_kind == INCREMENTING;
  assign data_request = data_cycle & data_strobe;
  assign data_burst = data_kind == INCREMENTING;
  assign last_valid = cpu.lastStageIsValid;
  assign last_retires = cpu.lastStageIsFiring;
  assign last_pc = cpu.lastStagePc;
  assign last_instruction = cpu.lastStageInstruction;

  VexRiscv cpu (
    .clk(clk),
    .reset(rst),
    .externalResetVector(32'h00000000),
    .timerInterrupt(1'b0),
    .softwareInterrupt(1'b0),
    .externalInterruptArray(interrupts),
    .iBusWishbone_CYC(code_cycle),
    .iBusWishbone_STB(code_strobe),
    .iBusWishbone_ACK(code_answer),
    .iBusWishbone_WE(),
    .iBusWishbone_ADR(code_address),
    .iBusWishbone_DAT_MISO(code_rdata),
    .iBusWishbone_DAT_MOSI(),
    .iBusWishbone_SEL(),
    .iBusWishbone_ERR(1'b0),
    .iBusWishbone_CTI(code_kind),
    .iBusWishbone_BTE(),
    .dBusWishbone_CYC(data_cycle),
    .dBusWishbone_STB(data_strobe),
    .dBusWishbone_ACK(data_answer),
    .dBusWishbone_WE(data_write),
    .dBusWishbone_ADR(data_address),
    .dBusWishbone_DAT_MISO(data_rdata),
    .dBusWishbone_DAT_MOSI(data_wdata),
    .dBusWishbone_SEL(data_bytes),
    .dBusWishbone_ERR(1'b0),
    .dBusWishbone_CTI(data_kind),
    .dBusWishbone_BTE()
  );
endmodule
