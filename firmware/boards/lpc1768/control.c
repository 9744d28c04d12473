/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Node control over the serial line: lines in and out, and the functions of struct wl_node. */
#include <string.h>

#include "board.h"
#include "board_config.h"
#include "lpc1768.h"
#include "node.h"

#include "wirelab/points.h"

/* The two largest objects lie in AHB SRAM, so that the local SRAM has space for code. */
static struct wl_control control __attribute__((section(".ahb1")));
static struct wl_assembler assembler __attribute__((section(".ahb1")));
static const struct wl_peer cable = { .serial = true };

static const struct wl_identity identity = {
	.name = "lpc1768",
	.directions = WL_SET(WL_TRANSMIT) | WL_SET(WL_RECEIVE) | WL_SET(WL_BOTH) | WL_SET(WL_ECHO),
	.layers = WL_SET(WL_ETHERNET),
	.buffers = WL_SET(WL_PREFILLED) | WL_SET(WL_COPIED) | WL_SET(WL_DMA_COPIED) |
		   WL_SET(WL_COPIED_AHEAD) | WL_SET(WL_IN_PLACE),
	.traffic = WL_SET(WL_TRAFFIC_TEST),
	/* Without a stack, the node's usual path is `driver`. */
	.paths = WL_SET(WL_PATH_STACK) | WL_SET(WL_PATH_DRIVER) | WL_SET(WL_PATH_LOOPBACK),
	.ports = 1,
	.min_frame_bytes = 64,
	.max_frame_bytes = 1518,
	.max_frames = 1000000000,
	.max_time_ps = 600000000000000,
	.max_captures = WL_CAPTURE_RECORDS / 3,
	.idle_ms = 10000,
};

static bool setup(void *context, uint32_t index, const char **key, const char **text)
{
	static char address[18];
	static struct wl_out out __attribute__((section(".ahb1")));

	(void)context;
	if (index < board.setup_count) {
		*key = board.setup[index][0];
		*text = board.setup[index][1];
		return true;
	}
	if (index > board.setup_count)
		return false;
	out.count = 0;
	wl_mac_write(node.address, &out);
	memcpy(address, out.bytes, 17);
	*key = "mac";
	*text = address;
	return true;
}

static bool start(void *context, uint32_t trial, const struct wl_start *asked, const struct wl_peer *peer,
		  uint64_t now_ms, struct wl_started *started, struct wl_refusal *refusal)
{
	(void)context;
	(void)trial;
	(void)peer;
	(void)now_ms;
	return trial_start(asked, started, refusal);
}

static void stop(void *context, enum wl_state state, uint64_t now_ms)
{
	(void)context;
	(void)now_ms;
	trial_stop(state);
}

static void status(void *context, uint64_t now_ms, struct wl_status *status)
{
	const struct trial *trial = &node.trial;

	(void)context;
	(void)now_ms;
	if (!trial->any)
		return;
	status->state = trial->running ? WL_RUNNING : trial->state;
	status->why = trial->why;
	status->counts = true;
	status->tx_frames = trial->sent.frames + trial->echoed_frames;
	status->rx_frames = trial->receiver.received;
	status->timed = !trial->running && trial->elapsed_ticks > 0;
	status->elapsed_ticks = trial->elapsed_ticks;
	status->tick_ps = BOARD_TICK_PS;
	status->spans = WL_SPANS_PIN;
	status->clock = WL_CLOCK_WALL;
}

/* A reception as a share of the node's own transmit: only for frames of the same length, after the trial. */
static uint64_t own_share(const struct trial *trial)
{
	const struct wl_receiver *receiver = &trial->receiver;

	if (trial->asked.direction != WL_RECEIVE || trial->running ||
	    receiver->received_bytes != receiver->received * node.own_length)
		return 0;
	return wl_reception_share_ppm(&trial->reception, &node.own);
}

/* Counters of the scenarios and of the MAC, as far as they apply to the trial. */
static bool own_counter(uint32_t index, const char **name, uint64_t *value)
{
	const struct trial *trial = &node.trial;
	const struct emac_counters *mac = emac_counters();
	bool sent = trial->asked.direction == WL_TRANSMIT || trial->asked.direction == WL_BOTH;
	bool echoed = trial->asked.direction == WL_ECHO, received = trial->asked.direction != WL_TRANSMIT;
	uint64_t share = own_share(trial);
	const struct {
		bool applies;
		const char *name;
		uint64_t value;
	} list[] = {
		{ sent, "sent_frames", trial->sent.frames },
		{ sent, "sent_bytes", trial->sent.frames * trial->scenario.length },
		{ echoed, "sent_frames", trial->echoed_frames },
		{ echoed, "sent_bytes", trial->echoed_bytes },
		{ sent, "header_ticks", trial->sent.header_ticks },
		{ sent, "copy_ticks", trial->sent.copy_ticks },
		{ sent, "wait_ticks", trial->sent.wait_ticks },
		{ sent, "ring_full_events", trial->sent.full_events },
		{ sent, "tx_underruns", mac->underruns },
		{ echoed, "mac_dropped_frames", trial->dropped_frames },
		{ received, "mac_error_frames", mac->error_frames },
		{ received, "no_buffer_events", mac->no_buffer_events },
		{ share > 0, "own_transmit_share_ppm", share },
		{ share > 0, "own_transmit_length_bytes", node.own_length },
	};

	for (unsigned n = 0; n < sizeof list / sizeof list[0]; n++) {
		if (!list[n].applies || index-- > 0)
			continue;
		*name = list[n].name;
		*value = list[n].value;
		return true;
	}
	return false;
}

