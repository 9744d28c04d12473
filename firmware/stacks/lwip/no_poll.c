/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The main loop's functions for an application that only lwIP calls: it waits for no time and has no work left. */
#include "app.h"

bool app_poll(void)
{
	return false;
}

uint64_t app_due(void)
{
	return UINT64_MAX;
}

bool app_idle(void)
{
	return false;
}

void app_slept(uint64_t ticks)
{
	(void)ticks;
}
