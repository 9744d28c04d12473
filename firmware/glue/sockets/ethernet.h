/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The part of struct wl_net that is below IP: frames of EtherType 0x88B5 and neighbours. */
#ifndef WIRELAB_SOCKETS_ETHERNET_H
#define WIRELAB_SOCKETS_ETHERNET_H

#include "wl_net.h"

bool wl_ethernet_frames(void *context, bool wanted);
enum wl_sent wl_ethernet_send(void *context, const uint8_t *frame, size_t length);
bool wl_ethernet_neighbour(void *context, const struct wl_ip *ip, uint8_t mac[6]);

#endif
