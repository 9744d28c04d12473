/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Points for a fake capture unit (test_unit.c). */
#ifndef WIRELAB_UNIT_OPTIONS_H
#define WIRELAB_UNIT_OPTIONS_H

void unit_told(unsigned point);
#define WL_MARK(point) unit_told(point)

#endif
