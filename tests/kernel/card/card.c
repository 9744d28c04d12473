// SPDX-License-Identifier: MIT OR GPL-2.0
/* Two Ethernet ports joined by a cable, each with time stamps of a card: a kernel module for tests, because no emulated card
 * stamps every frame (QEMU's igb stamps only received frames of PTP). The card's clock is an hour ahead of the time since the
 * boot, and 50 ppm fast. With ptp_only=1 the card stamps only received frames of PTP.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock_kernel.h>

#define PORTS 2
#define AHEAD_NS (3600ull * NSEC_PER_SEC)
#define FAST 20000 /* 1 / 50 ppm */

static bool ptp_only;
module_param(ptp_only, bool, 0644);

static struct net_device *ports[PORTS];
static struct ptp_clock *ptp;

struct port {
	unsigned int number;
	struct hwtstamp_config config;
};

static u64 card_ns(void)
{
	u64 now = ktime_get_raw_ns();

	return AHEAD_NS + now + now / FAST;
}

static int read_clock(struct ptp_clock_info *info, struct timespec64 *now)
{
	*now = ns_to_timespec64(card_ns());
	return 0;
}

static int refuse(struct ptp_clock_info *info, struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

static struct ptp_clock_info clock_info = {
	.owner = THIS_MODULE,
	.name = "wirelab test card",
	.gettime64 = read_clock,
	.enable = refuse,
};

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *device)
{
	struct port *from = netdev_priv(device);
	struct net_device *peer = ports[1 - from->number];
	struct port *to = netdev_priv(peer);
	struct skb_shared_hwtstamps stamps = { .hwtstamp = ns_to_ktime(card_ns()) };
	struct sk_buff *frame;

	if (from->config.tx_type == HWTSTAMP_TX_ON && skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP) {
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
		skb_tstamp_tx(skb, &stamps);
	}
	skb_tx_timestamp(skb);
	frame = netif_running(peer) ? skb_copy(skb, GFP_ATOMIC) : NULL;
	if (frame) {
		skb_shinfo(frame)->tx_flags = 0;
		frame->protocol = eth_type_trans(frame, peer);
		if (to->config.rx_filter == HWTSTAMP_FILTER_ALL)
			skb_hwtstamps(frame)->hwtstamp = ns_to_ktime(card_ns());
		netif_rx(frame);
	}
	consume_skb(skb);
	return NETDEV_TX_OK;
}

static int control(struct net_device *device, struct ifreq *request, int command)
{
	struct port *port = netdev_priv(device);
	struct hwtstamp_config config;

	if (command == SIOCSHWTSTAMP) {
		if (copy_from_user(&config, request->ifr_data, sizeof(config)))
			return -EFAULT;
		if (config.tx_type > HWTSTAMP_TX_ON)
			return -ERANGE;
		if (config.rx_filter != HWTSTAMP_FILTER_NONE &&
		    (ptp_only || config.rx_filter != HWTSTAMP_FILTER_ALL))
			return -ERANGE;
		port->config = config;
	} else if (command != SIOCGHWTSTAMP) {
		return -EOPNOTSUPP;
	}
	return copy_to_user(request->ifr_data, &port->config, sizeof(port->config)) ? -EFAULT : 0;
}

static int stamping(struct net_device *device, struct ethtool_ts_info *info)
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
				SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_HARDWARE |
				SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = ptp_clock_index(ptp);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) |
			   BIT(ptp_only ? HWTSTAMP_FILTER_PTP_V2_EVENT : HWTSTAMP_FILTER_ALL);
	return 0;
}

static int speed(struct net_device *device, struct ethtool_link_ksettings *settings)
{
	settings->base.speed = SPEED_1000;
	settings->base.duplex = DUPLEX_FULL;
	return 0;
}

static const struct net_device_ops operations = {
	.ndo_start_xmit = transmit,
	.ndo_eth_ioctl = control,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static const struct ethtool_ops settings = {
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = speed,
	.get_ts_info = stamping,
};

static void leave(void)
{
	for (int number = 0; number < PORTS; number++) {
		if (!ports[number])
			continue;
		unregister_netdev(ports[number]);
		free_netdev(ports[number]);
	}
	ptp_clock_unregister(ptp);
}

static int add_port(unsigned int number)
{
	struct net_device *device = alloc_etherdev(sizeof(struct port));
	int status;

	if (!device)
		return -ENOMEM;
	((struct port *)netdev_priv(device))->number = number;
	snprintf(device->name, sizeof(device->name), "card%u", number);
	device->netdev_ops = &operations;
	device->ethtool_ops = &settings;
	eth_hw_addr_random(device);
	status = register_netdev(device);
	if (status)
		free_netdev(device);
	else
		ports[number] = device;
	return status;
}

static int __init enter(void)
{
	int status = 0;

	ptp = ptp_clock_register(&clock_info, NULL);
	if (IS_ERR_OR_NULL(ptp))
		return ptp ? PTR_ERR(ptp) : -ENODEV;
	for (int number = 0; number < PORTS && !status; number++)
		status = add_port(number);
	if (status)
		leave();
	return status;
}

module_init(enter);
module_exit(leave);
MODULE_DESCRIPTION("Two joined ports with a card's time stamps");
MODULE_LICENSE("Dual MIT/GPL");
