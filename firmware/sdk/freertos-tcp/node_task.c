/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node as a task of a FreeRTOS project with FreeRTOS+TCP: it starts when the network is up. wl_clock() and MY_TICK_PS are the
 * project's (wirelab/options.h).
 */
#include "node.h"

#include "task.h"

#ifndef MY_TICK_PS
#define MY_TICK_PS 40000
#endif
#define STACK_WORDS 2048
#define PRIORITY (ipconfigIP_TASK_PRIORITY - 1)

static struct wl_ftcp_node node;

static void run(void *end_point)
{
	const struct wl_ftcp_options options = { .name = "my-board", .tick_ps = MY_TICK_PS };

	configASSERT(wl_ftcp_node_open(&node, end_point, &options));
	wl_ftcp_node_run(&node);
}

void vApplicationIPNetworkEventHook_Multi(eIPCallbackEvent_t event, NetworkEndPoint_t *end_point)
{
	static BaseType_t started;

	if (event != eNetworkUp || started)
		return;
	started = pdTRUE;
	configASSERT(xTaskCreate(run, "wirelab", STACK_WORDS, end_point, PRIORITY, NULL) == pdPASS);
}
