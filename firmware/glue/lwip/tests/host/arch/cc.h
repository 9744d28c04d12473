/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's port to this host: a failed assertion of lwIP ends the test. */
#ifndef LWIP_ARCH_CC_H
#define LWIP_ARCH_CC_H

#include <stdio.h>
#include <stdlib.h>

#define LWIP_PLATFORM_DIAG(message) ((void)0)
#define LWIP_PLATFORM_ASSERT(message) (puts(message), fflush(stdout), abort())
#define LWIP_RAND() ((unsigned)rand())

#endif
