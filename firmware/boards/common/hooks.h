/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hooks of a MAC driver for stages. Each is empty, unless the header named by BOARD_HOOKS_HEADER defines it. */
#ifndef BOARD_HOOKS_H
#define BOARD_HOOKS_H

#ifdef BOARD_HOOKS_HEADER
#include BOARD_HOOKS_HEADER
#endif

/* First thing in the handler of the MAC's interrupt. */
#ifndef BOARD_ON_MAC_INTERRUPT
#define BOARD_ON_MAC_INTERRUPT() ((void)0)
#endif

/* A received frame was copied out of the ring and goes to the stack. */
#ifndef BOARD_ON_RECEIVED
#define BOARD_ON_RECEIVED(frame, length) ((void)0)
#endif

/* Whether the frame was handed to the application past the stack; called before the frame is copied. */
#ifndef BOARD_TAKES
#define BOARD_TAKES(frame, length) false
#endif

/* The stack gives the driver a frame: first thing in mac_send(). */
#ifndef BOARD_ON_SEND
#define BOARD_ON_SEND(pieces, count) ((void)0)
#endif

/* The register write that starts the MAC has returned. */
#ifndef BOARD_ON_MAC_STARTED
#define BOARD_ON_MAC_STARTED() ((void)0)
#endif

#endif
