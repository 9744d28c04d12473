/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trials: transmit scenarios, reception, both at once, and echo, on the EMAC's rings. */
#include <string.h>

#include "board.h"
#include "board_config.h"
#include "lpc1768.h"
#include "node.h"

#include "wirelab/points.h"

#define PS_TO_TICKS(ps) ((ps) / BOARD_TICK_PS)
#define MS(count) ((uint64_t)(count) * (BOARD_CORE_HZ / 1000))
#define DESCRIPTORS 3u /* as AN11053 had it */
#define FCS_BYTES 4u
#define WIRE_BYTES (8u + FCS_BYTES + 12u) /* preamble, FCS and gap */
/* Frames under way at a trial's end arrive within this time (spec/node-control.md, section 5). */
#define QUIET MS(10)
#define LONGEST_QUIET MS(500)
/* How often a running trial checks its time and its peer. */
#define LOOK_TICKS 1000u
#define POLL_TICKS ((uint32_t)MS(100))

static struct trial *const trial = &node.trial;

/* One pass of a receiving trial's loop, as wl_load counts it. */
static void pass(void *context)
{
	(void)context;
	if (reception_poll() || board_uart_pending())
		return;
	wl_load_idle(&node.idle);
}

static size_t length_asked(const struct wl_start *start)
{
	switch (start->size_unit) {
	case WL_FRAME_BYTES:
		return start->size_bytes - FCS_BYTES;
	case WL_PAYLOAD_BYTES:
		return start->size_bytes + WL_ETHERNET_HEADER_BYTES < WL_MIN_LENGTH
			       ? WL_MIN_LENGTH
			       : start->size_bytes + WL_ETHERNET_HEADER_BYTES;
	default:
		return start->size_bytes;
	}
}

/* Ticks from frame to frame times 2^16; at 100 Mbit/s a tick of 10 ns is a bit. */
static uint64_t interval_q16(const struct wl_start *start, size_t length)
{
	uint64_t bits_q16 = (uint64_t)(length + WIRE_BYTES) * 8 << 16;

	switch (start->load_unit) {
	case WL_LOAD_PPM:
		return bits_q16 * 1000000 / start->load;
	case WL_LOAD_MILLIFRAMES_PER_S:
		return ((uint64_t)BOARD_CORE_HZ * 1000 << 16) / start->load;
	case WL_LOAD_BITS_PER_S:
		return bits_q16 / start->load * BOARD_CORE_HZ +
		       bits_q16 % start->load * BOARD_CORE_HZ / start->load;
	case WL_LOAD_GAP_BYTES:
		return bits_q16 + (((uint64_t)start->load * 8) << 16) - (12u * 8 << 16);
	default:
		return 0;
	}
}

static void plan_scenario(const struct wl_start *start)
{
	struct wl_scenario *scenario = &trial->scenario;

	*scenario = (struct wl_scenario){ 0 };
	scenario->buffers = start->has & WL_HAS_BUFFERS ? start->buffers : WL_COPIED;
	scenario->descriptors = start->has & WL_HAS_DESCRIPTORS ? start->descriptors : DESCRIPTORS;
	scenario->frames = start->has & WL_HAS_TIME ? UINT64_MAX : start->extent;
	scenario->length = length_asked(start);
	scenario->stream = start->tx_stream;
	scenario->interval_q16 = interval_q16(start, scenario->length);
	scenario->data = application_data;
	memcpy(scenario->from, node.address, 6);
	memcpy(scenario->to, start->path == WL_PATH_LOOPBACK ? node.address : start->peer_mac, 6);
}

static bool sends(const struct wl_start *start)
{
	return start->direction == WL_TRANSMIT || start->direction == WL_BOTH;
}

static bool may(const struct wl_start *start, struct wl_refusal *refusal)
{
	if (start->vlan_tags > 0)
		return wl_refuse_limit(refusal, "vlan_tags", 0);
	if ((start->has & WL_HAS_DESCRIPTORS) && start->descriptors < WL_SCENARIO_MIN_DESCRIPTORS)
		return wl_refuse_limit(refusal, "descriptors", WL_SCENARIO_MIN_DESCRIPTORS);
	if ((start->has & WL_HAS_DESCRIPTORS) && start->descriptors > WL_SCENARIO_MAX_DESCRIPTORS)
		return wl_refuse_limit(refusal, "descriptors", WL_SCENARIO_MAX_DESCRIPTORS);
	if (start->path == WL_PATH_LOOPBACK && start->direction != WL_BOTH)
		return wl_refuse(refusal, "unsupported", "path", "loopback is for direction=both");
	if (start->path == WL_PATH_LOOPBACK)
		return true;
	if (!node.mac || !emac_link())
		return wl_refuse(refusal, "failed", 0,
				 node.mac ? "there is no link" : "the PHY did not answer");
	return true;
}

