/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP calls these around its stages when LWIP_PERF is on; WL_LWIP_PERF_HEADER names the header that defines them. */
#ifndef LWIP_ARCH_PERF_H
#define LWIP_ARCH_PERF_H

#ifdef WL_LWIP_PERF_HEADER
#include WL_LWIP_PERF_HEADER
#endif

#ifndef PERF_START
#define PERF_START
#define PERF_STOP(stage)
#endif

#endif
