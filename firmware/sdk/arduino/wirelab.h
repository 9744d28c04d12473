/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All of wirelab's firmware library for a sketch, which is C++. Modules that take times need `extern "C" uint64_t
 * wl_clock(void)` (wirelab/options.h).
 */
#ifndef WIRELAB_ARDUINO_H
#define WIRELAB_ARDUINO_H

#ifdef __cplusplus
extern "C" {
#endif
#include "wirelab/blast.h"
#include "wirelab/capture.h"
#include "wirelab/control.h"
#include "wirelab/echo.h"
#include "wirelab/identify.h"
#include "wirelab/iperf.h"
#include "wirelab/load.h"
#include "wirelab/points.h"
#include "wirelab/scenario.h"
#include "wirelab/track.h"
#ifdef __cplusplus
}
#endif

#endif
