/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The main loop of boards with lwIP: the MAC of board.h as lwIP's interface, timers, the application, and sleep. */
#include "app.h"
#include "board.h"
#include "print.h"

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

#define PS_PER_MS 1000000000u
#define LINK_POLL_MS 100
#define MOST_PIECES 16
#define BATCH 64
#define MTU_BYTES 1500

uint64_t loop_rx_no_memory, loop_tx_full;

static struct netif netif;
static uint64_t ticks_per_ms, timers_due;

/* lwIP's frames have ETH_PAD_SIZE bytes in front, which are not sent. */
static err_t output(struct netif *interface, struct pbuf *frame)
{
	struct wl_piece pieces[MOST_PIECES];
	unsigned count = 1;

	pieces[0].bytes = (const uint8_t *)frame->payload + ETH_PAD_SIZE;
	pieces[0].count = frame->len - ETH_PAD_SIZE;
	for (const struct pbuf *part = frame->next; part; part = part->next) {
		if (count == MOST_PIECES)
			return ERR_BUF;
		pieces[count].bytes = part->payload;
		pieces[count++].count = part->len;
	}
	if (mac_send(pieces, count))
		return ERR_OK;
	/* Without a link the ring is not full, and the driver counts the refusal itself. */
	if (netif_is_link_up(interface))
		loop_tx_full++;
	return ERR_BUF;
}

static err_t setup(struct netif *interface)
{
	interface->name[0] = 'e';
	interface->name[1] = 'n';
	interface->mtu = MTU_BYTES;
	interface->hwaddr_len = 6;
	interface->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
	interface->output = etharp_output;
	interface->linkoutput = output;
	return ERR_OK;
}

void loop_input(struct pbuf *frame)
{
	if (netif.input(frame, &netif) != ERR_OK)
		pbuf_free(frame);
}

static void watch_link(void *unused)
{
	bool up = mac_link();

	(void)unused;
	if (up && !netif_is_link_up(&netif))
		netif_set_link_up(&netif);
	else if (!up && netif_is_link_up(&netif))
		netif_set_link_down(&netif);
	sys_timeout(LINK_POLL_MS, watch_link, 0);
}

/* lwIP computes its time by a division of 64 bits, so it is called once a millisecond at most. */
static void timers(void)
{
	if (wl_clock() < timers_due)
		return;
	sys_check_timeouts();
	timers_due = wl_clock() + ticks_per_ms;
}

static void idle(void)
{
	uint64_t wake, due, before;
	uint32_t was;

	if (app_idle())
		return;
	before = wl_clock();
	wake = before + sys_timeouts_sleeptime() * ticks_per_ms;
	due = app_due();
	was = board_irq_off();
	if (!mac_pending() && !board_uart_pending())
		board_sleep_until(due < wake ? due : wake);
	app_slept(wl_clock() - before);
	board_irq_on(was);
	/* The sleep ended to the millisecond for a timer, so timers() must look now. */
	timers_due = 0;
}

void loop_round(void *unused)
{
	bool busy = loop_receive(BATCH);

	(void)unused;
	timers();
	busy |= app_poll();
	if (!busy)
		idle();
}

static void say_ready(const uint8_t mac[6], const uint8_t ip[4])
{
	print("READY name=");
	print(board.name);
	print(" mac=");
	print_mac(mac);
	print(" ip=");
	print_ip(ip);
	print("\n");
}

int main(void)
{
	ip4_addr_t ip, mask, gateway;
	uint8_t mac[6];

	board_init();
	ticks_per_ms = PS_PER_MS / board.tick_ps;
	if (!mac_init(mac)) {
		print("FAULT the MAC or its PHY does not answer\n");
		board_exit();
	}
	lwip_init();
	/* The last four bytes of the MAC address are the IPv4 address: one image for any number of boards. */
	IP4_ADDR(&ip, mac[2], mac[3], mac[4], mac[5]);
	IP4_ADDR(&mask, 255, 255, 255, 0);
	IP4_ADDR(&gateway, 0, 0, 0, 0);
	netif_add(&netif, &ip, &mask, &gateway, 0, setup, ethernet_input);
	for (unsigned n = 0; n < sizeof mac; n++)
		netif.hwaddr[n] = mac[n];
	netif_set_default(&netif);
	netif_set_up(&netif);
	watch_link(0);
	app_start(&netif);
	say_ready(mac, mac + 2);
	for (;;)
		loop_round(0);
}
