/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node's side of the node control protocol (spec/node-control.md), without I/O: a line and its sender in, at most
 * one line out. Sessions, repetition, paging and limits are done here; running a trial is the node's part (wl_node).
 */
#ifndef WIRELAB_CONTROL_H
#define WIRELAB_CONTROL_H

#include "wirelab/line.h"
#include "wirelab/options.h"
#include "wirelab/secret.h"

#define WL_CONTROL_VERSION 1
#define WL_CONTROL_PORT 5002
#define WL_WHY_BYTES 120
/* How long a host counts as proven after it was heard; its address may later belong to another machine. */
#define WL_PROOF_MS 60000

/* The protocol's words are numbered as in the lists of section 6; a set has a bit for each. */
enum wl_direction { WL_TRANSMIT, WL_RECEIVE, WL_BOTH, WL_ECHO };
enum wl_layer { WL_ETHERNET, WL_UDP_IPV4, WL_UDP_IPV6, WL_TCP_IPV4, WL_TCP_IPV6 };
enum wl_buffers { WL_PREFILLED, WL_COPIED, WL_DMA_COPIED, WL_COPIED_AHEAD, WL_IN_PLACE };
enum wl_traffic { WL_TRAFFIC_TEST, WL_TRAFFIC_IPERF2 };
enum wl_path { WL_PATH_STACK, WL_PATH_DRIVER, WL_PATH_FAST_TRACK, WL_PATH_LOOPBACK };
enum wl_state { WL_IDLE, WL_RUNNING, WL_DONE, WL_STOPPED, WL_ABANDONED, WL_FAILED };
enum wl_clock_kind { WL_CLOCK_WALL, WL_CLOCK_SIMULATED, WL_CLOCK_INSTRUCTIONS };
enum wl_spans { WL_SPANS_WIRE, WL_SPANS_PIN, WL_SPANS_CALL };
enum wl_size_unit { WL_FRAME_BYTES, WL_LENGTH_BYTES, WL_PAYLOAD_BYTES, WL_DATAGRAM_BYTES };
enum wl_load_unit {
	WL_LOAD_MAX,
	WL_LOAD_PPM,
	WL_LOAD_MILLIFRAMES_PER_S,
	WL_LOAD_BITS_PER_S,
	WL_LOAD_GAP_BYTES
};

#define WL_SET(word) (1u << (word))

struct wl_ip {
	uint8_t version; /* 4 or 6 */
	uint8_t bytes[16]; /* version 4: the first four */
};

/* The sender of a line: a host on any port, or a serial line by its number. Neither `serial` nor `stream` means UDP, where the
 * host may be forged. */
struct wl_peer {
	bool serial;
	bool stream; /* over TCP, so the host has proven its address */
	uint8_t line;
	struct wl_ip host;
};

/* The node's identity and abilities. */
struct wl_identity {
	const char *name; /* a word */
	uint32_t directions, layers, buffers, traffic, paths; /* sets */
	uint32_t ports;
	uint32_t min_frame_bytes, max_frame_bytes;
	uint64_t max_frames, max_time_ps;
	uint32_t max_captures, idle_ms;
	bool capture_unit; /* a capture unit in hardware */
};

/* The fields that a request or reply has. */
enum wl_has {
	WL_HAS_SIZE = 1 << 0,
	WL_HAS_LOAD = 1 << 1,
	WL_HAS_BUFFERS = 1 << 2,
	WL_HAS_DESCRIPTORS = 1 << 3,
	WL_HAS_NODE_PORT = 1 << 4,
	WL_HAS_PEER_PORT = 1 << 5,
	WL_HAS_PEER_MAC = 1 << 6,
	WL_HAS_PEER_IP = 1 << 7,
	WL_HAS_TIME = 1 << 8, /* the extent is a time, not frames */
	WL_HAS_LIMIT = 1 << 9,
	WL_HAS_NODE_MAC = 1 << 10,
	WL_HAS_NODE_IP = 1 << 11,
	WL_HAS_FRAME = 1 << 12,
	WL_HAS_SLOTS = 1 << 13,
	WL_HAS_UNIT = 1 << 14,
};

struct wl_start {
	uint32_t has; /* of wl_has; other fields have the protocol's defaults */
	uint8_t direction, layer, vlan_tags, traffic, path, buffers, size_unit, load_unit, tx_stream,
		rx_stream;
	uint32_t size_bytes;
	uint64_t load;
	uint64_t extent; /* frames of each flow, or ps */
	uint64_t limit_ps; /* the trial's longest duration */
	uint32_t ports, captures;
	uint16_t descriptors, node_port, peer_port;
	uint8_t unit_point; /* of wl_point (wirelab/points.h), for capture units in hardware; WL_POINTS: all */
	uint8_t peer_mac[6];
	struct wl_ip peer_ip;
	const char *beyond; /* a field that needs an operating system, or 0 */
};

struct wl_started {
	uint32_t has;
	uint32_t frame_bytes, slots;
	uint8_t buffers;
	uint8_t node_mac[6], peer_mac[6];
	struct wl_ip node_ip, peer_ip;
	uint16_t node_port, peer_port;
};

struct wl_status {
	uint8_t state;
	bool counts, timed; /* whether the frames, and the fields below, are known */
	uint64_t tx_frames, rx_frames, elapsed_ticks, tick_ps;
	uint8_t spans, clock;
	const char *why; /* or 0 */
};

