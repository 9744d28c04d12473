/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A small iperf 2 on the core of the firmware library and BSD sockets; it prints a line for each ended flow. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "iperf_sockets.h"
#include "iperf_tell.h"

/* A week: ms of it fit 32 bits. */
#define MOST_S 604800

static volatile sig_atomic_t interrupted;
static bool incomplete;

static const char usage[] =
	"usage: wl_iperf [-c HOST] [-u] [-r | -d | -R | -F] [-p PORT] [-t SECONDS | -n BYTES] [-l BYTES]\n"
	"                [-b BITS_PER_S] [-P STREAMS] [-L PORT]\n"
	"\n"
	"Without -c it serves on PORT (5001), UDP and TCP alike. With -c it runs a test and listens on the "
	"port of -L\n"
	"(5001) meanwhile: -r first there, then back; -d both at once; -R only back, and -F both, on one "
	"connection.\n";

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void print_count(const char *of, const struct wl_iperf_count *count, bool udp)
{
	printf(" %s_bytes=%" PRIu64 " %s_us=%" PRIu64, of, count->bytes, of, count->duration_us);
	if (udp)
		printf(" %s_datagrams=%" PRIu64 " %s_lost=%" PRIu64 " %s_out_of_order=%" PRIu64
		       " %s_jitter_us=%" PRIu32,
		       of, count->datagrams, of, count->lost, of, count->out_of_order, of, count->jitter_us);
}

static void print_result(void *context, const struct wl_iperf_result *result)
{
	char host[INET6_ADDRSTRLEN] = "?";

	(void)context;
	inet_ntop(result->peer.version == 4 ? AF_INET : AF_INET6, result->peer.host, host, sizeof host);
	printf("%s %s peer=%s port=%u %s", result->udp ? "udp" : "tcp", result->sent ? "sent" : "received",
	       host, result->peer.port, result->complete ? "complete" : "incomplete");
	print_count("here", &result->here, result->udp);
	if (result->reported)
		print_count("there", &result->there, true);
	printf("\n");
	fflush(stdout);
	incomplete = incomplete || !result->complete;
}

static void print_refused(void *context, const struct wl_iperf_address *peer, enum wl_iperf_why why)
{
	(void)context;
	wl_iperf_tell_refused(
		peer, wl_iperf_because(
			      why, "over UDP its address may be forged, and is not on a link of this host; "
				   "fix: ask over TCP, or build with WL_IPERF_ALLOW"));
}

static bool find_host(const char *name, struct wl_iperf_address *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *found = 0;

	if (getaddrinfo(name, 0, &hints, &found) != 0 || !found)
		return false;
	if (found->ai_family == AF_INET) {
		address->version = 4;
		memcpy(address->host, &((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr, 4);
	} else {
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)found->ai_addr;

		address->version = 6;
		address->zone = v6->sin6_scope_id;
		memcpy(address->host, &v6->sin6_addr, 16);
	}
	freeaddrinfo(found);
	return true;
}

/* An option's number, with iperf's factors: 1024 for K, M and G, 1000 for k, m and g. */
static uint64_t number(const char *text, uint64_t most)
{
	static const char suffixes[] = "kmgKMG";
	char *end;
	double value = strtod(text, &end);
	const char *suffix = *end ? strchr(suffixes, *end) : 0;

	if (end == text || value < 0 || value > 1e15 || (*end && (!suffix || end[1]))) {
		fprintf(stderr, "wl_iperf: invalid number '%s'; write e.g. 8K or 10m\n", text);
		exit(2);
	}
	for (int n = suffix ? (int)((suffix - suffixes) % 3) + 1 : 0; n > 0; n--)
		value *= suffix - suffixes >= 3 ? 1024 : 1000;
	if (value > (double)most) {
		fprintf(stderr, "wl_iperf: '%s' is more than the %" PRIu64 " that are possible here\n", text,
			most);
		exit(2);
	}
	return (uint64_t)value;
}

/* A rate that does not fit 32 bits means no limit. */
static uint32_t rate(uint64_t bits_per_s)
{
	return bits_per_s > UINT32_MAX ? 0 : (uint32_t)bits_per_s;
}

static void read_options(int argc, char **argv, struct wl_iperf_test *test, bool *client, uint16_t *port)
{
	uint16_t back_port = WL_IPERF_PORT;
	int option;

	while ((option = getopt(argc, argv, "c:surdRFp:t:n:l:b:P:L:")) != -1) {
		switch (option) {
		case 'c':
			*client = true;
			if (!find_host(optarg, &test->server)) {
				fprintf(stderr, "wl_iperf: there is no host '%s'\n", optarg);
				exit(2);
			}
			break;
		case 's':
			break;
		case 'u':
			test->udp = true;
			break;
		case 'r':
			test->mode = WL_IPERF_TRADEOFF;
			break;
		case 'd':
			test->mode = WL_IPERF_DUAL;
			break;
		case 'R':
			test->mode = WL_IPERF_REVERSE;
			break;
		case 'F':
			test->mode = WL_IPERF_FULL_DUPLEX;
			break;
		case 'p':
			*port = (uint16_t)number(optarg, UINT16_MAX);
			break;
		case 'L':
			back_port = (uint16_t)number(optarg, UINT16_MAX);
			break;
		case 't':
			test->time_ms = (uint32_t)number(optarg, MOST_S) * 1000;
			break;
		case 'n':
			test->bytes = (uint32_t)number(optarg, INT32_MAX);
			break;
		case 'l':
			test->length_bytes = (uint16_t)number(optarg, UINT16_MAX);
			break;
		case 'b':
			test->bits_per_s = rate(number(optarg, INT64_MAX));
			break;
		case 'P':
			test->streams = (uint8_t)number(optarg, WL_IPERF_FLOWS);
			break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (*client) {
		test->server.port = *port;
		test->back_port = *port = back_port;
	}
}

int main(int argc, char **argv)
{
	static struct wl_iperf_sockets sockets;
	struct wl_iperf_test test = { .udp = false };
	uint16_t port = WL_IPERF_PORT;
	bool client = false, back;

	read_options(argc, argv, &test, &client, &port);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (!wl_iperf_sockets_open(&sockets, &(struct wl_iperf_address){ .port = port }, print_result, 0)) {
		perror("wl_iperf: the port cannot be opened");
		return 1;
	}
	sockets.io.refused = print_refused;
	if (client && !wl_iperf_sockets_run(&sockets, &test)) {
		fprintf(stderr, "wl_iperf: at most %d streams at once\n", WL_IPERF_FLOWS);
		return 2;
	}
	if (!client)
		printf("serving on port %u\n", port);
	fflush(stdout);
	back = test.mode == WL_IPERF_TRADEOFF || test.mode == WL_IPERF_DUAL;
	/* Traffic back may begin a little after our own has ended. */
	for (time_t busy = seconds(); !interrupted; wl_iperf_sockets_wait(&sockets, 100)) {
		if (!client || wl_iperf_running(&sockets.iperf, true) > 0)
			busy = seconds();
		else if (!back || seconds() > busy + 3)
			break;
	}
	wl_iperf_sockets_close(&sockets);
	return client && incomplete;
}
