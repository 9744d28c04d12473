/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test frames for the blaster: headers once, header and payload of the test frame for each frame or each slot. */
#include "wirelab/blast.h"
#include "wirelab/frame.h"

#include "bytes.h"

enum { IPV4_BYTES = 20, UDP_BYTES = 8, AT_IPV4 = 14, TTL = 64, PROTOCOL_UDP = 17, MAX_IPV4 = 65535 };

static size_t around(const struct wl_blast_frames *frames)
{
	return (size_t)WL_ETHERNET_HEADER_BYTES + (frames->udp ? IPV4_BYTES + UDP_BYTES : 0);
}

static size_t stride(const struct wl_blast_frames *frames)
{
	return (frames->length + 3) & ~(size_t)3;
}

static void write_udp(const struct wl_blast_frames *frames, uint8_t *ip)
{
	uint16_t packet = (uint16_t)(frames->length - AT_IPV4);
	uint32_t sum = 0;

	memset(ip, 0, IPV4_BYTES + UDP_BYTES);
	ip[0] = 0x45;
	wl_put16(ip + 2, packet);
	ip[6] = 0x40; /* not to be fragmented, so that an identification of 0 is right (RFC 6864) */
	ip[8] = TTL;
	ip[9] = PROTOCOL_UDP;
	memcpy(ip + 12, frames->ip_from, 4);
	memcpy(ip + 16, frames->ip_to, 4);
	for (size_t at = 0; at < IPV4_BYTES; at += 2)
		sum += wl_be16(ip + at);
	sum = (sum & 0xFFFF) + (sum >> 16);
	wl_put16(ip + 10, (uint16_t) ~(sum + (sum >> 16)));
	wl_put16(ip + 20, frames->port_from);
	wl_put16(ip + 22, frames->port_to);
	/* The checksum stays 0, which is "none" (RFC 768): the test frame has its own. */
	wl_put16(ip + 24, (uint16_t)(packet - IPV4_BYTES));
}

static void write_test(const struct wl_blast_frames *frames, uint8_t *frame, uint32_t sequence)
{
	size_t at = around(frames);
	struct wl_header header = { .stream = frames->stream, .sequence = sequence };

	if (frames->slots > 0)
		header.flags = WL_FLAG_REPEATING;
	header.lfsr_bytes = (uint16_t)(frames->length - at - WL_HEADER_BYTES);
	wl_frame_data(&header, frame + at, frames->length - at);
}

bool wl_blast_prepare(const struct wl_blast_frames *frames)
{
	size_t least = around(frames) + WL_HEADER_BYTES;
	size_t count = frames->slots > 0 ? frames->slots : 1;

	if (frames->length < WL_MIN_LENGTH || frames->length < least ||
	    frames->length - least > WL_LFSR_MAX_BYTES || frames->length - AT_IPV4 > MAX_IPV4)
		return false;
	if (frames->slots > WL_START_WORDS || frames->room < (count - 1) * stride(frames) + frames->length)
		return false;
	for (size_t slot = 0; slot < count; slot++) {
		uint8_t *frame = frames->memory + slot * stride(frames);

		memcpy(frame, frames->to, 6);
		memcpy(frame + 6, frames->from, 6);
		wl_put16(frame + 12, frames->udp ? 0x0800 : WL_ETHERTYPE);
		if (frames->udp)
			write_udp(frames, frame + AT_IPV4);
		write_test(frames, frame, (uint32_t)slot);
	}
	return true;
}

const uint8_t *wl_blast_frame(void *context, uint64_t number, size_t *length)
{
	const struct wl_blast_frames *frames = context;

	*length = frames->length;
	if (frames->slots > 0)
		return frames->memory + (size_t)((uint32_t)number % frames->slots) * stride(frames);
	write_test(frames, frames->memory, (uint32_t)number);
	return frames->memory;
}
