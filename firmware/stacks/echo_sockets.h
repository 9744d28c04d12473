/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Servers of the echo on BSD sockets. Both return only if they get no socket, and then -1. */
#ifndef ECHO_SOCKETS_H
#define ECHO_SOCKETS_H

int echo_udp(void);
int echo_tcp(void);

#endif
