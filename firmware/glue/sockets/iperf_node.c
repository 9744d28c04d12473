/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* iperf 2 beside the node application: its sockets in the application's loop. */
#define _GNU_SOURCE
#include <string.h>

#include "glue.h"
#include "iperf_sockets.h"
#include "iperf_tell.h"
#include "loop.h"

static struct wl_iperf_sockets sockets;
/* What the loop waits for now, and what it has printed. */
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
	/* First the closed sockets: another flow may have the number of one already. */
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

static struct wl_ip ip_of(const struct wl_iperf_address *peer)
{
	struct wl_ip ip = { .version = peer->version };

	memcpy(ip.bytes, peer->host, peer->version == 4 ? 4 : 16);
	return ip;
}

/* A connection proves its address while it exists, and a minute longer. */
static bool proven(void *context, const struct wl_iperf_address *peer)
{
	struct wl_ip host = ip_of(peer);

	for (const struct wl_iperf_flow *f = sockets.iperf.flows; f < sockets.iperf.flows + WL_IPERF_FLOWS;
	     f++)
		if (f->handle.number > 0 && !f->udp && !f->client && f->peer.version == peer->version &&
		    memcmp(f->peer.host, peer->host, sizeof peer->host) == 0)
			return true;
	return wl_control_connected(&host) || wl_app_proven(context, &host);
}

static void ended(void *context, const struct wl_iperf_result *result)
{
	struct wl_ip host = ip_of(&result->peer);

	if (!result->udp && !result->client)
		wl_app_connected(context, &host);
}

static void refused(void *context, const struct wl_iperf_address *peer, enum wl_iperf_why why)
{
	(void)context;
	wl_iperf_tell_refused(peer, wl_iperf_because(why, WL_IPERF_NODE_ASKS));
}

bool wl_iperf_serve(struct wl_app *app, struct in_addr address)
{
	struct wl_iperf_address at = { .version = 4, .port = WL_IPERF_PORT };

	memcpy(at.host, &address, 4);
	for (int n = 0; n < WL_IPERF_SOCKETS; n++)
		list[n].fd = -1;
	serving = wl_iperf_sockets_open(&sockets, &at, ended, app);
	sockets.proven = proven;
	sockets.proven_context = app;
	sockets.io.refused = refused;
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
