/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The server core against a demo node, with the cases of crates/control/tests/protocol.rs. */
#include "control_client.h"

static const char start_line[] =
	"start direction=transmit layer=ethernet frame_bytes=64 load=max frames=%u%s";

static const char *ask_start(struct client *client, unsigned frames, const char *more)
{
	char text[500];

	snprintf(text, sizeof text, start_line, frames, more);
	return ask(client, text);
}

static void an_old_number_is_never_done_again(void)
{
	static const char *const silent[] = { "=1.1 status trial=0\n", "!0.0 bad-line\n", "hello\n", "\n",
					      "" };
	char text[200], first[600];
	uint32_t session;

	begin();
	strcpy(first, say("?0.5 hello version=9", host(1)));
	CHECK(has("=0.5 hello version=1 session="));
	CHECK(strcmp(say("?0.5 hello version=9", host(1)), first) == 0);
	session = (uint32_t)strtoul(strstr(first, "session=") + 8, NULL, 10);
	sprintf(text, "?%u.3 start direction=transmit layer=ethernet frame_bytes=64 load=max frames=5",
		session);
	strcpy(first, say(text, host(1)));
	CHECK(has(" start trial=1 limit_ps=60000000000000 "));
	EQUAL(demo.starts, 1);
	CHECK(strcmp(say(text, host(1)), first) == 0);
	EQUAL(demo.starts, 1);
	sprintf(text, "?%u.3 stop trial=1", session);
	CHECK(strcmp(say(text, host(1)), first) == 0); /* the number counts, not the text */
	say(text, host(2));
	CHECK(has(" no-session "));
	sprintf(text, "?%u.4 status", session);
	say(text, host(1));
	CHECK(has(" state=running "));
	sprintf(text, "?%u.3 start direction=transmit layer=ethernet frame_bytes=64 load=max frames=5",
		session);
	say(text, host(1));
	CHECK(has(" stale "));
	EQUAL(demo.starts, 1);
	sprintf(text, "?%u.0 status", session);
	say(text, host(1));
	CHECK(has(" stale "));
	for (size_t n = 0; n < sizeof silent / sizeof silent[0]; n++)
		EQUAL(strlen(send(silent[n], strlen(silent[n]), host(1))), 0);
}

static void floods_push_out_only_the_unused_and_their_own(void)
{
	struct client mine, others[3];

	begin();
	mine = join(host(1));
	ask(&mine, "status");
	CHECK(has("="));
	for (uint32_t nonce = 2; nonce < 1000; nonce++) {
		now_ms++;
		CHECK(hello(nonce, host((uint8_t)(nonce % 200 + 10))) != 0);
	}
	ask(&mine, "status");
	CHECK(has(" state=idle ")); /* a session in use survives */
	for (uint8_t n = 0; n < 3; n++) {
		others[n] = join(host((uint8_t)(2 + n)));
		ask(&others[n], "status");
	}
	EQUAL(hello(3000, host(9)), 0);
	CHECK(has(" full "));
	now_ms += 6000;
	CHECK(hello(3001, host(9)) != 0); /* an idle one made room */
	/* A peer at its share gives up its own oldest session. */
	begin();
	mine = join(host(1));
	now_ms++;
	CHECK(hello(2, host(1)) != 0 && hello(3, host(1)) != 0);
	ask(&mine, "status");
	CHECK(has(" no-session "));
}

/* Follows `next` through all pages; counts the items that begin with `prefix`. */
static uint32_t pages(struct client *client, const char *request, const char *prefix, char *all)
{
	uint32_t from = 0, count = 1, items = 0, lines = 0;
	char text[200];

	for (*all = 0; from < count && lines < 200; lines++) {
		snprintf(text, sizeof text, "%s from=%u", request, from);
		ask(client, text);
		if (!CHECK(strstr(answer, " count=") && strstr(answer, " next=")))
			return 0;
		count = (uint32_t)strtoul(strstr(answer, " count=") + 7, NULL, 10);
		for (const char *at = answer; (at = strstr(at, prefix)) != NULL; at++)
			items++;
		strcat(all, answer);
		CHECK(strtoul(strstr(answer, " next=") + 6, NULL, 10) > from);
		from = (uint32_t)strtoul(strstr(answer, " next=") + 6, NULL, 10);
	}
	EQUAL(items, count);
	return items;
}

