/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers of ports in simulation: each access calls the program that runs the simulation (crates/hdl/tests/drivers). */
#ifndef WIRELAB_TESTS_CALLBACK_H
#define WIRELAB_TESTS_CALLBACK_H

#include <stdint.h>

uint32_t wl_register_read(uintptr_t address);
void wl_register_write(uintptr_t address, uint32_t word);

#endif
