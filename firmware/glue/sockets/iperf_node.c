/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf 2 beside the node application: its sockets in the application's loop. */
#include <string.h>

#include "glue.h"
#include "iperf_sockets.h"
#include "loop.h"

static struct wl_iperf_sockets sockets;
/* What the loop waits for now, and what it has told. */
static struct pollfd list[WL_IPERF_SOCKETS];
static bool serving;

static void ready(void *context, int fd, short events)
{
	struct pollfd *entry = context;

	if (entry->fd == fd)
		entry->revents = events;
}

/* Have the loop wait for what iperf waits for. */
static void renew(void)
{
	struct pollfd wanted[WL_IPERF_SOCKETS];

	wl_iperf_sockets_list(&sockets, wanted);
	/* First those that are gone: another flow may have the number of one by now. */
	for (int n = 0; n < WL_IPERF_SOCKETS; n++) {
		if (list[n].fd >= 0 && list[n].fd != wanted[n].fd)
			wl_loop_remove(list[n].fd);
	}
	for (int n = 0; n < WL_IPERF_SOCKETS; n++) {
		if (wanted[n].fd >= 0 && list[n].fd != wanted[n].fd)
			(void)wl_loop_add(wanted[n].fd, wanted[n].events, ready, &list[n]);
		else if (wanted[n].fd >= 0 && list[n].events != wanted[n].events)
			wl_loop_want(wanted[n].fd, wanted[n].events);
		list[n] = wanted[n];
	}
}

bool wl_iperf_serve(struct in_addr address)
{
	struct wl_iperf_address at = { .version = 4, .port = WL_IPERF_PORT };

	memcpy(at.host, &address, 4);
	for (int n = 0; n < WL_IPERF_SOCKETS; n++)
		list[n].fd = -1;
	serving = wl_iperf_sockets_open(&sockets, &at, 0, 0);
	return serving;
}

uint64_t wl_iperf_attend(void)
{
	int ms;

	if (!serving)
		return UINT64_MAX;
	ms = wl_iperf_sockets_serve(&sockets, list);
	renew();
	return (uint64_t)ms * 1000000u;
}
