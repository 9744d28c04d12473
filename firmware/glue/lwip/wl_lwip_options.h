/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the node application wants of lwIP, for the end of an lwipopts.h. */
#ifndef WIRELAB_LWIP_OPTIONS_H
#define WIRELAB_LWIP_OPTIONS_H

/* The MAC's loopback has the node's own address in the table of neighbours. */
#define ETHARP_SUPPORT_STATIC_ENTRIES 1

/* lwIP counts its first sequence numbers up, so that a host that makes one connection can forge another for any
 * address; but a connection is what proves an address. */
#include <stdint.h>
uint32_t wl_lwip_first_sequence(void);
#define LWIP_HOOK_TCP_ISN(own, own_port, peer, peer_port) wl_lwip_first_sequence()

/* Frames of EtherType 0x88B5. */
struct pbuf;
struct netif;
signed char wl_lwip_unknown_protocol(struct pbuf *frame, const struct netif *netif);
#define LWIP_HOOK_UNKNOWN_ETH_PROTOCOL(frame, netif) wl_lwip_unknown_protocol((frame), (netif))

#endif
