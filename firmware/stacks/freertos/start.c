/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The MPS2 under FreeRTOS: vectors, the way to main(), a serial line that waits, and what the kernel asks for. */
#include "start.h"

#include "FreeRTOS.h"
#include "task.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART_DATA REGISTER(0x40004000u)
#define UART_STATE REGISTER(0x40004004u)
#define UART_CONTROL REGISTER(0x40004008u)
#define UART_DIVIDER REGISTER(0x40004010u)
#define UART_FULL 1u
#define UART_SEND 1u
#define NVIC_PRIORITY(number) (*(volatile uint8_t *)(0xE000E400u + (number)))

extern uint32_t _stack[], _data_from[], _data_start[], _data_end[], _bss_start[], _bss_end[];

int main(void);
void start(void);
void stop(void);
void svc_interrupt(void);
void pendsv_interrupt(void);
void systick_interrupt(void);

void say(const char *text)
{
	UART_DIVIDER = configCPU_CLOCK_HZ / 115200u;
	UART_CONTROL = UART_SEND;
	for (; *text; text++) {
		while (UART_STATE & UART_FULL)
			;
		UART_DATA = (uint8_t)*text;
	}
}

/* A number of at most five digits. */
void say_number(uint32_t number)
{
	char digits[6] = "";
	unsigned place = 5;

	do
		digits[--place] = (char)('0' + number % 10u);
	while ((number /= 10u) != 0 && place > 0);
	say(digits + place);
}

void stack_assert(const char *file, int line)
{
	taskDISABLE_INTERRUPTS();
	say("FAULT assertion in ");
	say(file);
	say(" line ");
	say_number((uint32_t)line);
	say("\n");
	for (;;)
		__asm__ volatile("wfi");
}

/* An exception that nobody asked for. */
void stop(void)
{
	stack_assert("the vectors: an exception", 0);
}

/* The core sleeps; the kernel's own idle loop would run without end. */
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
	/* At 0 it would be above what may call the kernel. */
	NVIC_PRIORITY(ETHERNET_INTERRUPT) = configMAX_SYSCALL_INTERRUPT_PRIORITY;
	main();
	stop();
}

typedef void (*vector)(void);

static const struct {
	uint32_t *stack;
	vector exceptions[15];
	vector interrupts[32];
} vectors __attribute__((section(".vectors"), used)) = {
	.stack = _stack,
	.exceptions = { start, stop, stop, stop, stop, stop, 0, 0, 0, 0, svc_interrupt, stop, 0,
			pendsv_interrupt, systick_interrupt },
	.interrupts = { [ETHERNET_INTERRUPT] = EthernetISR },
};
