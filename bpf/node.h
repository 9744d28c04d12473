/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the XDP program of a node's port and user space; mirrored in crates/stages/src/xdp/abi.rs. */
#ifndef WIRELAB_NODE_H
#define WIRELAB_NODE_H

#include <linux/types.h>

#define WL_NODE_RULES 8
#define WL_NODE_PORTS 8
#define WL_NODE_ADDRESSES 8
#define WL_NODE_CPUS 64 /* a power of two */
#define WL_NODE_QUEUES 64

/* The conditions of a rule: bits shared with wl_match in firmware/lib, and one for the port's own address. */
enum wl_node_match {
	WL_ASK_ETHERTYPE = 1,
	WL_ASK_OWN = 2,
	WL_ASK_PRIORITY = 4,
	WL_ASK_PROTOCOL = 8,
	WL_ASK_UDP_PORT = 16,
};

struct wl_node_rule {
	__u16 ask;
	__u16 ether_type;
	__u8 protocol;
	__u8 priority;
	__u16 pad;
	__u16 ports[WL_NODE_PORTS]; /* unused entries repeat the first */
};

struct wl_node_cfg {
	__u32 rule_count;
	__u32 reflect; /* send back test frames to the port's own address */
	__u8 mac[8]; /* the port's own, two bytes of padding */
	__u8 peer_mac[8]; /* the only one that gets replies; zeros: any */
	__u32 address_count;
	__u32 peer_known;
	__u32 peer[4]; /* the only IP address that gets replies */
	__u32 addresses[WL_NODE_ADDRESSES][4]; /* IPv4 mapped into IPv6; unused entries repeat the first */
	__u16 udp_ports[WL_NODE_PORTS]; /* where test frames are sent back; unused entries repeat the first */
	__u32 udp_port_count;
	__u32 ethernet; /* send back test frames of the test EtherType */
	struct wl_node_rule rules[WL_NODE_RULES];
};

/* Two cache lines for each CPU. */
struct wl_node_counts {
	__u64 frames;
	__u64 passed; /* passed to the stack */
	__u64 no_socket; /* matched without a socket: passed to the stack */
	__u64 reflected;
	__u64 not_reflected; /* test frames to reflect whose sender must not get a reply: passed to the stack */
	__u64 pad[3];
	__u64 matched[WL_NODE_RULES]; /* by the first rule that matches */
};

struct wl_node_state {
	struct wl_node_counts counts[WL_NODE_CPUS];
};

#endif
