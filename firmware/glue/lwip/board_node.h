/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node of node.h with what `board:` and `stages` ask for: READY and the control protocol on a serial line, frames that go round
 * inside the MAC, the CPU load of a loop that sleeps. One of them in a program.
 *
 *     static struct wl_lwip_board board;
 *     wl_lwip_board_open(&board, netif, &(struct wl_lwip_board_options){
 *         .node = { .name = "my-board", .tick_ps = MY_TICK_PS }, .uart_get = my_uart_get, .uart_put = my_uart_put });
 *     due = wl_lwip_board_poll(&board);      in the main loop; sleep no longer than until `due`
 *
 * firmware/README.md says what each feature needs.
 */
#ifndef WIRELAB_LWIP_BOARD_NODE_H
#define WIRELAB_LWIP_BOARD_NODE_H

#include "node.h"

#include "wirelab/iperf_reach.h"

struct wl_lwip_board_options {
	struct wl_lwip_options node;
	/* A serial line: the node prints READY when it is open, answers the control protocol, and reports what iperf refused. A
	 * byte, or -1 where nothing came; putting one may wait. */
	int (*uart_get)(void);
	void (*uart_put)(char c);
	/* With node.mac_loopback, or 0, for counting: interrupts off; and on again, with what they brought handed to lwIP. A frame
	 * that comes back at once is then received when it has been sent, and not in the middle of that. */
	void (*hold)(void), (*deliver)(void);
	/* What is due sooner than after so many ticks is waited for awake; see wl_lwip_board_idle(). */
	uint32_t least_sleep_ticks;
};

struct wl_lwip_board {
	struct wl_lwip_node node;
	struct wl_lwip_board_options options;
	struct wl_assembler line;
	struct wl_iperf_log refusals;
	uint64_t due, last_idle, polls, idle_poll;
};

/* Begin, once, when the interface has its addresses. False if lwIP has no space for the ports. */
bool wl_lwip_board_open(struct wl_lwip_board *board, struct netif *netif,
			const struct wl_lwip_board_options *options);

/* Do what is due. Returns the time of the next thing to do, which may be now. */
uint64_t wl_lwip_board_poll(struct wl_lwip_board *board);

/* For the CPU load: a round of the main loop in which nothing was to do. Returns the time until which to sleep, or 0 where
 * something is due so soon that the loop should go on. And: it has slept for so many ticks. */
uint64_t wl_lwip_board_idle(struct wl_lwip_board *board);
void wl_lwip_board_slept(struct wl_lwip_board *board, uint64_t ticks);

#endif
