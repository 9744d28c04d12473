/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "example.h"

int main(void)
{
	return wl_example();
}
