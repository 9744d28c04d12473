/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text to the serial line. */
#include "print.h"

#include "board.h"

void print(const char *text)
{
	while (*text)
		board_uart_put(*text++);
}

void print_number(uint64_t number)
{
	char digits[21];
	unsigned first = sizeof digits - 1;

	digits[first] = 0;
	do {
		digits[--first] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	print(digits + first);
}

void print_hex(uint32_t number, unsigned digits)
{
	while (digits--)
		board_uart_put("0123456789abcdef"[number >> 4 * digits & 15]);
}

void print_mac(const uint8_t mac[6])
{
	for (unsigned n = 0; n < 6; n++) {
		print_hex(mac[n], 2);
		if (n < 5)
			print(":");
	}
}

void print_ip(const uint8_t ip[4])
{
	for (unsigned n = 0; n < 4; n++) {
		print_number(ip[n]);
		if (n < 3)
			print(".");
	}
}
