/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* FreeRTOS+CLI on the board's UART, beside the network of plus_tcp.c and the iperf task of FreeRTOS+TCP's demos: the functions
 * that the demos' files need from a port, and the hook that starts them.
 */
#include <stdarg.h>
#include <stdio.h>

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "FreeRTOS_IP.h"
#include "serial.h"

#include "board.h"
#include "iperf_task.h"

#define STACK_WORDS 1024u
#define PRIORITY 1u

void vUARTCommandConsoleStart(uint16_t stack_words, UBaseType_t priority);
void vRegisterSampleCLICommands(void);

xComPortHandle xSerialPortInitMinimal(unsigned long baud, unsigned portBASE_TYPE length)
{
	(void)baud, (void)length;
	return 0;
}

/* The receive interrupt fills a ring; the console polls it each tick. */
signed portBASE_TYPE xSerialGetChar(xComPortHandle port, signed char *to, TickType_t most)
{
	int byte;

	(void)port, (void)most;
	while ((byte = board_uart_get()) < 0)
		vTaskDelay(1);
	*to = (signed char)byte;
	return pdPASS;
}

signed portBASE_TYPE xSerialPutChar(xComPortHandle port, signed char c, TickType_t most)
{
	(void)port, (void)most;
	board_uart_put((char)c);
	return pdPASS;
}

void vSerialPutString(xComPortHandle port, const signed char *const text, unsigned short length)
{
	for (unsigned short n = 0; n < length; n++)
		xSerialPutChar(port, text[n], 0);
}

/* The output of the iperf task's FreeRTOS_printf(). */
void cli_print(const char *format, ...)
{
	static char text[200];
	va_list values;

	va_start(values, format);
	taskENTER_CRITICAL();
	vsnprintf(text, sizeof text, format, values);
	for (const char *c = text; *c; c++) {
		if (*c == '\n')
			board_uart_put('\r');
		board_uart_put(*c);
	}
	taskEXIT_CRITICAL();
	va_end(values);
}

void vApplicationIPNetworkEventHook_Multi(eIPCallbackEvent_t event, NetworkEndPoint_t *at)
{
	static BaseType_t started;

	(void)at;
	if (event != eNetworkUp || started)
		return;
	started = pdTRUE;
	vRegisterSampleCLICommands();
	vUARTCommandConsoleStart(STACK_WORDS, PRIORITY);
	vIPerfInstall();
}
