/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The output of lwIP's examples; included before all else. */
#ifndef DIAG_H
#define DIAG_H

#include <stdio.h>

#include "arch/cc.h"

#undef LWIP_PLATFORM_DIAG
#define LWIP_PLATFORM_DIAG(message) printf message

#endif
