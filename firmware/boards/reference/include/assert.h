/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the headers of the register maps want of a C library, for a compiler that has none beside it. */
#ifndef REFERENCE_ASSERT_H
#define REFERENCE_ASSERT_H

#define static_assert _Static_assert

#endif
