/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An application that does nothing: the board answers ping. */
#include "app.h"

void app_start(struct netif *netif)
{
	(void)netif;
}

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
