/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's options on the MPS2 with AN385: its defaults wherever it has them. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stdint.h>

#define configCPU_CLOCK_HZ 25000000u
#define configTICK_RATE_HZ 1000u
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configMAX_PRIORITIES 7
#define configMINIMAL_STACK_SIZE 256
#define configTOTAL_HEAP_SIZE (1024 * 1024)
#define configUSE_IDLE_HOOK 1
#define configUSE_TICK_HOOK 0
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_TIMERS 0

#ifdef WITH_CLI
#define configGENERATE_RUN_TIME_STATS 1
#define configUSE_STATS_FORMATTING_FUNCTIONS 1
#define configUSE_TRACE_FACILITY 1
#define configCOMMAND_INT_MAX_OUTPUT_SIZE 1024
uint64_t wl_clock(void);
#define portCONFIGURE_TIMER_FOR_RUN_TIME_STATS()
/* A hundredth of the board's 25 MHz, so that 32 bits last for hours. */
#define portGET_RUN_TIME_COUNTER_VALUE() ((uint32_t)(wl_clock() / 100))
#endif

/* QEMU's Cortex-M3 has eight bits of priority; the MAC's interrupt must be at or below the first of these. */
#define configKERNEL_INTERRUPT_PRIORITY 255
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 64

#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_xTaskGetSchedulerState 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1

void stack_assert(const char *file, int line) __attribute__((noreturn));
#define configASSERT(what) ((what) ? (void)0 : stack_assert(__FILE__, __LINE__))

/* start.c has the vectors. */
#define vPortSVCHandler svc_interrupt
#define xPortPendSVHandler pendsv_interrupt
#define xPortSysTickHandler systick_interrupt

#endif
