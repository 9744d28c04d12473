/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sending half of a flow of iperf 2: when each datagram or write is due, and how it ends. */
#include "iperf_flow.h"

/* How often a final datagram is sent before its report is given up, and how long each waits. */
#define FINAL_TRIES 10
#define FINAL_MS 250
/* On a socket that also receives there is no report, so several are sent one after the other. */
#define FINAL_TRIES_SHARED 3
/* The limits for a connection to open, and for the other end to read the rest of a stream. */
#define CONNECT_MS 3000
#define DRAIN_MS 5000
/* A client that requests traffic back may open its port a little late. */
#define BACK_TRIES 4
#define BACK_MS 100
/* A stream ends if nothing was taken for this time. */
#define STUCK_MS 5000
/* The interval and number of requests for traffic back. */
#define KNOCK_MS 50
#define KNOCK_TRIES 60
/* A longer delay is not caught up with. */
#define SLACK_MS 10
/* Ports below are of services: a host that requests traffic to one has no iperf there. */
#define LOWEST_PORT 1024

bool wl_iperf_proven(const struct wl_iperf *it, const struct wl_iperf_flow *f)
{
	if (!f->udp)
		return true;
	return it->io->may_send != 0 ? it->io->may_send(it->io->context, &f->peer) : false;
}

static bool refuse(struct wl_iperf *it, const struct wl_iperf_flow *f, enum wl_iperf_why why)
{
	it->refused++;
	if (it->io->refused != 0)
		it->io->refused(it->io->ended_context, &f->peer, why);
	return false;
}

bool wl_iperf_limit(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_ask *ask = &f->ask;
	uint32_t most = WL_IPERF_BACK_S * 100;

	if (it->receive_only)
		return refuse(it, f, WL_IPERF_RECEIVES_ONLY);
	/* For -r and -d; all else goes to the flow's sender. */
	if (ask->mode < WL_IPERF_REVERSE && ask->port < LOWEST_PORT)
		return refuse(it, f, WL_IPERF_SERVICE_PORT);
	if (!wl_iperf_proven(it, f))
		return refuse(it, f, WL_IPERF_NOT_PROVEN);
	if (f->udp) {
		most = WL_IPERF_UDP_BACK_S * 100;
		if (ask->bits_per_s == 0)
			ask->bits_per_s = 1048576;
		if (ask->bits_per_s > it->back_bits_per_s)
			ask->bits_per_s = it->back_bits_per_s;
	}
	if (ask->time_cs > most)
		ask->time_cs = most;
	return true;
}

void wl_iperf_set_time(struct wl_iperf *it, uint32_t seconds, uint32_t us, uint64_t now)
{
	it->second = seconds;
	it->second_us = wl_iperf_us(it, now) - us;
	it->timed = true;
}

void wl_iperf_begin(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_tx *tx = &f->tx;
	const struct wl_iperf_ask *ask = &f->ask;
	uint32_t longest = f->udp ? it->max_datagram_bytes : UINT16_MAX;
	uint32_t length = ask->length_bytes	 ? ask->length_bytes
			  : !f->udp		 ? UINT16_MAX
			  : f->peer.version == 6 ? 1450
						 : 1470;

	memset(tx, 0, sizeof *tx);
	if (length > longest)
		length = longest;
	if (f->udp && length < WIDE_BYTES)
		length = WIDE_BYTES;
	tx->length = (uint16_t)length;
	tx->next = 1;
	tx->left = ask->bytes - 1 < INT32_MAX ? ask->bytes : UINT64_MAX;
	tx->start = tx->last = tx->due = it->now;
	tx->end = wl_iperf_in(it, ask->time_cs * 10);
	if (ask->bits_per_s != 0) {
		uint64_t ticks = 8000000000000u * length / it->tick_ps;

		tx->interval = ticks / ask->bits_per_s;
		tx->interval_part = (uint32_t)((ticks % ask->bits_per_s << 32) / ask->bits_per_s);
	}
	f->sending = TX_SEND;
	it->due = 0;
}

