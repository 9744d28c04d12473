/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Echo of test frames: which frames are echoed, which are not, and that every checksum is correct afterwards. */
#include "tap.h"
#include "wirelab/echo.h"

static const uint8_t own[6] = { 2, 0, 10, 55, 0, 2 }, peer[6] = { 2, 0, 10, 55, 0, 1 };

/* The header of spec/test-frame.md's example. */
static const uint8_t header[18] = { 0x57, 0x4C, 0x11, 0x03, 0, 0, 0x10, 0x01, 0,
				    1,	  2,	3,    4,    5, 0, 0x1C, 0x81, 0x8A };

static struct wl_echo echo;
static uint8_t frame[128], before[128];

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* Sum of RFC 1071: 0xFFFF if the checksum within is correct. */
static uint16_t sum(const uint8_t *at, size_t count, uint32_t begin)
{
	for (size_t n = 0; n < count; n += 2)
		begin += (uint32_t)at[n] << 8 | (n + 1 < count ? at[n + 1] : 0);
	while (begin >> 16)
		begin = (begin & 0xFFFF) + (begin >> 16);
	return (uint16_t)begin;
}

static void put_checksum(uint8_t *at, uint16_t folded)
{
	at[0] = (uint8_t)(~folded >> 8);
	at[1] = (uint8_t)~folded;
}

static uint16_t udp_sum(const uint8_t *ip)
{
	uint32_t pseudo = sum(ip + 12, 8, 17 + be16(ip + 24));

	return sum(ip + 20, be16(ip + 24), pseudo);
}

static void begin(void)
{
	echo = (struct wl_echo){ .own_ip = { 10, 55, 0, 2 } };
	memcpy(echo.own, own, 6);
	memset(frame, 0, sizeof frame);
	memcpy(frame, own, 6);
	memcpy(frame + 6, peer, 6);
}

static void put_ethernet(void)
{
	begin();
	frame[12] = 0x88;
	frame[13] = 0xB5;
	memcpy(frame + 14, header, 18);
}

/* A frame of UDP/IPv4 from port 40000 with 28 + 18 bytes of packet. */
static void put_udp(uint8_t time_to_live)
{
	static const uint8_t ip[28] = { 0x45, 0, 0, 46, 1,  2, 0x40, 0,	   0,	 17,   0,    0, 10,
					55,   0, 1, 10, 55, 0, 2,    0x9C, 0x40, 0x13, 0x8B, 0, 26 };

	begin();
	frame[12] = 8;
	memcpy(frame + 14, ip, 28);
	frame[22] = time_to_live;
	memcpy(frame + 42, header, 18);
	put_checksum(frame + 24, sum(frame + 14, 20, 0));
	put_checksum(frame + 40, udp_sum(frame + 14));
}

static void keep(void)
{
	memcpy(before, frame, sizeof frame);
}

/* Nothing is echoed, and nothing is changed. */
static void refused(void)
{
	keep();
	CHECK(!wl_echo_ethernet(&echo, frame, 60) && !wl_echo_udp(&echo, frame, 60));
	CHECK(memcmp(frame, before, sizeof frame) == 0);
}

static void a_test_frame_goes_back_with_its_addresses_swapped(void)
{
	put_ethernet();
	keep();
	CHECK(wl_echo_ethernet(&echo, frame, 60));
	CHECK(memcmp(frame, peer, 6) == 0 && memcmp(frame + 6, own, 6) == 0);
	CHECK(memcmp(frame + 12, before + 12, 48) == 0);
	echo.peer_known = true;
	memcpy(echo.peer, peer, 6);
	put_ethernet();
	CHECK(wl_echo_ethernet(&echo, frame, 32));
}

static void tags_stay(void)
{
	put_ethernet();
	memmove(frame + 20, frame + 12, 60);
	memcpy(frame + 12, "\x88\xA8\x00\x64\x81\x00\x00\x65", 8);
	keep();
	CHECK(wl_echo_ethernet(&echo, frame, 60));
	CHECK(memcmp(frame, peer, 6) == 0 && memcmp(frame + 12, before + 12, 48) == 0);
	for (size_t length = 0; length < 40; length++) {
		memcpy(frame, before, sizeof frame);
		CHECK(!wl_echo_ethernet(&echo, frame, length));
	}
}

static void what_is_not_for_this_node_stays(void)
{
	static const size_t places[] = { 0, 5, 12, 13, 14, 16, 17, 31 };

	for (size_t n = 0; n < sizeof places / sizeof places[0]; n++) {
		put_ethernet();
		frame[places[n]] ^= 0x10;
		refused();
	}
	put_ethernet();
	memset(frame, 0xFF, 6);
	refused();
	put_ethernet();
	frame[6] |= 1;
	refused();
	put_ethernet();
	echo.peer_known = true;
	refused();
	put_ethernet();
	CHECK(!wl_echo_ethernet(&echo, frame, 31) && !wl_echo_ethernet(&echo, frame, 0));
}

static void a_datagram_goes_back_and_its_checksums_hold(void)
{
	for (unsigned ttl = 1; ttl < 256; ttl++) {
		put_udp((uint8_t)ttl);
		EQUAL(sum(frame + 14, 20, 0), 0xFFFF);
		CHECK(wl_echo_udp(&echo, frame, 60));
		EQUAL(sum(frame + 14, 20, 0), 0xFFFF);
		EQUAL(udp_sum(frame + 14), 0xFFFF);
		EQUAL(frame[22], 64);
		CHECK(memcmp(frame + 26, "\x0A\x37\x00\x02\x0A\x37\x00\x01\x13\x8B\x9C\x40", 12) == 0);
		CHECK(memcmp(frame, peer, 6) == 0 && memcmp(frame + 6, own, 6) == 0);
	}
}

static void other_datagrams_stay(void)
{
	/* Version and length, fragment, protocol, own address, source, ports, lengths, header. */
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = { { 14, 0x44 }, { 14, 0x65 }, { 14, 0x4F }, { 20, 0x60 }, { 21, 1 },    { 23, 6 },
			{ 33, 3 },    { 29, 2 },    { 26, 0 },	  { 26, 224 },	{ 37, 0x8A }, { 39, 7 },
			{ 39, 27 },   { 17, 27 },   { 17, 60 },	  { 42, 0 },	{ 50, 9 } };

	for (size_t n = 0; n < sizeof changes / sizeof changes[0]; n++) {
		put_udp(64);
		frame[changes[n].at] = changes[n].value;
		refused();
	}
	put_udp(64);
	memset(frame + 34, 0, 2);
	refused();
	put_udp(64);
	frame[34] = 0, frame[35] = 7;
	refused();
	for (size_t length = 0; length < 60; length++) {
		put_udp(64);
		CHECK(!wl_echo_udp(&echo, frame, length));
	}
}

static void another_port_may_be_named(void)
{
	put_udp(64);
	echo.udp_port = 7;
	refused();
	put_udp(64);
	echo.udp_port = 0x138C;
	frame[37] = 0x8C;
	CHECK(wl_echo_udp(&echo, frame, 60));
}

int main(void)
{
	RUN(a_test_frame_goes_back_with_its_addresses_swapped);
	RUN(tags_stay);
	RUN(what_is_not_for_this_node_stays);
	RUN(a_datagram_goes_back_and_its_checksums_hold);
	RUN(other_datagrams_stay);
	RUN(another_port_may_be_named);
	return tap_end();
}
