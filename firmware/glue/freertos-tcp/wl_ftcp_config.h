/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For the end of FreeRTOSIPConfig.h: the capture point at which FreeRTOS+TCP's task takes a received frame from its queue. You
 * add the point `interrupt`: call BOARD_ON_MAC_INTERRUPT() where the handler of the MAC's interrupt finds a received frame.
 */
#ifndef WIRELAB_FREERTOS_TCP_CONFIG_H
#define WIRELAB_FREERTOS_TCP_CONFIG_H

#include "probes.h"

#define iptraceNETWORK_INTERFACE_INPUT(length, frame) BOARD_ON_RECEIVED((frame), (length))

#endif
