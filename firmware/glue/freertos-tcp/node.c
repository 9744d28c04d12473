/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A whole node on FreeRTOS+TCP: its description, sockets and loop. */
#include "node.h"

#include "semphr.h"
#include "task.h"

#include "wirelab/points.h"

#define PS_PER_MS 1000000000u
#define FRAME_BYTES 1518
#define MOST_FRAMES 10000000000u
#define MOST_TIME_PS 600000000000000u
#define IDLE_MS 10000
#define OWN_KEYS 5

#if ipconfigSOCKET_HAS_USER_SEMAPHORE
/* FreeRTOS+TCP wakes a task by it for TCP and UDP; its wake-up callback is only for TCP. */
static SemaphoreHandle_t came;
#endif

struct wl_ip wl_ftcp_ip(const struct freertos_sockaddr *address)
{
	struct wl_ip ip = { .version = 4 };
	uint32_t bits = FreeRTOS_ntohl(address->sin_address.ulIP_IPv4);

	for (unsigned n = 0; n < 4; n++)
		ip.bytes[n] = (uint8_t)(bits >> (24 - 8 * n));
	return ip;
}

Socket_t wl_ftcp_bound(BaseType_t type, BaseType_t protocol, uint16_t *port, bool other)
{
	struct freertos_sockaddr here = { .sin_family = FREERTOS_AF_INET, .sin_port = FreeRTOS_htons(*port) };
	const TickType_t none = 0;
	Socket_t socket = FreeRTOS_socket(FREERTOS_AF_INET, type, protocol);

	if (socket == FREERTOS_INVALID_SOCKET)
		return NULL;
	FreeRTOS_setsockopt(socket, 0, FREERTOS_SO_RCVTIMEO, &none, sizeof none);
	FreeRTOS_setsockopt(socket, 0, FREERTOS_SO_SNDTIMEO, &none, sizeof none);
#if ipconfigSOCKET_HAS_USER_SEMAPHORE
	FreeRTOS_setsockopt(socket, 0, FREERTOS_SO_SET_SEMAPHORE, &came, sizeof came);
#endif
	if (FreeRTOS_bind(socket, &here, sizeof here) != 0) {
		here.sin_port = 0;
		if (!other || FreeRTOS_bind(socket, &here, sizeof here) != 0) {
			FreeRTOS_closesocket(socket);
			return NULL;
		}
	}
	(void)FreeRTOS_GetLocalAddress(socket, &here);
	*port = FreeRTOS_ntohs(here.sin_port);
	return socket;
}

static void put_addresses(struct wl_ftcp_node *node, const NetworkEndPoint_t *end_point)
{
	static const char digits[] = "0123456789abcdef";
	char *out = node->mac;

	for (unsigned n = 0; n < 6; n++) {
		*out++ = digits[end_point->xMACAddress.ucBytes[n] >> 4];
		*out++ = digits[end_point->xMACAddress.ucBytes[n] & 15];
		*out++ = n < 5 ? ':' : 0;
	}
	FreeRTOS_inet_ntoa(end_point->ipv4_settings.ulIPAddress, node->ip);
}

static unsigned put_keys(struct wl_ftcp_node *node, const struct wl_ftcp_options *options)
{
	const char *const own[OWN_KEYS][2] = { { "stack", "FreeRTOS+TCP " ipFR_TCP_VERSION_NUMBER },
					       { "os", "FreeRTOS " tskKERNEL_VERSION_NUMBER },
					       { "software", "wirelab-firmware 0.1.0" },
					       { "mac", node->mac },
					       { "ip", node->ip } };
	unsigned count = 0;

	for (; count < options->setup_count && count < WL_FTCP_KEYS - OWN_KEYS; count++) {
		node->keys[count][0] = options->setup[count][0];
		node->keys[count][1] = options->setup[count][1];
	}
	for (unsigned n = 0; n < OWN_KEYS; n++, count++) {
		node->keys[count][0] = own[n][0];
		node->keys[count][1] = own[n][1];
	}
	return count;
}

