/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flows of iperf 2: places for them, how they end, and the passing of time. */
#include "iperf_flow.h"

/* A flow ends after this silence. */
#define QUIET_MS 5000

void wl_iperf_init(struct wl_iperf *it, const struct wl_iperf_io *io, uint32_t tick_ps)
{
	uint64_t us = ((uint64_t)tick_ps << 32) / 1000000;

	memset(it, 0, sizeof *it);
	it->io = io;
	it->tick_ps = tick_ps;
	it->us_per_tick = (uint32_t)(us >> 32);
	it->us_per_tick_part = (uint32_t)us;
	it->max_datagram_bytes = 1470;
	it->back_bits_per_s = WL_IPERF_BACK_BITS_PER_S;
}

uint64_t wl_iperf_in(const struct wl_iperf *it, uint32_t ms)
{
	return wl_iperf_later(it, it->now, ms);
}

void wl_iperf_wake(struct wl_iperf *it, uint64_t at)
{
	if (at < it->due)
		it->due = at;
}

static bool is_free(const struct wl_iperf_flow *f)
{
	return f->receiving == RX_NONE && f->sending == TX_NONE;
}

/* Whether a flow may be replaced. */
static bool is_idle(const struct wl_iperf_flow *f)
{
	return f->sending == TX_NONE && f->udp && (f->receiving == RX_OVER || f->rx.next <= 2);
}

struct wl_iperf_flow *wl_iperf_place(struct wl_iperf *it, const struct wl_iperf_address *peer)
{
	struct wl_iperf_flow *place = 0;

	for (struct wl_iperf_flow *f = it->flows; f < it->flows + WL_IPERF_FLOWS; f++) {
		if (is_free(f)) {
			place = f;
			break;
		}
		if (is_idle(f) && (place == 0 || f->rx.last < place->rx.last))
			place = f;
	}
	if (place == 0) {
		it->refused++;
		return 0;
	}
	wl_iperf_release(it, place);
	place->peer = *peer;
	return place;
}

void wl_iperf_release(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	if (!is_free(f))
		it->io->close(it->io->context, f);
	memset(f, 0, sizeof *f);
}

void wl_iperf_result(const struct wl_iperf *it, const struct wl_iperf_flow *f, bool sent,
		     struct wl_iperf_result *r)
{
	struct {
		uint64_t next, bytes, start, last;
	} sum;

	memset(r, 0, sizeof *r);
	r->peer = f->peer;
	r->udp = f->udp;
	r->sent = sent;
	r->client = f->client;
	/* Both halves begin alike. */
	memcpy(&sum, sent ? (const void *)&f->tx : (const void *)&f->rx, sizeof sum);
	r->here.bytes = sum.bytes;
	r->here.duration_us = wl_iperf_us(it, sum.last - sum.start);
	r->here.datagrams = sum.next - (sum.next != 0);
	if (sent) {
		r->reported = f->reported;
		r->there = f->there;
		return;
	}
	r->here.lost = f->rx.lost > f->rx.out_of_order ? f->rx.lost - f->rx.out_of_order : 0;
	r->here.out_of_order = f->rx.out_of_order;
	r->here.jitter_us = f->rx.jitter >> 8;
}

void wl_iperf_tell(struct wl_iperf *it, const struct wl_iperf_flow *f, bool sent, bool complete)
{
	struct wl_iperf_result result;

	if (it->io->ended == 0)
		return;
	wl_iperf_result(it, f, sent, &result);
	result.complete = complete;
	it->io->ended(it->io->ended_context, &result);
}

void wl_iperf_over(struct wl_iperf *it, struct wl_iperf_flow *f, bool sent, bool complete)
{
	wl_iperf_tell(it, f, sent, complete);
	if ((sent ? f->receiving == RX_NONE : f->sending == TX_NONE)) {
		wl_iperf_release(it, f);
		return;
	}
	if (sent)
		f->sending = TX_NONE;
	else
		f->receiving = RX_NONE;
}

/* End traffic back to a silent host: traffic that a forged address requested ends when its requests end. */
static void end_back(struct wl_iperf *it, const struct wl_iperf_address *peer)
{
	for (struct wl_iperf_flow *f = it->flows; f < it->flows + WL_IPERF_FLOWS; f++) {
		if (f->sending != TX_NONE && !f->client && wl_iperf_same_host(&f->peer, peer))
			f->tx.end = 0;
	}
	it->due = 0;
}

static void receive_step(struct wl_iperf *it, struct wl_iperf_flow *f)
{
	uint64_t quiet_at = wl_iperf_later(it, f->rx.last, QUIET_MS);

	if (f->receiving == RX_OVER) {
		if (it->now < f->tx.due)
			wl_iperf_wake(it, f->tx.due);
		else if (f->ask.mode == WL_IPERF_TRADEOFF && wl_iperf_limit(it, f))
			wl_iperf_back(it, f);
		else
			wl_iperf_release(it, f);
		return;
	}
	if (it->now < quiet_at) {
		wl_iperf_wake(it, quiet_at);
		return;
	}
	if (f->ask.mode == WL_IPERF_DUAL || f->ask.mode == WL_IPERF_FULL_DUPLEX)
		end_back(it, &f->peer);
	wl_iperf_over(it, f, false, false);
}

uint64_t wl_iperf_poll(struct wl_iperf *it, uint64_t now)
{
	if (now < it->due)
		return it->due;
	it->now = now;
	it->due = wl_iperf_in(it, 1000);
	for (struct wl_iperf_flow *f = it->flows; f < it->flows + WL_IPERF_FLOWS; f++) {
		if (f->sending != TX_NONE)
			wl_iperf_step(it, f);
		if (f->receiving != RX_NONE)
			receive_step(it, f);
	}
	return it->due;
}

unsigned wl_iperf_running(const struct wl_iperf *it, bool all)
{
	unsigned count = 0;

	for (const struct wl_iperf_flow *f = it->flows; f < it->flows + WL_IPERF_FLOWS; f++)
		count += (all || f->client) && !is_free(f) && f->receiving != RX_OVER;
	return count;
}

void wl_iperf_stop(struct wl_iperf *it, bool all, uint64_t now)
{
	it->now = now;
	for (struct wl_iperf_flow *f = it->flows; f < it->flows + WL_IPERF_FLOWS; f++) {
		if (!f->client && !all)
			continue;
		if (f->sending == TX_SEND) {
			/* The other end still gets a final datagram, or the end of the stream. */
			f->tx.end = 0;
			it->due = 0;
		} else if (f->sending != TX_NONE) {
			wl_iperf_over(it, f, true, false);
		}
		if (f->receiving == RX_OVER)
			wl_iperf_release(it, f);
		else if (f->receiving != RX_NONE)
			wl_iperf_over(it, f, false, false);
	}
}
