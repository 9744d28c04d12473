/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the packet generator. */
#include "wl_generator.h"

#include "fields.h"

#define CONTROL(name, value) FIELD(GENERATOR_REGISTERS__CONTROL__##name, value)
#define FITS(value, name) ((value) <= GENERATOR_REGISTERS__##name##__VALUE_bm)

static bool status_has(uintptr_t base, uint32_t bits)
{
	return (READ(base, generator, status) & bits) != 0;
}

static bool all_fit(const struct wl_generator_settings *settings)
{
	return FITS(settings->payload_bytes, PAYLOAD_BYTES) && FITS(settings->gap_clocks, GAP_CYCLES) &&
	       FITS(settings->fault_clocks, FAULT_INTERVAL) &&
	       FITS(settings->position_bits, FAULT_POSITION) && FITS(settings->cut_bytes, FAULT_CUT);
}

static void write_frame(uintptr_t base, const struct wl_generator_settings *settings)
{
	write_mac(AT(base, generator, destination), settings->destination);
	write_mac(AT(base, generator, source), settings->source);
	WRITE(base, generator, payload_bytes, settings->payload_bytes);
	WRITE(base, generator, flow,
	      FIELD(GENERATOR_REGISTERS__FLOW__VLAN_TCI, settings->tag) |
		      FIELD(GENERATOR_REGISTERS__FLOW__STREAM, settings->stream));
	WRITE(base, generator, ipv4_source, word_of(settings->ipv4_source));
	WRITE(base, generator, ipv4_destination, word_of(settings->ipv4_destination));
	WRITE(base, generator, udp_ports,
	      FIELD(GENERATOR_REGISTERS__UDP_PORTS__DESTINATION, settings->udp_destination) |
		      FIELD(GENERATOR_REGISTERS__UDP_PORTS__SOURCE, settings->udp_source));
}

static void write_schedule(uintptr_t base, const struct wl_generator_settings *settings)
{
	WRITE(base, generator, gap_cycles, settings->gap_clocks);
	WRITE(base, generator, frame_count, settings->frames);
	WRITE(base, generator, fault_every, settings->fault_every);
	WRITE(base, generator, fault_interval, settings->fault_clocks);
	WRITE(base, generator, fault_position, settings->position_bits);
	WRITE(base, generator, fault_cut, settings->cut_bytes);
}

enum wl_generator_start wl_generator_start(uintptr_t base, const struct wl_generator_settings *settings)
{
	if (!all_fit(settings))
		return WL_GENERATOR_TOO_LARGE;
	wl_generator_stop(base);
	/* The next run begins when enable rises while no frame is on its way. */
	if (wl_generator_busy(base))
		return WL_GENERATOR_BUSY;
	write_frame(base, settings);
	write_schedule(base, settings);
	WRITE(base, generator, control,
	      CONTROL(ENABLE, 1) | CONTROL(UDP_MODE, settings->is_udp) |
		      CONTROL(VLAN_ENABLE, settings->is_tagged) | CONTROL(TIME_VALID, settings->has_time) |
		      CONTROL(FAULT_KIND, settings->fault));
	return status_has(base, GENERATOR_REGISTERS__STATUS__CONFIG_ERROR_bm) ? WL_GENERATOR_REFUSED
									      : WL_GENERATOR_STARTED;
}

void wl_generator_fault_once(uintptr_t base)
{
	WRITE(base, generator, control, READ(base, generator, control) | CONTROL(FAULT_ONCE, 1));
}

void wl_generator_stop(uintptr_t base)
{
	WRITE(base, generator, control, READ(base, generator, control) & ~CONTROL(ENABLE, 1));
}

bool wl_generator_busy(uintptr_t base)
{
	return status_has(base, GENERATOR_REGISTERS__STATUS__BUSY_bm);
}

bool wl_generator_finished(uintptr_t base)
{
	return status_has(base, GENERATOR_REGISTERS__STATUS__FINISHED_bm);
}

void wl_generator_read(uintptr_t base, struct wl_generator_counts *counts)
{
	uint32_t status = READ(base, generator, status);

	counts->sent_frames = READ(base, generator, sent_frames);
	counts->sent_bytes = READ_WIDE(base, generator, sent_bytes);
	counts->used_sequences = READ(base, generator, used_sequences);
	counts->injected_faults = READ(base, generator, injected_faults);
	counts->has_overflown = (status & GENERATOR_REGISTERS__STATUS__OVERFLOW_bm) != 0;
	counts->has_underrun = (status & GENERATOR_REGISTERS__STATUS__UNDERRUN_bm) != 0;
}
