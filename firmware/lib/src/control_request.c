/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Control requests: the fields of each command, and the fields of `start` as numbers. */
#include "bytes.h"
#include "wirelab/control.h"

const char *const wl_words_direction[] = { "transmit", "receive", "both", "echo", 0 };
const char *const wl_words_layer[] = { "ethernet", "udp-ipv4", "udp-ipv6", "tcp-ipv4", "tcp-ipv6", 0 };
const char *const wl_words_buffers[] = { "prefilled", "copied", "dma-copied", "copied-ahead", "in-place", 0 };
const char *const wl_words_traffic[] = { "test", "iperf2", 0 };
const char *const wl_words_path[] = { "stack", "driver", "fast-track", "loopback", 0 };
static const char *const words_wait[] = { "sleep", "spin", 0 };
/* In the order of wl_point (wirelab/points.h), then the word for all points. */
static const char *const words_unit[] = {
	"in.interrupt", "in.driver", "in.application", "out.application", "out.driver", "out.mac", "all", 0
};
static const char *const words_probes[] = { "auto", "fentry", "raw", "off", 0 };
const char *const wl_words_state[] = { "idle", "running", "done", "stopped", "abandoned", "failed", 0 };
const char *const wl_words_clock[] = { "wall", "simulated", "instructions", 0 };
const char *const wl_words_spans[] = { "wire", "pin", "call", 0 };

static const char *const size_keys[] = { "frame_bytes", "length_bytes", "payload_bytes", "datagram_bytes",
					 0 };
static const char *const load_keys[] = {
	"load", "load_ppm", "load_milliframes_per_s", "load_bits_per_s", "load_gap_bytes", 0
};

/* In the order of reading: of two mistakes the reply names the first in this list. */
static const char *const start_keys[] = { "direction",
					  "layer",
					  "vlan_tags",
					  "traffic",
					  "path",
					  "frame_bytes",
					  "length_bytes",
					  "payload_bytes",
					  "datagram_bytes",
					  "load",
					  "load_ppm",
					  "load_milliframes_per_s",
					  "load_bits_per_s",
					  "load_gap_bytes",
					  "frames",
					  "time_ps",
					  "limit_ps",
					  "ports",
					  "tx_stream",
					  "rx_stream",
					  "buffers",
					  "descriptors",
					  "captures",
					  "capture_unit",
					  "wait",
					  "rule",
					  "probes",
					  "background_port",
					  "node_port",
					  "peer_port",
					  "peer_mac",
					  "peer_ip",
					  0 };
/* A question mark marks an optional key, a tilde one whose value is not checked either. */
static const char *const version_keys[] = { "version", "~pad", 0 }, *const from_keys[] = { "from", 0 };
static const char *const status_keys[] = { "?trial", 0 }, *const stop_keys[] = { "trial", 0 };
static const char *const counters_keys[] = { "trial", "?port", "from", 0 };
static const char *const core_keys[] = { "trial", "?core", 0 };
static const char *const captures_keys[] = { "trial", "point", "from", 0 };

static const struct command {
	const char *name;
	const char *const *keys;
	uint32_t most; /* largest number */
} commands[] = {
	{ "hello", version_keys, UINT16_MAX },
	{ "hello", from_keys, UINT32_MAX },
	{ "start", start_keys, UINT32_MAX },
	{ "status", status_keys, UINT32_MAX },
	{ "stop", stop_keys, UINT32_MAX },
	{ "counters", counters_keys, UINT32_MAX },
	{ "load", core_keys, UINT32_MAX },
	{ "captures", captures_keys, UINT32_MAX },
	{ 0, 0, 0 },
};

bool wl_refuse(struct wl_refusal *refusal, const char *code, const char *field, const char *why)
{
	*refusal = (struct wl_refusal){ .code = code, .field = field, .why = why };
	return false;
}

bool wl_refuse_limit(struct wl_refusal *refusal, const char *field, uint64_t limit)
{
	*refusal = (struct wl_refusal){ .code = "limit", .field = field, .limited = true, .limit = limit };
	return false;
}

