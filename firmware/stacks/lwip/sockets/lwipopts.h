/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The boards' options of lwIP, with its thread and its sockets. */
#ifndef STACKS_LWIPOPTS_H
#define STACKS_LWIPOPTS_H

#include "../../../glue/lwip/port/lwipopts.h"

#undef NO_SYS
#define NO_SYS 0
#undef SYS_LIGHTWEIGHT_PROT
#define SYS_LIGHTWEIGHT_PROT 1
#undef LWIP_NETCONN
#define LWIP_NETCONN 1
#undef LWIP_SOCKET
#define LWIP_SOCKET 1

#define TCPIP_THREAD_STACKSIZE 4096
#define TCPIP_THREAD_PRIO 5
#define TCPIP_MBOX_SIZE 32
#define DEFAULT_UDP_RECVMBOX_SIZE 16
#define DEFAULT_TCP_RECVMBOX_SIZE 16
#define DEFAULT_ACCEPTMBOX_SIZE 4
#define MEMP_NUM_NETBUF 16
#define MEMP_NUM_NETCONN 8
#define MEMP_NUM_TCPIP_MSG_INPKT 32

#include <errno.h>
#include <sys/time.h>
#define LWIP_ERRNO_STDINCLUDE 1
#define LWIP_TIMEVAL_PRIVATE 0

#endif
