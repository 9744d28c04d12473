/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The packet identifier: the frames that each condition matches, and that no damaged one goes past the stack. */
#include "tap.h"
#include "wirelab/identify.h"

static uint8_t frame[1600];
static size_t length;
static struct wl_identified got;
static unsigned taken;

static void take(void *context, const struct wl_identified *found)
{
	got = *found;
	taken += context == &taken;
}

/* From a block of exactly that size, so that a read beyond it is found. */
static bool track(const struct wl_rule *rules, size_t count)
{
	uint8_t *copy = malloc(length ? length : 1);
	bool did;

	if (!copy)
		abort();
	memcpy(copy, frame, length);
	did = wl_fast_track(rules, count, copy, length);
	free(copy);
	return did;
}

static bool matches(struct wl_rule rule)
{
	rule.take = take;
	rule.context = &taken;
	return track(&rule, 1);
}

/* 10.55.0.1:1025 to 10.55.0.2:1026, "hello", padded to 60 with bytes other than 0. */
static void ipv4(void)
{
	length = tap_hex("02000a37000202000a3700010800", frame, 14);
	length += tap_hex("4500002100004000401126590a3700010a370002", frame + length, 20);
	length += tap_hex("04010402000d11b968656c6c6f", frame + length, 13);
	memset(frame + length, 0xEE, 60 - length);
	length = 60;
}

/* fd00::1 to fd00::2, the same datagram. */
static void ipv6(void)
{
	length = tap_hex("02000a37000202000a37000186dd", frame, 14);
	length += tap_hex("60000000000d1140fd000000000000000000000000000001fd000000000000000000000000000002",
			  frame + length, 40);
	length += tap_hex("04010402000d000068656c6c6f", frame + length, 13);
}

/* Put a tag in front of the EtherType. */
static void tag(uint16_t type, unsigned priority)
{
	uint8_t bytes[4] = { (uint8_t)(type >> 8), (uint8_t)type, (uint8_t)(priority << 5), 7 };

	memmove(frame + 16, frame + 12, length - 12);
	memcpy(frame + 12, bytes, 4);
	length += 4;
}

