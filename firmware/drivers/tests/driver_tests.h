/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the drivers, for crates/hdl/tests/drivers: each returns 0, or the line of the failed check. */
#ifndef WIRELAB_DRIVER_TESTS_H
#define WIRELAB_DRIVER_TESTS_H

#include <stdint.h>

/* On a port with a loopback cable. */
int test_port(uintptr_t port);
int test_generator_writes_all_it_is_told(uintptr_t port);
int test_generator_refuses(uintptr_t port);
int test_generator_goes_on_until_it_is_stopped(uintptr_t port);
int test_checker_forgets(uintptr_t port);
int test_checker_follows_slots(uintptr_t port);
int test_capture_unit_edges(uintptr_t port);
int test_identifier_writes_all_it_is_told(uintptr_t port);

/* On a bus where each register reads as its own address. */
int test_counts_are_read_from_their_places(uintptr_t port);

#endif
