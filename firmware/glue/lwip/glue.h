/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application on lwIP's raw API: its struct wl_net, control over UDP and TCP, and the echo of port 7. Needs lwIP 2.2
 * without an operating system, IPv4, and the options in wl_lwip_options.h.
 */
#ifndef WIRELAB_LWIP_GLUE_H
#define WIRELAB_LWIP_GLUE_H

#include "wl_app.h"

#include "lwip/netif.h"
#include "lwip/tcp.h"
#include "lwip/udp.h"

/* Control connections at a time; beyond that the longest silent one is closed. */
#define WL_LWIP_CONTROL 4

struct wl_flows;
struct wl_rule; /* wirelab/identify.h */

struct wl_flow_connection {
	struct wl_flows *flows;
	struct tcp_pcb *pcb; /* 0: none */
	unsigned number;
};

struct wl_flows {
	struct wl_app *app;
	struct netif *netif;
	struct udp_pcb *udp;
	struct tcp_pcb *listener;
	struct wl_flow_connection connections[WL_NET_CONNECTIONS];
	unsigned taken, wanted;
	struct wl_ip peer;
	bool frames;
	/* The MAC's loopback; 0: none. */
	void (*mac_loopback)(bool on);
	/* Whole frames to the driver, past lwIP; 0: not possible. */
	bool (*driver_send)(const uint8_t *frame, size_t length);
	/* A packet identifier in hardware; 0: none. */
	void (*identifier_rule)(const struct wl_rule *rule);
};

void wl_flows_init(struct wl_flows *flows, struct wl_app *app, struct netif *netif,
		   void (*mac_loopback)(bool on));
void wl_flows_net(struct wl_flows *flows, struct wl_net *net);

/* Reception and transmission of the trial past lwIP (flows_past.c). */
void wl_flows_fast_track(void *context, uint16_t port, bool on);
bool wl_flows_driver_send(void *context, const uint8_t *frame, size_t length);

/* Answer control lines on port 5002, UDP and TCP. False if lwIP has no space. */
bool wl_lwip_control(struct wl_app *app);

/* UDP port 7 (RFC 862). */
bool wl_lwip_echo(void);

static inline struct wl_ip wl_lwip_ip(const ip_addr_t *address)
{
	struct wl_ip ip = { .version = 4 };
	uint32_t bits = ip4_addr_get_u32(ip_2_ip4(address));

	for (unsigned n = 0; n < 4; n++)
		ip.bytes[n] = (uint8_t)(bits >> 8 * n);
	return ip;
}

static inline ip_addr_t wl_lwip_address(const struct wl_ip *ip)
{
	ip_addr_t address;

	IP_ADDR4(&address, ip->bytes[0], ip->bytes[1], ip->bytes[2], ip->bytes[3]);
	return address;
}

#endif
