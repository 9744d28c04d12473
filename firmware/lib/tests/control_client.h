/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clients of the server core for its tests: hosts over TCP or UDP, and serial lines. */
#ifndef WIRELAB_CONTROL_CLIENT_H
#define WIRELAB_CONTROL_CLIENT_H

#include "tap.h"

#include "demo_node.h"

static struct wl_control c;
static uint64_t now_ms;
static char answer[WL_LINE_BYTES + 1];

/* A host over TCP. */
static inline struct wl_peer host(uint8_t last)
{
	return (struct wl_peer){ .stream = true, .host = { 4, { 192, 0, 2, last } } };
}

/* A host over UDP, so perhaps another one in its name. */
static inline struct wl_peer datagram(uint8_t last)
{
	return (struct wl_peer){ .host = host(last).host };
}

static inline struct wl_peer serial(uint8_t line)
{
	return (struct wl_peer){ .serial = true, .line = line };
}

/* Send bytes; every answer must be a line with a correct check that is not a request. */
static inline const char *send(const char *text, size_t count, struct wl_peer peer)
{
	const char *reply;
	struct wl_line line;
	size_t length = wl_control_handle(&c, text, count, &peer, now_ms, &reply);

	memcpy(answer, reply, length);
	answer[length] = 0;
	if (length > 0)
		CHECK(wl_line_read(answer, length, true, &line) == WL_LINE_OK && line.mark != '?');
	return answer;
}

static inline const char *say(const char *text, struct wl_peer peer)
{
	char line[600];
	int count = snprintf(line, sizeof line, "%s", text);

	if (peer.serial)
		count += sprintf(line + count, " *%04X\n", wl_crc16(line, (size_t)count));
	return send(line, (size_t)count, peer);
}

static inline bool has(const char *text)
{
	bool found = strstr(answer, text) != NULL;

	if (!found)
		printf("# no '%s' in: %s\n", text, answer);
	return found;
}

/* A hello padded to so many bytes, or without padding if it is longer. */
static inline const char *padded(char text[WL_LINE_BYTES + 1], uint32_t nonce, size_t bytes)
{
	size_t count = (size_t)sprintf(text, "?0.%u hello version=1", nonce);

	if (count + 5 > bytes)
		return text;
	strcpy(text + count, " pad=");
	memset(text + count + 5, 'p', bytes - count - 5);
	text[bytes] = 0;
	return text;
}

/* Open a session, as a client does: over UDP with the longest line. 0: none. */
static inline uint32_t hello(uint32_t nonce, struct wl_peer peer)
{
	char text[WL_LINE_BYTES + 1];
	const char *session;

	padded(text, nonce, peer.serial || peer.stream ? 0 : WL_LINE_BYTES);
	session = strstr(say(text, peer), " session=");
	return session ? (uint32_t)strtoul(session + 9, NULL, 10) : 0;
}

/* A client with its session. */
struct client {
	struct wl_peer peer;
	uint32_t session, number;
};

static inline struct client join(struct wl_peer peer)
{
	return (struct client){ peer, hello(9, peer), 0 };
}

static inline const char *ask(struct client *client, const char *request)
{
	char text[600];

	snprintf(text, sizeof text, "?%u.%u %s", client->session, ++client->number, request);
	return say(text, client->peer);
}

static inline void begin(void)
{
	demo_begin(&c);
	now_ms = 1000;
}

#endif
