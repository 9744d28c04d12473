/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test frames on their way back. */
#include "wirelab/echo.h"

#include "bytes.h"

#define ETHERNET_BYTES 14
#define TEST_BYTES 18
#define TPID_CUSTOMER 0x8100
#define TPID_SERVICE 0x88A8
#define ETHERTYPE_TEST 0x88B5
#define ETHERTYPE_IPV4 0x0800
#define PROTOCOL_UDP 17
#define TEST_PORT 5003
#define ECHO_PORT 7 /* RFC 862 */
#define TIME_TO_LIVE 64 /* RFC 1700 */

bool wl_echo_is_test(const uint8_t *bytes, size_t count)
{
	uint32_t sum = 0;

	if (count < TEST_BYTES || bytes[0] != 'W' || bytes[1] != 'L' || bytes[2] >> 4 != 1)
		return false;
	for (unsigned at = 0; at < TEST_BYTES; at += 2)
		sum += wl_be16(bytes + at);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (sum & 0xFFFF) + (sum >> 16) == 0xFFFF;
}

/* Whether a frame is from one station to this one, and from the peer if that is known. */
static bool is_for_us(const struct wl_echo *echo, const uint8_t *frame)
{
	return memcmp(frame, echo->own, 6) == 0 && (frame[6] & 1) == 0 &&
	       (!echo->peer_known || memcmp(frame + 6, echo->peer, 6) == 0);
}

static void swap(uint8_t *one, uint8_t *other, size_t count)
{
	for (size_t n = 0; n < count; n++) {
		uint8_t byte = one[n];

		one[n] = other[n];
		other[n] = byte;
	}
}

/* Skip VLAN tags; returns the offset of the EtherType, or 0. */
static size_t type_at(const uint8_t *frame, size_t length)
{
	size_t at = 12;

	for (int tags = 0; tags < 2 && length >= at + 6; tags++, at += 4) {
		uint16_t type = wl_be16(frame + at);

		if (type != TPID_CUSTOMER && type != TPID_SERVICE)
			break;
	}
	return length >= at + 2 ? at : 0;
}

bool wl_echo_ethernet(const struct wl_echo *echo, uint8_t *frame, size_t length)
{
	size_t at = length < ETHERNET_BYTES ? 0 : type_at(frame, length);

	if (at == 0 || wl_be16(frame + at) != ETHERTYPE_TEST || !is_for_us(echo, frame) ||
	    !wl_echo_is_test(frame + at + 2, length - at - 2))
		return false;
	swap(frame, frame + 6, 6);
	return true;
}

/* Whether these bytes are a whole datagram to this node's address and port, from a host's port. */
static bool is_our_datagram(const struct wl_echo *echo, const uint8_t *ip, size_t count)
{
	uint16_t port = echo->udp_port ? echo->udp_port : TEST_PORT, from;
	size_t header = (size_t)(ip[0] & 15) * 4, total = wl_be16(ip + 2), udp;

	if (ip[0] >> 4 != 4 || header < 20 || total > count || total < header + 8 ||
	    (wl_be16(ip + 6) & 0x3FFF) != 0 || ip[9] != PROTOCOL_UDP)
		return false;
	if (memcmp(ip + 16, echo->own_ip, 4) != 0 || memcmp(ip + 12, echo->own_ip, 4) == 0 || ip[12] == 0 ||
	    ip[12] >= 224)
		return false;
	from = wl_be16(ip + header);
	udp = wl_be16(ip + header + 4);
	if (wl_be16(ip + header + 2) != port || from == 0 || from == ECHO_PORT || udp < 8 ||
	    udp > total - header)
		return false;
	return wl_echo_is_test(ip + header + 8, udp - 8);
}

bool wl_echo_udp(const struct wl_echo *echo, uint8_t *frame, size_t length)
{
	size_t at = length < ETHERNET_BYTES ? 0 : type_at(frame, length), header;
	uint8_t *ip = frame + at + 2;
	uint32_t sum;

	if (at == 0 || wl_be16(frame + at) != ETHERTYPE_IPV4 || length < at + 2 + 20 + 8 ||
	    !is_for_us(echo, frame) || !is_our_datagram(echo, ip, length - at - 2))
		return false;
	header = (size_t)(ip[0] & 15) * 4;
	swap(frame, frame + 6, 6);
	swap(ip + 12, ip + 16, 4);
	swap(ip + header, ip + header + 2, 2);
	/* RFC 1624: HC' = ~(~HC + ~m + m'), m being the word of time to live and protocol. */
	sum = (uint32_t)(uint16_t)~wl_be16(ip + 10) + (uint16_t)~wl_be16(ip + 8) +
	      (TIME_TO_LIVE << 8 | PROTOCOL_UDP);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	ip[8] = TIME_TO_LIVE;
	wl_put16(ip + 10, (uint16_t)~sum);
	return true;
}
