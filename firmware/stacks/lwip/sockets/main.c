/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The echo on lwIP's sockets, under FreeRTOS: the boards' driver as lwIP's interface. The interrupt fills the driver's ring
 * and wakes a task, which hands the frames to lwIP's thread.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "board.h"
#include "echo_sockets.h"
#include "mps2.h"
#include "print.h"

#include "lwip/etharp.h"
#include "lwip/netif.h"
#include "lwip/tcpip.h"
#include "netif/ethernet.h"

#include <string.h>

#define MOST_PIECES 16u
#define STACK_BYTES 2048
#define RECEIVE_PRIORITY 4
#define ECHO_PRIORITY 2

static struct netif netif;
static TaskHandle_t receiver;
static uint8_t mac[6];

void EthernetISR(void);
uint32_t wl_lwip_random(void);

void EthernetISR(void)
{
	BaseType_t wake = pdFALSE;

	lan9118_interrupt();
	if (mac_pending())
		vTaskNotifyGiveFromISR(receiver, &wake);
	portYIELD_FROM_ISR(wake);
}

static void receive(void *unused)
{
	uint8_t *frame;
	size_t length;

	(void)unused;
	for (;;) {
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		while ((length = mac_receive(&frame)) > 0) {
			struct pbuf *copy = pbuf_alloc(PBUF_RAW, (u16_t)(length + ETH_PAD_SIZE), PBUF_POOL);

			if (copy)
				memcpy(copy->payload, frame - ETH_PAD_SIZE, length + ETH_PAD_SIZE);
			mac_receive_done();
			if (copy && netif.input(copy, &netif) != ERR_OK)
				pbuf_free(copy);
		}
	}
}

/* lwIP's frames have ETH_PAD_SIZE bytes in front, which are not sent. */
static err_t output(struct netif *interface, struct pbuf *frame)
{
	struct wl_piece pieces[MOST_PIECES];
	unsigned count = 0;

	(void)interface;
	for (const struct pbuf *part = frame; part; part = part->next) {
		size_t skip = part == frame ? ETH_PAD_SIZE : 0;

		if (count == MOST_PIECES)
			return ERR_BUF;
		pieces[count].bytes = (const uint8_t *)part->payload + skip;
		pieces[count++].count = part->len - skip;
	}
	return mac_send(pieces, count) ? ERR_OK : ERR_BUF;
}

static err_t setup(struct netif *interface)
{
	interface->name[0] = 'e';
	interface->name[1] = 'n';
	interface->mtu = 1500;
	interface->hwaddr_len = sizeof mac;
	memcpy(interface->hwaddr, mac, sizeof mac);
	interface->flags =
		NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
	interface->output = etharp_output;
	interface->linkoutput = output;
	return ERR_OK;
}

static void udp(void *unused)
{
	(void)unused;
	configASSERT(echo_udp() == 0);
}

static void tcp(void *unused)
{
	(void)unused;
	configASSERT(echo_tcp() == 0);
}

static void begin(void *unused)
{
	ip4_addr_t ip, mask, gateway;

	(void)unused;
	/* The last four bytes of the MAC address are the IPv4 address: one image for any number of machines. */
	IP4_ADDR(&ip, mac[2], mac[3], mac[4], mac[5]);
	IP4_ADDR(&mask, 255, 255, 255, 0);
	IP4_ADDR(&gateway, 0, 0, 0, 0);
	netif_add(&netif, &ip, &mask, &gateway, 0, setup, tcpip_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
	sys_thread_new("udp", udp, 0, STACK_BYTES, ECHO_PRIORITY);
	sys_thread_new("tcp", tcp, 0, STACK_BYTES, ECHO_PRIORITY);
	print("READY\n");
}

/* Good enough for a lab, and the same in each run. */
uint32_t wl_lwip_random(void)
{
	static uint32_t seed = 1;

	return seed = seed * 1664525u + 1013904223u;
}

void board_panic(const char *why)
{
	stack_assert(why, 0);
}

int main(void)
{
	configASSERT(xTaskCreate(receive, "mac", configMINIMAL_STACK_SIZE, 0, RECEIVE_PRIORITY, &receiver) ==
		     pdPASS);
	configASSERT(mac_init(mac));
	tcpip_init(begin, 0);
	vTaskStartScheduler();
	return 0;
}