static int find_word(const char *const *words, struct wl_text text)
{
	for (int n = 0; words[n] != 0; n++)
		if (wl_text_is(text, words[n]))
			return n;
	return -1;
}

/* A request during reading: it keeps the first mistake. */
struct reader {
	const struct wl_line *line;
	struct wl_refusal *refusal;
	bool good;
};

static bool fail(struct reader *r, const char *code, const char *field)
{
	if (r->good)
		wl_refuse(r->refusal, code, field, 0);
	r->good = false;
	return false;
}

/* Whether the key is present; if not, `value` stays unchanged. */
static bool number(struct reader *r, const char *key, uint64_t most, uint64_t *value)
{
	struct wl_text text;
	uint64_t read;

	if (!wl_line_get(r->line, key, &text))
		return false;
	if (!wl_text_number(text, &read) || read > most)
		return fail(r, "bad-value", key);
	*value = read;
	return true;
}

static uint64_t number_or(struct reader *r, const char *key, uint64_t most, uint64_t value)
{
	number(r, key, most, &value);
	return value;
}

static bool word(struct reader *r, const char *key, const char *const *words, uint8_t *value)
{
	struct wl_text text;
	int found;

	if (!wl_line_get(r->line, key, &text))
		return false;
	found = find_word(words, text);
	if (found < 0)
		return fail(r, "bad-value", key);
	*value = (uint8_t)found;
	return true;
}

static void read_size(struct reader *r, struct wl_start *start)
{
	for (uint8_t unit = 0; size_keys[unit] != 0; unit++) {
		uint64_t bytes;

		if (!number(r, size_keys[unit], UINT32_MAX, &bytes))
			continue;
		if (start->has & WL_HAS_SIZE)
			fail(r, "bad-value", "frame_bytes");
		start->has |= WL_HAS_SIZE;
		start->size_unit = unit;
		start->size_bytes = (uint32_t)bytes;
	}
}

static void read_load(struct reader *r, struct wl_start *start)
{
	for (uint8_t unit = 0; load_keys[unit] != 0; unit++) {
		bool small = unit == WL_LOAD_PPM || unit == WL_LOAD_GAP_BYTES;
		struct wl_text text;

		if (!wl_line_get(r->line, load_keys[unit], &text))
			continue;
		if (start->has & WL_HAS_LOAD)
			fail(r, "bad-value", "load");
		start->has |= WL_HAS_LOAD;
		start->load_unit = unit;
		if (unit != WL_LOAD_MAX)
			number(r, load_keys[unit], small ? UINT32_MAX : UINT64_MAX, &start->load);
		else if (!wl_text_is(text, "max"))
			fail(r, "bad-value", "load");
	}
}

static void read_extent(struct reader *r, struct wl_start *start)
{
	struct wl_text text;
	bool frames = wl_line_get(r->line, "frames", &text);
	bool time = wl_line_get(r->line, "time_ps", &text);

	if (!frames && !time)
		fail(r, "missing-field", "frames");
	number(r, "frames", UINT64_MAX, &start->extent);
	if (frames && time)
		fail(r, "bad-value", "frames");
	if (number(r, "time_ps", UINT64_MAX, &start->extent))
		start->has |= WL_HAS_TIME;
}

static void read_addresses(struct reader *r, struct wl_start *start)
{
	struct wl_text text;

	if (wl_line_get(r->line, "peer_mac", &text)) {
		start->has |= WL_HAS_PEER_MAC;
		if (!wl_mac_read(text, start->peer_mac))
			fail(r, "bad-value", "peer_mac");
	}
	if (wl_line_get(r->line, "peer_ip", &text)) {
		start->has |= WL_HAS_PEER_IP;
		if (!wl_ip_read(text, &start->peer_ip))
			fail(r, "bad-value", "peer_ip");
	}
}

static void beyond(struct wl_start *start, bool asked, const char *key)
{
	if (asked && start->beyond == 0)
		start->beyond = key;
}

/* Fields of nodes with an operating system: mistakes are reported here, valid values are refused later. */
static void read_beyond(struct reader *r, struct wl_start *start)
{
	struct wl_text text;
	uint64_t port;
	uint8_t found;

	beyond(start, word(r, "wait", words_wait, &found), "wait");
	beyond(start, wl_line_get(r->line, "rule", &text), "rule");
	beyond(start, word(r, "probes", words_probes, &found), "probes");
	beyond(start, number(r, "background_port", UINT16_MAX, &port), "background_port");
}

