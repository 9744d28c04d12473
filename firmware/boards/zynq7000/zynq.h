/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers of the Zynq-7000 that more than one file uses (UG585), and the board's internal functions. */
#ifndef ZYNQ_H
#define ZYNQ_H

#include <stdbool.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define SLCR 0xF8000000u
#define SLCR_UNLOCK REGISTER(SLCR + 0x008)
#define SLCR_UNLOCK_KEY 0xDF0Du
#define SLCR_GEM0_CLOCK REGISTER(SLCR + 0x140)
#define SLCR_PSS_RESET REGISTER(SLCR + 0x200)
#define SLCR_PSS_IDCODE REGISTER(SLCR + 0x530)

/* Private to the core: snoop control, interrupts, timers. */
#define PRIVATE 0xF8F00000u

/* Interrupts of the distributor. */
#define IRQ_TIMER 29u
#define IRQ_GEM0 54u
#define IRQ_UART0 59u

static inline void barrier(void)
{
	__asm__ volatile("dsb" ::: "memory");
}

void interrupts_init(void);
void interrupts_enable(unsigned irq);
void uart_init(void);
void uart_interrupt(void);
void timer_init(void);
void timer_interrupt(void);
void gem_interrupt(void);

/* The PHY behind GEM0. */
struct gem_link {
	bool up, full_duplex;
	uint32_t bits_per_s;
};
bool gem_phy_init(void);
struct gem_link gem_phy_link(void);

#endif
