/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP on this host, with only its loopback interface; SCARCE leaves it little memory. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_IPV4 1
#define LWIP_IPV6 1
#define LWIP_IPV6_FRAG 0
#define LWIP_IPV6_REASS 0
#define LWIP_ARP 0
#define LWIP_ETHERNET 0
#define LWIP_HAVE_LOOPIF 1
#define LWIP_NETIF_LOOPBACK 1
#define MEM_ALIGNMENT 8
#define LWIP_STATS 1
#define MEMP_STATS 1
#define TCP_MSS 1460
#define TCP_WND (8 * TCP_MSS)
#define TCP_SND_BUF (8 * TCP_MSS)
#define TCP_SND_QUEUELEN 32
#define MEMP_NUM_TCP_SEG 128
#define MEMP_NUM_TCP_PCB 64
#define MEMP_NUM_UDP_PCB 16
#define MEMP_NUM_PBUF 256
#ifdef SCARCE
#define MEM_SIZE 12000
#undef MEMP_NUM_TCP_PCB
#define MEMP_NUM_TCP_PCB 2
#undef MEMP_NUM_UDP_PCB
#define MEMP_NUM_UDP_PCB 3
#undef MEMP_NUM_PBUF
#define MEMP_NUM_PBUF 6
#else
#define MEM_SIZE (4 * 1024 * 1024)
#endif

#endif
