/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A whole node on lwIP: it joins the application, its flows and iperf. */
#include "node.h"

#include "wirelab/iperf_reach.h"
#include "wirelab/points.h"

#include "lwip/def.h"
#include "lwip/init.h"
#include "lwip/priv/tcp_priv.h"

/* Without a suffix: the sources of 2.2.1 in its repository carry that of a development version. */
#define TEXT_OF(tokens) #tokens
#define TEXT(number) TEXT_OF(number)
#define LWIP_TEXT                                                                                            \
	"lwIP " TEXT(LWIP_VERSION_MAJOR) "." TEXT(LWIP_VERSION_MINOR) "." TEXT(LWIP_VERSION_REVISION)
#define FRAME_BYTES 1518
#define MOST_FRAMES 10000000000u
#define MOST_TIME_PS 600000000000000u
#define IDLE_MS 10000

static void put_mac(char out[18], const uint8_t mac[6])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned n = 0; n < 6; n++) {
		*out++ = digits[mac[n] >> 4];
		*out++ = digits[mac[n] & 15];
		*out++ = n < 5 ? ':' : 0;
	}
}

static unsigned put_keys(struct wl_lwip_node *node, const struct netif *netif,
			 const struct wl_lwip_options *options)
{
	const char *const own[WL_LWIP_OWN_KEYS][2] = {
		{ "stack", LWIP_TEXT },
		{ "mtu_bytes", node->mtu },
		{ "application", "wirelab node" },
		{ "software", "wirelab-firmware 0.1.0" },
		{ "mac", node->mac },
		{ "ip", node->ip },
	};
	unsigned count = 0;

	put_mac(node->mac, netif->hwaddr);
	ip4addr_ntoa_r(netif_ip4_addr(netif), node->ip, sizeof node->ip);
	lwip_itoa(node->mtu, sizeof node->mtu, netif->mtu);
	for (; count < options->setup_count && count < WL_LWIP_KEYS; count++) {
		node->keys[count][0] = options->setup[count][0];
		node->keys[count][1] = options->setup[count][1];
	}
	for (unsigned n = 0; n < WL_LWIP_OWN_KEYS; n++, count++) {
		node->keys[count][0] = own[n][0];
		node->keys[count][1] = own[n][1];
	}
	return count;
}

static void identify(struct wl_identity *identity, const struct wl_lwip_options *options)
{
	*identity = (struct wl_identity){
		.name = options->name,
		.directions = WL_SET(WL_TRANSMIT) | WL_SET(WL_RECEIVE) | WL_SET(WL_BOTH) | WL_SET(WL_ECHO),
		.layers = WL_SET(WL_ETHERNET) | WL_SET(WL_UDP_IPV4) | WL_SET(WL_TCP_IPV4),
		/* The driver copies a frame into its ring while others are on the wire. */
		.buffers = WL_SET(WL_COPIED_AHEAD),
		.traffic = WL_SET(WL_TRAFFIC_TEST),
		.paths = WL_SET(WL_PATH_STACK),
		.ports = 1,
		.min_frame_bytes = 64,
		.max_frame_bytes = FRAME_BYTES,
		.max_frames = MOST_FRAMES,
		.max_time_ps = MOST_TIME_PS,
		.max_captures = WL_CAPTURE_RECORDS / WL_POINTS,
		.idle_ms = IDLE_MS,
		.capture_unit = options->unit != 0,
	};
	if (options->mac_loopback)
		identity->paths |= WL_SET(WL_PATH_LOOPBACK);
	if (options->driver_send) {
		identity->buffers |= WL_SET(WL_PREFILLED);
		identity->paths |= WL_SET(WL_PATH_DRIVER) | WL_SET(WL_PATH_FAST_TRACK);
	}
}

static struct wl_ip ip_of(const struct wl_iperf_address *peer)
{
	struct wl_ip ip = { .version = peer->version };

	for (unsigned n = 0; n < sizeof ip.bytes && n < sizeof peer->host; n++)
		ip.bytes[n] = ((const uint8_t *)peer->host)[n];
	return ip;
}

/* A connection proves its address while it exists, and a minute longer. */
static bool proven(void *context, const struct wl_iperf_address *peer)
{
	const struct wl_lwip_node *node = context;
	struct wl_ip host = ip_of(peer);

	for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
		struct wl_iperf_address other = wl_iperf_lwip_address(&pcb->remote_ip, 0);

		if (pcb->state >= ESTABLISHED && wl_iperf_has(&other, UINT16_MAX, peer))
			return true;
	}
	return wl_app_proven(&node->app, &host);
}

static void iperf_ended(void *context, const struct wl_iperf_result *result)
{
	struct wl_lwip_node *node = context;
	struct wl_ip host = ip_of(&result->peer);

	if (!result->udp && !result->client)
		wl_app_connected(&node->app, &host);
}

static void iperf_refused(void *context, const struct wl_iperf_address *peer, enum wl_iperf_why why)
{
	const struct wl_lwip_node *node = context;

	if (node->iperf_refused != 0)
		node->iperf_refused(peer, why);
}

static bool open_iperf(struct wl_lwip_node *node, const struct wl_lwip_options *options)
{
	struct wl_iperf_lwip *it = &node->iperf;

	if (!wl_iperf_lwip_open(it, WL_IPERF_PORT, options->tick_ps, iperf_ended, node))
		return false;
	it->proven = proven;
	it->proven_context = node;
	it->io.refused = iperf_refused;
	it->iperf.receive_only = options->iperf_receive_only;
	if (options->link_bits_per_s > 0 && options->link_bits_per_s < it->iperf.back_bits_per_s)
		it->iperf.back_bits_per_s = (uint32_t)options->link_bits_per_s;
	return true;
}

bool wl_lwip_node_open(struct wl_lwip_node *node, struct netif *netif, const struct wl_lwip_options *options)
{
	struct wl_app_config config = {
		.identity = &node->identity,
		.setup = (const char *const(*)[2])node->keys,
		.tick_ps = options->tick_ps,
		.link_bits_per_s = options->link_bits_per_s,
		.net = &node->net,
		.further = options->further,
		.unit = options->unit,
		.seed = WL_CLOCK(),
		.ip = wl_lwip_ip(netif_ip_addr4(netif)),
	};

	identify(&node->identity, options);
	config.setup_count = put_keys(node, netif, options);
	for (unsigned n = 0; n < sizeof config.mac; n++) {
		config.mac[n] = netif->hwaddr[n];
		config.seed = config.seed * 31 + config.mac[n];
	}
	wl_flows_init(&node->flows, &node->app, netif, options->mac_loopback);
	node->flows.driver_send = options->driver_send;
	node->flows.identifier_rule = options->identifier_rule;
	wl_flows_net(&node->flows, &node->net);
	wl_app_init(&node->app, &config);
	node->iperf_refused = options->iperf_refused;
	return wl_lwip_control(&node->app) && wl_lwip_echo() && open_iperf(node, options);
}

uint64_t wl_lwip_node_poll(struct wl_lwip_node *node)
{
	uint64_t iperf_due = wl_iperf_lwip_poll(&node->iperf), due = wl_app_poll(&node->app);

	return due < iperf_due ? due : iperf_due;
}
