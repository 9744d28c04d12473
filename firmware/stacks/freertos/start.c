/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The MPS2 under FreeRTOS: vectors, the start of main(), and the kernel's hooks. */
#include "FreeRTOS.h"
#include "task.h"

#include "board.h"
#include "mps2.h"
#include "print.h"

#define NVIC_PRIORITY(number) (*(volatile uint8_t *)(0xE000E400u + (number)))

extern uint32_t _stack[], _data_from[], _data_start[], _data_end[], _bss_start[], _bss_end[];

int main(void);
void start(void);
void stop(void);
void svc_interrupt(void);
void pendsv_interrupt(void);
void systick_interrupt(void);
/* The MAC's interrupt, by the name that FreeRTOS+TCP's driver has for it. */
void EthernetISR(void);

#ifdef WITH_POINTS
#include "lan9118.h"
#include "probes.h"

static void ethernet_interrupt(void)
{
	/* Sent frames interrupt as well. */
	if (INT_STATUS & ON_RX_STATUS)
		BOARD_ON_MAC_INTERRUPT();
	EthernetISR();
}
#else
#define ethernet_interrupt EthernetISR
#endif

void stack_assert(const char *file, int line)
{
	board_irq_off();
	print("FAULT assertion in ");
	print(file);
	print(" line ");
	print_number((uint64_t)line);
	print("\n");
	board_exit();
}

/* An unexpected exception. */
void stop(void)
{
	board_irq_off();
	print("FAULT an exception, status=0x");
	print_hex(SCB_FAULTS, 8);
	print("\n");
	board_exit();
}

/* The core sleeps; the kernel's own idle loop would spin. */
void vApplicationIdleHook(void)
{
	__asm__ volatile("wfi");
}

void start(void)
{
	const uint32_t *from = _data_from;

	for (uint32_t *to = _data_start; to < _data_end; to++)
		*to = *from++;
	for (uint32_t *to = _bss_start; to < _bss_end; to++)
		*to = 0;
	/* At priority 0 it would be above the limit for calls of the kernel. */
	NVIC_PRIORITY(IRQ_ETHERNET) = configMAX_SYSCALL_INTERRUPT_PRIORITY;
	board_init();
	main();
	stop();
}

typedef void (*vector)(void);

static const struct {
	uint32_t *stack;
	vector exceptions[15];
	vector interrupts[IRQS];
} vectors __attribute__((section(".vectors"), used)) = {
	.stack = _stack,
	.exceptions = { start, stop, stop, stop, stop, stop, 0, 0, 0, 0, svc_interrupt, stop, 0,
			pendsv_interrupt, systick_interrupt },
	.interrupts = { [IRQ_UART0_RX] = uart_rx_interrupt,
			[IRQ_UART0_TX] = uart_tx_interrupt,
			[IRQ_TIMER0] = timer0_interrupt,
			[IRQ_TIMER1] = timer1_interrupt,
			[IRQ_ETHERNET] = ethernet_interrupt },
};
