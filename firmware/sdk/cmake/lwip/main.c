/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A node on lwIP whose interface has no cable: it prints READY on its UART, and answers there until the input ends. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

#include "board_node.h"

#define NS_PER_S 1000000000u

static bool ended;

uint64_t wl_clock(void)
{
	struct timespec now;

	timespec_get(&now, TIME_UTC);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint32_t sys_now(void)
{
	return (uint32_t)(wl_clock() / 1000000u);
}

static int uart_get(void)
{
	int byte = getchar();

	ended = byte == EOF;
	return ended ? -1 : byte;
}

static void uart_put(char c)
{
	putchar(c);
}

static err_t output(struct netif *netif, struct pbuf *frame)
{
	(void)netif;
	(void)frame;
	return ERR_OK;
}

static err_t begin(struct netif *netif)
{
	static const uint8_t mac[6] = { 2, 0, 192, 0, 2, 1 };

	memcpy(netif->hwaddr, mac, sizeof mac);
	netif->hwaddr_len = sizeof mac;
	netif->mtu = 1500;
	netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
	netif->output = etharp_output;
	netif->linkoutput = output;
	return ERR_OK;
}

int main(void)
{
	static struct wl_lwip_board board;
	static struct netif netif;
	const struct wl_lwip_board_options options = {
		.node = { .name = "my-board", .tick_ps = 1000 },
		.uart_get = uart_get,
		.uart_put = uart_put,
	};
	ip4_addr_t address, mask, gateway;

	lwip_init();
	IP4_ADDR(&address, 192, 0, 2, 1);
	IP4_ADDR(&mask, 255, 255, 255, 0);
	ip4_addr_set_zero(&gateway);
	if (netif_add(&netif, &address, &mask, &gateway, NULL, begin, ethernet_input) == NULL)
		return 1;
	netif_set_up(&netif);
	if (!wl_lwip_board_open(&board, &netif, &options))
		return 1;
	while (!ended) {
		sys_check_timeouts();
		(void)wl_lwip_board_poll(&board);
	}
	return 0;
}
