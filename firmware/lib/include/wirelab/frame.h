/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The test frame (spec/test-frame.md): its header, its LFSR payload, and the judge of one frame.
 *
 * Functions are pure: bytes in, bytes or a verdict out. None reads or writes outside of any bytes.
 */
#ifndef WIRELAB_FRAME_H
#define WIRELAB_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wirelab/options.h"

#define WL_HEADER_BYTES 18
#define WL_ETHERNET_HEADER_BYTES 14
#define WL_ETHERTYPE 0x88B5 /* IEEE Std 802 Local Experimental EtherType 1 */
#define WL_UDP_PORT 5003
#define WL_START_WORDS 4096
#define WL_MIN_LENGTH 60 /* smallest Ethernet frame without its FCS (IEEE 802.3) */
#define WL_WINDOW_BYTES (4 * (WL_START_WORDS + (WL_LFSR_MAX_BYTES + 3) / 4))

enum wl_flag {
	WL_FLAG_TIME_VALID = 1,
	WL_FLAG_NODE_CLOCK = 2,
	WL_FLAG_REPEATING = 4,
};

struct wl_header {
	uint8_t flags;
	uint8_t stream;
	uint32_t sequence; /* or the slot of a repeating frame */
	uint64_t time_ns; /* only the low 48 bits are sent */
	uint16_t lfsr_bytes;
};

enum wl_header_status {
	WL_HEADER_OK,
	WL_HEADER_SHORT,
	WL_HEADER_MAGIC,
	WL_HEADER_CHECKSUM, /* no field may be used */
	WL_HEADER_VERSION, /* another version with a correct checksum */
};

/* Write the 18 bytes with their checksum (RFC 1071). */
void wl_header_write(const struct wl_header *header, uint8_t out[WL_HEADER_BYTES]);

/* Read and check; `header` is only written if the result is WL_HEADER_OK. */
enum wl_header_status wl_header_read(const uint8_t *bytes, size_t count, struct wl_header *header);

/* Fill the table of WL_LFSR_WINDOW; does nothing without it. Call it once before anything of this module. */
void wl_lfsr_init(void);

/* Write the LFSR part of a sequence; at most WL_LFSR_MAX_BYTES. */
void wl_lfsr_fill(uint32_t sequence, uint8_t *out, size_t count);

/* Whether the bytes are the LFSR part of a sequence. */
bool wl_lfsr_matches(uint32_t sequence, const uint8_t *bytes, size_t count);

/* The start word, 0 to 4095, of the stream that the bytes are part of; -1 if there is none, or less than a word. The search
 * takes the time of about 4,096 words, so it is meant for the rare frame that did not match. */
int wl_lfsr_find(const uint8_t *bytes, size_t count);

/* Write header and LFSR part: the payload of a frame, a datagram, or a piece of a stream. Returns their length, or 0 if they do
 * not fit in `room` or the LFSR part is longer than WL_LFSR_MAX_BYTES. */
size_t wl_frame_data(const struct wl_header *header, uint8_t *out, size_t room);

/* Write an Ethernet frame of so many bytes without FCS, at least 60. Sets `header->lfsr_bytes` to the space. Returns the
 * length, or 0 if it is too small or too large. */
size_t wl_frame_ethernet(struct wl_header *header, const uint8_t to[6], const uint8_t from[6], uint8_t *out,
			 size_t length);

/* A receiver's knowledge of the flow that it checks. */
struct wl_flow {
	bool source_known; /* a damaged magic from `source` is then header-corrupt, not foreign */
	bool stream_known; /* frames of other streams are then foreign */
	uint8_t source[6];
	uint8_t stream;
	uint16_t udp_port; /* 0 stands for WL_UDP_PORT */
};

enum wl_verdict {
	WL_FOREIGN,
	WL_HEADER_CORRUPT,
	WL_TRUNCATED,
	WL_STALE,
	WL_CORRUPTED,
	WL_GOOD,
};

/* Whether a verdict comes with a header that may be used. */
static inline bool wl_has_header(enum wl_verdict verdict)
{
	return verdict >= WL_TRUNCATED;
}

/* Judge an Ethernet frame (destination address first, without FCS); skips tags, IP and UDP. */
enum wl_verdict wl_frame_judge(const uint8_t *frame, size_t length, const struct wl_flow *flow,
			       struct wl_header *header);

/* Judge bytes that begin with a test header. `ours`: the bytes come from the flow's own sender. */
enum wl_verdict wl_data_judge(const uint8_t *bytes, size_t count, const struct wl_flow *flow, bool ours,
			      struct wl_header *header);

/* Find the test data in a frame; false if the frame is not of the test flow's kind. */
bool wl_frame_locate(const uint8_t *frame, size_t length, uint16_t udp_port, size_t *offset, size_t *end);

#endif
