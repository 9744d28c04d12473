/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Control replies, and lists in pages (spec/node-control.md, sections 6 to 8). */
#include "bytes.h"
#include "control_reply.h"

#define NEXT_BYTES 16 /* the longest " next=4294967295" */

static size_t length(const char *text)
{
	size_t count = 0;

	while (text[count] != 0)
		count++;
	return count;
}

/* At most so many bytes, without a partial character (UTF-8). */
static size_t cut(const char *text, size_t most)
{
	size_t count = length(text);

	if (count <= most)
		return count;
	while (most > 0 && ((uint8_t)text[most] & 0xC0) == 0x80)
		most--;
	return most;
}

static void text_field(struct wl_out *out, const char *prefix, const char *key, const char *text)
{
	wl_out_key(out, prefix, key);
	wl_out_text(out, text, cut(text, WL_WHY_BYTES));
}

static void list(struct wl_out *out, const char *key, const char *const *words, uint32_t set)
{
	bool more = false;

	wl_out_key(out, "", key);
	for (unsigned n = 0; words[n] != 0; n++) {
		if (!(set & WL_SET(n)))
			continue;
		if (more)
			wl_out_text(out, ",", 1);
		wl_out_text(out, words[n], length(words[n]));
		more = true;
	}
}

static uint32_t setup_count(const struct wl_node *node)
{
	const char *key, *text;
	uint32_t count = 0;

	while (node->setup(node->context, count, &key, &text))
		count++;
	return count;
}

void wl_reply_hello(struct wl_out *out, const struct wl_node *node, uint16_t version, uint32_t session)
{
	const struct wl_identity *about = node->identity;

	wl_out_number_field(out, "version", version);
	wl_out_number_field(out, "session", session);
	wl_out_word_field(out, "name", about->name);
	wl_out_number_field(out, "setup", setup_count(node));
	list(out, "directions", wl_words_direction, about->directions);
	list(out, "layers", wl_words_layer, about->layers);
	list(out, "buffers", wl_words_buffers, about->buffers);
	list(out, "traffic", wl_words_traffic, about->traffic);
	list(out, "paths", wl_words_path, about->paths);
	wl_out_number_field(out, "ports", about->ports);
	wl_out_number_field(out, "min_frame_bytes", about->min_frame_bytes);
	wl_out_number_field(out, "max_frame_bytes", about->max_frame_bytes);
	wl_out_number_field(out, "max_frames", about->max_frames);
	wl_out_number_field(out, "max_time_ps", about->max_time_ps);
	wl_out_number_field(out, "max_captures", about->max_captures);
	wl_out_number_field(out, "idle_ms", about->idle_ms);
}

static void mac_field(struct wl_out *out, const char *key, const uint8_t mac[6])
{
	wl_out_key(out, "", key);
	wl_mac_write(mac, out);
}

static void ip_field(struct wl_out *out, const char *key, const struct wl_ip *ip)
{
	wl_out_key(out, "", key);
	wl_ip_write(ip, out);
}

void wl_reply_started(struct wl_out *out, uint32_t trial, uint64_t limit_ps, const struct wl_started *started)
{
	uint32_t has = started->has;

	wl_out_number_field(out, "trial", trial);
	wl_out_number_field(out, "limit_ps", limit_ps);
	if (has & WL_HAS_FRAME)
		wl_out_number_field(out, "frame_bytes", started->frame_bytes);
	if (has & WL_HAS_SLOTS)
		wl_out_number_field(out, "slots", started->slots);
	if (has & WL_HAS_BUFFERS)
		wl_out_word_field(out, "buffers", wl_words_buffers[started->buffers]);
	if (has & WL_HAS_NODE_MAC)
		mac_field(out, "node_mac", started->node_mac);
	if (has & WL_HAS_NODE_IP)
		ip_field(out, "node_ip", &started->node_ip);
	if (has & WL_HAS_NODE_PORT)
		wl_out_number_field(out, "node_port", started->node_port);
	if (has & WL_HAS_PEER_MAC)
		mac_field(out, "peer_mac", started->peer_mac);
	if (has & WL_HAS_PEER_IP)
		ip_field(out, "peer_ip", &started->peer_ip);
	if (has & WL_HAS_PEER_PORT)
		wl_out_number_field(out, "peer_port", started->peer_port);
}

/* Instructions are never converted into time, so they have no tick. */
static void clock_fields(struct wl_out *out, uint8_t clock, uint64_t tick_ps)
{
	wl_out_word_field(out, "clock", wl_words_clock[clock]);
	if (clock != WL_CLOCK_INSTRUCTIONS)
		wl_out_number_field(out, "tick_ps", tick_ps);
}

void wl_reply_status(struct wl_out *out, uint32_t trial, const struct wl_status *status)
{
	wl_out_number_field(out, "trial", trial);
	wl_out_word_field(out, "state", wl_words_state[status->state]);
	if (status->counts) {
		wl_out_number_field(out, "tx_frames", status->tx_frames);
		wl_out_number_field(out, "rx_frames", status->rx_frames);
	}
	if (status->timed) {
		wl_out_number_field(out, "elapsed_ticks", status->elapsed_ticks);
		wl_out_word_field(out, "spans", wl_words_spans[status->spans]);
		clock_fields(out, status->clock, status->tick_ps);
	}
	if (status->why != 0)
		text_field(out, "", "why", status->why);
}

