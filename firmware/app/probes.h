/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points on the path of frames through a MAC's driver and an unchanged lwIP. A driver calls these at four places, or
 * names this file as BOARD_HOOKS_HEADER. The application itself takes the fifth and sixth point, `application`. probes_perf.h
 * has the cost of lwIP's own functions.
 *
 * Only test frames leave a record: UDP over IPv4 or EtherType 0x88B5, with the magic in its place.
 */
#ifndef WIRELAB_PROBES_H
#define WIRELAB_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wl_piece; /* wirelab/piece.h */

/* Whether the points take records; off, each costs a load and a branch. */
extern bool wl_probes_on;

/* First thing in the handler of the MAC's interrupt. The first frame of the interrupt takes the record, so that frames of one
 * interrupt share one. */
void wl_probe_interrupt(void);

/* A frame, destination address first, goes from the driver to the stack or to the application. */
void wl_probe_received(const uint8_t *frame, size_t length);

/* The sequence of a frame in pieces; false if it cannot be a test frame. */
bool wl_probe_sequence(const struct wl_piece *pieces, unsigned count, uint32_t *sequence);

/* The stack gives the driver a frame. */
void wl_probe_send(const struct wl_piece *pieces, unsigned count);

/* The register write that starts the MAC has returned. */
void wl_probe_started(void);

#define BOARD_ON_MAC_INTERRUPT() (wl_probes_on ? wl_probe_interrupt() : (void)0)
#define BOARD_ON_RECEIVED(frame, length) (wl_probes_on ? wl_probe_received((frame), (length)) : (void)0)
#define BOARD_ON_SEND(pieces, count) (wl_probes_on ? wl_probe_send((pieces), (count)) : (void)0)
#define BOARD_ON_MAC_STARTED() (wl_probes_on ? wl_probe_started() : (void)0)

#endif
