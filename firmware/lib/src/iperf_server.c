/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Input from the other end: datagrams and bytes, connections and their ends. */
#include "iperf_flow.h"

/* After the final datagram: how long it is answered again, and the silence before traffic goes back (-r), because the client
 * opens its port only then. */
#define LINGER_MS 3000
#define BACK_MS 250
/* Streams do not go back together: the client takes one after the other. */
#define BACK_APART_MS 30
/* Answers to further final datagrams; clients of 2.2 ask 200 times. */
#define MOST_ANSWERS 250

/* A flow for simultaneous traffic back (-d). */
static void send_beside(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_flow *back;

	if (!wl_iperf_limit(it, f))
		return;
	/* The flow's own place must not be replaced. */
	f->sending = TX_WAIT;
	back = wl_iperf_place(it, &f->peer);
	f->sending = TX_NONE;
	if (back == 0)
		return;
	back->udp = f->udp;
	back->layout = f->layout;
	back->ask = f->ask;
	wl_iperf_back(it, back);
}

/* A client's header has been read. */
static void asked(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	uint8_t mode = f->ask.mode;

	if (mode == WL_IPERF_DUAL)
		send_beside(it, f);
	if (mode < WL_IPERF_REVERSE || !wl_iperf_limit(it, f))
		return;
	if (mode == WL_IPERF_REVERSE)
		f->receiving = RX_NONE;
	f->head_count = !f->udp ? 0 : wl_iperf_back_head(f->layout);
	wl_iperf_begin(it, f);
}

/* Answer a final datagram of `count` bytes. A host that may be forged gets only reports that fit in the bytes received before,
 * or in the requesting datagrams. */
static void answer(struct wl_iperf *it, struct wl_iperf_flow *f, size_t count)
{
	struct wl_iperf_result result;
	uint8_t report[REPORT_BYTES];
	uint32_t wait_ms = LINGER_MS;

	if (f->receiving == RX_DATA) {
		if (f->client || f->ask.mode == WL_IPERF_FULL_DUPLEX) {
			/* On a socket with traffic in both directions a report would look like data. */
			wl_iperf_over(it, f, false, true);
			return;
		}
		wl_iperf_tell(it, f, false, true);
		f->receiving = RX_OVER;
		f->tx.tries = 0;
	}
	if (f->receiving != RX_OVER || f->tx.tries == MOST_ANSWERS)
		return;
	if (count >= REPORT_BYTES || (f->tx.tries + 1u) * REPORT_BYTES <= f->rx.bytes ||
	    wl_iperf_proven(it, f)) {
		f->tx.tries++;
		wl_iperf_result(it, f, false, &result);
		wl_iperf_report_write(&result.here, f->layout, report);
		it->io->udp_send(it->io->context, f, report, REPORT_BYTES, REPORT_BYTES);
	}
	if (f->ask.mode == WL_IPERF_TRADEOFF)
		wait_ms = BACK_MS + BACK_APART_MS * (uint32_t)(f - it->flows);
	f->tx.due = wl_iperf_in(it, wait_ms);
	wl_iperf_wake(it, f->tx.due);
}

/* The first datagram of a flow; a negative number is a late one of an ended flow. 0 if it does not count. */
static struct wl_iperf_flow *begin(struct wl_iperf *it, const struct wl_iperf_address *from,
				   const uint8_t *bytes, size_t have)
{
	unsigned layout = wl_iperf_layout(bytes, have);
	size_t head;
	struct wl_iperf_flow *f;

	if ((bytes[0] & 0x80) != 0 || from->port == 0)
		return 0;
	f = wl_iperf_place(it, from);
	if (f == 0)
		return 0;
	f->udp = true;
	f->layout = (uint8_t)layout;
	wl_iperf_receive(it, f, RX_DATA);
	/* Some nodes begin with 0. */
	f->rx.next = wl_be32(bytes) != 0;
	if (!it->timed)
		wl_iperf_set_time(it, wl_be32(bytes + 4), wl_be32(bytes + 8), it->now);
	head = wl_iperf_head(layout);
	if ((layout & LAYOUT_HEADER) != 0 && wl_iperf_header_read(bytes + head, have - head, &f->ask)) {
		asked(it, f);
		/* 2.0.10 to 2.0.13 send the header alone, with the same number as the first data. */
		if (head == WIDE_BYTES && wl_be32(bytes + 12) != 0 && f->rx.next == 0)
			return 0;
	}
	return f;
}

static struct wl_iperf_flow *find(struct wl_iperf *it, const struct wl_iperf_address *from)
{
	for (struct wl_iperf_flow *f = it->flows; f < it->flows + WL_IPERF_FLOWS; f++) {
		if (f->udp && !f->own_socket && wl_iperf_same(&f->peer, from))
			return f;
	}
	return 0;
}

/* Input of a flow's own socket: the report, or the requested traffic. Returns whether it is traffic. */
static bool own_datagram(struct wl_iperf *it, struct wl_iperf_flow *f, const uint8_t *bytes, size_t have)
{
	if (f->sending == TX_FINAL && f->ask.mode < WL_IPERF_REVERSE) {
		if (wl_iperf_report_read(bytes, have, &f->there)) {
			f->reported = true;
			wl_iperf_over(it, f, true, true);
		}
		return false;
	}
	/* The number 0 is a report of a server that does not know --full-duplex. */
	if (!f->client || f->ask.mode < WL_IPERF_REVERSE || wl_be32(bytes) == 0)
		return false;
	if (f->rx.bytes == 0) {
		f->layout = (uint8_t)wl_iperf_layout(bytes, have);
		wl_iperf_receive(it, f, RX_DATA);
		f->rx.next = 1;
		if (f->sending == TX_KNOCK)
			f->sending = TX_NONE;
	}
	return true;
}

