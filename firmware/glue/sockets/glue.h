/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application on BSD sockets: its struct wl_net, and control over UDP and TCP. Linux here; a system without
 * AF_PACKET (NuttX and Zephyr have theirs) builds it with WL_SOCKETS_ETHERNET=0.
 */
#ifndef WIRELAB_SOCKETS_GLUE_H
#define WIRELAB_SOCKETS_GLUE_H

#include <netinet/in.h>

#include "wl_app.h"

#ifndef WL_SOCKETS_ETHERNET
#define WL_SOCKETS_ETHERNET 1
#endif

/* Control connections at a time; the one that was silent for longest gives way. */
#define WL_SOCKETS_CONTROL 4

/* Capture points of the driver, where a system has some of its own: the name of a function, `points` of struct wl_net. */
#ifdef WL_SOCKETS_POINTS
void WL_SOCKETS_POINTS(void *context, bool on);
#else
#define WL_SOCKETS_POINTS NULL
#endif

struct wl_flows {
	struct wl_app *app;
	struct in_addr address; /* the node's own */
	int interface; /* its index, for Ethernet */
	char interface_name[16];
	int udp, listener, raw; /* -1 where closed */
	int connections[WL_NET_CONNECTIONS];
	unsigned taken, wanted;
	struct wl_ip peer;
};

/* Find the interface that has the address; its MAC goes into `mac`. False where none has it. */
bool wl_flows_init(struct wl_flows *flows, struct wl_app *app, struct in_addr address, uint8_t mac[6]);

/* What the application calls; with WL_SOCKETS_ETHERNET and the permission to open raw sockets also Ethernet. */
void wl_flows_net(struct wl_flows *flows, struct wl_net *net);
bool wl_flows_may_ethernet(void);

/* Answer control lines on a port, UDP and TCP. False if it cannot be opened; errno says why. */
bool wl_control_serve(struct wl_app *app, struct in_addr address, uint16_t port);

/* Whether there is a control connection with a host. */
bool wl_control_connected(const struct wl_ip *host);

/* UDP port 7 (RFC 862); false if it cannot be opened. */
bool wl_echo_serve(struct in_addr address);

/* iperf 2 on its port; false if that cannot be opened. wl_iperf_attend() does what came and what is due, and returns for
 * how many ns it has nothing to do. */
bool wl_iperf_serve(struct wl_app *app, struct in_addr address);
uint64_t wl_iperf_attend(void);

/* An address as the protocol has it. */
struct wl_ip wl_ip_of(struct in_addr address);

/* A socket that does not block, bound to a port, or to a free one where that is in use and `other` says so; *port is
 * the one it has. -1 where there is none. */
int wl_socket_bound(int type, struct in_addr address, uint16_t *port, bool other);

#endif
