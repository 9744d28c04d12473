/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text to the serial line, for the few lines that a node prints unrequested. */
#ifndef PRINT_H
#define PRINT_H

#include <stdint.h>

void print(const char *text);
void print_number(uint64_t number);
/* With so many hexadecimal digits. */
void print_hex(uint32_t number, unsigned digits);
/* 02:00:0a:37:00:02 and 10.55.0.2 */
void print_mac(const uint8_t mac[6]);
void print_ip(const uint8_t ip[4]);

#endif
