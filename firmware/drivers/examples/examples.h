/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An example of each driver, for a port whose cable is plugged back: `port` is the address of its registers.
 *
 * Each returns whether everything was right. The pages in docs/blocks show lines of them.
 */
#ifndef WIRELAB_EXAMPLES_H
#define WIRELAB_EXAMPLES_H

#include <stdbool.h>
#include <stdint.h>

/* Send frames, one in ten with the payload of the one before, and count them. */
bool example_generator(uintptr_t port);

/* Check frames of a flow, and find one that was lost. */
bool example_checker(uintptr_t port);

/* Clocks from the start of a frame's sending to the end of its reception, and what a mark of software costs. */
bool example_capture_unit(uintptr_t port);

/* Distinguish datagrams to a UDP port from other frames. */
bool example_packet_identifier(uintptr_t port);

/* The rate of frames on the line. */
bool example_rate_meter(uintptr_t port);

/* A wider gap, and what the MAC counts. */
bool example_port_mac(uintptr_t port);

#endif
