/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's options on NuttX: capture points also lie in the driver's worker thread. */
#ifndef WIRELAB_NUTTX_OPTIONS_H
#define WIRELAB_NUTTX_OPTIONS_H

#include <nuttx/irq.h>

#define WL_LOCK() irqstate_t wl_flags = enter_critical_section()
#define WL_UNLOCK() leave_critical_section(wl_flags)

#endif
