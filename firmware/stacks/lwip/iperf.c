/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's own iperf (src/apps/lwiperf) as its example starts it, on the main loop of boards with lwIP: it serves TCP on port 5001,
 * and prints a line for each test on the serial line. Nothing can be typed.
 */
#include <stdio.h>

#include "app.h"
#include "board.h"
#include "lwiperf_example.h"

/* The output of newlib's printf. */
int _write(int file, const char *text, int length)
{
	(void)file;
	for (int n = 0; n < length; n++)
		board_uart_put(text[n]);
	return length;
}

void app_start(struct netif *netif)
{
	(void)netif;
	setvbuf(stdout, NULL, _IONBF, 0);
	lwiperf_example_init();
}
