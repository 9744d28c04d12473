/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's port to a host with GCC or Clang. */
#ifndef LWIP_ARCH_CC_H
#define LWIP_ARCH_CC_H

#include <stdlib.h>

#define LWIP_RAND() ((unsigned)rand())

#endif
