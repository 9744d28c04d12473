/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Zynq-7000 as a board: description, start, faults and reset. The first stage boot loader sets up clocks, pins and DDR, as
 * on any Zynq.
 */
#include "board.h"
#include "board_config.h"
#include "print.h"
#include "uart_ring.h"
#include "zynq.h"

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

static const char *const setup[][2] = {
	{ "core", "Arm Cortex-A9" },
	{ "cores", "1" },
	{ "memory", BOARD_MEMORY_TEXT },
	{ "cache", "level 1 enabled, level 2 off" },
	{ "interface", BOARD_INTERFACE_TEXT },
	{ "phy", BOARD_PHY_TEXT },
	{ "buffer_memory", BOARD_MEMORY_TEXT ", not cached" },
	{ "scatter_gather_tx", "no" },
	{ "scatter_gather_rx", "no" },
	{ "checksum_tx", "software" },
	{ "checksum_rx", "software" },
	{ "interrupt_pacing", "no" },
	{ "rx_buffers", TEXT(BOARD_RX_DESCRIPTORS) },
	{ "tx_buffers", TEXT(BOARD_TX_DESCRIPTORS) },
	{ "rx_descriptors", TEXT(BOARD_RX_DESCRIPTORS) },
	{ "tx_descriptors", TEXT(BOARD_TX_DESCRIPTORS) },
	{ "os", "none" },
};

/* All silicon has the JTAG identity of the device (UG585, PSS_IDCODE); QEMU has none. */
const char *board_emulated(void)
{
	return SLCR_PSS_IDCODE ? 0 : "by PSS_IDCODE, which is 0";
}

const struct board_info board = {
	.name = "zynq7000",
	.tick_ps = 1000000000000u / BOARD_TIMER_HZ,
	.core_hz = BOARD_CORE_HZ,
	.setup = setup,
	.setup_count = sizeof setup / sizeof setup[0],
	.loopback = true,
	.link_bits_per_s = 1000000000u,
};

void board_init(void)
{
	interrupts_init();
	timer_init();
	uart_init();
	board_irq_on(0);
}

void board_exit(void)
{
	board_irq_off();
	uart_flush();
	SLCR_UNLOCK = SLCR_UNLOCK_KEY;
	SLCR_PSS_RESET = 1;
	for (;;)
		barrier();
}

void board_fault(uint32_t kind, uint32_t at, uint32_t address);

/* Called by start.S. */
void board_fault(uint32_t kind, uint32_t at, uint32_t address)
{
	static const char *const names[] = { "undefined instruction", "service call", "prefetch abort",
					     "data abort" };

	board_irq_off();
	print("FAULT ");
	print(names[kind & 3]);
	print(" pc=0x");
	print_hex(at, 8);
	if (kind == 3) {
		print(" address=0x");
		print_hex(address, 8);
	}
	print("\n");
	board_exit();
}
