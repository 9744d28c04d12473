/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The serial line, the loopback and the CPU load of a node on lwIP. */
#include "board_node.h"

#include "lwip/def.h"

#define PS_PER_S 1000000000000u

/* The only node: the call of a refusing iperf has no context. */
static struct wl_lwip_board *told_by;

static void print(const char *text)
{
	while (*text)
		told_by->options.uart_put(*text++);
}

static void print_number(uint32_t number)
{
	char text[12];

	lwip_itoa(text, sizeof text, (int)number);
	print(text);
}

static void ready(void)
{
	print("READY name=");
	print(told_by->node.identity.name);
	print(" mac=");
	print(told_by->node.mac);
	print(" ip=");
	print(told_by->node.ip);
	print("\n");
}

static void refused(const struct wl_iperf_address *peer, enum wl_iperf_why why)
{
	ip4_addr_t host = { peer->host[0] };
	uint32_t untold;

	if (!wl_iperf_tell_now(&told_by->refusals, WL_CLOCK(), PS_PER_S / told_by->options.node.tick_ps,
			       &untold))
		return;
	print("iperf: nothing is sent back to ");
	print(ip4addr_ntoa(&host));
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

bool wl_lwip_board_open(struct wl_lwip_board *board, struct netif *netif,
			const struct wl_lwip_board_options *options)
{
	told_by = board;
	board->options = *options;
	if (options->uart_put != 0 && options->node.iperf_refused == 0)
		board->options.node.iperf_refused = refused;
	if (!wl_lwip_node_open(&board->node, netif, &board->options.node))
		return false;
	if (options->uart_put != 0)
		ready();
	return true;
}

/* Reads the serial line. Returns whether there was a byte. */
static bool listen(struct wl_lwip_board *board)
{
	static const struct wl_peer peer = { .serial = true };
	struct wl_assembler *line = &board->line;
	const char *reply;
	size_t bytes, count;
	int byte = board->options.uart_get();
	bool any = byte >= 0;

	for (; byte >= 0; byte = board->options.uart_get()) {
		switch (wl_assemble(line, (char)byte, &bytes)) {
		case WL_LINE_DONE:
			count = wl_app_line(&board->node.app, line->bytes, bytes, &peer, &reply);
			break;
		case WL_LINE_DROPPED:
			count = line->bytes[0] == '?' ? wl_control_too_long(&board->node.app.control, &reply)
						      : 0;
			break;
		default:
			continue;
		}
		for (size_t n = 0; n < count && board->options.uart_put != 0; n++)
			board->options.uart_put(reply[n]);
	}
	return any;
}

/* Nothing else runs while frames go round. A driver whose interrupt waits for an empty ring must find it empty. */
static void go_round(struct wl_lwip_board *board)
{
	while (wl_app_quiet(&board->node.app)) {
		board->options.hold();
		(void)wl_app_poll(&board->node.app);
		board->options.deliver();
	}
}

uint64_t wl_lwip_board_poll(struct wl_lwip_board *board)
{
	bool heard = board->options.uart_get != 0 && listen(board);

	if (board->options.hold != 0 && board->options.deliver != 0)
		go_round(board);
	board->due = wl_lwip_node_poll(&board->node);
	if (heard)
		board->due = 0;
	board->polls++;
	return board->due;
}

uint64_t wl_lwip_board_idle(struct wl_lwip_board *board)
{
	uint64_t now = WL_CLOCK(), least = board->options.least_sleep_ticks;

	/* The time from one idle round to the next is idle too. */
	if (board->polls == board->idle_poll + 1)
		wl_app_idle(&board->node.app, now - board->last_idle);
	board->idle_poll = board->polls;
	board->last_idle = now;
	return board->due <= now + least ? 0 : board->due - least;
}

void wl_lwip_board_slept(struct wl_lwip_board *board, uint64_t ticks)
{
	wl_app_idle(&board->node.app, ticks);
	board->last_idle += ticks;
}
