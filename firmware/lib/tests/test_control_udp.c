/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A host that sends datagrams in another host's name causes no more traffic to that host than it sends itself, and only a few
 * hellos a second are answered. Sessions and trials of others continue.
 */
#include "control_client.h"

#define BURST 16u
#define ONE_MORE_MS 100u

static unsigned sessions(void)
{
	unsigned count = 0;

	for (unsigned n = 0; n < WL_CONTROL_SESSIONS; n++)
		count += c.sessions[n].number != 0;
	return count;
}

/* Send a datagram outside of a session; returns its answer. */
static const char *forge(const char *text, size_t count)
{
	send(text, count, datagram(66));
	if (!CHECK(strlen(answer) <= count))
		printf("# %zu bytes for %.*s\n", strlen(answer), (int)count, text);
	return answer;
}

static void a_hello_is_answered_where_the_reply_is_no_longer(void)
{
	static const uint32_t nonces[] = { 0, 7, 123456, UINT32_MAX };
	char text[WL_LINE_BYTES + 1], wanted[64];

	for (unsigned n = 0; n < sizeof nonces / sizeof nonces[0]; n++) {
		unsigned opened = 0;

		for (size_t bytes = 0; bytes <= WL_LINE_BYTES; bytes++) {
			size_t count = strlen(padded(text, nonces[n], bytes));

			begin();
			forge(text, count);
			opened += sessions();
			CHECK(sessions() == (answer[0] == '=') && strlen(answer) > 0);
			sprintf(wanted, "!0.%u pad *", nonces[n]);
			/* It stays so once a reply has fitted. */
			if (sessions() == 0)
				CHECK(has(wanted) && opened == 0 && strlen(answer) == strlen(wanted) + 5);
		}
		CHECK(opened > 0);
	}
	/* The same hello again, but shorter. */
	begin();
	CHECK(hello(7, datagram(1)) != 0);
	say(padded(text, 7, 100), datagram(1));
	CHECK(has("!0.7 pad *") && sessions() == 1);
	CHECK(hello(7, datagram(1)) != 0 && sessions() == 1);
}

static void the_padding_says_nothing(void)
{
	struct client client;

	begin();
	say("?0.1 hello version=1 pad=", host(1));
	CHECK(has("=0.1 hello version=1 session="));
	say("?0.2 hello pad=%20x%FF version=1", serial(0));
	CHECK(has("=0.2 hello version=1 session="));
	say("?0.3 hello version=1 pad=%2", host(1));
	CHECK(has("!0.3 bad-line "));
	say("?0.4 hello pad=1", host(1));
	CHECK(has("!0.4 missing-field field=version "));
	client = join(host(1));
	ask(&client, "hello from=0 pad=x");
	CHECK(has(" unknown-field field=pad "));
}

/* Datagrams outside of a session, of any length and damaged: no answer is longer. */
static void no_answer_is_longer_than_its_datagram(void)
{
	static const char *const lines[] = {
		"?0.1 hello version=1",
		"?0.1 hello version=0",
		"?0.1 hello versions=1",
		"?0.1 hello",
		"?0.1 start direction=transmit layer=udp-ipv4 frame_bytes=64 load=max frames=1",
		"?4294967295.1 status",
		"?1.1 s",
		"?0.0 a",
		"?",
		"?x",
		"?0",
		"?0.1 status *0000",
		"?4294967295.4294967295 counters trial=1 from=0 a_field_that_is_rather_long=1",
		"?0.1 nosuchcommand",
		"!0.1 failed",
		"=0.1 hello",
		"hello",
	};
	unsigned answers = 0;

	for (unsigned n = 0; n < sizeof lines / sizeof lines[0]; n++) {
		for (unsigned round = 0; round < 3000; round++) {
			char text[WL_LINE_BYTES + 2];
			size_t count = strlen(lines[n]);

			/* Each at another time, so that the limit does not silence hellos. */
			begin();
			memcpy(text, lines[n], count);
			if (round < 200 && round <= count)
				count = round;
			for (unsigned changed = round % 4; changed > 0 && count > 1 && round >= 200;
			     changed--)
				text[1 + random_below((uint32_t)count - 1)] = (char)random_below(256);
			if (round % 2 && count > 0 && round >= 200)
				count += (size_t)sprintf(text + count, " *%04X\n", wl_crc16(text, count));
			answers += *forge(text, count) != 0;
		}
	}
	CHECK(answers > 1000);
	/* Longer than any line is. */
	for (size_t count = WL_LINE_BYTES - 3; count < WL_LINE_BYTES + 2; count++) {
		char text[WL_LINE_BYTES + 2];

		memset(text, 'x', sizeof text);
		text[0] = '?';
		forge(text, count);
		CHECK(has(count > WL_LINE_BYTES ? "!0.0 too-long limit=512 " : "!0.0 bad-line "));
	}
}

