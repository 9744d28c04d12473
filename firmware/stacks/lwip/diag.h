/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What lwIP's examples print: included before all else. */
#ifndef DIAG_H
#define DIAG_H

#include <stdio.h>

#include "arch/cc.h"

#undef LWIP_PLATFORM_DIAG
#define LWIP_PLATFORM_DIAG(message) printf message

#endif
