/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A client on lwIP's raw interface: it gets its address by DHCP, and then sends a datagram to port 5001 of its gateway every
 * ten milliseconds.
 *
 * It is the application of the main loop of boards with lwIP, in place of the node.
 */
#include "app.h"

#include "lwip/dhcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"

#include <string.h>

#define PORT 5001
#define BYTES 64
#define EVERY_MS 10

static struct netif *interface;
static struct udp_pcb *client;

static void send_one(void *unused)
{
	struct pbuf *data;

	(void)unused;
	sys_timeout(EVERY_MS, send_one, 0);
	if (!dhcp_supplied_address(interface))
		return;
	data = pbuf_alloc(PBUF_TRANSPORT, BYTES, PBUF_RAM);
	if (!data)
		return;
	memset(data->payload, 0, BYTES);
	udp_sendto(client, data, netif_ip_gw4(interface), PORT);
	pbuf_free(data);
}

void app_start(struct netif *netif)
{
	interface = netif;
	client = udp_new();
	LWIP_ASSERT("a socket", client);
	/* Without the address that the main loop derived from the MAC address. */
	netif_set_addr(netif, IP4_ADDR_ANY4, IP4_ADDR_ANY4, IP4_ADDR_ANY4);
	LWIP_ASSERT("DHCP", dhcp_start(netif) == ERR_OK);
	send_one(0);
}