static bool counter(void *context, uint32_t port, uint32_t index, const char **name, uint64_t *value)
{
	uint32_t own = 0;

	(void)context;
	if (port > 0)
		return false;
	while (own_counter(own, name, value)) {
		if (own == index)
			return true;
		own++;
	}
	if (node.trial.asked.direction == WL_TRANSMIT)
		return false;
	/* Only the sender knows how many frames it sent. */
	return wl_receiver_counter(&node.trial.receiver, false, 0, index - own, name, value);
}

/* During transmission the CPU is busy except for its waits; during reception the idle loop measures. */
static bool load(void *context, uint32_t core, struct wl_cpu_load *load, struct wl_refusal *refusal)
{
	const struct trial *trial = &node.trial;

	(void)context;
	if (core > 0)
		return wl_refuse_limit(refusal, "core", 0);
	load->cores = 1;
	load->tick_ps = BOARD_TICK_PS;
	load->clock = WL_CLOCK_WALL;
	if (trial->asked.direction == WL_TRANSMIT && !trial->running && trial->sent.ticks > 0) {
		load->window_ticks = trial->sent.ticks;
		load->busy_ticks = trial->sent.ticks - trial->sent.wait_ticks;
		return true;
	}
	if (trial->load_known) {
		load->window_ticks = trial->load.window_ticks;
		load->busy_ticks = trial->load.busy_ticks;
		return true;
	}
	return wl_refuse(refusal, "unsupported", "core", "not known for this trial");
}

/* This board's points in the specification's order: received first. */
static const uint8_t points[] = { WL_RX_DRIVER, WL_RX_APPLICATION, WL_TX_APPLICATION, WL_TX_DRIVER,
				  WL_TX_MAC };

static bool point(void *context, uint32_t index, struct wl_capture_point *about, struct wl_refusal *refusal)
{
	const struct wl_start *asked = &node.trial.asked;

	(void)context;
	if (index >= sizeof points)
		return wl_refuse_limit(refusal, "point", sizeof points - 1);
	*about = (struct wl_capture_point){ .name = wl_capture_name_of(points[index]),
					    .points = sizeof points,
					    .count = wl_capture_count(points[index]),
					    .lost = wl_capture_lost(points[index]),
					    .tick_ps = BOARD_TICK_PS,
					    .resolution_ticks = 1,
					    .stream = index < 2 ? asked->rx_stream : asked->tx_stream,
					    .clock = WL_CLOCK_WALL };
	return true;
}

static void record(void *context, uint32_t index, uint32_t number, uint32_t *sequence, uint64_t *ticks)
{
	struct wl_record record = { 0 };

	(void)context;
	wl_capture_read(points[index], number, &record);
	*sequence = record.sequence;
	*ticks = record.ticks;
}

const struct wl_node node_control = {
	&identity, 0, setup, start, status, stop, counter, load, point, record
};

static void answer(const char *reply, size_t count)
{
	while (count-- > 0)
		board_uart_put(*reply++);
}

void control_init(void)
{
	/* The host at the cable may choose where traffic goes, so a session needs no secret. */
	wl_control_init(&control, &node_control, wl_clock());
}

void control_poll(void)
{
	uint64_t now_ms = wl_clock() / (BOARD_CORE_HZ / 1000);
	const char *reply;
	size_t count;
	int byte;

	while ((byte = board_uart_get()) >= 0) {
		switch (wl_assemble(&assembler, (char)byte, &count)) {
		case WL_LINE_DONE:
			count = wl_control_handle(&control, assembler.bytes, count, &cable, now_ms, &reply);
			answer(reply, count);
			break;
		case WL_LINE_DROPPED:
			count = assembler.bytes[0] == '?' ? wl_control_too_long(&control, &reply) : 0;
			answer(reply, count);
			break;
		default:
			break;
		}
	}
	wl_control_poll(&control, now_ms);
}
