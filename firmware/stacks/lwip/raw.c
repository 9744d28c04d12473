/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The echo on lwIP's raw interface: UDP port 7 is the boards' own (glue/lwip/echo.c), TCP port 7 is here.
 *
 * It is the application of the main loop of boards with lwIP, in place of the node.
 */
#include "app.h"
#include "glue.h"

#include "lwip/tcp.h"

#define PORT 7

/* Received bytes are copied once, into lwIP's send buffer. Bytes that do not fit stay with lwIP, which hands them over
 * again. */
static err_t came(void *unused, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	(void)unused;
	(void)error;
	if (!data)
		return tcp_close(pcb);
	if (data->tot_len > tcp_sndbuf(pcb) || tcp_sndqueuelen(pcb) + pbuf_clen(data) > TCP_SND_QUEUELEN)
		return ERR_MEM;
	for (const struct pbuf *part = data; part; part = part->next)
		if (tcp_write(pcb, part->payload, part->len, TCP_WRITE_FLAG_COPY) != ERR_OK)
			break;
	tcp_recved(pcb, data->tot_len);
	pbuf_free(data);
	return tcp_output(pcb);
}

static err_t accepted(void *unused, struct tcp_pcb *pcb, err_t error)
{
	(void)unused;
	(void)error;
	tcp_recv(pcb, came);
	return ERR_OK;
}

void app_start(struct netif *netif)
{
	struct tcp_pcb *server = tcp_new();

	(void)netif;
	LWIP_ASSERT("UDP port 7", wl_lwip_echo());
	LWIP_ASSERT("TCP port 7", server && tcp_bind(server, IP4_ADDR_ANY, PORT) == ERR_OK);
	server = tcp_listen(server);
	LWIP_ASSERT("a listener", server);
	tcp_accept(server, accepted);
}
