/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's options with FreeRTOS, as WL_OPTIONS_HEADER: those of the application, and a lock, because capture points lie in
 * FreeRTOS+TCP's task, too.
 */
#ifndef WIRELAB_FREERTOS_TCP_OPTIONS_H
#define WIRELAB_FREERTOS_TCP_OPTIONS_H

#include "FreeRTOS.h"

#include "task.h"

#include "wl_app_options.h"

#define WL_LOCK() taskENTER_CRITICAL()
#define WL_UNLOCK() taskEXIT_CRITICAL()

#endif