void wl_iperf_datagram(struct wl_iperf *it, struct wl_iperf_flow *flow, const struct wl_iperf_address *from,
		       const uint8_t *bytes, size_t have, size_t count, uint64_t now)
{
	struct wl_iperf_flow *f = it->last;

	it->now = now;
	if (have < NARROW_BYTES)
		return;
	/* The glue handed over too little. */
	if (have < WIDE_BYTES)
		count = have;
	if (flow != 0) {
		f = flow;
		if (!wl_iperf_same(&f->peer, from) || !own_datagram(it, f, bytes, have))
			return;
	} else if (f == 0 || f->receiving != RX_DATA || f->own_socket || !f->udp ||
		   !wl_iperf_same(&f->peer, from)) {
		f = find(it, from);
		/* A client that uses its port again after the end. */
		if (f != 0 && f->receiving == RX_OVER && wl_be32(bytes) <= 1) {
			wl_iperf_release(it, f);
			f = 0;
		}
		if (f == 0)
			f = begin(it, from, bytes, have);
		if (f == 0)
			return;
		it->last = f;
	}
	if (wl_iperf_take(it, f, bytes, count))
		answer(it, f, count);
}

void wl_iperf_refused(struct wl_iperf *it, struct wl_iperf_flow *f, uint64_t now)
{
	it->now = now;
	/* A client that takes one flow after the other refuses datagrams in between; later it has gone. */
	if (f->sending == TX_NONE)
		return;
	if (!f->client && it->now < wl_iperf_later(it, f->tx.start, 1000))
		return;
	wl_iperf_over(it, f, true, false);
}

struct wl_iperf_flow *wl_iperf_accept(struct wl_iperf *it, const struct wl_iperf_address *from, uint64_t now)
{
	struct wl_iperf_flow *f = wl_iperf_place(it, from);

	it->now = now;
	if (f == 0)
		return 0;
	f->head_want = 4;
	wl_iperf_receive(it, f, RX_HEADER);
	return f;
}

void wl_iperf_connected(struct wl_iperf *it, struct wl_iperf_flow *f, uint64_t now)
{
	it->now = now;
	if (f->sending != TX_CONNECT)
		return;
	wl_iperf_begin(it, f);
	if (f->client && f->ask.mode >= WL_IPERF_REVERSE) {
		wl_iperf_receive(it, f, RX_DATA);
		if (f->ask.mode == WL_IPERF_REVERSE)
			f->tx.left = f->head_count;
	}
	wl_iperf_step(it, f);
}

/* Collect the first bytes of a connection until they are a header, or none. */
static void collect(struct wl_iperf *it, struct wl_iperf_flow *f, const uint8_t *bytes, size_t have)
{
	for (; have > 0 && f->receiving == RX_HEADER; have--) {
		f->head[f->head_count++] = *bytes++;
		if (f->head_count == 4)
			f->head_want = (uint8_t)wl_iperf_header_bytes(wl_be32(f->head));
		if (f->head_count < f->head_want)
			continue;
		f->receiving = RX_DATA;
		/* Bytes without a header request nothing. */
		(void)wl_iperf_header_read(f->head, f->head_count, &f->ask);
		/* Without an extension there is no rate over TCP: the word has the window (2.0.5), or filling. */
		if (f->head_want == V1_BYTES)
			f->ask.bits_per_s = 0;
		if (f->ask.wants_ack) {
			wl_iperf_ack_write(f->head);
			it->io->tcp_send(it->io->context, f, f->head, ACK_BYTES);
		}
		asked(it, f);
	}
}

void wl_iperf_bytes(struct wl_iperf *it, struct wl_iperf_flow *f, const uint8_t *bytes, size_t have,
		    size_t count, uint64_t now)
{
	it->now = now;
	if (f->receiving == RX_NONE)
		return;
	if (f->rx.bytes == 0)
		f->rx.start = it->now;
	f->rx.bytes += count;
	f->rx.last = it->now;
	if (f->receiving == RX_HEADER)
		collect(it, f, bytes, have);
}

void wl_iperf_room(struct wl_iperf *it, struct wl_iperf_flow *f, uint64_t now)
{
	it->now = now;
	if (f->sending != TX_SEND)
		return;
	f->tx.full = false;
	wl_iperf_step(it, f);
}

void wl_iperf_closed(struct wl_iperf *it, struct wl_iperf_flow *f, bool gone, uint64_t now)
{
	uint8_t mode = f->ask.mode;

	it->now = now;
	if (f->sending == TX_CONNECT) {
		wl_iperf_unreached(it, f);
		return;
	}
	if (mode == WL_IPERF_TRADEOFF && f->receiving != RX_NONE && !gone && wl_iperf_limit(it, f)) {
		wl_iperf_tell(it, f, false, true);
		it->io->close(it->io->context, f);
		wl_iperf_back(it, f);
		return;
	}
	/* On a connection with traffic back, what is sent goes on. */
	f->half_closed = !gone && f->sending == TX_SEND && mode >= WL_IPERF_REVERSE;
	if (f->sending != TX_NONE && !f->half_closed)
		wl_iperf_over(it, f, true, f->sending == TX_FINAL && !gone);
	if (f->receiving != RX_NONE)
		wl_iperf_over(it, f, false, !gone);
}
