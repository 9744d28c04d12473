/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A whole node on a project's lwIP: control and trials (port 5002), echo (port 7), iperf 2 (port 5001).
 *
 *     static struct wl_lwip_node node;
 *     wl_lwip_node_open(&node, netif, &(struct wl_lwip_options){ .name = "my-board", .tick_ps = MY_TICK_PS });
 *     due = wl_lwip_node_poll(&node);      in the main loop; sleep no longer than until `due`
 *
 * lwIP 2.2 with NO_SYS, or all of it within the core lock; wl_lwip_options.h belongs to the end of lwipopts.h.
 */
#ifndef WIRELAB_LWIP_NODE_H
#define WIRELAB_LWIP_NODE_H

#include "glue.h"
#include "iperf.h"

/* Most set-up keys of a project's own. */
#define WL_LWIP_KEYS 32
#define WL_LWIP_OWN_KEYS 6

struct wl_lwip_options {
	const char *name; /* a word: small letters, digits and '-' */
	uint32_t tick_ps; /* of wl_clock() */
	/* The rest may be 0. All of it must stay valid. */
	const char *const (
		*setup)[2]; /* set-up keys and their texts; stack, mtu_bytes, mac and ip are added */
	unsigned setup_count;
	uint64_t link_bits_per_s; /* for loads in ppm of it */
	/* Counters of the driver: see struct wl_app_config. */
	bool (*further)(void *context, uint32_t index, const char **name, uint64_t *value);
	/* The MAC's own loopback, for path=loopback. */
	void (*mac_loopback)(bool on);
	/* A whole frame to the driver, for path=driver; a board that has it also calls BOARD_TAKES() of fast_track.h for each
	 * received frame, for path=fast-track. */
	bool (*driver_send)(const uint8_t *frame, size_t length);
	/* A packet identifier in hardware takes the fast track's rule, or 0 for none; 0: the driver itself identifies frames.
	 * And a capture unit in hardware, or 0. */
	void (*identifier_rule)(const struct wl_rule *rule);
	const struct wl_unit *unit;
	/* iperf only receives and does not send what -r, -d and -R request. Without this flag it sends over UDP only to hosts
	 * that use a control session, have or had a TCP connection within a minute, or are allowed by the build
	 * (WL_IPERF_ALLOW). */
	bool iperf_receive_only;
	/* Called once for each requested flow that iperf does not send. */
	void (*iperf_refused)(const struct wl_iperf_address *peer, enum wl_iperf_why why);
};

struct wl_lwip_node {
	struct wl_app app;
	struct wl_flows flows;
	struct wl_net net;
	struct wl_iperf_lwip iperf;
	void (*iperf_refused)(const struct wl_iperf_address *peer, enum wl_iperf_why why);
	struct wl_identity identity;
	const char *keys[WL_LWIP_KEYS + WL_LWIP_OWN_KEYS][2];
	char mac[18], ip[16], mtu[8];
};

/* Begin, once, when the interface has its addresses. False if lwIP has no space for the ports. */
bool wl_lwip_node_open(struct wl_lwip_node *node, struct netif *netif, const struct wl_lwip_options *options);

/* Do what is due. Returns the time of the next thing to do, which may be now. */
uint64_t wl_lwip_node_poll(struct wl_lwip_node *node);

#endif
