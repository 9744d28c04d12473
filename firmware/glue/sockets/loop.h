/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for many sockets at once, on one thread: who has one registers a function. */
#ifndef WIRELAB_SOCKETS_LOOP_H
#define WIRELAB_SOCKETS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Sockets at most. */
#define WL_LOOP_SOCKETS 32

/* `events` are those of poll(2). A function may add and remove sockets, its own too. */
typedef void wl_loop_ready(void *context, int fd, short events);

/* Wait for `events` of a socket; false where there are too many. */
bool wl_loop_add(int fd, short events, wl_loop_ready *ready, void *context);

/* Wait for other events of it. */
void wl_loop_want(int fd, short events);

/* No longer wait for it. It is not closed. */
void wl_loop_remove(int fd);

/* Wait until something is ready, or for this many ns; pass the number of them to `waited`, then call their owners. */
void wl_loop_wait(uint64_t most_ns, void (*waited)(uint64_t ns));

#endif
