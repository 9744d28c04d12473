/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application on a board with lwIP: control over the serial line, UDP and TCP, and what the main loop
 * (boards/common/app.h) wants of it.
 */
#include "app.h"
#include "board.h"
#include "glue.h"
#include "iperf.h"

#include "lwip/init.h"

#define MOST_KEYS 40
#define FRAME_BYTES 1518
/* Less than this is not worth a sleep: the timer would wake too late. */
#define SPIN_PS 60000000u

static struct wl_app node;
static struct wl_flows flows;
static struct wl_iperf_lwip iperf;
static struct wl_assembler serial;
static uint64_t due, spin_ticks, last_idle, polls, idle_poll;

/* Counters of the board that the protocol has a name for; others keep theirs. */
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

/* Bytes as text: two hexadecimal digits each, or decimal numbers; the printf family would be larger than lwIP. */
static void put_hex(char *out, const uint8_t *bytes, unsigned count)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned n = 0; n < count; n++) {
		*out++ = digits[bytes[n] >> 4];
		*out++ = digits[bytes[n] & 15];
		*out++ = n + 1 < count ? ':' : 0;
	}
}

static char *put_number(char *out, uint32_t number)
{
	char digits[10];
	unsigned count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	while (count > 0)
		*out++ = digits[--count];
	*out = 0;
	return out;
}

static void put_ip(char *out, const uint8_t ip[4])
{
	for (unsigned n = 0; n < 4; n++) {
		out = put_number(out, ip[n]);
		if (n < 3)
			*out++ = '.';
	}
}

static unsigned set_up(const char *(*keys)[2], const struct netif *netif, const struct wl_ip *own)
{
	static char mac[18], ip[16], link[12], clock[12];
	const char *const further_keys[][2] = {
		{ "core_clock_hz", clock },
		{ "stack", "lwIP " LWIP_VERSION_STRING },
		{ "mtu_bytes", "1500" },
		{ "application", "wirelab node" },
		{ "software", "wirelab-firmware 0.1.0" },
		{ "link_bits_per_s", link },
		{ "mac", mac },
		{ "ip", ip },
	};
	unsigned count = 0, own_keys = sizeof further_keys / sizeof further_keys[0];

	put_hex(mac, netif->hwaddr, 6);
	put_ip(ip, own->bytes);
	put_number(link, mac_link_bits_per_s());
	put_number(clock, (uint32_t)board.core_hz);
	for (unsigned n = 0; n < board.setup_count && count < MOST_KEYS - own_keys; n++, count++) {
		keys[count][0] = board.setup[n][0];
		keys[count][1] = board.setup[n][1];
	}
	for (unsigned n = 0; n < own_keys; n++, count++) {
		keys[count][0] = further_keys[n][0];
		keys[count][1] = further_keys[n][1];
	}
	return count;
}

/* Frames that go round inside the MAC are counted in instructions: nothing may come between. */
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

void app_start(struct netif *netif)
{
	static struct wl_identity identity = {
		.directions = WL_SET(WL_TRANSMIT) | WL_SET(WL_RECEIVE) | WL_SET(WL_BOTH) | WL_SET(WL_ECHO),
		.layers = WL_SET(WL_ETHERNET) | WL_SET(WL_UDP_IPV4) | WL_SET(WL_TCP_IPV4),
		/* The driver copies a frame into its ring while others are on the wire. */
		.buffers = WL_SET(WL_COPIED_AHEAD) | WL_SET(WL_PREFILLED),
		.traffic = WL_SET(WL_TRAFFIC_TEST),
		.paths = WL_SET(WL_PATH_STACK) | WL_SET(WL_PATH_DRIVER) | WL_SET(WL_PATH_FAST_TRACK),
		.ports = 1,
		.min_frame_bytes = 64,
		.max_frame_bytes = FRAME_BYTES,
		.max_frames = 10000000000u,
		.max_time_ps = 600000000000000u,
		.max_captures = WL_CAPTURE_RECORDS / WL_POINTS,
		.idle_ms = 10000,
	};
	static const char *keys[MOST_KEYS][2];
	static struct wl_net net;
	struct wl_app_config config = { .identity = &identity,
					.setup = (const char *const(*)[2])keys,
					.tick_ps = (uint32_t)board.tick_ps,
					.link_bits_per_s = board.link_bits_per_s,
					.net = &net,
					.further = further,
					.seed = wl_clock() };

	identity.name = board.name;
	if (board.loopback)
		identity.paths |= WL_SET(WL_PATH_LOOPBACK);
	config.ip = wl_lwip_ip(netif_ip_addr4(netif));
	config.setup_count = set_up(keys, netif, &config.ip);
	for (unsigned n = 0; n < 6; n++) {
		config.mac[n] = netif->hwaddr[n];
		config.seed = config.seed * 31 + config.mac[n];
	}
	wl_flows_init(&flows, &node, netif, board.loopback ? loopback : NULL);
	flows.driver_send = driver_send;
	wl_flows_net(&flows, &net);
	wl_app_init(&node, &config);
	if (!wl_lwip_control(&node) || !wl_lwip_echo() ||
	    !wl_iperf_lwip_open(&iperf, WL_IPERF_PORT, (uint32_t)board.tick_ps, 0, 0))
		board_panic("lwIP has no room for the node's ports");
	spin_ticks = SPIN_PS / board.tick_ps;
}

/* Lines of the serial line. Whether there was a byte. */
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
			count = wl_app_line(&node, serial.bytes, line, &peer, &reply);
			break;
		case WL_LINE_DROPPED:
			count = serial.bytes[0] == '?' ? wl_control_too_long(&node.control, &reply) : 0;
			break;
		default:
			continue;
		}
		for (size_t n = 0; n < count; n++)
			board_uart_put(reply[n]);
	}
	return any;
}

/* Nothing else runs while frames go round. One that comes back at once is received when it has been sent, and not in
 * the middle of that; and a driver whose interrupt waits for an empty ring has to find it empty.
 */
static void go_round(void)
{
	uint32_t was = board_irq_off();

	due = wl_app_poll(&node);
	board_irq_on(was);
	loop_receive(2);
}

bool app_poll(void)
{
	bool busy = poll_serial();
	uint64_t iperf_due = wl_iperf_lwip_poll(&iperf);

	while (wl_app_quiet(&node))
		go_round();
	due = wl_app_poll(&node);
	due = due < iperf_due ? due : iperf_due;
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

	/* The rounds from one idle one to the next are idle too. */
	if (polls == idle_poll + 1)
		wl_app_idle(&node, now - last_idle);
	idle_poll = polls;
	last_idle = now;
	return due <= now + spin_ticks;
}

void app_slept(uint64_t ticks)
{
	wl_app_idle(&node, ticks);
	last_idle += ticks;
}
