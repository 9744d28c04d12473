/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An echo on BSD sockets, the same on each stack that has them: UDP and TCP port 7, one thread or task each.
 *
 * It waits in a call, as programs on sockets do: no poll, no option, no zero copy.
 */
#include "echo_sockets.h"

#ifdef WL_ECHO_LWIP
#include "lwip/sockets.h"
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

#include <string.h>

#define PORT 7u
#define MOST_BYTES 1472u

static int bound(int type)
{
	struct sockaddr_in here;
	int server = socket(AF_INET, type, 0);

	memset(&here, 0, sizeof here);
	here.sin_family = AF_INET;
	here.sin_port = htons(PORT);
	if (server >= 0 && bind(server, (struct sockaddr *)&here, sizeof here) == 0)
		return server;
	if (server >= 0)
		close(server);
	return -1;
}

int echo_udp(void)
{
	static char bytes[MOST_BYTES];
	int server = bound(SOCK_DGRAM);

	if (server < 0)
		return -1;
	for (;;) {
		struct sockaddr_in peer;
		socklen_t size = sizeof peer;
		ssize_t count = recvfrom(server, bytes, sizeof bytes, 0, (struct sockaddr *)&peer, &size);

		if (count >= 0)
			sendto(server, bytes, (size_t)count, 0, (struct sockaddr *)&peer, size);
	}
}

static void serve(int connection)
{
	static char bytes[MOST_BYTES];
	ssize_t count;

	while ((count = recv(connection, bytes, sizeof bytes, 0)) > 0)
		for (ssize_t done = 0, more; done < count; done += more) {
			more = send(connection, bytes + done, (size_t)(count - done), 0);
			if (more <= 0)
				return;
		}
}

int echo_tcp(void)
{
	int server = bound(SOCK_STREAM);

	if (server < 0 || listen(server, 1) != 0)
		return -1;
	for (;;) {
		int connection = accept(server, 0, 0);

		if (connection < 0)
			continue;
		serve(connection);
		close(connection);
	}
}
