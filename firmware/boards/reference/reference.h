/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How the files of this board reach the registers of the reference node (rtl/registers/reference_node.rdl), and what they
 * give each other.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reference_node_registers.h"
#include "wirelab/piece.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* A register of the map and the bits of a field, by their names there. The generated structures are packed, so they give
 * places and nothing else. */
#define PLACE(name) (0x80000000u + offsetof(reference_node_registers_t, name))
#define NODE(name) REGISTER(PLACE(name))
#define BITS(field) REFERENCE_NODE_REGISTERS__##field##_bm
#define VALUE(word, field) (((word)&BITS(field)) >> REFERENCE_NODE_REGISTERS__##field##_bp)

#define ATTACHMENT_RING 2u

/* What no frame's way passes lies behind all else (link.ld), so that it does not move what does. */
#define RARE __attribute__((section(".rare.text")))
#define RARE_DATA __attribute__((section(".rare.data")))

/* The same RAM, past the data cache. */
#define UNCACHED(address) ((uint32_t)(uintptr_t)(address) | 0xC0000000u)

/* Of irq_pending and irq_enable, and of the core's own word of them. */
#define IRQ_MAC BITS(SYSTEM__IRQ_ENABLE__MAC)
#define IRQ_UART BITS(SYSTEM__IRQ_ENABLE__UART)
#define IRQ_TIMER BITS(SYSTEM__IRQ_ENABLE__TIMER)

/* In front of each frame, in slots and buffers alike: ETH_PAD_SIZE of lwIP. */
#define PAD 2u
#define ETHERNET_HEADER_BYTES 14u
#define LEAST_BYTES 60u

void interrupts_init(void);
void interrupts_enable(uint32_t bits);
void interrupts_disable(uint32_t bits);
void uart_interrupt(void);
void timer_interrupt(void);
void mac_interrupt(void);

/* --- buffers of received frames (receive.c) ------------------------------------------------------------------------ */

/* Once, before the MAC starts. */
void receive_init(void);
/* A buffer for a frame, in an interrupt or before there are any; 0, and counted, where none is free. */
uint8_t *receive_spare(void);
/* The frame that lies in it behind PAD goes to the main loop, past the stack where the identifier wants it. */
void receive_queue(const uint8_t *buffer, uint32_t length, bool wanted);

/* --- the two MACs (slot_mac.c, ring_mac.c), and what they share (mac.c) ------------------------------------------------------------------------- */

enum { RX_FRAMES, RX_BYTES, RX_ODD, INTERRUPTS, TX_FRAMES, TX_BYTES, TX_FULL, TX_TOO_LONG, COUNTERS };
extern uint64_t counters[COUNTERS];
/* Those of the block that are reported one by one: the registers before mac_counts.overflow. */
#define BLOCK_COUNTERS 8u
/* What the driver counts, and then the block; false behind the last. */
bool mac_counted(uint32_t index, const char **name, uint64_t *value);

/* Whether a received frame of this length can be one; counts it. */
bool mac_takes(uint32_t length);

void slot_start(void);
void slot_interrupt(void);
bool slot_send(const struct wl_piece *pieces, unsigned count, uint32_t length);

void ring_start(void);
void ring_interrupt(void);
bool ring_send(const struct wl_piece *pieces, unsigned count);

/* A frame that begins with a word to behind the pad of a buffer. */
void mac_read_frame(uint32_t *to, const volatile uint32_t *from, uint32_t length);

/* The identifier's own addresses, once, and the rule of the fast track, or 0 for none. */
struct wl_rule;
void identifier_start(const uint8_t mac[6], const uint8_t ip[4]);
void identifier_rule(const struct wl_rule *rule);

/* --- the capture units in hardware (unit.c) ------------------------------------------------------------------------- */

struct wl_unit;
extern const struct wl_unit unit;

/* Whether they take records, and whether that of a frame that was sent is still to be looked for: asked within what is
 * timed, so it costs no call. */
extern bool unit_on, unit_pending;
static inline bool unit_is_on(void)
{
	return unit_on;
}
/* An interrupt that may have reported it is over: the next one reports it again. */
void unit_again(void);
/* A received frame was handled, behind which so many wait; or one was given to the MAC. What it was is found out outside of
 * what is timed. */
void unit_received(bool test, uint32_t sequence, uint32_t queued);
void unit_sent(const struct wl_piece *pieces, unsigned count);
/* Before each frame, and in each round of the main loop: takes the count of the frame that was sent last. */
void unit_look(void);
static inline void unit_poll(void)
{
	if (unit_pending)
		unit_look();
}

#endif