static void in_a_session_an_answer_may_be_longer(void)
{
	struct client client;

	begin();
	client = join(datagram(1));
	ask(&client, "hello from=0");
	CHECK(has(" set.key_1=vvv") && strlen(answer) > 400);
	/* From elsewhere that number is not a session. */
	client.peer = datagram(2);
	ask(&client, "counters trial=1 from=0");
	CHECK(has(" no-session "));
	client.peer = datagram(1);
	/* Nor is a closed one, and a request in it may be too short for any answer. */
	say("?1.1 status", datagram(1));
	EQUAL(strlen(answer), 0);
}

static void hellos_come_from_a_bucket(void)
{
	uint32_t nonce = 1;

	begin();
	for (; nonce <= BURST; nonce++)
		CHECK(hello(nonce % 2 + 1, datagram(1)) != 0); /* again and again the same two, too */
	EQUAL(hello(1, datagram(1)), 0);
	EQUAL(strlen(answer), 0);
	/* A hello that gets no session uses up the limit too. */
	now_ms += ONE_MORE_MS;
	say("?0.5 hello version=1", datagram(1));
	CHECK(has("!0.5 pad "));
	say("?0.5 hello version=1", datagram(1));
	EQUAL(strlen(answer), 0);
	/* The limit does not affect others. */
	CHECK(hello(77, host(1)) != 0 && hello(78, serial(0)) != 0);
	say("?0.5 counters trial=1 from=0", datagram(1));
	CHECK(has("!0.5 no-session "));
	now_ms += ONE_MORE_MS - 1;
	EQUAL(hello(1, datagram(1)), 0);
	now_ms++;
	CHECK(hello(1, datagram(1)) != 0);
	EQUAL(hello(1, datagram(1)), 0);
	/* A thousand times as long fills it once. */
	now_ms += 1000 * BURST * ONE_MORE_MS;
	for (unsigned n = 0; n < BURST; n++)
		CHECK(hello(1, datagram(1)) != 0);
	EQUAL(hello(1, datagram(1)), 0);
}

static void the_bucket_outlives_a_counter_that_begins_anew(void)
{
	begin();
	now_ms = UINT32_MAX - 49;
	for (unsigned n = 0; n < BURST; n++)
		CHECK(hello(1, datagram(1)) != 0);
	EQUAL(hello(1, datagram(1)), 0);
	/* 99 ms later, then 100. */
	now_ms = 49;
	EQUAL(hello(1, datagram(1)), 0);
	now_ms = 50;
	CHECK(hello(1, datagram(1)) != 0);
	EQUAL(hello(1, datagram(1)), 0);
}

static void forged_hellos_shut_nobody_out(void)
{
	struct client used, late;
	unsigned answered = 0;

	begin();
	used = join(datagram(1));
	ask(&used, "status");
	for (uint32_t n = 0; n < 1000; n++) {
		now_ms += 3;
		answered += hello(n, datagram((uint8_t)(n % 200 + 10))) != 0;
	}
	/* 3 s: the saved hellos, and ten a second. */
	EQUAL(answered, BURST - 1 + 30);
	ask(&used, "status");
	CHECK(has(" state=idle "));
	now_ms += ONE_MORE_MS;
	late = join(datagram(2));
	CHECK(late.session != 0);
	ask(&late, "status");
	CHECK(has(" state=idle "));
	/* In the name of hosts with sessions: they keep the sessions that they use. */
	for (uint32_t n = 0; n < 1000; n++) {
		now_ms += ONE_MORE_MS;
		CHECK(hello(n + 10, datagram((uint8_t)(n % 2 + 1))) != 0);
		ask(&used, "status");
		CHECK(has(" state=idle "));
		ask(&late, "status");
		CHECK(has(" state=idle "));
	}
}

/* As a client writes it, with a check. */
static void write_stop(char *text, uint32_t session)
{
	int count = sprintf(text, "?%u.9 stop trial=1", session);

	sprintf(text + count, " *%04X\n", wl_crc16(text, (size_t)count));
}

