/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A port of hardware (docs/blocks/ethernet_port.md): whether it is there, where its blocks are, and its clock.
 *
 * `port` is the address at which its registers begin.
 */
#ifndef WIRELAB_PORT_H
#define WIRELAB_PORT_H

#include <stdbool.h>
#include <stdint.h>

/* Registers of a port of the version that these drivers are made for are at `port`. */
bool wl_port_is_there(uintptr_t port);

/* The addresses of its blocks, for their drivers. */
uintptr_t wl_port_generator(uintptr_t port);
uintptr_t wl_port_mac(uintptr_t port);
uintptr_t wl_port_checker(uintptr_t port);
uintptr_t wl_port_capture(uintptr_t port);
uintptr_t wl_port_identifier(uintptr_t port);
uintptr_t wl_port_rate(uintptr_t port);

/* Set the clock that stamps frames to 0, and how many nanoseconds it goes on with each clock: 8 at 125 MHz. */
void wl_port_clock_start(uintptr_t port, uint8_t step_ns);

/* That clock, in ns modulo 2^48. */
uint64_t wl_port_clock_ns(uintptr_t port);

#endif
