/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Access to the registers of the reference node (rtl/registers/reference_node.rdl), and the board's internal functions.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reference_node_registers.h"
#include "wirelab/piece.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* A register and the bits of a field, by their names in the map. The generated structures are packed, so they only give
 * offsets. */
#define PLACE(name) (0x80000000u + offsetof(reference_node_registers_t, name))
#define NODE(name) REGISTER(PLACE(name))
#define BITS(field) REFERENCE_NODE_REGISTERS__##field##_bm
#define VALUE(word, field) (((word)&BITS(field)) >> REFERENCE_NODE_REGISTERS__##field##_bp)

#define ATTACHMENT_RING 2u

/* Code off the path of frames lies behind all else (link.ld), so that it does not move the path. */
#define RARE __attribute__((section(".rare.text")))
#define RARE_DATA __attribute__((section(".rare.data")))

/* The same RAM, past the data cache. */
#define UNCACHED(address) ((uint32_t)(uintptr_t)(address) | 0xC0000000u)

/* Bits of irq_pending, irq_enable and the core's own interrupt word. */
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
/* A buffer for a frame; call it in an interrupt, or before interrupts are on. 0 if none is free, which is counted. */
uint8_t *receive_spare(void);
/* Pass the frame, which lies behind PAD, to the main loop; past the stack if the identifier wants it. */
void receive_queue(const uint8_t *buffer, uint32_t length, bool wanted);

/* --- the two MACs (slot_mac.c, ring_mac.c), and their common part (mac.c) ----------------------------------------- */

enum { RX_FRAMES, RX_BYTES, RX_ODD, INTERRUPTS, TX_FRAMES, TX_BYTES, TX_FULL, TX_TOO_LONG, COUNTERS };
extern uint64_t counters[COUNTERS];
/* The block's counters: the registers before mac_counts.overflow. */
#define BLOCK_COUNTERS 8u
/* The counters of the driver, then those of the block; false behind the last. */
bool mac_counted(uint32_t index, const char **name, uint64_t *value);

/* Whether a received frame may have this length; counts it. */
bool mac_takes(uint32_t length);

void slot_start(void);
void slot_interrupt(void);
bool slot_send(const struct wl_piece *pieces, unsigned count, uint32_t length);

void ring_start(void);
void ring_interrupt(void);
bool ring_send(const struct wl_piece *pieces, unsigned count);

/* Copy a frame that begins on a word to behind the pad of a buffer. */
void mac_read_frame(uint32_t *to, const volatile uint32_t *from, uint32_t length);

/* The identifier's own addresses, set once; and the rule of the fast track, or 0. */
struct wl_rule;
void identifier_start(const uint8_t mac[6], const uint8_t ip[4]);
void identifier_rule(const struct wl_rule *rule);

/* --- the capture units in hardware (unit.c) ------------------------------------------------------------------------- */

struct wl_unit;
extern const struct wl_unit unit;

/* Whether the units take records, and whether the record of a sent frame is still pending. Read within the timed section, so it
 * needs no call. */
extern bool unit_on, unit_pending;
static inline bool unit_is_on(void)
{
	return unit_on;
}
/* The MAC's interrupt is over: rearm the unit's mark for the next one. */
void unit_again(void);
/* A received frame was handled, with so many waiting behind it; or a frame was given to the MAC. The frame is identified
 * outside of the timed section. */
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
