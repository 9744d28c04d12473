/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wl_node ADDRESS [PORT [IDLE_MS]]: the node application as a program, on one address of this host. A trial ends when its
 * tester is silent for IDLE_MS. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>

#include "glue.h"
#include "loop.h"

#define TICK_PS 1000
#define FRAME_AROUND 18
#define MTU_BYTES 1500
#define IDLE_MS 10000
/* No wait is longer, so that a signal is seen. */
#define LONGEST_WAIT_NS 100000000u
/* A shorter wait would end late, so the program spins. */
#define SPIN_NS 60000u

static struct wl_app app;
static struct wl_flows flows;
static volatile sig_atomic_t over;

uint64_t wl_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void end(int signal)
{
	(void)signal;
	over = 1;
}

/* FNV-1a of the boot's identifier, as the specification requires: it shows whether two programs run on one machine. */
static void host_id(char out[17])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	uint64_t hash = 0xCBF29CE484222325u;
	int byte;

	out[0] = 0;
	if (file == NULL)
		return;
	while ((byte = fgetc(file)) != EOF && byte != '\n')
		hash = (hash ^ (uint64_t)byte) * 0x100000001B3u;
	fclose(file);
	snprintf(out, 17, "%016llx", (unsigned long long)hash);
}

/* The host's set-up, by the keys of the specification. */
static unsigned set_up(const char *(*setup)[2], unsigned room, const uint8_t mac[6], const char *ip)
{
	static char stack[160], address[18], host[17];
	static struct utsname system;
	const char *const all[][2] = {
		{ "stack", stack },
		{ "os", system.sysname },
		{ "core", system.machine },
		{ "buffer_memory", "RAM, cached" },
		{ "interface", flows.interface_name },
		{ "application", "wl_node" },
		{ "software", "wirelab-firmware 0.1.0" },
		{ "mac", address },
		{ "ip", ip },
		{ "host", host },
	};
	unsigned count = 0, known = sizeof all / sizeof all[0];

	uname(&system);
	snprintf(stack, sizeof stack, "%.60s %.60s", system.sysname, system.release);
	snprintf(address, sizeof address, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	host_id(host);
	/* Only Linux identifies its boots. */
	if (host[0] == 0)
		known--;
	for (; count < known && count < room; count++) {
		setup[count][0] = all[count][0];
		setup[count][1] = all[count][1];
	}
	return count;
}

static bool begin(struct in_addr address, const char *ip, uint32_t idle_ms)
{
	static struct wl_identity identity = {
		.name = "wl-node",
		.directions = WL_SET(WL_TRANSMIT) | WL_SET(WL_RECEIVE) | WL_SET(WL_BOTH) | WL_SET(WL_ECHO),
		.layers = WL_SET(WL_UDP_IPV4) | WL_SET(WL_TCP_IPV4),
		.traffic = WL_SET(WL_TRAFFIC_TEST),
		.paths = WL_SET(WL_PATH_STACK),
		.ports = 1,
		.min_frame_bytes = 64,
		.max_frame_bytes = MTU_BYTES + FRAME_AROUND,
		.max_frames = 10000000000u,
		.max_time_ps = 600000000000000u,
		.max_captures = WL_CAPTURE_RECORDS / WL_POINTS,
	};
	static const char *setup[16][2];
	static struct wl_net net;
	struct wl_app_config config = {
		.identity = &identity, .tick_ps = TICK_PS, .net = &net, .shared = true
	};

	if (!wl_flows_init(&flows, &app, address, config.mac)) {
		fprintf(stderr,
			"wl_node: no interface here has the address %s; `ip -brief address` shows them\n",
			ip);
		return false;
	}
	identity.idle_ms = idle_ms;
	if (wl_flows_may_ethernet())
		identity.layers |= WL_SET(WL_ETHERNET);
	wl_flows_net(&flows, &net);
	config.ip = wl_ip_of(address);
	config.setup_count = set_up(setup, 16, config.mac, ip);
	config.setup = (const char *const(*)[2])setup;
	if (getrandom(&config.seed, sizeof config.seed, 0) != sizeof config.seed)
		config.seed = wl_clock();
	wl_app_init(&app, &config);
	return true;
}

/* Whether nothing is due now: time spent spinning before a frame is due is idle too. */
static bool resting;

/* Called before arrivals are handled, so that the wait counts as idle time before the frame that ended it. */
static void waited(uint64_t ns)
{
	if (resting)
		wl_app_idle(&app, ns);
}

int main(int count, char **arguments)
{
	struct sigaction ending = { .sa_handler = end };
	uint16_t port = count > 2 ? (uint16_t)strtoul(arguments[2], NULL, 10) : WL_CONTROL_PORT;
	uint32_t idle_ms = count > 3 ? (uint32_t)strtoul(arguments[3], NULL, 10) : IDLE_MS;
	struct in_addr address;

	if (count < 2 || inet_pton(AF_INET, arguments[1], &address) != 1 || port == 0 || idle_ms == 0) {
		fprintf(stderr, "usage: wl_node ADDRESS [PORT [IDLE_MS]]\n");
		return 2;
	}
	sigaction(SIGTERM, &ending, NULL);
	sigaction(SIGINT, &ending, NULL);
	if (!begin(address, arguments[1], idle_ms))
		return 1;
	if (!wl_control_serve(&app, address, port)) {
		fprintf(stderr, "wl_node: cannot listen on %s port %u: %s\n", arguments[1], port,
			strerror(errno));
		return 1;
	}
	if (!wl_echo_serve(address))
		fprintf(stderr, "wl_node: no echo on port 7: %s\n", strerror(errno));
	if (!wl_iperf_serve(&app, address))
		fprintf(stderr, "wl_node: no iperf on port 5001: %s\n", strerror(errno));
	printf("READY name=wl-node ip=%s\n", arguments[1]);
	fflush(stdout);
	while (!over) {
		uint64_t due = wl_app_poll(&app), now = wl_clock();
		uint64_t left = due > now ? due - now : 0, iperf_left = wl_iperf_attend();

		if (left > iperf_left)
			left = iperf_left;
		if (left > LONGEST_WAIT_NS)
			left = LONGEST_WAIT_NS;
		resting = left > 0;
		wl_loop_wait(left > SPIN_NS ? left - SPIN_NS : 0, waited);
	}
	return 0;
}
