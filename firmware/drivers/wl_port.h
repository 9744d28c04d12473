/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A port of hardware (docs/blocks/ethernet_port.md): its identity, the addresses of its blocks, and its clock.
 *
 * `port` is the address at which its registers begin.
 */
#ifndef WIRELAB_PORT_H
#define WIRELAB_PORT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the registers at `port` are of a port, in the version of these drivers. */
bool wl_port_is_there(uintptr_t port);

/* The addresses of its blocks, for their drivers. */
uintptr_t wl_port_generator(uintptr_t port);
uintptr_t wl_port_mac(uintptr_t port);
uintptr_t wl_port_checker(uintptr_t port);
uintptr_t wl_port_capture(uintptr_t port);
uintptr_t wl_port_identifier(uintptr_t port);
uintptr_t wl_port_rate(uintptr_t port);

/* Set the time of the stamps to 0, and how many nanoseconds each clock adds: 8 at 125 MHz. */
void wl_port_clock_start(uintptr_t port, uint8_t step_ns);

/* The time of the stamps, in ns modulo 2^48. */
uint64_t wl_port_clock_ns(uintptr_t port);

#endif
