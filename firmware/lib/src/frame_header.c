/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The 18-byte test header, and whole frames and datagrams built around it. */
#include "wirelab/frame.h"

#include "bytes.h"

#define VERSION 1

enum { AT_VERSION = 2, AT_STREAM = 3, AT_SEQUENCE = 4, AT_TIME = 8, AT_LFSR = 14, AT_CHECKSUM = 16 };

/* RFC 1071 over the bytes before it: the complement of the ones' complement sum. */
static uint16_t checksum(const uint8_t *bytes)
{
	uint32_t total = 0;

	for (size_t at = 0; at < AT_CHECKSUM; at += 2)
		total += wl_be16(bytes + at);
	/* Eight words sum to less than 2^19: two folds are enough. */
	total = (total & 0xFFFF) + (total >> 16);
	total = (total & 0xFFFF) + (total >> 16);
	return (uint16_t)(total ^ 0xFFFF);
}

void wl_header_write(const struct wl_header *header, uint8_t out[WL_HEADER_BYTES])
{
	out[0] = 'W';
	out[1] = 'L';
	out[AT_VERSION] = (uint8_t)(VERSION << 4 | (header->flags & 15));
	out[AT_STREAM] = header->stream;
	wl_put32(out + AT_SEQUENCE, header->sequence);
	wl_put16(out + AT_TIME, (uint16_t)(header->time_ns >> 32));
	wl_put32(out + AT_TIME + 2, (uint32_t)header->time_ns);
	wl_put16(out + AT_LFSR, header->lfsr_bytes);
	wl_put16(out + AT_CHECKSUM, checksum(out));
}

enum wl_header_status wl_header_read(const uint8_t *bytes, size_t count, struct wl_header *header)
{
	if (count < WL_HEADER_BYTES)
		return WL_HEADER_SHORT;
	if (bytes[0] != 'W' || bytes[1] != 'L')
		return WL_HEADER_MAGIC;
	/* Compared with the sent value, so that only one checksum is correct and not two (0 and 0xFFFF). */
	if (wl_be16(bytes + AT_CHECKSUM) != checksum(bytes))
		return WL_HEADER_CHECKSUM;
	if (bytes[AT_VERSION] >> 4 != VERSION)
		return WL_HEADER_VERSION;
	header->flags = bytes[AT_VERSION] & 15;
	header->stream = bytes[AT_STREAM];
	header->sequence = wl_be32(bytes + AT_SEQUENCE);
	header->time_ns = (uint64_t)wl_be16(bytes + AT_TIME) << 32 | wl_be32(bytes + AT_TIME + 2);
	header->lfsr_bytes = wl_be16(bytes + AT_LFSR);
	return WL_HEADER_OK;
}

size_t wl_frame_data(const struct wl_header *header, uint8_t *out, size_t room)
{
	size_t count = (size_t)WL_HEADER_BYTES + header->lfsr_bytes;

	if (header->lfsr_bytes > WL_LFSR_MAX_BYTES || count > room)
		return 0;
	wl_header_write(header, out);
	wl_lfsr_fill(header->sequence, out + WL_HEADER_BYTES, header->lfsr_bytes);
	return count;
}

size_t wl_frame_ethernet(struct wl_header *header, const uint8_t to[6], const uint8_t from[6], uint8_t *out,
			 size_t length)
{
	size_t around = WL_ETHERNET_HEADER_BYTES + WL_HEADER_BYTES;

	if (length < WL_MIN_LENGTH || length > around + WL_LFSR_MAX_BYTES)
		return 0;
	header->lfsr_bytes = (uint16_t)(length - around);
	memcpy(out, to, 6);
	memcpy(out + 6, from, 6);
	wl_put16(out + 12, WL_ETHERTYPE);
	wl_frame_data(header, out + WL_ETHERNET_HEADER_BYTES, length - WL_ETHERNET_HEADER_BYTES);
	return length;
}