/* RFC 1071 in the plainest way, as an independent check. */
static uint16_t checksum(const uint8_t *bytes, size_t count, uint32_t sum)
{
	for (size_t at = 0; at < count; at++)
		sum += (uint32_t)bytes[at] << (at % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

static void ip_checksum(void)
{
	uint16_t sum;

	frame[24] = frame[25] = 0;
	sum = checksum(frame + 14, (size_t)(frame[14] & 15) * 4, 0);
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
}

/* The UDP checksum of the datagram at `at`, with `addresses` bytes of addresses before it. */
static void udp_checksum(size_t at, size_t addresses)
{
	size_t count = (size_t)frame[at + 4] << 8 | frame[at + 5];
	uint16_t sum;

	frame[at + 6] = frame[at + 7] = 0;
	sum = (uint16_t)~checksum(frame + at - addresses, addresses, 17 + (uint32_t)count);
	sum = checksum(frame + at, count, sum);
	sum = sum ? sum : 0xFFFF;
	frame[at + 6] = (uint8_t)(sum >> 8);
	frame[at + 7] = (uint8_t)sum;
}

static const struct wl_rule_ip own4 = { 4, { 10, 55, 0, 2 } };
static const struct wl_rule_ip own6 = { 6, { 0xfd, [15] = 2 } };
static const struct wl_rule port_1026 = { .match = WL_MATCH_UDP_PORT, .ports = { 7, 1026 }, .port_count = 2 };

static struct wl_rule everything(struct wl_rule_ip ip, uint16_t ethertype)
{
	return (struct wl_rule){ .match = 127 & ~WL_MATCH_PRIORITY,
				 .ethertype = ethertype,
				 .protocol = 17,
				 .mac = { 2, 0, 10, 55, 0, 2 },
				 .ip = ip,
				 .ports = { 1026 },
				 .port_count = 1 };
}

static void the_data_lies_in_place_without_padding(void)
{
	uint8_t copy[60];
	struct wl_identified found;

	ipv4();
	ip_checksum();
	udp_checksum(34, 8);
	memcpy(copy, frame, 60);
	CHECK(wl_identify(copy, 60, &found));
	CHECK(found.data == copy + 42 && found.ip == copy + 14 && found.udp == copy + 34);
	EQUAL(found.count, 5);
	EQUAL(found.length, 60);
	EQUAL(found.ethertype, 0x0800);
	EQUAL(found.protocol, 17);
	EQUAL(found.priority + 1, 0);
	CHECK(memcmp(found.data, "hello", 5) == 0);
}

static void every_condition_can_say_no(void)
{
	struct wl_rule all = everything(own4, 0x0800), rule;

	ipv4();
	ip_checksum();
	udp_checksum(34, 8);
	CHECK(matches(all));
	rule = all, rule.ethertype = 0x0806;
	CHECK(!matches(rule));
	rule = all, rule.protocol = 6;
	CHECK(!matches(rule));
	for (int at = 0; at < 6; at++) {
		rule = all, rule.mac[at] ^= 1;
		CHECK(!matches(rule));
	}
	for (int at = 0; at < 4; at++) {
		rule = all, rule.ip.bytes[at] ^= 1;
		CHECK(!matches(rule));
	}
	rule = all, rule.ip.version = 6;
	CHECK(!matches(rule));
	rule = all, rule.ports[0] = 1025;
	CHECK(!matches(rule));
	rule = all, rule.port_count = 0;
	CHECK(!matches(rule));
	rule = all, rule.match |= WL_MATCH_PRIORITY, rule.priorities = 0xFF;
	CHECK(!matches(rule));
	CHECK(matches((struct wl_rule){ .match = 0 }));
}

static void ports_are_a_set(void)
{
	struct wl_rule rule = { .match = WL_MATCH_UDP_PORT, .port_count = 255 };

	ipv4();
	ip_checksum();
	CHECK(matches(port_1026));
	CHECK(!matches(rule)); /* more than exist: the array's end limits it */
	rule.ports[WL_IDENTIFY_PORTS - 1] = 1026;
	CHECK(matches(rule));
}

static void priorities_are_those_of_the_outer_tag(void)
{
	struct wl_rule rule = { .match = WL_MATCH_PRIORITY | WL_MATCH_UDP_PORT,
				.priorities = 1 << 5 | 1 << 0,
				.ports = { 1026 },
				.port_count = 1 };

	ipv4();
	ip_checksum();
	CHECK(!matches(rule));
	tag(0x8100, 5);
	CHECK(matches(rule));
	EQUAL(got.priority, 5);
	EQUAL(got.count, 5);
	tag(0x88A8, 3);
	CHECK(!matches(rule));
	CHECK(matches(port_1026));
	frame[14] = 0; /* priority 0 is one, too */
	CHECK(matches(rule));
	tag(0x88A8, 5); /* a third tag belongs to no flow */
	CHECK(!matches(rule));
	CHECK(matches((struct wl_rule){ .match = WL_MATCH_ETHERTYPE, .ethertype = 0x8100 }));
}

static void ethertypes_need_no_ip(void)
{
	static const struct wl_rule rule = { .match = WL_MATCH_ETHERTYPE, .ethertype = 0x88B5 };

	length = tap_hex("02000a37000202000a37000188b5574c", frame, 16);
	CHECK(matches(rule));
	EQUAL(got.count, 2);
	CHECK(!got.ip && !got.udp);
	CHECK(!matches(port_1026));
	CHECK(!matches((struct wl_rule){ .match = WL_MATCH_IP, .ip = own4 }));
	CHECK(!matches((struct wl_rule){ .match = WL_MATCH_PROTOCOL, .protocol = 0 }));
	CHECK(!matches((struct wl_rule){ .match = WL_MATCH_UDP_CHECKSUM }));
	length = 13;
	CHECK(!matches((struct wl_rule){ .match = 0 }));
}

static void ipv6_is_known_without_extensions(void)
{
	ipv6();
	CHECK(matches(port_1026));
	EQUAL(got.count, 5);
	CHECK(!matches(everything(own6, 0x86DD))); /* there a checksum must be */
	udp_checksum(54, 32);
	CHECK(matches(everything(own6, 0x86DD)));
	CHECK(!matches(everything(own4, 0x86DD)));
	frame[53]++;
	CHECK(!matches(everything(own6, 0x86DD)));
	frame[20] = 0; /* hop-by-hop options */
	CHECK(!matches(port_1026));
}

static void what_is_damaged_goes_to_the_stack(void)
{
	static const struct {
		size_t at;
		uint8_t value;
	} damages[] = { { 14, 0x55 }, { 14, 0x44 }, { 14, 0x4F }, { 16, 1 }, { 17, 19 }, { 17, 47 },
			{ 20, 0x20 }, { 21, 1 },    { 23, 6 },	  { 38, 1 }, { 39, 7 },	 { 39, 14 } };

	for (size_t n = 0; n < sizeof damages / sizeof damages[0]; n++) {
		ipv4();
		frame[damages[n].at] = damages[n].value;
		ip_checksum();
		CHECK(!matches(port_1026));
	}
	/* Every single bit of the header of IPv4. */
	for (size_t bit = 14 * 8; bit < 34 * 8; bit++) {
		ipv4();
		ip_checksum();
		CHECK(matches(port_1026));
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(!matches(port_1026));
	}
	/* Every bit of the datagram, where the rule asks for its checksum. */
	for (size_t bit = 34 * 8; bit < 47 * 8; bit++) {
		struct wl_rule rule = { .match = WL_MATCH_UDP_CHECKSUM };

		ipv4();
		ip_checksum();
		udp_checksum(34, 8);
		CHECK(matches(rule));
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(!matches(rule));
	}
}

static void every_cut_is_seen(void)
{
	ipv4();
	ip_checksum();
	for (length = 0; length < 47; length++)
		CHECK(!matches(port_1026));
	CHECK(matches(port_1026));
	ipv6();
	for (length = 0; length < 67; length++)
		CHECK(!matches(port_1026));
	CHECK(matches(port_1026));
}

static void options_and_a_missing_checksum_are_fine(void)
{
	struct wl_rule rule = { .match = WL_MATCH_UDP_CHECKSUM };

	ipv4();
	memmove(frame + 38, frame + 34, 13);
	memset(frame + 34, 1, 4); /* four of "no operation" */
	frame[14] = 0x46;
	frame[17] = 37;
	ip_checksum();
	frame[44] = frame[45] = 0;
	CHECK(matches(rule));
	CHECK(matches(port_1026));
	EQUAL(got.count, 5);
	frame[35] ^= 4;
	CHECK(!matches(port_1026));
}

static void large_datagrams_are_added_up(void)
{
	struct wl_rule rule = { .match = WL_MATCH_UDP_CHECKSUM };

	for (size_t data = 1400; data < 1405; data++) {
		ipv4();
		length = 42 + data;
		memset(frame + 42, 0xFF, data);
		frame[16] = (uint8_t)((28 + data) >> 8), frame[17] = (uint8_t)(28 + data);
		frame[38] = (uint8_t)((8 + data) >> 8), frame[39] = (uint8_t)(8 + data);
		ip_checksum();
		udp_checksum(34, 8);
		CHECK(matches(rule));
		frame[length - 1] ^= 1;
		CHECK(!matches(rule));
	}
}

static void the_first_rule_wins(void)
{
	const struct wl_rule rules[] = {
		{ .match = WL_MATCH_UDP_PORT,
		  .ports = { 9 },
		  .port_count = 1,
		  .take = take,
		  .context = &got },
		{ .match = WL_MATCH_PROTOCOL, .protocol = 17, .take = take, .context = &taken },
		{ .match = 0, .take = take, .context = &got },
	};

	ipv4();
	ip_checksum();
	taken = 0;
	CHECK(track(rules, 3));
	EQUAL(taken, 1);
	CHECK(!track(rules, 1));
	CHECK(!track(rules, 0));
	EQUAL(taken, 1);
}

int main(void)
{
	RUN(the_data_lies_in_place_without_padding);
	RUN(every_condition_can_say_no);
	RUN(ports_are_a_set);
	RUN(priorities_are_those_of_the_outer_tag);
	RUN(ethertypes_need_no_ip);
	RUN(ipv6_is_known_without_extensions);
	RUN(what_is_damaged_goes_to_the_stack);
	RUN(every_cut_is_seen);
	RUN(options_and_a_missing_checksum_are_fine);
	RUN(large_datagrams_are_added_up);
	RUN(the_first_rule_wins);
	return tap_end();
}
