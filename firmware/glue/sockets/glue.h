/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application on BSD sockets: its struct wl_net, and control over UDP and TCP. For Linux; a system without AF_PACKET
 * (NuttX and Zephyr have their own) builds it with WL_SOCKETS_ETHERNET=0.
 */
#ifndef WIRELAB_SOCKETS_GLUE_H
#define WIRELAB_SOCKETS_GLUE_H

#include <netinet/in.h>

#include "wl_app.h"

#ifndef WL_SOCKETS_ETHERNET
#define WL_SOCKETS_ETHERNET 1
#endif

/* Control connections at a time; beyond that the longest silent one is closed. */
#define WL_SOCKETS_CONTROL 4

/* Capture points of a system's driver, if it has some: the name of a function, `points` of struct wl_net. */
#ifdef WL_SOCKETS_POINTS
void WL_SOCKETS_POINTS(void *context, bool on);
#else
#define WL_SOCKETS_POINTS NULL
#endif

struct wl_flows {
	struct wl_app *app;
	struct in_addr address; /* the node's own address */
	int interface; /* its index, for Ethernet */
	char interface_name[16];
	int udp, listener, raw; /* -1 where closed */
	int connections[WL_NET_CONNECTIONS];
	unsigned taken, wanted;
	struct wl_ip peer;
};

/* Find the interface with the address; its MAC goes into `mac`. False if none has it. */
bool wl_flows_init(struct wl_flows *flows, struct wl_app *app, struct in_addr address, uint8_t mac[6]);

/* The application's functions; Ethernet too with WL_SOCKETS_ETHERNET and the permission to open raw sockets. */
void wl_flows_net(struct wl_flows *flows, struct wl_net *net);
bool wl_flows_may_ethernet(void);

/* Answer control lines on a port, UDP and TCP. False if it cannot be opened; errno says why. */
bool wl_control_serve(struct wl_app *app, struct in_addr address, uint16_t port);

/* Whether there is a control connection with a host. */
bool wl_control_connected(const struct wl_ip *host);

/* UDP port 7 (RFC 862); false if it cannot be opened. */
bool wl_echo_serve(struct in_addr address);

/* iperf 2 on its port; false if that cannot be opened. wl_iperf_attend() handles arrivals, does what is due, and returns the ns
 * until its next task. */
bool wl_iperf_serve(struct wl_app *app, struct in_addr address);
uint64_t wl_iperf_attend(void);

/* Convert an address to the protocol's. */
struct wl_ip wl_ip_of(struct in_addr address);

/* A non-blocking socket, bound to a port; with `other` to a free one if that is in use. *port becomes the bound port. -1:
 * none. */
int wl_socket_bound(int type, struct in_addr address, uint16_t *port, bool other);

#endif