static void a_peer_at_its_share_loses_over_udp_only_what_is_silent(void)
{
	struct client clients[WL_CONTROL_SESSIONS_PER_PEER];

	begin();
	for (unsigned n = 0; n < WL_CONTROL_SESSIONS_PER_PEER; n++) {
		clients[n] = (struct client){ datagram(1), hello(n, datagram(1)), 0 };
		ask(&clients[n], "status");
		CHECK(has(" state=idle "));
	}
	/* Half of the 5 s after which it is idle. */
	now_ms += 2499;
	EQUAL(hello(100, datagram(1)), 0);
	CHECK(has("!0.100 full "));
	ask(&clients[1], "status");
	CHECK(has(" state=idle "));
	now_ms++;
	CHECK(hello(101, datagram(1)) != 0);
	ask(&clients[0], "counters trial=1 from=0");
	CHECK(has(" no-session "));
	ask(&clients[1], "status");
	CHECK(has(" state=idle "));
	/* Over TCP the hello is its own: its oldest session goes, after the one that was never used. */
	for (uint32_t nonce = 110; nonce < 113; nonce++) {
		now_ms++;
		CHECK(hello(nonce, host(1)) != 0);
	}
	ask(&clients[1], "status");
	CHECK(has(" state=idle "));
	clients[0] = (struct client){ host(1), hello(103, host(1)), 0 };
	now_ms++;
	ask(&clients[0], "status");
	CHECK(has(" state=idle "));
	CHECK(hello(104, host(1)) != 0);
	ask(&clients[1], "counters trial=1 from=0");
	CHECK(has(" no-session "));
}

static void a_trial_is_neither_ended_nor_held_by_others(void)
{
	struct client owner, other;
	char text[100];

	begin();
	owner = join(datagram(1));
	ask(&owner, "start direction=transmit layer=udp-ipv4 frame_bytes=64 load=max frames=1000000");
	CHECK(has(" start trial=1 "));
	other = join(datagram(2));
	ask(&other, "stop trial=1");
	CHECK(has(" not-owner trial=1 "));
	/* Neither with its number from elsewhere, nor without it in its name. */
	write_stop(text, owner.session);
	say(text, datagram(3));
	CHECK(has(" no-session "));
	write_stop(text, owner.session ^ 1);
	say(text, datagram(1));
	CHECK(has(" no-session "));
	ask(&other, "status");
	CHECK(has(" state=running "));
	/* Lines in the owner's name do not keep the session longer than the owner itself is heard. */
	for (unsigned n = 0; n < 51; n++) {
		now_ms += 100;
		say(text, datagram(1));
		hello(n, datagram(1));
	}
	ask(&other, "status");
	CHECK(has(" state=abandoned "));
}

static void a_host_is_proven_by_what_it_does_in_its_session(void)
{
	struct wl_ip one = host(1).host, two = host(2).host;
	struct client client;

	begin();
	client = join(datagram(1));
	CHECK(client.session != 0 && !wl_control_proven(&c, &one, now_ms));
	client.peer = datagram(2);
	ask(&client, "status");
	CHECK(!wl_control_proven(&c, &one, now_ms) && !wl_control_proven(&c, &two, now_ms));
	client.peer = datagram(1);
	ask(&client, "status");
	CHECK(wl_control_proven(&c, &one, now_ms) && !wl_control_proven(&c, &two, now_ms));
	/* A serial line is not a host. */
	begin();
	client = join(serial(0));
	ask(&client, "status");
	CHECK(!wl_control_proven(&c, &client.peer.host, now_ms));
}

/* An address may later belong to another machine, while its session stays if no other host needs the place. */
static void a_proof_is_over_a_minute_after_its_host_was_heard(void)
{
	struct wl_ip one = host(1).host;
	struct client client;

	begin();
	client = join(datagram(1));
	ask(&client, "status");
	now_ms += WL_PROOF_MS - 1;
	CHECK(wl_control_proven(&c, &one, now_ms));
	now_ms++;
	CHECK(!wl_control_proven(&c, &one, now_ms));
	/* Neither a hello in its name nor a wrong number makes it count again. */
	CHECK(hello(10, datagram(1)) != 0);
	say("?1.2 counters trial=1 from=0", datagram(1));
	CHECK(has(" no-session ") && !wl_control_proven(&c, &one, now_ms));
	/* The session still exists, and a request in it does. */
	ask(&client, "status");
	CHECK(has(" state=idle ") && wl_control_proven(&c, &one, now_ms));
	now_ms += 10 * WL_PROOF_MS;
	CHECK(!wl_control_proven(&c, &one, now_ms));
}

int main(void)
{
	RUN(a_hello_is_answered_where_the_reply_is_no_longer);
	RUN(the_padding_says_nothing);
	RUN(no_answer_is_longer_than_its_datagram);
	RUN(in_a_session_an_answer_may_be_longer);
	RUN(hellos_come_from_a_bucket);
	RUN(the_bucket_outlives_a_counter_that_begins_anew);
	RUN(forged_hellos_shut_nobody_out);
	RUN(a_peer_at_its_share_loses_over_udp_only_what_is_silent);
	RUN(a_trial_is_neither_ended_nor_held_by_others);
	RUN(a_host_is_proven_by_what_it_does_in_its_session);
	RUN(a_proof_is_over_a_minute_after_its_host_was_heard);
	return tap_end();
}
