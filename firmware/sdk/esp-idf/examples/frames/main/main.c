/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The example on ESP-IDF. */
#include "example.h"

void app_main(void)
{
	(void)wl_example();
}
