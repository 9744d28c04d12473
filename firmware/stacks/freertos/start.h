/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What start.c gives to a program on FreeRTOS, and the interrupt that it takes for it. */
#ifndef START_H
#define START_H

#include <stdint.h>

#define ETHERNET_INTERRUPT 13

void say(const char *text);
void say_number(uint32_t number);

/* The MAC's interrupt, by the name that FreeRTOS+TCP's driver has for it. */
void EthernetISR(void);

#endif
