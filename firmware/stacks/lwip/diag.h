/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What lwIP's examples print: included before all else. */
#ifndef DIAG_H
#define DIAG_H

#include <stdio.h>

#define LWIP_PLATFORM_DIAG(message) printf message

#endif
