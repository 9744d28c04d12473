/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library that the headers of the register maps need, for a compiler without one. */
#ifndef REFERENCE_ASSERT_H
#define REFERENCE_ASSERT_H

#define static_assert _Static_assert

#endif