void wl_iperf_back(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	f->receiving = RX_NONE;
	f->sending = TX_WAIT;
	f->own_socket = true;
	f->head_count = 0;
	f->ask.mode = WL_IPERF_FORWARD;
	f->peer.port = f->ask.port;
	f->tx.due = it->now;
	f->tx.tries = BACK_TRIES;
	it->due = 0;
}

/* The next one is due an interval after this one was, or, after a pause, now. */
static void schedule(const struct wl_iperf *it, struct wl_iperf_tx *tx)
{
	uint32_t part = tx->part + tx->interval_part;

	tx->due += tx->interval + (part < tx->part);
	tx->part = part;
	if (it->now > wl_iperf_later(it, tx->due, SLACK_MS))
		tx->due = it->now;
}

static void moved(const struct wl_iperf *it, struct wl_iperf_tx *tx, size_t count)
{
	tx->bytes += count;
	tx->left -= count < tx->left ? count : tx->left;
	tx->last = it->now;
}

static bool send_datagram(struct wl_iperf *it, struct wl_iperf_flow *f, uint64_t id, size_t count)
{
	uint64_t us = wl_iperf_us(it, it->now) - it->second_us;

	if (us >= 1000000) {
		it->second += (uint32_t)(us / 1000000);
		it->second_us += us;
		us %= 1000000;
		it->second_us -= us;
	}
	wl_put32(f->head, (uint32_t)id);
	wl_put32(f->head + 4, it->second);
	wl_put32(f->head + 8, (uint32_t)us);
	if ((f->layout & LAYOUT_WIDE) != 0)
		wl_put32(f->head + 12, (uint32_t)(id >> 32));
	return it->io->udp_send(it->io->context, f, f->head, count < f->head_count ? count : f->head_count,
				count);
}

/* Whether more may be sent at once. */
static bool send_data(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_tx *tx = &f->tx;
	size_t count = tx->length;

	/* The last datagram has the rest of the amount, the first has the whole header. */
	if (count > tx->left)
		count = tx->left < WIDE_BYTES ? WIDE_BYTES : (size_t)tx->left;
	if (tx->next == 1 && count < f->head_count)
		count = f->head_count;
	if (!send_datagram(it, f, tx->next, count))
		return false;
	tx->next++;
	moved(it, tx, count);
	schedule(it, tx);
	return true;
}

static bool write_some(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_tx *tx = &f->tx;
	const uint8_t *header = 0;
	size_t want, taken;

	if (tx->owed == 0) {
		tx->owed = tx->length;
		schedule(it, tx);
	}
	want = tx->owed < tx->left ? tx->owed : (size_t)tx->left;
	if (f->head_count > 0) {
		header = f->head + HEADER_BYTES - f->head_count;
		want = f->head_count;
	}
	taken = it->io->tcp_send(it->io->context, f, header, want);
	if (taken > want)
		taken = want;
	if (header != 0)
		f->head_count = (uint8_t)(f->head_count - taken);
	tx->owed -= taken < tx->owed ? (uint32_t)taken : tx->owed;
	if (taken > 0)
		moved(it, tx, taken);
	return taken == want;
}

static void end_data(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_tx *tx = &f->tx;

	/* A flow that only requests traffic back is done after its header. */
	if (!f->udp && f->client && f->ask.mode == WL_IPERF_REVERSE && f->receiving != RX_NONE) {
		f->sending = TX_NONE;
		return;
	}
	/* There is nothing to wait for after the other end's last bytes either. */
	if (f->half_closed) {
		wl_iperf_over(it, f, true, true);
		return;
	}
	f->sending = TX_FINAL;
	tx->tries = 0;
	tx->due = it->now;
	if (f->udp)
		return;
	it->io->tcp_end(it->io->context, f);
	tx->due = wl_iperf_in(it, DRAIN_MS);
}

