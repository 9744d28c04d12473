/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's options for all boards: raw API, IPv4, no operating system. Sizes are the board's (board_config.h). */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#include "board_config.h"

#define NO_SYS 1
/* Only the main loop calls lwIP, so no protection is needed. */
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ARP 1
#define LWIP_ICMP 1
#define LWIP_RAW 1
#define LWIP_UDP 1
#define LWIP_TCP 1
#define LWIP_DHCP 0
#define LWIP_DNS 0
#define LWIP_IGMP 0
#define LWIP_ACD 0
#define LWIP_STATS 0

#define MEM_ALIGNMENT 4
#define ETH_PAD_SIZE 2 /* IP headers on multiples of four */
#define MEM_SIZE BOARD_LWIP_MEM_BYTES
#define PBUF_POOL_SIZE BOARD_LWIP_PBUFS
/* A frame is one buffer: 1,518 bytes and the pad, up to a cache line. */
#define PBUF_POOL_BUFSIZE 1536
#define MEMP_NUM_PBUF 64
#define MEMP_NUM_UDP_PCB 8
#define MEMP_NUM_TCP_PCB 16
#define MEMP_NUM_TCP_PCB_LISTEN 4
#define MEMP_NUM_TCP_SEG BOARD_LWIP_TCP_SEGMENTS
#define MEMP_NUM_SYS_TIMEOUT 16
#define MEMP_NUM_REASSDATA 4
#define IP_REASS_MAX_PBUFS (BOARD_LWIP_PBUFS / 4)
#define ARP_TABLE_SIZE 16

#define TCP_MSS 1460
#define TCP_WND BOARD_LWIP_TCP_WINDOW_BYTES
#define TCP_SND_BUF BOARD_LWIP_TCP_SEND_BYTES
#define TCP_SND_QUEUELEN BOARD_LWIP_TCP_SEGMENTS
#define LWIP_TCP_KEEPALIVE 1
#define SO_REUSE 1

#define LWIP_CHKSUM_ALGORITHM 0 /* from the port: arch/cc.h */
/* Raw applications send memory that stays valid without a copy. */
#define LWIP_NETIF_TX_SINGLE_PBUF 0

#define LWIP_NETIF_LINK_CALLBACK 0
#define LWIP_NETIF_STATUS_CALLBACK 0
#define LWIP_HAVE_LOOPIF 0
#define LWIP_NETIF_LOOPBACK 0

/* The application's additions. */
#ifdef WL_LWIP_OPTIONS_HEADER
#include WL_LWIP_OPTIONS_HEADER
#endif

#endif
