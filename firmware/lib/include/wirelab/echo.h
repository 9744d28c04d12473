/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Echo of test frames below any stack: a received frame becomes its own answer, in place, in a few hundred cycles.
 *
 *     if (wl_echo_ethernet(&echo, frame, length) || wl_echo_udp(&echo, frame, length))
 *             my_driver_send(frame, length);
 *
 * It answers only frames from one station to this node with a correct test header: no group, no broadcast, and never another
 * echo's port, which would answer forever.
 */
#ifndef WIRELAB_ECHO_H
#define WIRELAB_ECHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wirelab/options.h"

struct wl_echo {
	uint8_t own[6]; /* the node's link-layer address */
	uint8_t peer[6];
	bool peer_known; /* only its frames are then answered */
	uint8_t own_ip[4]; /* for UDP; all zero: no UDP */
	uint16_t udp_port; /* for UDP; 0 stands for 5003 */
};

/* Whether bytes begin with a test header with a correct checksum (spec/test-frame.md). */
bool wl_echo_is_test(const uint8_t *bytes, size_t count);

/* Make the echo of a test frame of EtherType 0x88B5, with up to two VLAN tags; false, with nothing changed, if it must not be
 * answered. `length` is without FCS. */
bool wl_echo_ethernet(const struct wl_echo *echo, uint8_t *frame, size_t length);

/* The same for a test datagram in UDP/IPv4. Swapping addresses and ports leaves every checksum valid; the time to live
 * restarts, and the header checksum is adjusted (RFC 1624). */
bool wl_echo_udp(const struct wl_echo *echo, uint8_t *frame, size_t length);

#endif
