/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the main loop of boards with lwIP (loop.c) and what the node does (firmware/app). */
#ifndef APP_H
#define APP_H

#include <stdbool.h>
#include <stdint.h>

struct netif;

/* --- the application implements ----------------------------------------------------------------------------------- */

/* Once, after lwIP and its interface are up and before READY is printed. */
void app_start(struct netif *netif);

/* In each round, after what came was handed to lwIP. True: again at once, do not sleep. */
bool app_poll(void);

/* When app_poll() wants to be called again at the latest, in ticks of wl_clock(); UINT64_MAX: only when something
 * comes. */
uint64_t app_due(void);

/* A round in which nothing was to do. True: the application counts rounds for the CPU load, do not sleep. */
bool app_idle(void);

/* The loop has slept for so many ticks, after app_idle() said false. */
void app_slept(uint64_t ticks);

/* --- the main loop gives ------------------------------------------------------------------------------------------ */

/* One round of it: receives, lwIP's timers, app_poll(); idle if there was nothing. For wl_load_calibrate(). */
void loop_round(void *unused);

/* Take what the MAC has, at most `most` frames, and hand it to lwIP. Whether there was any. It is common/receive.c, or a
 * board's own. */
bool loop_receive(unsigned most);

/* A received frame to lwIP, behind ETH_PAD_SIZE bytes; it has it afterwards. */
struct pbuf;
void loop_input(struct pbuf *frame);

/* Frames that arrived while lwIP had no memory; frames that lwIP wanted to send while the ring was full. */
extern uint64_t loop_rx_no_memory, loop_tx_full;

#endif