void wl_reply_load(struct wl_out *out, uint32_t trial, uint32_t core, const struct wl_cpu_load *load)
{
	wl_out_number_field(out, "trial", trial);
	wl_out_number_field(out, "core", core);
	wl_out_number_field(out, "cores", load->cores);
	wl_out_number_field(out, "busy_ticks", load->busy_ticks);
	wl_out_number_field(out, "window_ticks", load->window_ticks);
	if (load->idle_window_ticks > 0) {
		wl_out_number_field(out, "idle_busy_ticks", load->idle_busy_ticks);
		wl_out_number_field(out, "idle_window_ticks", load->idle_window_ticks);
	}
	clock_fields(out, load->clock, load->tick_ps);
	wl_out_word_field(out, "shared", load->shared ? "yes" : "no");
}

/* Begin a page of a list of `count` items. */
static bool page(struct wl_out *out, uint32_t from, uint32_t count, struct wl_refusal *refusal)
{
	if (from > count)
		return wl_refuse_limit(refusal, "from", count);
	wl_out_number_field(out, "from", from);
	wl_out_number_field(out, "count", count);
	return true;
}

/* An error of the node must not produce an unreadable line. */
static bool is_key(const char *prefix, const char *key)
{
	struct wl_text text = { key, length(key) };
	char first = text.count > 0 ? key[0] : 0;

	/* Behind a prefix a key may begin with any allowed character, because the prefix has the required letter. */
	if (length(prefix) + text.count > WL_KEY_BYTES || text.count == 0)
		return false;
	if (first == '_' || first == '-' || first == '.' || (first >= '0' && first <= '9'))
		return text.count == 1 || is_key("", key + 1);
	return wl_text_is_word(text);
}

bool wl_reply_setup(struct wl_out *out, const struct wl_node *node, uint32_t from, struct wl_refusal *refusal)
{
	uint32_t at = from, count = setup_count(node);
	const char *key, *text;

	if (!page(out, from, count, refusal))
		return false;
	for (; at < count && node->setup(node->context, at, &key, &text); at++) {
		uint16_t mark = wl_out_mark(out);

		if (!is_key("set.", key))
			return wl_refuse(refusal, "failed", 0, "a set-up key that is no key");
		text_field(out, "set.", key, text);
		if (!wl_out_keep(out, mark, NEXT_BYTES))
			break;
	}
	wl_out_number_field(out, "next", at);
	return true;
}

bool wl_reply_counters(struct wl_out *out, const struct wl_node *node, uint32_t trial, uint32_t port,
		       uint32_t from, struct wl_refusal *refusal)
{
	uint32_t at = from, count = 0;
	const char *name;
	uint64_t value;

	while (node->counter(node->context, port, count, &name, &value))
		count++;
	if (count == 0)
		return wl_refuse(refusal, "unsupported", "port", "no counters here");
	wl_out_number_field(out, "trial", trial);
	wl_out_number_field(out, "port", port);
	if (!page(out, from, count, refusal))
		return false;
	for (; at < count && node->counter(node->context, port, at, &name, &value); at++) {
		uint16_t mark = wl_out_mark(out);

		if (!is_key("c.", name))
			return wl_refuse(refusal, "failed", 0, "a counter whose name is no key");
		wl_out_key(out, "c.", name);
		wl_out_number(out, value);
		if (!wl_out_keep(out, mark, NEXT_BYTES))
			break;
	}
	wl_out_number_field(out, "next", at);
	return true;
}

static void point_fields(struct wl_out *out, uint32_t point, const struct wl_capture_point *about)
{
	wl_out_number_field(out, "point", point);
	wl_out_number_field(out, "points", about->points);
	text_field(out, "", "name", about->name);
	wl_out_number_field(out, "stream", about->stream);
	clock_fields(out, about->clock, about->tick_ps);
	wl_out_number_field(out, "resolution_ticks", about->resolution_ticks);
	wl_out_word_field(out, "owner", "node");
	wl_out_number_field(out, "lost", about->lost);
}

bool wl_reply_captures(struct wl_out *out, const struct wl_node *node, uint32_t trial, uint32_t point,
		       uint32_t from, struct wl_refusal *refusal)
{
	struct wl_capture_point about = { 0 };
	uint32_t at = from, sequence, base_sequence = 0;
	uint64_t ticks, base_ticks = 0;

	if (!node->point(node->context, point, &about, refusal))
		return false;
	wl_out_number_field(out, "trial", trial);
	point_fields(out, point, &about);
	if (from < about.count) {
		node->record(node->context, point, from, &base_sequence, &base_ticks);
		wl_out_number_field(out, "base_sequence", base_sequence);
		wl_out_number_field(out, "base_ticks", base_ticks);
	}
	if (!page(out, from, about.count, refusal))
		return false;
	for (; at < about.count; at++) {
		uint16_t mark = wl_out_mark(out);

		node->record(node->context, point, at, &sequence, &ticks);
		if (at == from)
			wl_out_key(out, "", "data");
		else
			wl_out_text(out, ",", 1);
		wl_out_number(out, sequence - base_sequence);
		wl_out_text(out, ":", 1);
		wl_out_number(out, ticks - base_ticks);
		if (!wl_out_keep(out, mark, NEXT_BYTES))
			break;
	}
	wl_out_number_field(out, "next", at);
	return true;
}

void wl_reply_refusal(struct wl_out *out, uint32_t session, uint32_t number, const struct wl_refusal *refusal)
{
	wl_out_begin(out, '!', session, number, refusal->code);
	if (refusal->field != 0)
		wl_out_word_field(out, "field", refusal->field);
	if (refusal->unknown.count > 0) {
		wl_out_key(out, "", "field");
		wl_out_text(out, refusal->unknown.at, refusal->unknown.count);
	}
	if (refusal->limited)
		wl_out_number_field(out, "limit", refusal->limit);
	if (refusal->about_trial)
		wl_out_number_field(out, "trial", refusal->trial);
	if (refusal->why != 0)
		text_field(out, "", "why", refusal->why);
	wl_out_end(out);
}