bool trial_start(const struct wl_start *start, struct wl_started *started, struct wl_refusal *refusal)
{
	if (!may(start, refusal))
		return false;
	memset(trial, 0, sizeof(*trial));
	trial->any = trial->running = true;
	trial->asked = *start;
	trial->limit_ticks = UINT64_MAX;
	plan_scenario(start);
	trial->receiver.flow = (struct wl_flow){ .stream_known = true, .stream = start->rx_stream };
	if (!(start->has & WL_HAS_TIME))
		trial->reception.frames = start->extent;
	started->has = WL_HAS_NODE_MAC;
	memcpy(started->node_mac, node.address, 6);
	if (sends(start)) {
		started->has |= WL_HAS_PEER_MAC | WL_HAS_BUFFERS | WL_HAS_FRAME;
		memcpy(started->peer_mac, trial->scenario.to, 6);
		started->buffers = (uint8_t)trial->scenario.buffers;
		started->frame_bytes = (uint32_t)trial->scenario.length + FCS_BYTES;
		if (wl_scenario_repeats(trial->scenario.buffers)) {
			started->has |= WL_HAS_SLOTS;
			started->slots = trial->scenario.descriptors + 1;
			if (start->path == WL_PATH_LOOPBACK)
				trial->receiver.slots.slots = started->slots;
		}
	}
	application_data_init();
	wl_capture_start(start->captures);
	return true;
}

/* Begin the end, unless it has begun: frames under way are still received. */
void trial_stop(enum wl_state state)
{
	if (!trial->running || trial->ending)
		return;
	trial->ending = true;
	trial->ending_state = (uint8_t)state;
	trial->ending_ticks = trial->heard_ticks = wl_clock();
}

/* Reads the serial line and the time. Most calls do neither, because the calls stand in measured loops. */
bool trial_goes_on(void)
{
	static uint32_t looked, polled;
	uint32_t now = board_ticks();

	if (board_uart_pending() || now - polled >= POLL_TICKS) {
		polled = now;
		control_poll();
	}
	if (now - looked < LOOK_TICKS)
		return !trial->ending;
	looked = now;
	if (!trial->ending && wl_clock() >= trial->limit_ticks)
		trial_stop(trial->asked.has & WL_HAS_TIME ? WL_DONE : WL_STOPPED);
	return !trial->ending;
}

/* The MAC does not notice a lost link. */
static void end(enum wl_state state, const char *why)
{
	if (state != WL_FAILED && trial->asked.path != WL_PATH_LOOPBACK && !emac_link_held()) {
		state = WL_FAILED;
		why = "the link went down meanwhile";
	}
	trial->state = (uint8_t)state;
	trial->why = why;
	trial->running = false;
	emac_loopback(false);
}

/* Receive until all frames have arrived, or until the requested end and the frames under way then. */
static void receive_on(void)
{
	for (;;) {
		uint64_t now;

		pass(0);
		now = wl_clock();
		if (!trial->ending && wl_reception_done(&trial->reception))
			break;
		if (!trial_goes_on() &&
		    (now - trial->heard_ticks >= QUIET || now - trial->ending_ticks >= LONGEST_QUIET))
			break;
	}
	trial->load_known =
		trial->asked.direction != WL_BOTH && trial->reception.received > 1 &&
		wl_load_read_until(&node.idle, trial->last_rounds, trial->reception.last_ticks, &trial->load);
	if (trial->reception.received > 0)
		trial->elapsed_ticks = trial->reception.last_ticks - trial->reception.first_ticks;
	board_pin(false);
	end(trial->ending ? trial->ending_state : WL_DONE, 0);
}

static void send_all(void)
{
	const char *why;

	if (!wl_scenario_run(&trial_ring, &trial->scenario, &trial->sent, &why)) {
		end(WL_FAILED, why);
		return;
	}
	trial->elapsed_ticks = trial->sent.ticks;
	if (trial->asked.direction == WL_BOTH)
		return;
	if (trial->scenario.buffers == WL_PREFILLED && !trial->sent.ended) {
		node.own = trial->sent;
		node.own_length = trial->scenario.length;
	}
	end(trial->sent.ended ? trial->ending_state : WL_DONE, 0);
}

void trial_run(void)
{
	uint64_t sent_ticks;

	if (!trial->running)
		return;
	/* The reply leaves before the first frame, so that no interrupt of the serial line falls into the measured time. */
	board_uart_flush();
	trial->limit_ticks = wl_clock() + PS_TO_TICKS(trial->asked.limit_ps);
	emac_loopback(trial->asked.path == WL_PATH_LOOPBACK);
	if (sends(&trial->asked)) {
		send_all();
		sent_ticks = trial->elapsed_ticks;
		if (!trial->running)
			return;
		receive_on();
		trial->elapsed_ticks = sent_ticks;
		return;
	}
	if (emac_open(trial->scenario.descriptors) == 0) {
		end(WL_FAILED, "the MAC did not come out of its reset");
		return;
	}
	receive_on();
	if (trial->asked.direction == WL_ECHO)
		while (emac_held() > 0 && wl_clock() - trial->heard_ticks < MS(10))
			;
}

void trial_init(void)
{
	node.mac = emac_init(node.address);
	gpdma_init();
	application_data_init();
	wl_points_name();
	if (node.mac && emac_open(DESCRIPTORS) != 0)
		wl_load_calibrate(&node.idle, pass, 0, MS(2));
}