static void lists_of_many_pages(void)
{
	static char all[20000];
	struct client one;

	begin();
	one = join(host(1));
	CHECK(has(" setup=40 "));
	EQUAL(pages(&one, "hello", " set.", all), DEMO_SETUP);
	CHECK(strstr(all, " set.stack=none,%20100%20%25%20%C2%B5 ") != NULL);
	CHECK(strstr(all, " set.core=Cortex-M0 ") != NULL);
	ask_start(&one, 7, " captures=200");
	EQUAL(pages(&one, "counters trial=1", " c.", all), DEMO_COUNTERS);
	CHECK(strstr(all, " c.sent_frames=7 ") && strstr(all, " c.counter_29=18446744073709551586 "));
	ask(&one, "counters trial=1 port=1 from=0");
	CHECK(has(" unsupported field=port "));
	ask(&one, "counters trial=1 from=32");
	CHECK(has(" limit field=from limit=31 "));
	ask(&one, "load trial=1");
	CHECK(has(" busy_ticks=24 window_ticks=100 clock=instructions shared=no "));
	ask(&one, "load trial=1 core=1");
	CHECK(has(" limit field=core limit=0 "));
	ask(&one, "captures trial=1 point=3 from=0");
	CHECK(has(" limit field=point limit=2 "));
}

static void every_record_comes_once(void)
{
	struct client one;
	uint32_t seen = 0;

	begin();
	one = join(serial(0));
	ask_start(&one, 7, " captures=200 peer_mac=02:00:00:00:00:01");
	while (seen < 200) {
		unsigned long long base_sequence, base_ticks, sequence, ticks, wanted_ticks;
		uint32_t wanted;
		char text[64];
		const char *at;
		int used;

		sprintf(text, "captures trial=1 point=2 from=%u", seen);
		ask(&one, text);
		CHECK(has(" name=udp-callback ") && has(" lost=0 "));
		at = strstr(answer, " base_sequence=");
		if (!CHECK(at && sscanf(at, " base_sequence=%llu base_ticks=%llu", &base_sequence,
					&base_ticks) == 2))
			return;
		for (at = strstr(answer, " data=") + 6;
		     sscanf(at, "%llu:%llu%n", &sequence, &ticks, &used) == 2;) {
			uint64_t wide;

			demo_record(NULL, 2, seen++, &wanted, &wide);
			wanted_ticks = wide;
			CHECK((uint32_t)(base_sequence + sequence) == wanted &&
			      base_ticks + ticks == wanted_ticks);
			at += used + 1;
			if (at[-1] != ',')
				break;
		}
	}
	EQUAL(seen, 200);
	ask(&one, "captures trial=1 point=2 from=200");
	CHECK(has(" from=200 count=200 next=200 "));
}

static void two_clients_at_once(void)
{
	struct client one, two;

	begin();
	one = join(host(1));
	two = join(host(2));
	CHECK(one.session != two.session);
	ask_start(&one, 100000, "");
	ask_start(&two, 1, "");
	CHECK(has(" busy trial=1 "));
	ask(&two, "status");
	CHECK(has(" state=running "));
	ask(&two, "stop trial=1");
	CHECK(has(" not-owner trial=1 "));
	ask(&one, "stop trial=1");
	CHECK(has(" state=stopped "));
	ask(&one, "stop trial=1");
	CHECK(has(" state=stopped ")); /* to stop twice is not an error */
	ask_start(&two, 1, "");
	CHECK(has(" trial=2 "));
	ask(&one, "status trial=1");
	CHECK(has(" no-trial trial=1 "));
	ask(&one, "stop trial=0");
	CHECK(has(" no-trial trial=0 "));
}

static void a_client_that_vanishes_leaves_no_traffic(void)
{
	struct client gone, other, waiting;

	begin();
	gone = join(host(1));
	ask_start(&gone, 1000000, "");
	other = join(host(2));
	waiting = join(host(1));
	now_ms += 4900;
	CHECK(ask(&other, "status") && has(" state=running "));
	/* A client waiting for its turn does not keep another trial of its host alive. */
	ask_start(&waiting, 1, "");
	CHECK(has(" busy trial=1 "));
	now_ms += 200;
	CHECK(ask(&other, "status") && has(" state=abandoned "));
	ask_start(&other, 100000, "");
	CHECK(has(" trial=2 "));
	/* A client that sends requests from time to time is alive. */
	for (int n = 0; n < 5; n++, now_ms += 4000)
		CHECK(ask(&other, "status") && has(" state=running "));
}

