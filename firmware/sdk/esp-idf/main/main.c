/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "example.h"

void app_main(void)
{
	(void)wl_example();
}
