/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An example of each driver, for a port with a loopback cable: `port` is the address of its registers.
 *
 * Each returns whether everything was right. The pages in docs/blocks show lines of them.
 */
#ifndef WIRELAB_EXAMPLES_H
#define WIRELAB_EXAMPLES_H

#include <stdbool.h>
#include <stdint.h>

/* Send frames, one in ten with the payload of the one before, and count them. */
bool example_generator(uintptr_t port);

/* Check frames of a flow, and find the lost ones. */
bool example_checker(uintptr_t port);

/* Clocks from the start of a frame's transmission to the end of its reception, and the cost of a software mark. */
bool example_capture_unit(uintptr_t port);

/* Distinguish datagrams to a UDP port from other frames. */
bool example_packet_identifier(uintptr_t port);

/* The rate of frames on the line. */
bool example_rate_meter(uintptr_t port);

/* A wider gap, and the MAC's counts. */
bool example_port_mac(uintptr_t port);

#endif
