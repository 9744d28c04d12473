/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node of node.h with the features for `board:` and `stages`: READY and the control protocol on a serial line, the MAC's
 * loopback, the CPU load of a loop that sleeps. A program has one of them.
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
	/* A serial line: the node prints READY when it is open, answers the control protocol, and reports refusals of iperf.
	 * uart_get returns a byte, or -1 if there is none; uart_put may wait. */
	int (*uart_get)(void);
	void (*uart_put)(char c);
	/* With node.mac_loopback, to count instructions, or 0: interrupts off; and on again, with received frames handed to
	 * lwIP. A frame that returns at once is then received only after its send is over. */
	void (*hold)(void), (*deliver)(void);
	/* For waits of fewer ticks the loop stays awake; see wl_lwip_board_idle(). */
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

/* For the CPU load: a round of the main loop with nothing to do. Returns the time until which to sleep, or 0 if something is
 * due so soon that the loop should continue. wl_lwip_board_slept(): the loop has slept for so many ticks. */
uint64_t wl_lwip_board_idle(struct wl_lwip_board *board);
void wl_lwip_board_slept(struct wl_lwip_board *board, uint64_t ticks);

#endif
