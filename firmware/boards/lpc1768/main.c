/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node without a stack: its description, and its loop. */
#include "board.h"
#include "board_config.h"
#include "lpc1768.h"
#include "node.h"
#include "print.h"

#define LINK_WAIT_MS 3000u
#define POLL_MS 100u
#define MS (BOARD_CORE_HZ / 1000)

#ifdef BOARD_IN_FLASH
#define CODE_PLACE "code in flash, data in local SRAM, frames in AHB SRAM"
#else
#define CODE_PLACE "code and data in local SRAM, frames in AHB SRAM"
#endif

static const char *const setup[][2] = {
	{ "core", "Cortex-M3" },
	{ "core_clock_hz", "100000000" },
	{ "cores", "1" },
	{ "memory", CODE_PLACE },
	{ "cache", "none" },
	{ "interface", "RMII" },
	{ "link_bits_per_s", "100000000" },
	{ "phy", "DP83848" },
	{ "buffer_memory", "AHB SRAM" },
	{ "scatter_gather_tx", "no" },
	{ "scatter_gather_rx", "no" },
	{ "checksum_tx", "none" },
	{ "checksum_rx", "none" },
	{ "interrupt_pacing", "no" },
	{ "rx_buffers", "4" },
	{ "tx_buffers", "9" },
	{ "rx_descriptors", "4" },
	{ "tx_descriptors", "3" },
	{ "stack", "none" },
	{ "os", "none" },
	{ "application", "scenarios" },
	{ "software", "wirelab-firmware 0.1.0" },
	{ "ip", "none" },
	{ "mtu_bytes", "1500" },
	{ "copy", "copied by " BOARD_COPY_NAME ", copied-ahead by words" },
	{ "tool_chain", "gcc " __VERSION__ },
};

const struct board_info board = {
	.name = "lpc1768",
	.tick_ps = BOARD_TICK_PS,
	.core_hz = BOARD_CORE_HZ,
	.setup = setup,
	.setup_count = sizeof setup / sizeof setup[0],
	.loopback = true,
	.link_bits_per_s = 100000000,
};

struct node node __attribute__((section(".ahb1")));

static void wait_for_link(void)
{
	uint64_t latest = wl_clock() + (uint64_t)LINK_WAIT_MS * MS;

	while (node.mac && !emac_link() && wl_clock() < latest) {
		uint32_t was = board_irq_off();

		board_sleep_until(wl_clock() + MS);
		board_irq_on(was);
	}
}

/* Frames that come while nothing runs are of no use. */
static void drop_frames(void)
{
	uint8_t *frame;

	while (emac_frame(&frame) > 0)
		emac_done();
}

int main(void)
{
	board_init();
	trial_init();
	wait_for_link();
	control_init();
	print("READY name=lpc1768 mac=");
	print_mac(node.address);
	print(" ip=none\n");
	for (;;) {
		uint32_t was;

		control_poll();
		trial_run();
		if (node.mac)
			drop_frames();
		was = board_irq_off();
		if (!board_uart_pending() && !node.trial.running)
			board_sleep_until(wl_clock() + (uint64_t)POLL_MS * MS);
		board_irq_on(was);
	}
}