struct wl_cpu_load {
	uint32_t cores;
	uint64_t busy_ticks, window_ticks, idle_busy_ticks, idle_window_ticks,
		tick_ps; /* idle pair: 0 if unknown */
	uint8_t clock;
	bool shared;
};

struct wl_capture_point {
	const char *name;
	uint32_t points, count;
	uint64_t lost, tick_ps, resolution_ticks;
	uint8_t stream, clock;
};

/* The reason. Texts must stay valid. */
struct wl_refusal {
	const char *code; /* of section 8 */
	const char *field; /* or 0 */
	struct wl_text unknown; /* a field's name in the line, instead of `field` */
	const char *why; /* or 0 */
	bool limited, about_trial;
	uint64_t limit;
	uint32_t trial;
};

/* Fill in a refusal and return false, for `return wl_refuse(…)`. */
bool wl_refuse(struct wl_refusal *refusal, const char *code, const char *field, const char *why);
bool wl_refuse_limit(struct wl_refusal *refusal, const char *field, uint64_t limit);

/* The node's functions. Each gets `context`; times are in ms since any fixed moment. None may block. */
struct wl_node {
	const struct wl_identity *identity;
	void *context;
	/* Set-up key `index`; false behind the last. Texts of more than 120 bytes are cut. */
	bool (*setup)(void *context, uint32_t index, const char **key, const char **text);
	/* Start a checked trial; it must end on its own after limit_ps. `started` is all zero. */
	bool (*start)(void *context, uint32_t trial, const struct wl_start *start, const struct wl_peer *peer,
		      uint64_t now_ms, struct wl_started *started, struct wl_refusal *refusal);
	/* The progress of the last trial; `status` is all zero before, which means idle. */
	void (*status)(void *context, uint64_t now_ms, struct wl_status *status);
	/* End the last trial in `state`. */
	void (*stop)(void *context, enum wl_state state, uint64_t now_ms);
	/* Counter `index` of a port; false behind the last. */
	bool (*counter)(void *context, uint32_t port, uint32_t index, const char **name, uint64_t *value);
	bool (*load)(void *context, uint32_t core, struct wl_cpu_load *load, struct wl_refusal *refusal);
	bool (*point)(void *context, uint32_t point, struct wl_capture_point *about,
		      struct wl_refusal *refusal);
	/* Record `index` of a point, below the count from `point`. */
	void (*record)(void *context, uint32_t point, uint32_t index, uint32_t *sequence, uint64_t *ticks);
};

struct wl_session {
	uint32_t number; /* 0: free */
	uint32_t nonce;
	uint32_t last;
	uint64_t heard_ms;
	struct wl_peer peer;
	uint16_t reply_count;
	char reply[WL_LINE_BYTES];
};

struct wl_control {
	const struct wl_node *node;
	struct wl_secret secret;
	uint32_t trial; /* the last one; 0 before the first */
	struct wl_peer owner;
	uint64_t owner_heard_ms;
	/* Of hello over UDP: the saved milliseconds, and until when. */
	uint32_t hello_saved_ms, hello_ms;
	struct wl_session sessions[WL_CONTROL_SESSIONS];
	struct wl_out out;
};

/* `seed` must be as hard to guess as possible. */
void wl_control_init(struct wl_control *control, const struct wl_node *node, uint64_t seed);

/* Answer a line. Returns the bytes of the answer in *reply, 0 for silence. Over UDP `count` is that of the datagram: outside of
 * a session no answer is longer. */
size_t wl_control_handle(struct wl_control *control, const char *bytes, size_t count,
			 const struct wl_peer *peer, uint64_t now_ms, const char **reply);

/* The answer to a request that was too long for the assembler. */
size_t wl_control_too_long(struct wl_control *control, const char **reply);

/* Whether a host has proven its address: a request in its own session was answered, and the session was heard within the last
 * WL_PROOF_MS. */
bool wl_control_proven(const struct wl_control *control, const struct wl_ip *host, uint64_t now_ms);

/* Mix something that a stranger does not know, such as the time of an event, into the key of all further numbers. */
void wl_control_stir(struct wl_control *control, uint64_t word);

/* A number for another proof of an address, such as the first sequence number of a TCP connection. It is as hard to guess as
 * session numbers, and reveals nothing about them. */
uint32_t wl_control_random(struct wl_control *control);

/* Let time pass: ends the trial of a silent peer. Call it a few times a second. */
void wl_control_poll(struct wl_control *control, uint64_t now_ms);

/* Check the command and fields of any request as far as the node's state is not needed, and read the fields of `start`. */
bool wl_start_read(const struct wl_line *line, struct wl_start *start, struct wl_refusal *refusal);
bool wl_request_check(const struct wl_line *line, struct wl_refusal *refusal);

/* Check a start against the node's abilities, its limits and the allowed destinations; sets limit_ps. */
bool wl_start_check(struct wl_start *start, const struct wl_identity *node, const struct wl_peer *peer,
		    struct wl_refusal *refusal);

bool wl_ip_read(struct wl_text text, struct wl_ip *ip);
void wl_ip_write(const struct wl_ip *ip, struct wl_out *out);
bool wl_mac_read(struct wl_text text, uint8_t mac[6]);
void wl_mac_write(const uint8_t mac[6], struct wl_out *out);

/* Lists of words, each ended by 0, in the order of the enums above. */
extern const char *const wl_words_direction[], *const wl_words_layer[], *const wl_words_buffers[];
extern const char *const wl_words_traffic[], *const wl_words_path[], *const wl_words_state[];
extern const char *const wl_words_clock[], *const wl_words_spans[];

#endif
