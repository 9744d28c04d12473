/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points around the unchanged driver of a NuttX interface: NuttX calls a driver of the lower half
 * (nuttx/net/netdev_lowerhalf.h) by a table of functions. While a trial with captures runs, a copy of the table replaces it,
 * with two functions that take times. It needs a flat build, where an application sees the kernel's structures.
 */
#include <nuttx/config.h>

#include <nuttx/net/net.h>
#include <nuttx/net/netdev_lowerhalf.h>
#include <nuttx/nuttx.h>

#include "glue.h"
#include "wirelab/points.h"

static struct {
	struct netdev_lowerhalf_s *device; /* NULL: no driver is changed */
	const struct netdev_ops_s *driver;
	struct netdev_ops_s around;
	bool polling; /* a poll is in progress */
	uint64_t began;
} points;

/* The first piece of a frame begins with its Ethernet header, which NuttX does not count. */
static bool sequence_of(struct netdev_lowerhalf_s *device, netpkt_t *frame, uint32_t *sequence)
{
	return wl_points_sequence(netpkt_getdata(device, frame),
				  frame->io_len + NET_LL_HDRLEN(&device->netdev), sequence);
}

/* NuttX requests frames until there is none; the first request starts the poll. */
static netpkt_t *receive(struct netdev_lowerhalf_s *device)
{
	netpkt_t *frame;
	uint32_t sequence;

	if (!points.polling)
		points.began = WL_CLOCK();
	frame = points.driver->receive(device);
	points.polling = frame != NULL;
	if (frame != NULL && sequence_of(device, frame, &sequence)) {
		wl_capture_note(WL_RX_INTERRUPT, sequence, points.began);
		WL_POINT(WL_RX_DRIVER, sequence);
	}
	return frame;
}

static int transmit(struct netdev_lowerhalf_s *device, netpkt_t *frame)
{
	uint32_t sequence;
	bool taken = sequence_of(device, frame, &sequence);
	int status;

	if (taken)
		WL_POINT(WL_TX_DRIVER, sequence);
	status = points.driver->transmit(device, frame);
	if (taken && status == OK)
		WL_POINT(WL_TX_MAC, sequence);
	return status;
}

/* The upper half's first field is the lower half; a driver without halves has another field there. */
static struct netdev_lowerhalf_s *device_of(const char *name)
{
	struct net_driver_s *interface = netdev_findbyname(name);
	struct netdev_lowerhalf_s *device;

	if (interface == NULL || interface->d_private == NULL)
		return NULL;
	device = container_of(interface, struct netdev_lowerhalf_s, netdev);
	return *(struct netdev_lowerhalf_s **)interface->d_private == device ? device : NULL;
}

void wl_nuttx_points(void *context, bool on)
{
	const struct wl_flows *flows = context;

	if (points.device != NULL)
		points.device->ops = points.driver;
	points.device = on ? device_of(flows->interface_name) : NULL;
	if (points.device == NULL)
		return;
	points.driver = points.device->ops;
	points.around = *points.driver;
	points.around.receive = receive;
	points.around.transmit = transmit;
	points.polling = false;
	points.device->ops = &points.around;
}
