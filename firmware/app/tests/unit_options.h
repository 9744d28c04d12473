/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Points told to a capture unit that is none (test_unit.c). */
#ifndef WIRELAB_UNIT_OPTIONS_H
#define WIRELAB_UNIT_OPTIONS_H

void unit_told(unsigned point);
#define WL_MARK(point) unit_told(point)

#endif
