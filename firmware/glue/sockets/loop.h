/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for many sockets at once, on one thread: the owner of a socket registers a function. */
#ifndef WIRELAB_SOCKETS_LOOP_H
#define WIRELAB_SOCKETS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Most sockets. */
#define WL_LOOP_SOCKETS 32

/* `events` are those of poll(2). A function may add and remove sockets, also its own. */
typedef void wl_loop_ready(void *context, int fd, short events);

/* Wait for `events` of a socket; false if there are too many sockets. */
bool wl_loop_add(int fd, short events, wl_loop_ready *ready, void *context);

/* Wait for other events of a socket. */
void wl_loop_want(int fd, short events);

/* Stop waiting for a socket, which stays open. */
void wl_loop_remove(int fd);

/* Wait until sockets are ready, or for this many ns; pass their number to `waited`, then call their owners. */
void wl_loop_wait(uint64_t most_ns, void (*waited)(uint64_t ns));

#endif
