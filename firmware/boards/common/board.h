/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a board provides: a clock, a serial line, sleep, and a MAC below any stack. Each board's folder implements it.
 *
 * Nothing here blocks unless it says so. A board has one core, one serial line and one MAC.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wirelab/piece.h"

struct wl_rule; /* wirelab/identify.h */
struct wl_unit; /* wl_app.h */

struct board_info {
	const char *name; /* a word: "zynq7000" */
	uint64_t tick_ps; /* of wl_clock() */
	uint64_t core_hz;
	const char *const (
		*setup)[2]; /* set-up keys of spec/node-control.md and their texts; mac and ip are not here */
	unsigned setup_count;
	bool loopback; /* has mac_loopback() */
	/* A packet identifier and a capture unit in hardware, see struct wl_lwip_options; or 0. */
	void (*identifier_rule)(const struct wl_rule *rule);
	const struct wl_unit *unit;
	uint64_t link_bits_per_s; /* highest rate of the MAC */
};

extern const struct board_info board;

/* How the board recognized its emulator; 0: none. Only boards with BOARD_TELLS_EMULATION have it. */
const char *board_emulated(void);

/* Starts clocks, memory, timer and serial line, not the MAC. Interrupts are on afterwards. */
void board_init(void);

/* Start again, as after power-on. Never returns. */
void board_exit(void) __attribute__((noreturn));

/* Ticks since start, never backwards; usable in interrupts. */
uint64_t wl_clock(void);

/* A byte of the serial line, or -1 if there is none. At least 1,024 bytes are kept; board_uart_lost() counts bytes beyond. */
int board_uart_get(void);
bool board_uart_pending(void);
uint32_t board_uart_lost(void);

/* Send a byte; waits only while the transmit buffer is full. */
void board_uart_put(char c);

/* Sleep until wl_clock() is at least `ticks` or an interrupt wants to run. Call it with interrupts off after looking for work,
 * so that work arriving in between ends the sleep. It returns with interrupts off. */
void board_sleep_until(uint64_t ticks);

/* Interrupts off, and back to their previous state. */
uint32_t board_irq_off(void);
void board_irq_on(uint32_t was);

/* While quiet, only the MAC interrupts, so that every run executes the same code between the capture points of a frame. The
 * serial line and the end of a sleep wait meanwhile. */
void board_quiet(bool on);

/* --- the MAC ----------------------------------------------------------------------------------------------------- */

/* The largest frame without FCS that is sent or received. */
#define MAC_MOST_BYTES 1518u

/* Start the MAC, and return its address. False if no MAC or PHY answers. */
bool mac_init(uint8_t address[6]);

/* Send a frame without FCS: pad a short one, copy it into the transmit ring. False if the ring is full, the pieces make more
 * than MAC_MOST_BYTES, or there is no link. */
bool mac_send(const struct wl_piece *pieces, unsigned count);

/* Of boards with common/receive.c: the oldest received frame, in place, without FCS; 0 if there is none. It has two bytes in
 * front, at a multiple of four, as lwIP's ETH_PAD_SIZE 2 requires. It stays until mac_receive_done(). */
size_t mac_receive(uint8_t **frame);
void mac_receive_done(void);

/* Whether an interrupt reported frames since mac_receive() last returned 0. */
bool mac_pending(void);

/* Loop sent frames back inside the MAC or the PHY, with nothing on the wire; needs board.loopback. Frames on their way are
 * lost. */
void mac_loopback(bool on);

/* Whether there is a link, and its speed as negotiated. It reads the PHY, so call it a few times a second at most. */
bool mac_link(void);
uint32_t mac_link_bits_per_s(void);

/* Counter `index` since start, as in `counters` of node control; false behind the last. */
bool mac_counter(uint32_t index, const char **name, uint64_t *value);

#endif
