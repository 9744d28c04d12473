/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a board gives: a clock, a serial line, sleep, and a MAC below any stack. Each board's folder implements it.
 *
 * Nothing here blocks, but where it says so. A board has one core, one serial line and one MAC.
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
	bool loopback; /* mac_loopback() is there */
	/* A packet identifier and a capture unit in hardware, as struct wl_lwip_options has them; or 0. */
	void (*identifier_rule)(const struct wl_rule *rule);
	const struct wl_unit *unit;
	uint64_t link_bits_per_s; /* the fastest of the MAC */
};

extern const struct board_info board;

/* By what the board knows that an emulator runs it, or 0 where none does. Of boards with BOARD_TELLS_EMULATION alone. */
const char *board_emulated(void);

/* Clocks, memory, timer, serial line and interrupts, which are on afterwards; not the MAC. */
void board_init(void);

/* Start again, as after power-on. Never returns. */
void board_exit(void) __attribute__((noreturn));

/* Ticks since start, of 64 bits, never backwards; good in interrupts. */
uint64_t wl_clock(void);

/* A byte of the serial line, or -1 where nothing came. At least 1,024 bytes are kept; what comes beyond them is
 * counted as lost by board_uart_lost(). */
int board_uart_get(void);
bool board_uart_pending(void);
uint32_t board_uart_lost(void);

/* Send a byte; waits only where the transmit buffer is full. */
void board_uart_put(char c);

/* Sleep until wl_clock() is at least `ticks` or an interrupt wants to run. Call it with interrupts off, after having
 * looked for work: what comes in between is then not slept over. It returns with interrupts off. */
void board_sleep_until(uint64_t ticks);

/* Interrupts off, and back to what they were. */
uint32_t board_irq_off(void);
void board_irq_on(uint32_t was);

/* While quiet, no interrupt comes but the MAC's: nothing runs between the capture points of a frame that a run does not
 * have each time. The serial line and the end of a sleep wait meanwhile. */
void board_quiet(bool on);

/* --- the MAC ----------------------------------------------------------------------------------------------------- */

/* The largest frame without FCS that is sent or received. */
#define MAC_MOST_BYTES 1518u

/* Start the MAC, and return its address. False where no MAC or PHY answers. */
bool mac_init(uint8_t address[6]);

/* Send a frame without FCS, shorter ones are padded; it is copied into the transmit ring. False where the ring is full,
 * the pieces make more than MAC_MOST_BYTES, or there is no link. */
bool mac_send(const struct wl_piece *pieces, unsigned count);

/* Of boards with common/receive.c: the oldest received frame, in place, without FCS; 0 where there is none. The two bytes before it belong to it and
 * lie on a multiple of four, as ETH_PAD_SIZE 2 of lwIP wants it. It stays until mac_receive_done(). */
size_t mac_receive(uint8_t **frame);
void mac_receive_done(void);

/* Whether an interrupt reported frames since mac_receive() last returned 0. */
bool mac_pending(void);

/* Send to oneself inside the MAC or the PHY, and nothing to the wire; needs board.loopback. Frames on their way are
 * lost. */
void mac_loopback(bool on);

/* Whether there is a link, and how fast; asks the PHY, so call it some times a second at most. Follows what the link
 * partner negotiated. */
bool mac_link(void);
uint32_t mac_link_bits_per_s(void);

/* Counter `index` since start, as the `counters` of node control; false behind the last. */
bool mac_counter(uint32_t index, const char **name, uint64_t *value);

#endif
