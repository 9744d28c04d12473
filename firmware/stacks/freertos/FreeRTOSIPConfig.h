/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* FreeRTOS+TCP's options: its defaults with only IPv4, without features that a lab does not need. */
#ifndef FREERTOS_IP_CONFIG_H
#define FREERTOS_IP_CONFIG_H

#define ipconfigUSE_IPv4 1
#define ipconfigUSE_IPv6 0
#define ipconfigUSE_DHCP 0
#define ipconfigUSE_DNS 0
#define ipconfigUSE_TCP 1
#define ipconfigUSE_TCP_WIN 1
#define ipconfigREPLY_TO_INCOMING_PINGS 1
#define ipconfigUSE_NETWORK_EVENT_HOOK 1
#define ipconfigNETWORK_MTU 1500
#define ipconfigNUM_NETWORK_BUFFER_DESCRIPTORS 32
#define ipconfigIP_TASK_PRIORITY (configMAX_PRIORITIES - 2)
#define ipconfigIP_TASK_STACK_SIZE_WORDS 1024
/* The driver for this MAC computes and checks no checksum. */
#define ipconfigDRIVER_INCLUDED_TX_IP_CHECKSUM 0
#define ipconfigDRIVER_INCLUDED_RX_IP_CHECKSUM 0
#define ipconfigBYTE_ORDER pdFREERTOS_LITTLE_ENDIAN
#ifdef WITH_CLI
void cli_print(const char *format, ...);
#define ipconfigHAS_PRINTF 1
#define FreeRTOS_printf(text) cli_print text
#define ipconfigSUPPORT_SELECT_FUNCTION 1
#define ipconfigIPERF_VERSION 3
#define ipconfigIPERF_STACK_SIZE_IPERF_TASK 1024
#else
#define ipconfigHAS_PRINTF 0
#endif
#define ipconfigHAS_DEBUG_PRINTF 0

#ifdef WITH_POINTS
#include "wl_ftcp_config.h"
#endif

#endif
