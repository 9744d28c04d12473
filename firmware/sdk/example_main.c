/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The example as a program: on Linux by CMake and PlatformIO, and as NuttX's command wl_example. */
#include "example.h"

int main(void)
{
	return wl_example();
}
