/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An echo on FreeRTOS+TCP: UDP and TCP port 7, one task each, by the calls that copy. With WITHOUT_ECHO it is only the network,
 * and another file has the hook.
 */
#include "FreeRTOS.h"
#include "task.h"

#include "FreeRTOS_IP.h"
#include "FreeRTOS_Routing.h"
#include "FreeRTOS_Sockets.h"
#include "smsc9220_eth_drv.h"
#include "SMM_MPS2.h"

#include "print.h"

#define PORT 7u
#define MOST_BYTES 1472u
#define STACK_WORDS 512u
#define PRIORITY 2u

static NetworkInterface_t interface;
static NetworkEndPoint_t end_point;
static uint32_t seed = 1;

NetworkInterface_t *pxMPS2_FillInterfaceDescriptor(BaseType_t index, NetworkInterface_t *to);

#ifndef WITHOUT_ECHO
static Socket_t bound(BaseType_t type, BaseType_t protocol)
{
	struct freertos_sockaddr here = { .sin_port = FreeRTOS_htons(PORT), .sin_family = FREERTOS_AF_INET };
	const TickType_t for_ever = portMAX_DELAY;
	Socket_t server = FreeRTOS_socket(FREERTOS_AF_INET, type, protocol);

	configASSERT(server != FREERTOS_INVALID_SOCKET);
	FreeRTOS_setsockopt(server, 0, FREERTOS_SO_RCVTIMEO, &for_ever, sizeof for_ever);
	configASSERT(FreeRTOS_bind(server, &here, sizeof here) == 0);
	return server;
}

static void echo_udp(void *unused)
{
	static uint8_t bytes[MOST_BYTES];
	Socket_t server = bound(FREERTOS_SOCK_DGRAM, FREERTOS_IPPROTO_UDP);

	(void)unused;
	for (;;) {
		struct freertos_sockaddr peer;
		socklen_t size = sizeof peer;
		int32_t count = FreeRTOS_recvfrom(server, bytes, sizeof bytes, 0, &peer, &size);

		if (count >= 0)
			FreeRTOS_sendto(server, bytes, (size_t)count, 0, &peer, size);
	}
}

static void serve(Socket_t connection)
{
	static uint8_t bytes[MOST_BYTES];
	BaseType_t count;

	while ((count = FreeRTOS_recv(connection, bytes, sizeof bytes, 0)) >= 0)
		for (BaseType_t done = 0, more; done < count; done += more) {
			more = FreeRTOS_send(connection, bytes + done, (size_t)(count - done), 0);
			if (more < 0)
				return;
		}
}

static void echo_tcp(void *unused)
{
	Socket_t server = bound(FREERTOS_SOCK_STREAM, FREERTOS_IPPROTO_TCP);

	(void)unused;
	configASSERT(FreeRTOS_listen(server, 1) == 0);
	for (;;) {
		struct freertos_sockaddr peer;
		socklen_t size = sizeof peer;
		Socket_t connection = FreeRTOS_accept(server, &peer, &size);

		if (connection == 0 || connection == FREERTOS_INVALID_SOCKET)
			continue;
		serve(connection);
		FreeRTOS_closesocket(connection);
	}
}

void vApplicationIPNetworkEventHook_Multi(eIPCallbackEvent_t event, NetworkEndPoint_t *at)
{
	static BaseType_t started;

	(void)at;
	if (event != eNetworkUp || started)
		return;
	started = pdTRUE;
	configASSERT(xTaskCreate(echo_udp, "udp", STACK_WORDS, 0, PRIORITY, 0) == pdPASS);
	configASSERT(xTaskCreate(echo_tcp, "tcp", STACK_WORDS, 0, PRIORITY, 0) == pdPASS);
	print("READY\n");
}

#endif

/* Good enough for a lab, and the same in each run. */
BaseType_t xApplicationGetRandomNumber(uint32_t *number)
{
	seed = seed * 1664525u + 1013904223u;
	*number = seed;
	return pdTRUE;
}

uint32_t ulApplicationGetNextSequenceNumber(uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port)
{
	uint32_t number;

	(void)from, (void)from_port, (void)to, (void)to_port;
	xApplicationGetRandomNumber(&number);
	return number;
}

/* The address in the MAC before the driver starts, which the image's loader has set. Its last four bytes are
 * the IPv4 address, so that one image serves any number of machines. */
static void mac_address(uint8_t address[6])
{
	static const struct smsc9220_eth_dev_cfg_t config = { .base = SMSC9220_BASE };
	static struct smsc9220_eth_dev_data_t data;
	static const struct smsc9220_eth_dev_t device = { &config, &data };
	uint32_t low = 0, high = 0;

	smsc9220_mac_regread(&device, SMSC9220_MAC_REG_OFFSET_ADDRL, &low);
	smsc9220_mac_regread(&device, SMSC9220_MAC_REG_OFFSET_ADDRH, &high);
	for (unsigned n = 0; n < 4; n++)
		address[n] = (uint8_t)(low >> 8 * n);
	address[4] = (uint8_t)high;
	address[5] = (uint8_t)(high >> 8);
}

int main(void)
{
	static const uint8_t mask[4] = { 255, 255, 255, 0 }, none[4];
	uint8_t mac[6];

	mac_address(mac);
	pxMPS2_FillInterfaceDescriptor(0, &interface);
	FreeRTOS_FillEndPoint(&interface, &end_point, mac + 2, mask, none, none, mac);
	FreeRTOS_IPInit_Multi();
	vTaskStartScheduler();
	return 0;
}
