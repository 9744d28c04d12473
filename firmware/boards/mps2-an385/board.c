/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The MPS2 with AN385 as a board: description, start and reset. */
#include "board.h"
#include "board_config.h"
#include "mps2.h"
#include "uart_ring.h"

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

static const char *const setup[][2] = {
	{ "core", "Arm Cortex-M3" },
	{ "cores", "1" },
	{ "memory", BOARD_MEMORY_TEXT },
	{ "cache", "none" },
	{ "interface", BOARD_INTERFACE_TEXT },
	{ "phy", "the LAN9118's own" },
	{ "buffer_memory", BOARD_MEMORY_TEXT },
	{ "scatter_gather_tx", "yes" },
	{ "scatter_gather_rx", "no" },
	{ "checksum_tx", "software" },
	{ "checksum_rx", "software" },
	{ "interrupt_pacing", "no" },
	{ "rx_buffers", TEXT(BOARD_RX_BUFFERS) },
	{ "tx_buffers", "none" },
	{ "rx_descriptors", "none" },
	{ "tx_descriptors", "none" },
	{ "os", "none" },
};

/* DWT_CTRL (DDI 0337) counts the comparators of the watchpoint unit. The core of AN385 has them, QEMU none. */
const char *board_emulated(void)
{
	return DWT_CONTROL ? 0 : "by DWT_CTRL, which is 0";
}

const struct board_info board = {
	.name = "mps2-an385",
	.tick_ps = 1000000000000u / BOARD_TIMER_HZ,
	.core_hz = BOARD_CORE_HZ,
	.setup = setup,
	.setup_count = sizeof setup / sizeof setup[0],
	.loopback = true,
	.link_bits_per_s = 100000000u,
};

void board_init(void)
{
	timer_init();
	uart_init();
}

void board_exit(void)
{
	board_irq_off();
	uart_flush();
	barrier();
	SCB_RESET = SCB_RESET_REQUEST;
	for (;;)
		barrier();
}
