/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The example on Zephyr. */
#include "example.h"

int main(void)
{
	return wl_example();
}
