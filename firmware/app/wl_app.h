/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application: UDP, TCP and Ethernet trials of test frames, echo, counters, CPU load and capture points,
 * behind the node control protocol. It knows no stack and no board: glue provides struct wl_net and passes lines on.
 *
 *     wl_app_init(&app, &config);
 *     for (;;) {
 *             poll the stack, which calls wl_app_udp() and the like, and wl_app_line() for a control line;
 *             wake = wl_app_poll(&app);
 *             where there was nothing to do: sleep until `wake`, then call: wl_app_idle(&app, ticks)
 *     }
 *
 * wl_clock() is the clock of everything (wirelab/options.h).
 */
#ifndef WIRELAB_APP_H
#define WIRELAB_APP_H

#include "wl_net.h"
#include "pace.h"
#include "wirelab/blast.h"
#include "wirelab/points.h"
#include "wirelab/track.h"

/* The longest piece of a TCP flow, and the longest frame. */
#define WL_APP_BYTES (WL_HEADER_BYTES + WL_LFSR_MAX_BYTES)
/* Most counters of driver and stack. */
#define WL_APP_FURTHER 20
/* Prepared frames of the blaster past the stack, and the space for each. */
#define WL_APP_SLOTS 8
#define WL_APP_SLOT_BYTES 1520
/* Hosts with a TCP connection that are remembered. */
#define WL_APP_PROOFS 4

/* Records that a capture unit keeps at most. */
#define WL_UNIT_RECORDS 512

/* Times of one frame from capture units, in ticks: of a received frame from the line to a point, of a sent one from a point to
 * the line. Each direction has a clock that runs only between its line and its farthest point. */
struct wl_unit_record {
	uint32_t sequence;
	uint32_t ticks[WL_POINTS]; /* 0: not requested */
	uint64_t in_before, out_before; /* of those clocks, before this frame */
};

/* Capture units in hardware (spec/node-control.md): clocks between the line and the points of a frame's path. WL_MARK marks the
 * points. */
struct wl_unit {
	uint32_t tick_ps;
	/* Forget all records, and take at most so many: of one point (of wl_point), or of all points of an echo (WL_POINTS).
	 * stop takes no more. */
	void (*start)(uint8_t point, uint32_t records);
	void (*stop)(void);
	uint32_t (*count)(void);
	/* Frames without a record of their own. */
	uint64_t (*lost)(void);
	/* The cost of a mark, as measured at the start. */
	uint32_t (*cost_ticks)(void);
	/* Record `index`, below the count. */
	const struct wl_unit_record *(*record)(uint32_t index);
};

/* The time between the line and the farthest point of a direction. */
static inline uint32_t wl_unit_longest(const struct wl_unit_record *record, bool incoming)
{
	uint32_t longest = 0;

	for (unsigned at = 0; at < WL_POINTS; at++)
		if ((at <= WL_RX_APPLICATION) == incoming && record->ticks[at] > longest)
			longest = record->ticks[at];
	return longest;
}

struct wl_app_config {
	const struct wl_identity *identity;
	const char *const (*setup)[2]; /* key and text */
	unsigned setup_count;
	uint32_t tick_ps; /* of wl_clock() */
	uint64_t link_bits_per_s; /* 0: not known, so no load in ppm of it */
	uint8_t mac[6];
	struct wl_ip ip; /* version 0: not known */
	const struct wl_net *net;
	/* Counter `index` of driver and stack since the node's start, by the protocol's names; false behind the last. NULL: no
	 * counters. */
	bool (*further)(void *context, uint32_t index, const char **name, uint64_t *value);
	void *further_context;
	const struct wl_unit *unit; /* or 0 */
	bool shared; /* other programs use this core too */
	uint64_t seed; /* as hard to guess as can be */
};

/* All sizes of a trial's frames. */
struct wl_app_sizes {
	uint32_t frame_bytes; /* with FCS; 0 where no size was requested */
	uint32_t length_bytes; /* without */
	uint32_t
		data_bytes; /* test header and LFSR part: the datagram, or what follows the Ethernet header */
};

struct wl_app_span {
	uint64_t first_ticks, last_ticks, frames;
};

