/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The glue of iperf for lwIP on this host: client and server are the same node, over lwIP's loopback, in every mode over
 * IPv4 and IPv6. The test provides the time. With SCARCE lwIP has little memory, and all must still end well. */
#include "tap.h"

#include "iperf.h"

#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/stats.h"
#include "lwip/timeouts.h"

#define BYTES 100000
#define ROUND_US 20
#define S 1000000u

static uint64_t now_us = 1000000;
static struct wl_iperf_lwip it;
static struct wl_iperf_result results[64];
static unsigned told;

uint64_t wl_clock(void)
{
	return now_us++;
}

u32_t sys_now(void)
{
	return (u32_t)(now_us / 1000);
}

static void take(void *context, const struct wl_iperf_result *result)
{
	(void)context;
	results[told++ % 64] = *result;
}

static void pass(uint64_t us)
{
	for (uint64_t end = now_us + us; now_us < end; now_us += ROUND_US) {
		netif_poll_all();
		sys_check_timeouts();
		wl_iperf_lwip_poll(&it);
	}
}

static struct wl_iperf_address own(bool six)
{
	struct wl_iperf_address address = { .version = six ? 6 : 4 };

	address.host[six ? 3 : 0] = lwip_htonl(six ? 1 : 0x7F000001);
	return address;
}

/* Run a test to its end, and return how many flows were complete. */
static unsigned run(bool udp, uint8_t mode, uint8_t streams, bool six)
{
	struct wl_iperf_test test = { .server = own(six),
				      .udp = udp,
				      .mode = mode,
				      .streams = streams,
				      .bytes = BYTES,
				      .bits_per_s = udp ? 20000000 : 0 };
	unsigned complete = 0;

	told = 0;
	CHECK(wl_iperf_lwip_run(&it, &test));
	for (int n = 0; n < 400 && wl_iperf_running(&it.iperf, false) > 0; n++)
		pass(S / 10);
	/* Traffic back, and flows that only answer. */
	pass(15 * S);
	EQUAL(wl_iperf_running(&it.iperf, true), 0);
	for (unsigned n = 0; n < told && n < 64; n++)
		complete += results[n].complete;
	return complete;
}

#ifndef SCARCE

static void every_mode(bool udp, bool six)
{
	static const unsigned flows[] = { 2, 4, 4, 2, 4 };

	for (uint8_t mode = WL_IPERF_FORWARD; mode <= WL_IPERF_FULL_DUPLEX; mode++) {
		for (uint8_t streams = 1; streams <= 2; streams++) {
			EQUAL(run(udp, mode, streams, six), flows[mode] * streams);
			EQUAL(told, flows[mode] * streams);
			for (unsigned n = 0; n < told; n++) {
				EQUAL(results[n].here.lost, 0);
				EQUAL(results[n].here.out_of_order, 0);
				EQUAL(results[n].there.lost, 0);
				CHECK(results[n].here.bytes >= BYTES);
				EQUAL(results[n].peer.version, six ? 6 : 4);
			}
		}
	}
	/* Nothing is left behind. */
	EQUAL(lwip_stats.memp[MEMP_UDP_PCB]->used, 1);
	EQUAL(lwip_stats.memp[MEMP_PBUF]->used, 0);
	EQUAL(lwip_stats.memp[MEMP_TCP_SEG]->used, 0);
	EQUAL(lwip_stats.mem.used, 0);
	CHECK(tcp_active_pcbs == NULL);
}

static void udp_over_ipv4_in_every_mode(void)
{
	every_mode(true, false);
}

static void udp_over_ipv6_in_every_mode(void)
{
	every_mode(true, true);
}

static void tcp_over_ipv4_in_every_mode(void)
{
	every_mode(false, false);
}

static void tcp_over_ipv6_in_every_mode(void)
{
	every_mode(false, true);
}

static void nobody_listens(void)
{
	for (int udp = 0; udp < 2; udp++) {
		struct wl_iperf_test test = { .server = own(false), .udp = udp != 0, .bytes = 1000 };

		told = 0;
		test.server.port = 4999;
		CHECK(wl_iperf_lwip_run(&it, &test));
		pass(10 * S);
		EQUAL(told, 1);
		CHECK(!results[0].complete && results[0].client);
	}
	CHECK(tcp_active_pcbs == NULL);
}

static void a_taken_port_is_told(void)
{
	static struct wl_iperf_lwip other;

	CHECK(!wl_iperf_lwip_open(&other, WL_IPERF_PORT, 1000000, 0, 0));
	EQUAL(lwip_stats.memp[MEMP_UDP_PCB]->used, 1);
}

