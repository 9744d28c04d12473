/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The judge of one frame: its flow, and whether every byte is correct. */
#include "wirelab/frame.h"

#include "bytes.h"

#define TPID_CUSTOMER 0x8100
#define TPID_SERVICE 0x88A8
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86DD
#define PROTOCOL_UDP 17

static bool locate_udp(const uint8_t *frame, size_t length, uint16_t port, size_t at, size_t *offset,
		       size_t *end)
{
	size_t datagram;

	if (length < at + 8)
		return false;
	datagram = wl_be16(frame + at + 4);
	if (wl_be16(frame + at + 2) != (port ? port : WL_UDP_PORT) || datagram < 8)
		return false;
	*offset = at + 8;
	*end = at + datagram < length ? at + datagram : length;
	return true;
}

static bool locate_ip(const uint8_t *frame, size_t length, uint16_t port, size_t at, size_t *offset,
		      size_t *end)
{
	size_t header;

	if (wl_be16(frame + at - 2) == ETHERTYPE_IPV6) {
		if (length < at + 40 || frame[at] >> 4 != 6 || frame[at + 6] != PROTOCOL_UDP)
			return false;
		return locate_udp(frame, length, port, at + 40, offset, end);
	}
	if (length < at + 20)
		return false;
	header = (size_t)(frame[at] & 15) * 4;
	/* A fragment: the offset, or the flag that more follow. */
	if (frame[at] >> 4 != 4 || header < 20 || (wl_be16(frame + at + 6) & 0x3FFF) != 0)
		return false;
	if (frame[at + 9] != PROTOCOL_UDP)
		return false;
	return locate_udp(frame, length, port, at + header, offset, end);
}

bool wl_frame_locate(const uint8_t *frame, size_t length, uint16_t udp_port, size_t *offset, size_t *end)
{
	size_t at = WL_ETHERNET_HEADER_BYTES;
	uint16_t type;

	for (int tags = 0;; tags++, at += 4) {
		if (length < at)
			return false;
		type = wl_be16(frame + at - 2);
		if (tags == 2 || (type != TPID_CUSTOMER && type != TPID_SERVICE))
			break;
	}
	if (type == ETHERTYPE_IPV4 || type == ETHERTYPE_IPV6)
		return locate_ip(frame, length, udp_port, at, offset, end);
	*offset = at;
	*end = length;
	return type == WL_ETHERTYPE;
}

enum wl_verdict wl_data_judge(const uint8_t *bytes, size_t count, const struct wl_flow *flow, bool ours,
			      struct wl_header *header)
{
	const uint8_t *lfsr = bytes + WL_HEADER_BYTES;

	switch (wl_header_read(bytes, count, header)) {
	case WL_HEADER_SHORT:
	case WL_HEADER_MAGIC:
		return ours ? WL_HEADER_CORRUPT : WL_FOREIGN;
	case WL_HEADER_CHECKSUM:
		return WL_HEADER_CORRUPT;
	case WL_HEADER_VERSION:
		return WL_FOREIGN;
	case WL_HEADER_OK:
		break;
	}
	if (flow->stream_known && flow->stream != header->stream)
		return WL_FOREIGN;
	if (count - WL_HEADER_BYTES < header->lfsr_bytes)
		return WL_TRUNCATED;
	if (wl_lfsr_matches(header->sequence, lfsr, header->lfsr_bytes))
		return WL_GOOD;
	return wl_lfsr_find(lfsr, header->lfsr_bytes) >= 0 ? WL_STALE : WL_CORRUPTED;
}

enum wl_verdict wl_frame_judge(const uint8_t *frame, size_t length, const struct wl_flow *flow,
			       struct wl_header *header)
{
	size_t offset, end;
	bool ours;

	if (!wl_frame_locate(frame, length, flow->udp_port, &offset, &end))
		return WL_FOREIGN;
	ours = flow->source_known && memcmp(frame + 6, flow->source, 6) == 0;
	return wl_data_judge(frame + offset, end - offset, flow, ours, header);
}
