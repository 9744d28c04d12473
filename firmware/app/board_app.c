/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application on a board with lwIP: control over the serial line, UDP and TCP, and the interface to the main loop
 * (boards/common/app.h).
 */
#include "app.h"
#include "board.h"
#include "board_config.h"
#include "node.h"
#include "print.h"
#include "wirelab/iperf_reach.h"

#include "lwip/def.h"

#define PS_PER_S 1000000000000u

static struct wl_lwip_node node;
static struct wl_assembler serial;
static uint64_t due, spin_ticks, last_idle, polls, idle_poll;

/* Counters of the board under the protocol's names; others keep their own. */
static bool further(void *context, uint32_t index, const char **name, uint64_t *value)
{
	(void)context;
	switch (index) {
	case 0:
		*name = "no_buffer_frames";
		*value = loop_rx_no_memory;
		return true;
	case 1:
		*name = "ring_full_events";
		*value = loop_tx_full;
		return true;
	default:
		return mac_counter(index - 2, name, value);
	}
}

/* The board's set-up keys; figures are texts. */
static const char *const (*set_up(unsigned *count))[2]
{
	static char link[12], clock[12];
	static const char *keys[WL_LWIP_KEYS][2] = { { "core_clock_hz", clock },
						     { "link_bits_per_s", link } };

	lwip_itoa(clock, sizeof clock, (int)board.core_hz);
	lwip_itoa(link, sizeof link, (int)mac_link_bits_per_s());
	*count = 2;
#ifdef BOARD_TELLS_EMULATION
	if (board_emulated()) {
		keys[*count][0] = "emulator";
		keys[(*count)++][1] = board_emulated();
	}
#endif
	for (unsigned n = 0; n < board.setup_count && *count < WL_LWIP_KEYS; n++, ++*count) {
		keys[*count][0] = board.setup[n][0];
		keys[*count][1] = board.setup[n][1];
	}
	return (const char *const(*)[2])keys;
}

/* Frames in the MAC's loopback are counted in instructions: no interrupt may come between. */
static void loopback(bool on)
{
	mac_loopback(on);
	board_quiet(on);
}

static bool driver_send(const uint8_t *frame, size_t length)
{
	const struct wl_piece whole = { frame, length };

	return mac_send(&whole, 1);
}

/* The console shows which host iperf does not send to, and why. */
static void iperf_refused(const struct wl_iperf_address *peer, enum wl_iperf_why why)
{
	static struct wl_iperf_log log;
	uint32_t untold;

	if (!wl_iperf_tell_now(&log, wl_clock(), PS_PER_S / board.tick_ps, &untold))
		return;
	print("iperf: nothing is sent back to ");
	print_ip((const uint8_t *)peer->host);
	print(" port ");
	print_number(peer->port);
	print(": ");
	print(wl_iperf_because(why, WL_IPERF_NODE_ASKS));
	if (untold > 0) {
		print("; before, not told: ");
		print_number(untold);
	}
	print("\n");
}

void app_start(struct netif *netif)
{
	struct wl_lwip_options options = {
		.name = board.name,
		.tick_ps = (uint32_t)board.tick_ps,
		.link_bits_per_s = board.link_bits_per_s,
		.further = further,
		.mac_loopback = board.loopback ? loopback : NULL,
		.driver_send = driver_send,
		.identifier_rule = board.identifier_rule,
		.unit = board.unit,
		.iperf_refused = iperf_refused,
	};

	options.setup = set_up(&options.setup_count);
	if (!wl_lwip_node_open(&node, netif, &options))
		board_panic("lwIP has no space for the node's ports");
	spin_ticks = BOARD_LEAST_SLEEP_PS / board.tick_ps;
}

/* Reads the serial line. Returns whether there was a byte. */
static bool poll_serial(void)
{
	static const struct wl_peer peer = { .serial = true };
	const char *reply;
	size_t line, count;
	int byte = board_uart_get();
	bool any = byte >= 0;

	for (; byte >= 0; byte = board_uart_get()) {
		switch (wl_assemble(&serial, (char)byte, &line)) {
		case WL_LINE_DONE:
			count = wl_app_line(&node.app, serial.bytes, line, &peer, &reply);
			break;
		case WL_LINE_DROPPED:
			count = serial.bytes[0] == '?' ? wl_control_too_long(&node.app.control, &reply) : 0;
			break;
		default:
			continue;
		}
		for (size_t n = 0; n < count; n++)
			board_uart_put(reply[n]);
	}
	return any;
}

/* Nothing else runs while frames go round. With interrupts off, a frame that returns at once is received only after its send is
 * over. A driver whose interrupt waits for an empty ring must find it empty.
 */
static void go_round(void)
{
	uint32_t was = board_irq_off();

	due = wl_app_poll(&node.app);
	board_irq_on(was);
	loop_receive(2);
}

bool app_poll(void)
{
	bool busy = poll_serial();

	while (wl_app_quiet(&node.app))
		go_round();
	due = wl_lwip_node_poll(&node);
	polls++;
	return busy || due <= wl_clock();
}

uint64_t app_due(void)
{
	return due > spin_ticks ? due - spin_ticks : 0;
}

bool app_idle(void)
{
	uint64_t now = wl_clock();

	/* The time from one idle round to the next is idle too. */
	if (polls == idle_poll + 1)
		wl_app_idle(&node.app, now - last_idle);
	idle_poll = polls;
	last_idle = now;
	return due <= now + spin_ticks;
}

void app_slept(uint64_t ticks)
{
	wl_app_idle(&node.app, ticks);
	last_idle += ticks;
}
