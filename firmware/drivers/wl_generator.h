/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the packet generator (docs/blocks/packet_generator.md): test frames at a byte a clock.
 *
 * `base` is the address of the block's registers: those of a port's generator are at wl_port_generator(port).
 *
 *     struct wl_generator_settings settings = { .payload_bytes = 46, .frames = 1000, .source = { … }, … };
 *
 *     if (wl_generator_start(base, &settings) == WL_GENERATOR_STARTED)
 *             while (!wl_generator_finished(base)) { }
 */
#ifndef WIRELAB_GENERATOR_H
#define WIRELAB_GENERATOR_H

#include <stdbool.h>
#include <stdint.h>

/* After the Ethernet header and its tag, without FCS; at least 42 with a tag and without UDP. */
#define WL_GENERATOR_LEAST_BYTES 46
#define WL_GENERATOR_MOST_BYTES 9216

enum wl_fault {
	WL_FAULT_NONE,
	WL_FAULT_BIT_ERROR, /* the bit position_bits of the frame is inverted, with a right FCS */
	WL_FAULT_DROP, /* a sequence is used and not sent */
	WL_FAULT_DUPLICATE,
	WL_FAULT_SWAP, /* a frame is sent before its predecessor */
	WL_FAULT_BAD_FCS,
	WL_FAULT_STALE, /* the payload of the previous sequence */
	WL_FAULT_TRUNCATED, /* the last cut_bytes of the payload are missing */
};

struct wl_generator_settings {
	uint8_t destination[6];
	uint8_t source[6];
	uint32_t payload_bytes;
	uint32_t gap_clocks; /* idle clocks of the stream behind each frame, below 2^24; 0: line rate */
	uint32_t frames; /* 0: until wl_generator_stop */
	uint8_t stream;
	bool has_time; /* frames are stamped by the port's clock */
	bool is_tagged;
	uint16_t tag; /* priority, DEI and VLAN of IEEE 802.1Q */
	bool is_udp; /* UDP over IPv4 instead of EtherType 0x88B5 */
	uint8_t ipv4_source[4];
	uint8_t ipv4_destination[4];
	uint16_t udp_source;
	uint16_t udp_destination;
	enum wl_fault fault;
	uint32_t fault_every; /* into every such frame; 0: off */
	uint32_t fault_clocks; /* into the next frame after so many clocks each, below 2^31; 0: off */
	uint32_t position_bits; /* 0 is the first bit of the destination address */
	uint32_t cut_bytes;
};

struct wl_generator_counts {
	uint32_t sent_frames;
	uint64_t sent_bytes; /* payloads of the sent frames */
	uint32_t used_sequences; /* sent or dropped: the base of the loss */
	uint32_t injected_faults;
	bool has_overflown; /* one of these overflowed */
	bool has_underrun; /* the block is broken */
};

enum wl_generator_start {
	WL_GENERATOR_STARTED,
	WL_GENERATOR_BUSY, /* the last frames of the previous run are on their way: call again */
	WL_GENERATOR_REFUSED, /* the block refuses payload_bytes */
	WL_GENERATOR_TOO_LARGE, /* a value does not fit in its register; nothing was written */
};

/* Begin a run at sequence 0 with the counts at 0; a running one is stopped first. */
enum wl_generator_start wl_generator_start(uintptr_t base, const struct wl_generator_settings *settings);

/* Insert a fault of the run's kind into the next frame. */
void wl_generator_fault_once(uintptr_t base);

/* End the run. The frame that is on its way is finished; wl_generator_busy shows when. */
void wl_generator_stop(uintptr_t base);

/* A run is in progress. */
bool wl_generator_busy(uintptr_t base);

/* The last run has sent all requested frames. */
bool wl_generator_finished(uintptr_t base);

/* The counts of the run. Each is read at its own moment, so read them after the run's end. */
void wl_generator_read(uintptr_t base, struct wl_generator_counts *counts);

#endif