static void a_restart_is_told(void)
{
	struct client client;

	begin();
	client = join(host(1));
	demo_begin(&c);
	wl_control_stir(&c, 7);
	ask_start(&client, 1, "");
	CHECK(has(" no-session "));
	EQUAL(demo.starts, 0);
}

static void unreadable_lines_use_up_no_number(void)
{
	struct client client;
	char text[700];

	begin();
	client = join(serial(0));
	sprintf(text, "?%u.1 status", client.session);
	send(text, strlen(text), serial(0));
	CHECK(has("!0.0 no-check "));
	strcat(text, " *0000");
	send(text, strlen(text), serial(0));
	CHECK(has("!0.0 bad-check "));
	memset(text, 'x', 600);
	text[0] = '?';
	send(text, 600, serial(0));
	CHECK(has("!0.0 too-long limit=512 "));
	ask(&client, "status");
	CHECK(has(".1 status trial=0 state=idle "));
	say("?0.7 status", host(1));
	CHECK(has("!0.7 no-session "));
	say("?0.7 hello version=0", host(1));
	CHECK(has("!0.7 version limit=1 "));
}

static void refused(struct client *client, const char *request, const char *wanted)
{
	ask(client, request);
	if (!CHECK(has(wanted)))
		printf("# %s\n", request);
}

static void traffic_goes_only_to_who_asked(void)
{
	struct client net, uart;

	begin();
	net = join(host(1));
#define UDP "start direction=transmit layer=udp-ipv4 frame_bytes=64 load=max frames=1"
#define ETHERNET "start direction=transmit layer=ethernet frame_bytes=64 load=max frames=1"
	refused(&net, UDP " peer_ip=192.0.2.77", " peer field=peer_ip ");
	refused(&net, ETHERNET " peer_mac=ff:ff:ff:ff:ff:ff", " peer field=peer_mac ");
	refused(&net, UDP " peer_ip=192.0.2.1", " start trial=1 ");
	now_ms += 1000;
	uart = join(serial(0));
	refused(&uart, ETHERNET, " missing-field field=peer_mac ");
	refused(&uart, UDP, " missing-field field=peer_ip ");
	refused(&uart, UDP " peer_ip=255.255.255.255", " peer field=peer_ip ");
	refused(&uart, UDP " peer_ip=224.0.0.1", " peer field=peer_ip ");
	refused(&uart, UDP " peer_ip=0.0.0.0", " peer field=peer_ip ");
	refused(&uart, ETHERNET " peer_mac=00:00:00:00:00:00", " peer field=peer_mac ");
	refused(&uart, ETHERNET " path=loopback", " start trial=2 ");
	now_ms += 1000;
	refused(&uart, "start direction=receive layer=ethernet frames=1", " start trial=3 ");
}

