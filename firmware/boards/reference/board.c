/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reference node as a board, described by its straps. */
#include "board.h"
#include "board_config.h"
#include "reference.h"

#include "lwip/def.h"

#include <string.h>

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define PS_PER_S 1000000000000u

#define TEXT_BYTES 40

static char interface[TEXT_BYTES], wait_states[TEXT_BYTES];

static const char *const setup[][2] = {
	{ "core", "VexRiscv, RV32IM" },
	{ "cores", "1" },
	{ "memory", "RAM, 1 MiB" },
	{ "cache", "4 KiB of instructions, 4 KiB of data, writes through" },
	{ "interface", interface },
	{ "wait_states", wait_states },
	{ "phy", "none" },
	{ "checksum_tx", "software" },
	{ "checksum_rx", "software" },
	{ "interrupt_pacing", "no" },
	{ "rx_buffers", TEXT(BOARD_RX_BUFFERS) },
	{ "capture_units", "3 of 10 ns, 512 records" },
	{ "packet_identifier", "hardware" },
	{ "os", "none" },
};

const struct board_info board = {
	.name = "reference",
	.tick_ps = PS_PER_S / BOARD_CORE_HZ,
	.core_hz = BOARD_CORE_HZ,
	.setup = setup,
	.setup_count = sizeof setup / sizeof setup[0],
	.loopback = false,
	.link_bits_per_s = BOARD_LINK_BITS_PER_S,
	.unit = &unit,
	.identifier_rule = identifier_rule,
};

static void read_straps(void)
{
	static const char interfaces[][TEXT_BYTES] = { "slot MAC, posted writes",
						       "slot MAC, every access answered", "ring MAC",
						       "unknown" };
	uint32_t wait = NODE(system.wait_states);
	char *at = wait_states;

	memcpy(interface, interfaces[VALUE(NODE(system.straps), SYSTEM__STRAPS__ATTACHMENT)], TEXT_BYTES);
	lwip_itoa(at, TEXT_BYTES / 2, (int)VALUE(wait, SYSTEM__WAIT_STATES__READING));
	at += strlen(at);
	*at++ = '/';
	lwip_itoa(at, TEXT_BYTES / 2, (int)VALUE(wait, SYSTEM__WAIT_STATES__WRITING));
}

void board_init(void)
{
	read_straps();
	interrupts_init();
	interrupts_enable(IRQ_UART);
	board_irq_on(~0u);
}
