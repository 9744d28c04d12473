/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wl_clock() on ESP-IDF: esp_timer, in microseconds, usable in interrupts. A tick is 1,000,000 ps. */
#include "esp_timer.h"

#include "wirelab/options.h"

uint64_t wl_clock(void)
{
	return (uint64_t)esp_timer_get_time();
}