struct wl_app_sender {
	bool on, over;
	uint8_t stream;
	struct wl_pace pace;
	uint64_t frames, end_ticks; /* its extent: whichever is reached first */
	uint64_t sequences, refused, bytes;
	struct wl_app_span span;
	size_t cut_at, cut_left; /* of a frame of a TCP flow that was handed over in part */
};

struct wl_app_receiver {
	bool on, over, echo;
	uint64_t frames; /* ends after so many */
	uint64_t echoed, refused, missed;
	struct wl_app_span span;
	struct wl_receiver judged;
	size_t begun; /* bytes of a TCP flow's frame that has begun */
	bool transit_known;
	uint32_t transit_ns;
	uint64_t jitter_16th_ns; /* RFC 3550, 6.4.1, times 16 */
	bool has_jitter;
};

/* A host with a TCP connection, and when the connection was last heard. */
struct wl_app_proof {
	struct wl_ip host;
	uint64_t heard;
};

struct wl_app {
	struct wl_app_config config;
	struct wl_node node;
	struct wl_control control;
	uint64_t ms_ticks;
	uint64_t control_due;
	/* The last trial. */
	struct wl_start asked;
	struct wl_app_sizes sizes;
	struct wl_ip peer; /* version 0: any host */
	uint8_t peer_mac[6];
	bool peer_mac_known;
	uint8_t state,
		ending; /* of wl_state; ending: the one that it goes into when nothing comes any more */
	const char *why;
	uint64_t began, connect_by, limit, ending_since;
	unsigned connections;
	bool resolving; /* the peer's link-layer address was asked for */
	struct wl_app_sender sender;
	struct wl_app_receiver receiver;
	uint64_t further_before[WL_APP_FURTHER], further_after[WL_APP_FURTHER];
	/* CPU load: idle ticks since the start, and their values at moments of the trial. */
	uint64_t idle, idle_at_end, ended_at;
	uint64_t first_idle, last_idle, first_at, last_at;
	uint64_t before_idle, before_window;
	uint8_t points[WL_POINTS], point_count; /* those that took records */
	uint64_t point_ticks; /* cost of a point, measured before the trial */
	/* Aligned, so that data behind lwIP's headers are copied by words. */
	_Alignas(4) uint8_t out[WL_APP_BYTES + WL_ETHERNET_HEADER_BYTES];
	uint8_t in[WL_APP_BYTES];
	struct wl_app_proof proofs[WL_APP_PROOFS];
	/* Past the stack. */
	bool blasting;
	uint64_t blast_now;
	struct wl_blast blast;
	struct wl_blast_frames blast_frames;
	uint8_t slots[WL_APP_SLOTS * WL_APP_SLOT_BYTES];
};

void wl_app_init(struct wl_app *app, const struct wl_app_config *config);

/* Answer a control line. Returns the bytes of the answer in *reply, 0 for silence. */
size_t wl_app_line(struct wl_app *app, const char *bytes, size_t count, const struct wl_peer *peer,
		   const char **reply);

/* A number that is hard to guess: a TCP connection proves an address only if its first sequence number is one. */
uint32_t wl_app_random(struct wl_app *app);

/* A TCP connection with a host was heard: it opened, brought data or ended. */
void wl_app_connected(struct wl_app *app, const struct wl_ip *host);

/* Whether a host has proven its address: its session was heard, or within the last minute a TCP connection with it. Only the
 * glue knows of a connection that is open but was silent for longer. */
bool wl_app_proven(const struct wl_app *app, const struct wl_ip *host);

/* Do what is due. Returns the time of the next thing to do, which may be now. */
uint64_t wl_app_poll(struct wl_app *app);

/* The node had nothing to do for so many ticks; the CPU load follows from this. */
static inline void wl_app_idle(struct wl_app *app, uint64_t ticks)
{
	app->idle += ticks;
}

/* Whether a trial runs in which nothing else may run: no timers of the stack, no sleep. */
static inline bool wl_app_quiet(const struct wl_app *app)
{
	return app->state == WL_RUNNING && app->asked.path == WL_PATH_LOOPBACK;
}

#endif