bool wl_ftcp_node_open(struct wl_ftcp_node *node, const NetworkEndPoint_t *end_point,
		       const struct wl_ftcp_options *options)
{
	struct freertos_sockaddr own = { .sin_address.ulIP_IPv4 = end_point->ipv4_settings.ulIPAddress };
	struct wl_app_config config = {
		.identity = &node->identity,
		.setup = (const char *const(*)[2])node->keys,
		.tick_ps = options->tick_ps,
		.link_bits_per_s = options->link_bits_per_s,
		.ip = wl_ftcp_ip(&own),
		.net = &node->net,
		.shared = true,
		.seed = options->seed ^ WL_CLOCK(),
	};

#if ipconfigSOCKET_HAS_USER_SEMAPHORE
	if (came == NULL)
		came = xSemaphoreCreateBinary();
	if (came == NULL)
		return false;
#endif
	node->tick_ps = options->tick_ps;
	node->interface = end_point->pxNetworkInterface;
	node->identity = (struct wl_identity){
		.name = options->name,
		.directions = WL_SET(WL_TRANSMIT) | WL_SET(WL_RECEIVE) | WL_SET(WL_BOTH) | WL_SET(WL_ECHO),
		.layers = WL_SET(WL_UDP_IPV4) | WL_SET(WL_TCP_IPV4),
		.traffic = WL_SET(WL_TRAFFIC_TEST),
		.paths = WL_SET(WL_PATH_STACK),
		.ports = 1,
		.min_frame_bytes = 64,
		.max_frame_bytes = FRAME_BYTES,
		.max_frames = MOST_FRAMES,
		.max_time_ps = MOST_TIME_PS,
		.max_captures = WL_CAPTURE_RECORDS / WL_POINTS,
		.idle_ms = IDLE_MS,
	};
	put_addresses(node, end_point);
	config.setup_count = put_keys(node, options);
	for (unsigned n = 0; n < 6; n++) {
		config.mac[n] = end_point->xMACAddress.ucBytes[n];
		config.seed = config.seed * 31 + config.mac[n];
	}
	wl_ftcp_flows_net(node);
	wl_app_init(&node->app, &config);
	return wl_ftcp_control_open(node);
}

/* Whether an ending connection has sent all, or never will. */
static void end_lingering(struct wl_ftcp_node *node)
{
	for (unsigned n = 0; n < WL_FTCP_LINGERING; n++) {
		Socket_t socket = node->lingering[n].socket;

		if (socket == NULL || (FreeRTOS_connstatus(socket) > 0 && FreeRTOS_outstanding(socket) > 0 &&
				       WL_CLOCK() < node->lingering[n].until))
			continue;
		node->lingering[n].socket = NULL;
		FreeRTOS_closesocket(socket);
	}
}

void wl_ftcp_linger(struct wl_ftcp_node *node, Socket_t socket)
{
	for (unsigned n = 0; n < WL_FTCP_LINGERING; n++) {
		if (node->lingering[n].socket != NULL)
			continue;
		node->lingering[n].socket = socket;
		node->lingering[n].until = WL_CLOCK() + (uint64_t)1000 * PS_PER_MS / node->tick_ps;
		FreeRTOS_shutdown(socket, FREERTOS_SHUT_RDWR);
		return;
	}
	FreeRTOS_closesocket(socket);
}

uint64_t wl_ftcp_node_poll(struct wl_ftcp_node *node)
{
	bool any = wl_ftcp_control_poll(node);
	uint64_t due;

	any |= wl_ftcp_flows_poll(node);
	end_lingering(node);
	due = wl_app_poll(&node->app);
	return any ? 0 : due;
}

void wl_ftcp_node_run(struct wl_ftcp_node *node)
{
	for (;;) {
		uint64_t due = wl_ftcp_node_poll(node), before = WL_CLOCK();

		/* A tick is the shortest sleep; for shorter waits the task stays awake. */
		if (due <= before + (uint64_t)portTICK_PERIOD_MS * PS_PER_MS / node->tick_ps)
			continue;
#if ipconfigSOCKET_HAS_USER_SEMAPHORE
		xSemaphoreTake(came, 1);
#else
		vTaskDelay(1);
#endif
		wl_app_idle(&node->app, WL_CLOCK() - before);
	}
}