static void step_final(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_tx *tx = &f->tx;
	bool shared = f->ask.mode >= WL_IPERF_REVERSE;

	if (!f->udp || tx->tries >= (shared ? FINAL_TRIES_SHARED : FINAL_TRIES)) {
		wl_iperf_over(it, f, true, f->udp && shared);
		return;
	}
	/* The same number each time, so that a receiver of only the second counts no loss for the first. */
	send_datagram(it, f, (f->layout & LAYOUT_FLAGGED) != 0 ? tx->next + 0x80000000u : 0 - tx->next,
		      tx->length);
	tx->tries++;
	tx->due = wl_iperf_in(it, shared ? 1 : FINAL_MS);
}

static void step_wait(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	const struct wl_iperf_io *io = it->io;

	if (f->udp && io->udp_open(io->context, f)) {
		if (!f->client)
			f->head_count = wl_iperf_back_head(f->layout);
		wl_iperf_begin(it, f);
		if (f->client && f->ask.mode == WL_IPERF_REVERSE) {
			f->sending = TX_KNOCK;
			f->tx.tries = KNOCK_TRIES;
		}
	} else if (!f->udp && io->tcp_connect(io->context, f)) {
		f->sending = TX_CONNECT;
		f->tx.due = wl_iperf_in(it, CONNECT_MS);
	} else {
		wl_iperf_unreached(it, f);
	}
}

void wl_iperf_unreached(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	it->io->close(it->io->context, f);
	if (f->tx.tries <= 1) {
		wl_iperf_over(it, f, true, false);
		return;
	}
	f->tx.tries--;
	f->sending = TX_WAIT;
	f->tx.due = wl_iperf_in(it, BACK_MS);
	wl_iperf_wake(it, f->tx.due);
}

static void knock(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	if (f->tx.tries-- == 0) {
		wl_iperf_over(it, f, true, false);
		return;
	}
	send_datagram(it, f, 1, f->tx.length < f->head_count ? f->head_count : f->tx.length);
	f->tx.due = wl_iperf_in(it, KNOCK_MS);
}

static void step_send(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	struct wl_iperf_tx *tx = &f->tx;

	for (unsigned burst = WL_IPERF_BURST;; burst--) {
		if (it->now >= tx->end || tx->left == 0) {
			end_data(it, f);
			return;
		}
		if (tx->full && it->now >= wl_iperf_later(it, tx->last, STUCK_MS)) {
			wl_iperf_over(it, f, true, false);
			return;
		}
		if (burst == 0 || tx->full || (it->now < tx->due && tx->owed == 0))
			return;
		if (f->udp && !send_data(it, f))
			return;
		if (!f->udp)
			tx->full = !write_some(it, f);
	}
}

/* When to call the sending half again. A full stream gets a call when it has space, so it can wait. */
static uint64_t next_step(const struct wl_iperf *it, const struct wl_iperf_flow *f)
{
	const struct wl_iperf_tx *tx = &f->tx;
	uint64_t due = tx->due;

	if (f->sending != TX_SEND)
		return due;
	if (tx->full)
		due = wl_iperf_later(it, tx->last, STUCK_MS);
	else if (tx->owed > 0)
		due = 0;
	return due < tx->end ? due : tx->end;
}

void wl_iperf_step(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	if (f->sending == TX_SEND)
		step_send(it, f);
	if (f->sending != TX_SEND && it->now >= f->tx.due) {
		if (f->sending == TX_FINAL)
			step_final(it, f);
		else if (f->sending == TX_WAIT)
			step_wait(it, f);
		else if (f->sending == TX_CONNECT)
			wl_iperf_unreached(it, f);
		else if (f->sending == TX_KNOCK)
			knock(it, f);
	}
	if (f->sending != TX_NONE)
		wl_iperf_wake(it, next_step(it, f));
}
