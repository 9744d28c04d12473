/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's options of the example: raw API, IPv4, no operating system. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define MEM_ALIGNMENT 8
#define MEM_SIZE 65536
#define MEMP_NUM_UDP_PCB 8
#define MEMP_NUM_TCP_PCB 16
#define MEMP_NUM_TCP_PCB_LISTEN 4
#define LWIP_TCP_KEEPALIVE 1

#include "wl_lwip_options.h"

#endif
