/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the main loop asks of an application, for those that lwIP calls alone: they wait for no time and have no work left. */
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
