/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A port of hardware apart from its blocks. */
#include "wl_port.h"

#include "fields.h"

#define BLOCK(port, name) ((port) + offsetof(ethernet_port_registers_t, name))

bool wl_port_is_there(uintptr_t port)
{
	return wl_register_read(BLOCK(port, id)) ==
	       (FIELD(ETHERNET_PORT_REGISTERS__ID__MAGIC, ETHERNET_PORT_REGISTERS__ID__MAGIC_reset) |
		FIELD(ETHERNET_PORT_REGISTERS__ID__VERSION, ETHERNET_PORT_REGISTERS__ID__VERSION_reset));
}

uintptr_t wl_port_generator(uintptr_t port)
{
	return BLOCK(port, generator);
}

uintptr_t wl_port_mac(uintptr_t port)
{
	return BLOCK(port, mac);
}

uintptr_t wl_port_checker(uintptr_t port)
{
	return BLOCK(port, checker);
}

uintptr_t wl_port_capture(uintptr_t port)
{
	return BLOCK(port, capture);
}

uintptr_t wl_port_identifier(uintptr_t port)
{
	return BLOCK(port, identifier);
}

uintptr_t wl_port_rate(uintptr_t port)
{
	return BLOCK(port, rate);
}

void wl_port_clock_start(uintptr_t port, uint8_t step_ns)
{
	WRITE(BLOCK(port, clock), clock, step, step_ns);
	WRITE(BLOCK(port, clock), clock, control, FIELD(CLOCK_REGISTERS__CONTROL__CLEAR, 1));
}

uint64_t wl_port_clock_ns(uintptr_t port)
{
	return READ_WIDE(BLOCK(port, clock), clock, now);
}
