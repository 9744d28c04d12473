/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers of the MPS2 with AN385 that more than one file uses (DAI0385, Armv7-M), and the board's internal functions.
 */
#ifndef MPS2_H
#define MPS2_H

#include <stdbool.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define DWT_CONTROL REGISTER(0xE0001000u)
#define NVIC_ENABLE REGISTER(0xE000E100u)
#define NVIC_DISABLE REGISTER(0xE000E180u)
#define NVIC_CLEAR_PENDING REGISTER(0xE000E280u)
#define SCB_RESET REGISTER(0xE000ED0Cu)
#define SCB_RESET_REQUEST 0x05FA0004u
#define SCB_HARD_FAULT REGISTER(0xE000ED2Cu)
#define SCB_FAULTS REGISTER(0xE000ED28u)
#define SCB_FAULT_ADDRESS REGISTER(0xE000ED38u)

/* Interrupts of the NVIC. */
#define IRQ_UART0_RX 0u
#define IRQ_UART0_TX 1u
#define IRQ_TIMER0 8u
#define IRQ_TIMER1 9u
#define IRQ_ETHERNET 13u
#define IRQS 32u

static inline void interrupts_enable(unsigned irq)
{
	NVIC_ENABLE = 1u << irq;
}

static inline void barrier(void)
{
	__asm__ volatile("dsb" ::: "memory");
}

void uart_init(void);
void uart_rx_interrupt(void);
void uart_tx_interrupt(void);
void timer_init(void);
void timer0_interrupt(void);
void timer1_interrupt(void);
void lan9118_interrupt(void);

#endif