static bool has_number(struct reader *r, struct wl_start *start, uint32_t has, const char *key,
		       uint16_t *value)
{
	uint64_t read;

	if (!number(r, key, UINT16_MAX, &read))
		return false;
	start->has |= has;
	*value = (uint16_t)read;
	return true;
}

bool wl_start_read(const struct wl_line *line, struct wl_start *start, struct wl_refusal *refusal)
{
	struct reader r = { line, refusal, true };

	*start = (struct wl_start){ 0 };
	if (!word(&r, "direction", wl_words_direction, &start->direction))
		fail(&r, "missing-field", "direction");
	if (!word(&r, "layer", wl_words_layer, &start->layer))
		fail(&r, "missing-field", "layer");
	start->vlan_tags = (uint8_t)number_or(&r, "vlan_tags", UINT8_MAX, 0);
	word(&r, "traffic", wl_words_traffic, &start->traffic);
	word(&r, "path", wl_words_path, &start->path);
	read_size(&r, start);
	read_load(&r, start);
	read_extent(&r, start);
	if (number(&r, "limit_ps", UINT64_MAX, &start->limit_ps))
		start->has |= WL_HAS_LIMIT;
	start->ports = (uint32_t)number_or(&r, "ports", UINT32_MAX, 1);
	start->tx_stream = (uint8_t)number_or(&r, "tx_stream", UINT8_MAX, 0);
	start->rx_stream = (uint8_t)number_or(&r, "rx_stream", UINT8_MAX, 0);
	if (word(&r, "buffers", wl_words_buffers, &start->buffers))
		start->has |= WL_HAS_BUFFERS;
	has_number(&r, start, WL_HAS_DESCRIPTORS, "descriptors", &start->descriptors);
	start->captures = (uint32_t)number_or(&r, "captures", UINT32_MAX, 0);
	if (word(&r, "capture_unit", words_unit, &start->unit_point))
		start->has |= WL_HAS_UNIT;
	read_beyond(&r, start);
	start->node_port = start->peer_port = start->traffic == WL_TRAFFIC_IPERF2 ? 5001 : 5003;
	has_number(&r, start, WL_HAS_NODE_PORT, "node_port", &start->node_port);
	has_number(&r, start, WL_HAS_PEER_PORT, "peer_port", &start->peer_port);
	read_addresses(&r, start);
	return r.good;
}

/* The numeric fields of commands other than start, in the order of their keys. */
static bool check_numbers(struct reader *r, const struct command *command)
{
	for (const char *const *key = command->keys; *key != 0; key++) {
		bool optional = **key == '?';
		uint64_t value;

		if (**key == '~')
			continue;
		if (!number(r, *key + optional, command->most, &value) && !optional)
			fail(r, "missing-field", *key);
	}
	return r->good;
}

static bool knows(const struct command *command, struct wl_text key)
{
	for (const char *const *known = command->keys; *known != 0; known++)
		if (wl_text_is(key, *known + (**known == '?' || **known == '~')))
			return true;
	return false;
}

bool wl_request_check(const struct wl_line *line, struct wl_refusal *refusal)
{
	struct reader r = { line, refusal, true };
	const struct command *command = commands;
	struct wl_text rest = line->fields;
	struct wl_field field;
	struct wl_start start;

	/* The first form of hello opens a session. */
	while (command->name != 0 &&
	       (!wl_text_is(line->name, command->name) || (command == commands && line->session != 0)))
		command++;
	if (command->name == 0)
		return wl_refuse(refusal, "unknown-command", 0,
				 "commands: hello start status stop counters load captures");
	while (wl_line_next(&rest, &field)) {
		if (knows(command, field.key))
			continue;
		wl_refuse(refusal, "unknown-field", 0, 0);
		refusal->unknown = field.key;
		return false;
	}
	if (command->keys == start_keys)
		return wl_start_read(line, &start, refusal);
	return check_numbers(&r, command);
}
