/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between the node application and a stack: a dozen functions that each stack's glue provides, and the calls by which the glue
 * passes on arrivals. Everything runs on one thread, nothing blocks.
 */
#ifndef WIRELAB_APP_NET_H
#define WIRELAB_APP_NET_H

#include "wirelab/control.h"

enum wl_sent {
	WL_SENT,
	WL_NO_ROOM, /* later: a queue, a ring or the stack's memory is full */
	WL_NO_WAY, /* never: no route, no link, or the size does not fit */
};

/* Connections of a TCP trial at most. */
#define WL_NET_CONNECTIONS 2

struct wl_net {
	void *context;
	/* Open the UDP port of a trial. *port is the requested port, then the open one, which differs if that was in use. One
	 * at a time; close does nothing if none is open. */
	bool (*udp_open)(void *context, uint16_t *port);
	void (*udp_close)(void *context);
	/* The caller may reuse the bytes when it returns. */
	enum wl_sent (*udp_send)(void *context, const struct wl_ip *to, uint16_t port, const uint8_t *bytes,
				 size_t count);
	/* Listen for the connections of a trial, only from `peer` (version 0: any host); they are numbered in order of arrival.
	 * Close ends the listener; connections still send what was written. */
	bool (*tcp_listen)(void *context, uint16_t *port, const struct wl_ip *peer, unsigned connections);
	void (*tcp_close)(void *context);
	/* Write as much as fits. Returns the number of bytes taken. */
	size_t (*tcp_write)(void *context, unsigned connection, const uint8_t *bytes, size_t count);
	/* End this half of the connection, after all bytes written. */
	void (*tcp_end)(void *context, unsigned connection);
	/* Frames of EtherType 0x88B5: receive them or not, and send one (without FCS). */
	bool (*frames)(void *context, bool wanted);
	enum wl_sent (*frame_send)(void *context, const uint8_t *frame, size_t length);
	/* The link-layer address of a host. False if it is not known yet: it is then resolved. */
	bool (*neighbour)(void *context, const struct wl_ip *ip, uint8_t mac[6]);
	/* The MAC's own loopback; 0 where there is none. While it is on, frames to the node's own address go through stack,
	 * driver and MAC, and no others are sent. */
	bool (*loopback)(void *context, bool on);
	/* Frames of the trial go past the stack, from the driver to wl_app_udp(), or with port 0 to wl_app_frame(). 0: no fast
	 * track. */
	void (*fast_track)(void *context, uint16_t port, bool on);
	/* Give a whole frame to the driver, past the stack; false if its ring is full. 0: not possible. */
	bool (*driver_send)(void *context, const uint8_t *frame, size_t length);
	/* Capture points of stack and driver, on or off; 0 if there are none, or if they need no call. */
	void (*points)(void *context, bool on);
};

struct wl_app;

/* A datagram arrived at the trial's port. */
void wl_app_udp(struct wl_app *app, const struct wl_ip *from, uint16_t port, const uint8_t *bytes,
		size_t count);
/* A frame of EtherType 0x88B5 arrived (without FCS); an echo is made in place. */
void wl_app_frame(struct wl_app *app, uint8_t *frame, size_t length);
/* A connection of the trial: it opened, brought bytes, its peer sent everything, or it broke. */
void wl_app_tcp_open(struct wl_app *app, unsigned connection);
void wl_app_tcp_data(struct wl_app *app, unsigned connection, const uint8_t *bytes, size_t count);
void wl_app_tcp_ended(struct wl_app *app, unsigned connection);
void wl_app_tcp_broken(struct wl_app *app, unsigned connection);

#endif
