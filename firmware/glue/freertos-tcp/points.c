/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture points around an unchanged driver of FreeRTOS+TCP: while a trial with captures runs, a function of this file replaces
 * the interface's output function. wl_ftcp_config.h has the points of received frames.
 */
#include "node.h"

#include "probes.h"
#include "wirelab/piece.h"

static BaseType_t (*driver)(NetworkInterface_t *, NetworkBufferDescriptor_t *const, BaseType_t);

/* The driver may release the buffer, so its frame is read before. */
static BaseType_t output(NetworkInterface_t *interface, NetworkBufferDescriptor_t *const buffer,
			 BaseType_t release)
{
	const struct wl_piece frame = { buffer->pucEthernetBuffer, buffer->xDataLength };
	BaseType_t sent;

	wl_probe_send(&frame, 1);
	sent = driver(interface, buffer, release);
	if (sent != pdFAIL)
		wl_probe_started();
	return sent;
}

void wl_ftcp_points(void *context, bool on)
{
	NetworkInterface_t *interface = ((struct wl_ftcp_node *)context)->interface;

	if (on && interface->pfOutput != output) {
		driver = interface->pfOutput;
		interface->pfOutput = output;
	} else if (!on && interface->pfOutput == output) {
		interface->pfOutput = driver;
	}
	wl_probes_on = on;
}
