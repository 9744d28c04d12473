/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Points that are compiled out: their arguments are not evaluated, and nothing of the ring is linked. */
#include "tap.h"
#include "wirelab/capture.h"

static uint32_t evaluated;

static uint32_t sequence(void)
{
	return ++evaluated;
}

static void arguments_are_not_evaluated(void)
{
	WL_POINT(0, sequence());
	if (evaluated == 0)
		WL_ENTER(1, sequence());
	else
		WL_LEAVE(1, sequence());
	EQUAL(evaluated, 0);
	EQUAL(sequence(), 1);
}

int main(void)
{
	RUN(arguments_are_not_evaluated);
	return tap_end();
}
