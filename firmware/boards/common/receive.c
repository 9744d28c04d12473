/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Received frames of boards whose driver keeps them in a ring of its own (mac_receive() of board.h): the main loop copies
 * each into a buffer of lwIP's pool. A board whose interrupt fills lwIP's buffers has its own loop_receive().
 */
#include "app.h"
#include "board.h"
#include "hooks.h"

#include "lwip/pbuf.h"

#include <string.h>

_Static_assert(PBUF_POOL_BUFSIZE >= MAC_MOST_BYTES + ETH_PAD_SIZE, "a frame is one buffer of the pool");

bool loop_receive(unsigned most)
{
	unsigned count;

	for (count = 0; count < most; count++) {
		uint8_t *frame;
		size_t length = mac_receive(&frame);
		struct pbuf *copy;

		if (length == 0)
			break;
		if (BOARD_TAKES(frame, length)) {
			mac_receive_done();
			continue;
		}
		copy = pbuf_alloc(PBUF_RAW, (u16_t)(length + ETH_PAD_SIZE), PBUF_POOL);
		/* The pad is copied too, so that source and destination are aligned. */
		if (copy)
			memcpy(copy->payload, frame - ETH_PAD_SIZE, length + ETH_PAD_SIZE);
		mac_receive_done();
		if (!copy) {
			loop_rx_no_memory++;
			continue;
		}
		BOARD_ON_RECEIVED((uint8_t *)copy->payload + ETH_PAD_SIZE, length);
		loop_input(copy);
	}
	return count > 0;
}