static void limits_are_named(void)
{
	struct client client;

	begin();
	client = join(host(1));
#define SEND "start direction=transmit layer=ethernet "
#define ONE SEND "frame_bytes=64 load=max frames=1 "
	refused(&client, SEND "frame_bytes=64 load=max frames=1000001", " limit field=frames limit=1000000 ");
	refused(&client, SEND "frame_bytes=64 load=max frames=0", " limit field=frames limit=1 ");
	refused(&client, SEND "frame_bytes=64 load=max time_ps=18446744073709551615",
		" limit field=time_ps limit=60000000000000 ");
	refused(&client, SEND "length_bytes=1515 load=max frames=1", " limit field=length_bytes limit=1514 ");
	refused(&client, SEND "payload_bytes=45 load=max frames=1", " limit field=payload_bytes limit=46 ");
	refused(&client, SEND "datagram_bytes=64 load=max frames=1", " unsupported field=datagram_bytes ");
	refused(&client, SEND "load=max frames=1", " missing-field field=frame_bytes ");
	refused(&client, SEND "frame_bytes=64 frames=1", " missing-field field=load ");
	refused(&client, SEND "frame_bytes=64 load_ppm=1000001 frames=1",
		" limit field=load_ppm limit=1000000 ");
	refused(&client, ONE "ports=2", " limit field=ports limit=1 ");
	refused(&client, ONE "captures=513", " limit field=captures limit=512 ");
	refused(&client, ONE "vlan_tags=3", " limit field=vlan_tags limit=2 ");
	refused(&client, ONE "buffers=dma-copied", " unsupported field=buffers ");
	refused(&client, ONE "path=fast-track", " unsupported field=path ");
	refused(&client, ONE "wait=spin", " unsupported field=wait ");
	refused(&client, ONE "background_port=9 rule=port=9", " unsupported field=rule ");
	refused(&client, SEND "frame_bytes=64 load=max", " missing-field field=frames ");
	refused(&client,
		"start direction=transmit layer=udp-ipv4 vlan_tags=1 frame_bytes=67 load=max frames=1",
		" limit field=frame_bytes limit=68 ");
	refused(&client, "start direction=transmit layer=udp-ipv4 datagram_bytes=17 load=max frames=1",
		" limit field=datagram_bytes limit=18 ");
	refused(&client, "start direction=transmit layer=udp-ipv4 datagram_bytes=1473 load=max frames=1",
		" limit field=datagram_bytes limit=1472 ");
	EQUAL(demo.starts, 0);
}

static void the_longest_hello_fits(void)
{
	begin();
	demo.identity.name = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";
	demo.identity.layers = demo.identity.buffers = 31;
	demo.identity.paths = 15;
	demo.identity.traffic = 3;
	demo.identity.max_frames = demo.identity.max_time_ps = UINT64_MAX;
	demo.identity.max_frame_bytes = 16000;
	demo.identity.max_captures = 65536;
	demo.identity.idle_ms = 86400000;
	CHECK(hello(UINT32_MAX, host(1)) != 0);
	CHECK(has(" idle_ms=86400000 "));
}

/* A bad UART: requests and replies are lost, damaged, doubled and overtaken by old ones. The client repeats each request until
 * its reply arrives; each is still executed only once. */
static void each_thing_is_done_once_whatever_the_weather(void)
{
	static char sent[200][200];
	uint32_t done = 0, tries = 0, starts = 0;
	struct client client;

	begin();
	client = join(serial(0));
	while (done < 200) {
		bool start = done % 4 == 0;
		char body[160], id[32];
		bool answered = false;

		sprintf(id, "%u.%u ", client.session, done + 1);
		snprintf(body, sizeof body, "?%s%s", id,
			 start ? ETHERNET " peer_mac=02:00:00:00:00:01" : "status");
		sprintf(sent[done], "%s *%04X\n", body, wl_crc16(body, strlen(body)));
		starts += start;
		for (; !answered; tries++) {
			char damaged[200];
			size_t count = strlen(sent[done]);

			now_ms++;
			if (done > 0 && random_below(3) == 0) {
				uint32_t old = random_below(done);

				send(sent[old], strlen(sent[old]),
				     serial(0)); /* late, or for the second time */
			}
			memcpy(damaged, sent[done], count);
			if (random_below(4) == 0)
				damaged[random_below((uint32_t)count)] ^= (char)(1 << random_below(8));
			if (random_below(4) == 0)
				continue; /* the request is lost */
			send(damaged, count, serial(0));
			if (random_below(3) > 0) /* else the reply is */
				answered = strncmp(answer + 1, id, strlen(id)) == 0 && answer[0] == '=';
		}
		done++;
	}
	EQUAL(demo.starts, starts);
	EQUAL(c.trial, starts);
	CHECK(tries > 300);
}

int main(void)
{
	RUN(an_old_number_is_never_done_again);
	RUN(floods_push_out_only_the_unused_and_their_own);
	RUN(lists_of_many_pages);
	RUN(every_record_comes_once);
	RUN(two_clients_at_once);
	RUN(a_client_that_vanishes_leaves_no_traffic);
	RUN(a_restart_is_told);
	RUN(unreadable_lines_use_up_no_number);
	RUN(traffic_goes_only_to_who_asked);
	RUN(limits_are_named);
	RUN(the_longest_hello_fits);
	RUN(each_thing_is_done_once_whatever_the_weather);
	return tap_end();
}
