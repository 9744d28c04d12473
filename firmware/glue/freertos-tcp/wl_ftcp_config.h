/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For the end of FreeRTOSIPConfig.h: the capture point at which FreeRTOS+TCP's task takes a received frame from its queue. The
 * point `interrupt` is yours: BOARD_ON_MAC_INTERRUPT() where the handler of the MAC's interrupt sees that a frame came.
 */
#ifndef WIRELAB_FREERTOS_TCP_CONFIG_H
#define WIRELAB_FREERTOS_TCP_CONFIG_H

#include "probes.h"

#define iptraceNETWORK_INTERFACE_INPUT(length, frame) BOARD_ON_RECEIVED((frame), (length))

#endif