static err_t begin_interface(struct netif *netif)
{
	netif->mtu = 1500;
	return ERR_OK;
}

static bool may_send(const char *text)
{
	struct wl_iperf_address peer;
	ip_addr_t address;

	CHECK(ipaddr_aton(text, &address) == 1);
	peer = wl_iperf_lwip_address(&address, 5001);
	return it.io.may_send(it.io.context, &peer);
}

static bool proven(void *context, const struct wl_iperf_address *peer)
{
	ip_addr_t address;

	(void)context;
	return ipaddr_aton("192.0.2.9", &address) && peer->host[0] == ip4_addr_get_u32(ip_2_ip4(&address));
}

/* WL_IPERF_ALLOW of this test's build. */
static void hosts_on_a_link_or_with_proof_are_sent_to(void)
{
	static const char *const never[] = { "10.0.0.255", "10.0.0.0",	    "255.255.255.255",
					     "0.0.0.0",	   "224.0.0.1",	    "ff02::1",
					     "::",	   "203.0.112.255", "192.0.2.8" };
	static struct netif other;
	ip4_addr_t first, mask, none = { 0 };
	ip_addr_t six;

	CHECK(!may_send("10.0.0.7") && !may_send("fd00:1::7"));
	ip4addr_aton("10.0.0.1", &first);
	ip4addr_aton("255.255.255.0", &mask);
	ipaddr_aton("fd00:1::1", &six);
	CHECK(netif_add(&other, &first, &mask, &none, NULL, begin_interface, NULL) != NULL);
	netif_ip6_addr_set(&other, 1, ip_2_ip6(&six));
	netif_ip6_addr_set_state(&other, 1, IP6_ADDR_PREFERRED);
	CHECK(!may_send("10.0.0.7") && !may_send("fd00:1::7"));
	netif_set_up(&other);
	CHECK(may_send("10.0.0.7") && may_send("fd00:1::7") && may_send("127.0.0.1") && may_send("::1"));
	CHECK(!may_send("10.0.1.7") && !may_send("fd00:2::7") && !may_send("192.0.2.9"));
	CHECK(may_send("203.0.113.9") && !may_send("203.0.112.9"));
	for (unsigned n = 0; n < sizeof never / sizeof never[0]; n++)
		CHECK(!may_send(never[n]));
	/* If a host can prove its address, its link proves nothing. */
	it.proven = proven;
	CHECK(may_send("192.0.2.9") && !may_send("10.0.0.7") && may_send("203.0.113.9"));
	for (unsigned n = 0; n < sizeof never / sizeof never[0]; n++)
		CHECK(!may_send(never[n]));
	it.proven = NULL;
	netif_remove(&other);
}

#else

static void little_memory_ends_no_more_than_a_test(void)
{
	unsigned complete = 0, incomplete = 0;

	for (int udp = 0; udp < 2; udp++) {
		for (uint8_t mode = WL_IPERF_FORWARD; mode <= WL_IPERF_FULL_DUPLEX; mode++) {
			for (uint8_t streams = 1; streams <= 3; streams++) {
				unsigned whole = run(udp != 0, mode, streams, false);

				complete += whole;
				incomplete += told - whole;
			}
		}
	}
	CHECK(complete > 0);
	EQUAL(lwip_stats.memp[MEMP_UDP_PCB]->used, 1);
	/* lwIP keeps a connection that was closed for a while. */
	pass(200 * S);
	EQUAL(lwip_stats.mem.used, 0);
	EQUAL(lwip_stats.memp[MEMP_PBUF]->used, 0);
	EQUAL(lwip_stats.memp[MEMP_TCP_PCB]->used, 0);
	CHECK(run(false, WL_IPERF_FORWARD, 1, false) == 2);
	/* The memory really was scarce. */
	CHECK(lwip_stats.memp[MEMP_UDP_PCB]->err > 0);
	CHECK(lwip_stats.memp[MEMP_PBUF]->err > 0);
	CHECK(incomplete > 0);
}

#endif

int main(void)
{
	lwip_init();
	if (!wl_iperf_lwip_open(&it, WL_IPERF_PORT, 1000000, take, 0))
		return 1;
#ifndef SCARCE
	RUN(udp_over_ipv4_in_every_mode);
	RUN(udp_over_ipv6_in_every_mode);
	RUN(tcp_over_ipv4_in_every_mode);
	RUN(tcp_over_ipv6_in_every_mode);
	RUN(nobody_listens);
	RUN(a_taken_port_is_told);
	RUN(hosts_on_a_link_or_with_proof_are_sent_to);
#else
	RUN(little_memory_ends_no_more_than_a_test);
#endif
	return tap_end();
}
