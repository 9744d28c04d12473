/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for many sockets at once. */
#define _GNU_SOURCE
#include "loop.h"

#include <poll.h>
#include <stddef.h>
#include <time.h>

#include "wirelab/options.h"

static struct {
	struct pollfd polled[WL_LOOP_SOCKETS];
	struct {
		wl_loop_ready *ready;
		void *context;
	} told[WL_LOOP_SOCKETS];
	nfds_t count;
} loop;

static nfds_t find(int fd)
{
	nfds_t at = 0;

	while (at < loop.count && loop.polled[at].fd != fd)
		at++;
	return at;
}

bool wl_loop_add(int fd, short events, wl_loop_ready *ready, void *context)
{
	if (loop.count == WL_LOOP_SOCKETS)
		return false;
	loop.polled[loop.count] = (struct pollfd){ .fd = fd, .events = events };
	loop.told[loop.count].ready = ready;
	loop.told[loop.count++].context = context;
	return true;
}

void wl_loop_want(int fd, short events)
{
	nfds_t at = find(fd);

	if (at < loop.count)
		loop.polled[at].events = events;
}

void wl_loop_remove(int fd)
{
	nfds_t at = find(fd);

	if (at == loop.count)
		return;
	loop.count--;
	loop.polled[at] = loop.polled[loop.count];
	loop.told[at] = loop.told[loop.count];
}

void wl_loop_wait(uint64_t most_ns, void (*waited)(uint64_t ns))
{
	struct timespec most = { (time_t)(most_ns / 1000000000u), (long)(most_ns % 1000000000u) };
	uint64_t before = WL_CLOCK();
	int ready = ppoll(loop.polled, loop.count, &most, NULL);

	waited(WL_CLOCK() - before);
	/* From the last one: a removed entry is replaced by one that was handled already. */
	for (nfds_t at = loop.count; ready > 0 && at-- > 0;) {
		short events = at < loop.count ? loop.polled[at].revents : 0;

		if (events == 0)
			continue;
		loop.polled[at].revents = 0;
		loop.told[at].ready(loop.told[at].context, loop.polled[at].fd, events);
	}
}
