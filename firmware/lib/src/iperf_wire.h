/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The layouts of iperf 2: client header, datagram, report and acknowledgement, of every generation. */
#ifndef WIRELAB_IPERF_WIRE_H
#define WIRELAB_IPERF_WIRE_H

#include "bytes.h"
#include "wirelab/iperf.h"

/* Bytes of the head of a datagram: number, time, and with 64-bit numbers a word more. */
#define NARROW_BYTES 12
#define WIDE_BYTES 16
/* Bytes of the client header of the first version, and with the extension of 2.1. */
#define V1_BYTES 24
#define HEADER_BYTES 60
#define ACK_BYTES 28
/* Every report has so many: 2.0.13 wants at least 116. */
#define REPORT_BYTES 128

/* The filling where a head has the high word of its number. */
#define FILLING_AT_12 0x32333435u

/* Bits of what wl_iperf_layout returns. */
#define LAYOUT_WIDE 4
#define LAYOUT_HEADER 1
/* A word more behind a head of NARROW_BYTES, and the last number has its top bit set in place of a sign. */
#define LAYOUT_FLAGGED 8

/* Which generation wrote the first datagram of a flow; it has at least NARROW_BYTES. */
unsigned wl_iperf_layout(const uint8_t *bytes, size_t have);

/* The bytes read of a header with this first word; 0 if it is not a header. */
size_t wl_iperf_header_bytes(uint32_t first);

/* The offset of header or report in a datagram. */
static inline size_t wl_iperf_head(unsigned layout)
{
	return (layout & (LAYOUT_WIDE | LAYOUT_FLAGGED)) != 0 ? WIDE_BYTES : NARROW_BYTES;
}

/* Bytes of the head of a datagram back: for 2.0.10 to 2.0.13 with the flags of a header without a request. */
static inline uint8_t wl_iperf_back_head(unsigned layout)
{
	/* The bits' values are the numbers of bytes behind the narrow head. */
	return (uint8_t)(NARROW_BYTES + (layout & (LAYOUT_WIDE | LAYOUT_FLAGGED)));
}

/* Read a client header; false if it is not one, or is invalid. */
bool wl_iperf_header_read(const uint8_t *bytes, size_t have, struct wl_iperf_ask *ask);

/* Write a client header of HEADER_BYTES as 2.1.8 does. */
void wl_iperf_header_write(const struct wl_iperf_ask *ask, bool udp, uint32_t streams, uint8_t *out);

/* Write a report of REPORT_BYTES, in the peer's layout. */
void wl_iperf_report_write(const struct wl_iperf_count *count, unsigned layout, uint8_t *out);

/* Read a report of any generation; false if it is not a report. */
bool wl_iperf_report_read(const uint8_t *bytes, size_t have, struct wl_iperf_count *count);

/* Write the answer to a header that requests one, ACK_BYTES. */
void wl_iperf_ack_write(uint8_t *out);

#endif
