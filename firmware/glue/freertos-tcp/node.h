/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application on FreeRTOS+TCP (V4, IPv4): control over UDP and TCP (port 5002), UDP and TCP trials, echo (port 7).
 * Ethernet trials and iperf are not there.
 *
 *     static struct wl_ftcp_node node;
 *     wl_ftcp_node_open(&node, end_point, &(struct wl_ftcp_options){ .name = "my-board", .tick_ps = MY_TICK_PS });
 *     wl_ftcp_node_run(&node);      never returns: the node is a task of its own, below the IP task
 *
 * Open it in that task once the network is up (eNetworkUp). With ipconfigSOCKET_HAS_USER_SEMAPHORE it sleeps until something
 * arrives; without, it polls each tick.
 *
 * Capture points need firmware/app/probes.c, WL_OPTIONS_HEADER="wl_ftcp_options.h", and wl_ftcp_config.h at the end of
 * FreeRTOSIPConfig.h.
 */
#ifndef WIRELAB_FREERTOS_TCP_NODE_H
#define WIRELAB_FREERTOS_TCP_NODE_H

#include "wl_app.h"

#include "FreeRTOS.h"

#include "FreeRTOS_IP.h"
#include "FreeRTOS_Sockets.h"

/* Control connections at a time; beyond that the longest silent one is closed. */
#define WL_FTCP_CONTROL 2
/* Closed connections that still have bytes to send. */
#define WL_FTCP_LINGERING 4
#define WL_FTCP_KEYS 16

struct wl_ftcp_options {
	const char *name; /* a word: small letters, digits and '-' */
	uint32_t tick_ps; /* of wl_clock() */
	/* Set-up keys and their texts, or 0; they must stay valid. */
	const char *const (*setup)[2];
	unsigned setup_count;
	uint64_t link_bits_per_s; /* for loads in ppm of it, or 0 */
	uint64_t seed; /* as hard to guess as can be */
};

struct wl_ftcp_control {
	Socket_t socket; /* 0: free */
	struct wl_ip host;
	struct wl_assembler line;
	uint64_t heard;
};

struct wl_ftcp_node {
	struct wl_app app;
	struct wl_net net;
	struct wl_identity identity;
	const char *keys[WL_FTCP_KEYS][2];
	uint32_t tick_ps;
	NetworkInterface_t *interface;
	/* Control. */
	Socket_t lines, control_listener, echo;
	struct wl_ftcp_control control[WL_FTCP_CONTROL];
	/* The trial. */
	Socket_t udp, listener, connections[WL_NET_CONNECTIONS];
	unsigned taken, wanted;
	struct wl_ip peer;
	struct {
		Socket_t socket;
		uint64_t until;
	} lingering[WL_FTCP_LINGERING];
	char mac[18], ip[16];
};

/* Begin. False without memory for the ports. */
bool wl_ftcp_node_open(struct wl_ftcp_node *node, const NetworkEndPoint_t *end_point,
		       const struct wl_ftcp_options *options);

/* Handle arrivals and do what is due. Returns the time of the next thing to do, which may be now. */
uint64_t wl_ftcp_node_poll(struct wl_ftcp_node *node);

/* Poll, and sleep in between, forever. */
void wl_ftcp_node_run(struct wl_ftcp_node *node);

/* Shared by the files of this folder. */
Socket_t wl_ftcp_bound(BaseType_t type, BaseType_t protocol, uint16_t *port, bool other);
struct wl_ip wl_ftcp_ip(const struct freertos_sockaddr *address);
bool wl_ftcp_control_open(struct wl_ftcp_node *node);
bool wl_ftcp_control_poll(struct wl_ftcp_node *node);
void wl_ftcp_flows_net(struct wl_ftcp_node *node);
bool wl_ftcp_flows_poll(struct wl_ftcp_node *node);
void wl_ftcp_points(void *context, bool on);
/* Close a connection once it has sent all its bytes. */
void wl_ftcp_linger(struct wl_ftcp_node *node, Socket_t socket);

#endif
