/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Buffers of received frames, between the MAC's interrupt and the main loop.
 *
 * Each buffer is one pbuf of lwIP, made in advance. The interrupt copies a frame into a free one and queues it, as the receive
 * handler of the source document does; the stack gets it outside of the interrupt. The counts of both queues run freely, and
 * only one side writes each end.
 */
#include "app.h"
#include "board.h"
#include "board_config.h"
#include "fast_track.h"
#include "hooks.h"
#include "reference.h"
#include "wirelab/points.h"

#include "lwip/pbuf.h"

#define BUFFER_BYTES 1536u
#define VLAN 0x8100u
#define SERVICE_VLAN 0x88A8u
#define IPV4 0x0800u

_Static_assert(PAD == ETH_PAD_SIZE, "a frame lies where lwIP expects it");

struct queued {
	uint16_t length;
	uint8_t buffer;
	bool wanted;
};

static uint8_t buffers[BOARD_RX_BUFFERS][BUFFER_BYTES] __attribute__((section(".noinit"), aligned(32)));
static struct pbuf_custom pbufs[BOARD_RX_BUFFERS];
static uint8_t spare[BOARD_RX_BUFFERS];
static struct queued queue[BOARD_RX_BUFFERS];
static volatile uint32_t spare_in, spare_out, queue_in, queue_out;

static void give_back(unsigned buffer)
{
	spare[spare_in % BOARD_RX_BUFFERS] = (uint8_t)buffer;
	spare_in = spare_in + 1;
}

/* lwIP has freed the buffer. */
static void freed(struct pbuf *pbuf)
{
	give_back((unsigned)((struct pbuf_custom *)(void *)pbuf - pbufs));
}

void receive_init(void)
{
	for (unsigned n = 0; n < BOARD_RX_BUFFERS; n++) {
		pbufs[n].custom_free_function = freed;
		give_back(n);
	}
}

uint8_t *receive_spare(void)
{
	uint8_t *buffer;

	if (spare_in == spare_out) {
		loop_rx_no_memory++;
		return 0;
	}
	buffer = buffers[spare[spare_out % BOARD_RX_BUFFERS]];
	spare_out = spare_out + 1;
	return buffer;
}

void receive_queue(const uint8_t *buffer, uint32_t length, bool wanted)
{
	struct queued *at = &queue[queue_in % BOARD_RX_BUFFERS];

	at->buffer = (uint8_t)((uint32_t)(buffer - buffers[0]) / BUFFER_BYTES);
	at->length = (uint16_t)length;
	at->wanted = wanted;
	queue_in = queue_in + 1;
}

bool mac_pending(void)
{
	return queue_in != queue_out;
}

static uint32_t two_bytes(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

/* To the application, past the stack: the identifier has checked that the frame matches the rule, is whole and has correct
 * headers. */
static void fast_track(const uint8_t *frame, uint32_t length)
{
	const uint8_t *at = frame + 12;
	struct wl_identified found = { .frame = frame, .length = length, .priority = -1 };

	while (two_bytes(at) == VLAN || two_bytes(at) == SERVICE_VLAN)
		at += 4;
	found.ethertype = (uint16_t)two_bytes(at);
	found.data = at + 2;
	found.count = length - (size_t)(found.data - frame);
	if (found.ethertype == IPV4) {
		found.ip = found.data;
		found.protocol = found.ip[9];
		found.udp = found.ip + 4 * (found.ip[0] & 15);
		found.data = found.udp + 8;
		found.count = two_bytes(found.udp + 4) - 8;
	}
	wl_fast.rules->take(wl_fast.rules->context, &found);
}

static void hand_over(const struct queued *next)
{
	uint8_t *buffer = buffers[next->buffer], *frame = buffer + PAD;
	struct pbuf *pbuf;

	if (next->wanted && wl_fast.count > 0) {
		fast_track(frame, next->length);
		freed(&pbufs[next->buffer].pbuf);
		return;
	}
	BOARD_ON_RECEIVED(frame, next->length);
	pbuf = pbuf_alloced_custom(PBUF_RAW, (u16_t)(next->length + PAD), PBUF_REF, &pbufs[next->buffer],
				   buffer, BUFFER_BYTES);
	loop_input(pbuf);
}

bool loop_receive(unsigned most)
{
	unsigned count;

	for (count = 0; count < most && queue_in != queue_out; count++) {
		struct queued next = queue[queue_out % BOARD_RX_BUFFERS];
		uint32_t sequence = 0;
		bool test;

		queue_out = queue_out + 1;
		if (!unit_is_on()) {
			hand_over(&next);
			continue;
		}
		unit_poll();
		hand_over(&next);
		/* A buffer that is free again is the last in line, so its bytes are still valid. */
		test = wl_points_sequence(buffers[next.buffer] + PAD, next.length, &sequence);
		unit_received(test, sequence, queue_in - queue_out);
	}
	unit_poll();
	return count > 0;
}
