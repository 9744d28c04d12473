/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The echo service on UDP port 7 (RFC 862). */
#include "glue.h"

#define ECHO_PORT 7
#define LOWEST_CLIENT_PORT 1024

/* Never to a port of a service: two echoes would continue forever. */
static void came(void *unused, struct udp_pcb *pcb, struct pbuf *data, const ip_addr_t *from, u16_t port)
{
	(void)unused;
	if (port >= LOWEST_CLIENT_PORT)
		udp_sendto(pcb, data, from, port);
	pbuf_free(data);
}

bool wl_lwip_echo(void)
{
	struct udp_pcb *pcb = udp_new();

	if (pcb == NULL || udp_bind(pcb, IP4_ADDR_ANY, ECHO_PORT) != ERR_OK)
		return false;
	udp_recv(pcb, came, NULL);
	return true;
}
