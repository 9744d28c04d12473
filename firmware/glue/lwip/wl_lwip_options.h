/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options of lwIP that the node application needs, for the end of an lwipopts.h. */
#ifndef WIRELAB_LWIP_OPTIONS_H
#define WIRELAB_LWIP_OPTIONS_H

/* For the MAC's loopback the table of neighbours has the node's own address. */
#define ETHARP_SUPPORT_STATIC_ENTRIES 1

/* lwIP's own first sequence numbers only count up: with one connection a host could forge another from any address. But a
 * connection has to prove an address. */
#include <stdint.h>
uint32_t wl_lwip_first_sequence(void);
#define LWIP_HOOK_TCP_ISN(own, own_port, peer, peer_port) wl_lwip_first_sequence()

/* Frames of EtherType 0x88B5. */
struct pbuf;
struct netif;
signed char wl_lwip_unknown_protocol(struct pbuf *frame, const struct netif *netif);
#define LWIP_HOOK_UNKNOWN_ETH_PROTOCOL(frame, netif) wl_lwip_unknown_protocol((frame), (netif))

#endif
