/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the main loop of boards with lwIP (loop.c) and the node application (firmware/app). */
#ifndef APP_H
#define APP_H

#include <stdbool.h>
#include <stdint.h>

struct netif;

/* --- the application implements ----------------------------------------------------------------------------------- */

/* Once, after lwIP and its interface are up and before READY is printed. */
void app_start(struct netif *netif);

/* In each round, after received frames were handed to lwIP. True: call again at once, do not sleep. */
bool app_poll(void);

/* The latest time for the next app_poll(), in ticks of wl_clock(); UINT64_MAX: only when something arrives. */
uint64_t app_due(void);

/* A round had nothing to do. True: do not sleep, because the application counts rounds for the CPU load. */
bool app_idle(void);

/* The loop has slept for so many ticks after app_idle() returned false. */
void app_slept(uint64_t ticks);

/* --- the main loop gives ------------------------------------------------------------------------------------------ */

/* One round of the main loop, for wl_load_calibrate(): receives, lwIP's timers, app_poll(); app_idle() if there was nothing. */
void loop_round(void *unused);

/* Hand at most `most` received frames to lwIP. Returns whether there was one. It is in common/receive.c, or a board's own. */
bool loop_receive(unsigned most);

/* Give a received frame, behind ETH_PAD_SIZE bytes, to lwIP, which owns it afterwards. */
struct pbuf;
void loop_input(struct pbuf *frame);

/* Frames that arrived while lwIP had no memory; frames that lwIP wanted to send while the ring was full. */
extern uint64_t loop_rx_no_memory, loop_tx_full;

#endif
