/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Frames below IP: Linux's packet sockets and its table of neighbours. */
#define _GNU_SOURCE
#include "ethernet.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "glue.h"
#include "loop.h"

#ifdef __NuttX__
#include <netinet/arp.h>
#endif
#if WL_SOCKETS_ETHERNET
#include <linux/if_packet.h>
#endif

#define MOST_AT_ONCE 64
#define QUEUE_BYTES (8 << 20)

/* Ask the system about an interface. */
static bool ask(unsigned long what, void *about)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && ioctl(fd, what, about) == 0;

	if (fd >= 0)
		close(fd);
	return good;
}

bool wl_flows_init(struct wl_flows *flows, struct wl_app *app, struct in_addr address, uint8_t mac[6])
{
	struct ifaddrs *all, *at;
	struct ifreq request = { 0 };

	*flows = (struct wl_flows){ .app = app,
				    .address = address,
				    .udp = -1,
				    .listener = -1,
				    .raw = -1,
				    .connections = { -1, -1 } };
	if (getifaddrs(&all) != 0)
		return false;
	for (at = all; at != NULL; at = at->ifa_next) {
		const struct sockaddr_in *own = (const void *)at->ifa_addr;

		if (own != NULL && own->sin_family == AF_INET && own->sin_addr.s_addr == address.s_addr)
			break;
	}
	if (at != NULL)
		strncpy(flows->interface_name, at->ifa_name, sizeof flows->interface_name - 1);
	freeifaddrs(all);
	if (at == NULL)
		return false;
	memcpy(request.ifr_name, flows->interface_name, sizeof request.ifr_name);
	flows->interface = (int)if_nametoindex(flows->interface_name);
	if (ask(SIOCGIFHWADDR, &request))
		memcpy(mac, request.ifr_hwaddr.sa_data, 6);
	return true;
}

bool wl_ethernet_neighbour(void *context, const struct wl_ip *ip, uint8_t mac[6])
{
	struct wl_flows *flows = context;
	struct arpreq request = { 0 };
	struct sockaddr_in *who = (void *)&request.arp_pa;

	who->sin_family = AF_INET;
	memcpy(&who->sin_addr, ip->bytes, 4);
	memcpy(request.arp_dev, flows->interface_name, sizeof request.arp_dev);
	if (!ask(SIOCGARP, &request) || !(request.arp_flags & ATF_COM))
		return false;
	memcpy(mac, request.arp_ha.sa_data, 6);
	return true;
}

#if WL_SOCKETS_ETHERNET

bool wl_flows_may_ethernet(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void arrived(void *context, int fd, short events)
{
	static uint8_t frame[WL_APP_BYTES + WL_ETHERNET_HEADER_BYTES];
	struct wl_flows *flows = context;

	(void)events;
	for (int n = 0; n < MOST_AT_ONCE && flows->raw == fd; n++) {
		struct sockaddr_ll from;
		socklen_t size = sizeof from;
		ssize_t count = recvfrom(fd, frame, sizeof frame, 0, (struct sockaddr *)&from, &size);

		if (count < 0)
			return;
		/* Frames that this host sends arrive here as well. */
		if (from.sll_pkttype == PACKET_HOST)
			wl_app_frame(flows->app, frame, (size_t)count);
	}
}

bool wl_ethernet_frames(void *context, bool wanted)
{
	struct wl_flows *flows = context;
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(WL_ETHERTYPE),
				  .sll_ifindex = flows->interface };
	int bytes = QUEUE_BYTES, on = 1;

	if (flows->raw >= 0) {
		wl_loop_remove(flows->raw);
		close(flows->raw);
		flows->raw = -1;
	}
	if (!wanted)
		return true;
	flows->raw = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (flows->raw < 0 || bind(flows->raw, (struct sockaddr *)&at, sizeof at) != 0)
		return false;
	if (setsockopt(flows->raw, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
		setsockopt(flows->raw, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	setsockopt(flows->raw, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
	return wl_loop_add(flows->raw, POLLIN, arrived, flows);
}

enum wl_sent wl_ethernet_send(void *context, const uint8_t *frame, size_t length)
{
	struct wl_flows *flows = context;

	if (send(flows->raw, frame, length, 0) >= 0)
		return WL_SENT;
	return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? WL_NO_ROOM : WL_NO_WAY;
}

#else

bool wl_flows_may_ethernet(void)
{
	return false;
}

bool wl_ethernet_frames(void *context, bool wanted)
{
	(void)context;
	return !wanted;
}

enum wl_sent wl_ethernet_send(void *context, const uint8_t *frame, size_t length)
{
	(void)context;
	(void)frame;
	(void)length;
	return WL_NO_WAY;
}

#endif
