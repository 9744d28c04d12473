/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NuttX's command `wlecho`: the echo on sockets, UDP in the task itself and TCP in a thread of its own. */
#include "echo_sockets.h"

#include <pthread.h>
#include <stdio.h>

static void *tcp(void *unused)
{
	(void)unused;
	if (echo_tcp() != 0)
		puts("wlecho: TCP port 7 is taken");
	return 0;
}

int main(int count, char **words)
{
	pthread_t thread;

	(void)count;
	(void)words;
	if (pthread_create(&thread, 0, tcp, 0) != 0)
		puts("wlecho: there is no thread for TCP");
	puts("wlecho: ready");
	if (echo_udp() != 0)
		puts("wlecho: UDP port 7 is taken");
	return 1;
}
