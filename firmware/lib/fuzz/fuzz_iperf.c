/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry for libFuzzer: any bytes as a sequence of datagrams, connections, reads and pauses. Nothing may be sent to a host
 * without a request; datagrams to a host without proof may have no more bytes than arrived from it; and every flow must end
 * some time after the last event. */
#include "../tests/iperf_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#define PEERS 3
#define TEST_PEER 9
/* Only this peer has given proof, and no host answers in the name of the tested host. */
#define PROVEN_PEER 2

static uint64_t came[PEERS], went[PEERS];

static bool may_send(void *context, const struct wl_iperf_address *peer)
{
	(void)context;
	return peer->host[0] == host_peer(PROVEN_PEER, 0).host[0];
}

/* Sends as the host does, and checks the amount. */
static bool send_counted(void *context, struct wl_iperf_flow *flow, const uint8_t *head, size_t head_count,
			 size_t count)
{
	uint32_t who = flow->peer.host[0] - host_peer(0, 0).host[0];

	if (!host_udp_send(context, flow, head, head_count, count))
		return false;
	if (who < PEERS && who != PROVEN_PEER && (went[who] += count) > came[who])
		abort();
	return true;
}

static struct wl_iperf_flow *flow_of(uint8_t number)
{
	struct wl_iperf_flow *flow = &host.it.flows[number % WL_IPERF_FLOWS];

	return flow->handle.number != 0 ? flow : 0;
}

/* One event with its data in `bytes`. */
static void event(uint8_t what, uint8_t who, const uint8_t *bytes, size_t count)
{
	struct wl_iperf_address peer = host_peer(who % PEERS, (uint16_t)(5001 + who / 16));
	struct wl_iperf_flow *flow = flow_of(who);
	struct wl_iperf_test test = { .server = host_peer(TEST_PEER, 0),
				      .udp = (who & 1) != 0,
				      .mode = who / 2 % 5,
				      .streams = who / 16 % 4,
				      .length_bytes = (uint16_t)(who * 257),
				      .bytes = who * 100u };

	switch (what % 10) {
	case 0:
		if (flow != 0 && flow->udp)
			peer = flow->peer;
		if (peer.host[0] != host_peer(TEST_PEER, 0).host[0])
			came[peer.host[0] - host_peer(0, 0).host[0]] += count + what / 10;
		wl_iperf_datagram(&host.it, flow != 0 && flow->udp && flow->own_socket ? flow : 0, &peer,
				  bytes, count, count + what / 10, host.now);
		break;
	case 1:
		flow = wl_iperf_accept(&host.it, &peer, host.now);
		if (flow != 0)
			flow->handle.number = 1;
		break;
	case 2:
		if (flow != 0 && !flow->udp)
			wl_iperf_bytes(&host.it, flow, bytes, count, count, host.now);
		break;
	case 3:
		if (flow != 0 && !flow->udp)
			wl_iperf_connected(&host.it, flow, host.now);
		break;
	case 4:
		if (flow != 0 && !flow->udp)
			wl_iperf_closed(&host.it, flow, (what & 16) != 0, host.now);
		break;
	case 5:
		host.room += count * 100;
		if (flow != 0 && !flow->udp)
			wl_iperf_room(&host.it, flow, host.now);
		break;
	case 6:
		if (flow != 0 && flow->udp)
			wl_iperf_refused(&host.it, flow, host.now);
		break;
	case 7:
		host.now += who * 7919u;
		break;
	case 8:
		host.refuses = !host.refuses;
		break;
	default:
		if (who & 128)
			wl_iperf_stop(&host.it, (who & 1) != 0, host.now);
		else
			wl_iperf_run(&host.it, &test, host.now);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static struct wl_iperf_io io;
	size_t at = 0;

	host_begin();
	io = *host.it.io;
	io.may_send = may_send;
	io.udp_send = send_counted;
	host.it.io = &io;
	memset(came, 0, sizeof came);
	memset(went, 0, sizeof went);
	/* All bytes as one datagram, and as the start of a connection. */
	event(0, 0, bytes, count);
	event(1, 0, bytes, 0);
	event(2, 1, bytes, count);
	while (count - at >= 3) {
		size_t length = bytes[at + 2];

		length = length < count - at - 3 ? length : count - at - 3;
		host.to.host[0] = 0;
		event(bytes[at], bytes[at + 1], bytes + at + 3, length);
		wl_iperf_poll(&host.it, host.now);
		if (host.to.host[0] - 0x0A370000u >= PEERS && host.to.host[0] != 0 &&
		    host.to.host[0] != 0x0A370000u + TEST_PEER)
			abort();
		at += 3 + length;
		host.now += 100;
	}
	/* Nothing more arrives, and no host takes the data, so each poll is one step in time. */
	host.most = host.datagrams;
	host.room = 0;
	for (int s = 0; s < WL_IPERF_BACK_S + 20; s++) {
		host.now += 1000 * HOST_MS;
		wl_iperf_poll(&host.it, host.now);
		if (host.most < host.datagrams + 100)
			host.most++;
	}
	if (wl_iperf_running(&host.it, true) != 0)
		abort();
	return 0;
}
