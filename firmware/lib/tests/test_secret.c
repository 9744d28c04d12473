/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The function behind session numbers and first TCP sequence numbers, and what its numbers reveal. */
#include "control_client.h"

#include "wirelab/secret.h"

#define DRAWS 64

/* From the reference implementation of SipHash-2-4 (vectors.h): key 00..0f, messages 00, 00 01, and so on. */
static void the_published_vectors_come_out(void)
{
	static const uint64_t key[2] = { 0x0706050403020100u, 0x0F0E0D0C0B0A0908u };
	static const struct {
		size_t count;
		uint64_t wanted;
	} vectors[] = {
		{ 0, 0x726FDB47DD0E0E31u },  { 1, 0x74F839C593DC67FDu },  { 7, 0xAB0200F58B01D137u },
		{ 8, 0x93F5F5799A932462u },  { 15, 0xA129CA6149BE45E5u }, { 16, 0x3F2ACC7F57C29BDBu },
		{ 63, 0x958A324CEB064572u },
	};
	uint8_t message[63];

	for (unsigned n = 0; n < sizeof message; n++)
		message[n] = (uint8_t)n;
	for (unsigned n = 0; n < sizeof vectors / sizeof vectors[0]; n++)
		CHECK(wl_siphash(key, message, vectors[n].count) == vectors[n].wanted);
}

/* Of a 64-bit counter, little-endian, and one byte for the purpose. */
static uint32_t expected(const struct wl_secret *secret, enum wl_secret_use use)
{
	uint8_t message[9] = { (uint8_t)secret->count, (uint8_t)(secret->count >> 8) };

	message[8] = (uint8_t)use;
	return (uint32_t)wl_siphash(secret->key, message, sizeof message);
}

static void sessions_and_connections_take_their_numbers_from_it(void)
{
	struct wl_secret before;

	begin();
	for (uint32_t n = 0; n < 300; n++) {
		before = c.secret;
		EQUAL(hello(n, host((uint8_t)(n + 1))), expected(&before, WL_SECRET_SESSION));
		CHECK(c.secret.count == before.count + 1);
		now_ms += 5000;
		before = c.secret;
		EQUAL(wl_control_random(&c), expected(&before, WL_SECRET_CONNECTION));
		CHECK(c.secret.count == before.count + 1);
	}
	/* Numbers of one purpose do not reveal those of the other. */
	CHECK(expected(&c.secret, WL_SECRET_SESSION) != expected(&c.secret, WL_SECRET_CONNECTION));
}

/* How many of the next numbers of two nodes are the same. */
static unsigned common(struct wl_secret one, struct wl_secret other)
{
	unsigned same = 0;

	for (unsigned n = 0; n < DRAWS; n++) {
		CHECK(one.count == other.count);
		same += wl_secret_draw(&one, WL_SECRET_SESSION) == wl_secret_draw(&other, WL_SECRET_SESSION);
	}
	return same;
}

static void nodes_with_the_same_counter_and_other_keys_differ(void)
{
	struct wl_control other;

	begin();
	wl_control_init(&other, &demo_node, 42);
	EQUAL(common(c.secret, other.secret), DRAWS);
	/* One bit of the seed makes another key in both words. */
	for (unsigned bit = 0; bit < 64; bit++) {
		wl_control_init(&other, &demo_node, 42 ^ 1ull << bit);
		EQUAL(common(c.secret, other.secret), 0);
		CHECK(c.secret.key[0] != other.secret.key[0] && c.secret.key[1] != other.secret.key[1]);
	}
}

static void what_is_stirred_in_changes_the_key_for_good(void)
{
	struct wl_secret before, twice;

	begin();
	before = c.secret;
	wl_control_stir(&c, 0);
	EQUAL(common(before, c.secret), 0);
	CHECK(before.key[0] != c.secret.key[0] && before.key[1] != c.secret.key[1]);
	CHECK(c.secret.key[0] != c.secret.key[1]);
	/* The same word again leads on, not back. */
	twice = c.secret;
	wl_secret_stir(&twice, 0);
	EQUAL(common(before, twice), 0);
	EQUAL(common(c.secret, twice), 0);
	/* The order counts: words do not just add up. */
	before = twice = c.secret;
	wl_secret_stir(&before, 1);
	wl_secret_stir(&before, 2);
	wl_secret_stir(&twice, 2);
	wl_secret_stir(&twice, 1);
	EQUAL(common(before, twice), 0);
}

int main(void)
{
	RUN(the_published_vectors_come_out);
	RUN(sessions_and_connections_take_their_numbers_from_it);
	RUN(nodes_with_the_same_counter_and_other_keys_differ);
	RUN(what_is_stirred_in_changes_the_key_for_good);
	return tap_end();
}
