/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting a trial: whether this node can do it, its sizes and pace, and its ports of the stack. */
#include "app_parts.h"

#define FCS_BYTES 4
#define MIN_FRAME_BYTES 64
/* IEEE 802.3: preamble with SFD, and the least gap. */
#define PREAMBLE_BYTES 8
#define GAP_BYTES 12
#define PS_PER_S 1000000000000u
/* The node hears no host while frames go round. */
#define MOST_LOOPS 65536

static const char *const size_names[] = { "frame_bytes", "length_bytes", "payload_bytes", "datagram_bytes" };

bool wl_app_sizes(const struct wl_start *start, struct wl_app_sizes *sizes, struct wl_refusal *refusal)
{
	static const uint8_t inner[] = { 0, 20 + 8, 40 + 8, 20 + 20, 40 + 20 };
	uint32_t around = WL_ETHERNET_HEADER_BYTES + FCS_BYTES, data_around = around + inner[start->layer];
	uint32_t frame = start->size_bytes;

	*sizes = (struct wl_app_sizes){ 0 };
	if (!(start->has & WL_HAS_SIZE)) {
		/* A stream has no bounds of its own: only the length separates its frames. */
		if (start->layer >= WL_TCP_IPV4)
			return wl_refuse(refusal, "missing-field", "datagram_bytes", 0);
		return true;
	}
	if (start->size_unit == WL_LENGTH_BYTES)
		frame += FCS_BYTES;
	else if (start->size_unit == WL_PAYLOAD_BYTES)
		frame += around;
	else if (start->size_unit == WL_DATAGRAM_BYTES)
		frame += data_around;
	if (start->size_unit != WL_DATAGRAM_BYTES && frame < data_around + WL_HEADER_BYTES)
		return wl_refuse_limit(refusal, size_names[start->size_unit],
				       start->size_bytes + data_around + WL_HEADER_BYTES - frame);
	sizes->data_bytes = frame - data_around;
	sizes->frame_bytes = frame < MIN_FRAME_BYTES ? MIN_FRAME_BYTES : frame;
	sizes->length_bytes = sizes->frame_bytes - FCS_BYTES;
	if (sizes->data_bytes < WL_HEADER_BYTES || sizes->data_bytes > WL_APP_BYTES)
		return wl_refuse_limit(refusal, size_names[start->size_unit],
				       sizes->data_bytes < WL_HEADER_BYTES ? WL_HEADER_BYTES : WL_APP_BYTES);
	return true;
}

bool wl_app_interval(const struct wl_app *app, const struct wl_start *start, const struct wl_app_sizes *sizes,
		     uint64_t *interval_ps, struct wl_refusal *refusal)
{
	uint64_t link = app->config.link_bits_per_s;
	uint64_t on_wire = 8ull * (sizes->frame_bytes + PREAMBLE_BYTES + GAP_BYTES);

	if (link == 0 && (start->load_unit == WL_LOAD_PPM || start->load_unit == WL_LOAD_GAP_BYTES))
		return wl_refuse(refusal, "unsupported",
				 start->load_unit == WL_LOAD_PPM ? "load_ppm" : "load_gap_bytes",
				 "this node does not know the rate of its link");
	switch (start->load_unit) {
	case WL_LOAD_MAX:
		*interval_ps = 0;
		break;
	case WL_LOAD_PPM:
		*interval_ps = wl_pace_bits_ps(on_wire, link) * 1000000u / start->load;
		break;
	case WL_LOAD_GAP_BYTES:
		*interval_ps = wl_pace_bits_ps(8 * (sizes->frame_bytes + PREAMBLE_BYTES + start->load), link);
		break;
	case WL_LOAD_MILLIFRAMES_PER_S:
		*interval_ps = PS_PER_S * 1000u / start->load;
		break;
	default:
		/* The design's bit/s: of the link on Ethernet, of the application above. */
		*interval_ps =
			start->load > 10 * PS_PER_S
				? 0
				: wl_pace_bits_ps(start->layer == WL_ETHERNET ? on_wire
									      : 8ull * sizes->data_bytes,
						  start->load);
	}
	return true;
}

/* Whether frames of the trial pass the point of the capture unit. */
static bool unit_can(const struct wl_start *start, struct wl_refusal *refusal)
{
	bool incoming = start->unit_point <= WL_RX_APPLICATION;
	bool passes = incoming ? start->direction != WL_TRANSMIT : start->direction != WL_RECEIVE;

	if (start->unit_point == WL_POINTS)
		passes = start->direction == WL_ECHO;
	if (start->captures == 0)
		return wl_refuse(refusal, "missing-field", "captures", 0);
	if (start->captures > WL_UNIT_RECORDS)
		return wl_refuse_limit(refusal, "captures", WL_UNIT_RECORDS);
	return passes ? true
		      : wl_refuse(refusal, "unsupported", "capture_unit",
				  "no frame of this direction passes that point");
}

/* What this node cannot do, whatever the layer. */
static bool can(const struct wl_app *app, const struct wl_start *start, struct wl_refusal *refusal)
{
	bool tcp = start->layer >= WL_TCP_IPV4;

	if (start->vlan_tags > 0)
		return wl_refuse(refusal, "unsupported", "vlan_tags", "this node sends frames without tags");
	if (start->has & WL_HAS_DESCRIPTORS)
		return wl_refuse(refusal, "unsupported", "descriptors", "the driver has its own");
	if ((start->has & WL_HAS_BUFFERS) && start->layer != WL_ETHERNET && start->path != WL_PATH_DRIVER)
		return wl_refuse(refusal, "unsupported", "buffers",
				 "the stack copies as it likes; ask for Ethernet, or path=driver");
	if ((start->has & WL_HAS_BUFFERS) && start->buffers == WL_PREFILLED && start->path != WL_PATH_DRIVER)
		return wl_refuse(refusal, "unsupported", "buffers", "frames lie ready with path=driver");
	if ((start->path == WL_PATH_DRIVER && app->config.net->driver_send == 0) ||
	    (start->path == WL_PATH_FAST_TRACK && app->config.net->fast_track == 0))
		return wl_refuse(refusal, "unsupported", "path", "there is no way past this node's stack");
	if (start->path == WL_PATH_DRIVER && (tcp || start->direction != WL_TRANSMIT))
		return wl_refuse(refusal, "unsupported", "path",
				 "past the stack this node sends UDP and Ethernet; ask for transmit");
	if (start->path == WL_PATH_FAST_TRACK && (tcp || start->direction == WL_TRANSMIT))
		return wl_refuse(refusal, "unsupported", "path",
				 "the fast track is for what is received of UDP and Ethernet");
	if ((start->has & WL_HAS_UNIT) && !unit_can(start, refusal))
		return false;
	if (start->captures > 0 && tcp)
		return wl_refuse(refusal, "unsupported", "captures", "taken of UDP and Ethernet");
	if (start->direction == WL_ECHO && tcp)
		return wl_refuse(refusal, "unsupported", "direction", "echo is of UDP and Ethernet");
	if (start->path == WL_PATH_LOOPBACK) {
		if (app->config.net->loopback == 0)
			return wl_refuse(refusal, "unsupported", "path", "this node's MAC has no loopback");
		if (start->layer != WL_UDP_IPV4 || start->direction != WL_BOTH || (start->has & WL_HAS_TIME))
			return wl_refuse(refusal, "unsupported", "path",
					 "a loopback trial is udp-ipv4, both, and has frames");
		if (start->extent > MOST_LOOPS)
			return wl_refuse_limit(refusal, "frames", MOST_LOOPS);
	}
	return true;
}

/* Where Ethernet frames go: to the requesting host, or to the host that a request on the serial line names. */
static bool ethernet_peer(struct wl_app *app, const struct wl_start *start, const struct wl_peer *peer,
			  struct wl_refusal *refusal)
{
	uint8_t known[6];

	if (peer->serial) {
		app->peer_mac_known = start->has & WL_HAS_PEER_MAC;
		memcpy(app->peer_mac, start->peer_mac, 6);
		return true;
	}
	if (!app->config.net->neighbour(app->config.net->context, &peer->host, known))
		return wl_refuse(
			refusal, "peer", "peer_mac",
			"no link-layer address is known for the host that asks: is it behind a router?");
	if ((start->has & WL_HAS_PEER_MAC) && memcmp(known, start->peer_mac, 6) != 0)
		return wl_refuse(refusal, "peer", "peer_mac", "not the address of the host that asks");
	memcpy(app->peer_mac, known, 6);
	app->peer_mac_known = true;
	return true;
}

static bool open_frames(const struct wl_app *app, const struct wl_start *start, struct wl_refusal *refusal)
{
	const struct wl_net *net = app->config.net;

	if (!net->frames(net->context, true))
		return wl_refuse(refusal, "failed", 0, "no raw frames");
	if (start->path == WL_PATH_FAST_TRACK)
		net->fast_track(net->context, 0, true);
	return true;
}

/* The previous trial stays untouched until this one has its port. */
static bool open_port(struct wl_app *app, const struct wl_start *start, const struct wl_ip *peer,
		      struct wl_started *started, struct wl_refusal *refusal)
{
	const struct wl_net *net = app->config.net;
	unsigned connections = start->direction == WL_BOTH ? 2 : 1;
	uint16_t port = start->node_port;
	bool open;

	if (start->layer == WL_ETHERNET)
		return open_frames(app, start, refusal);
	open = start->layer >= WL_TCP_IPV4 ? net->tcp_listen(net->context, &port, peer, connections)
					   : net->udp_open(net->context, &port);
	if (!open)
		return wl_refuse(refusal, "failed", 0, "the stack has no space for the trial's port");
	if (start->path == WL_PATH_FAST_TRACK)
		net->fast_track(net->context, port, true);
	app->connections = connections;
	started->has |= WL_HAS_NODE_PORT;
	started->node_port = port;
	return true;
}

static void say_addresses(const struct wl_app *app, struct wl_started *started)
{
	const struct wl_start *asked = &app->asked;

	if (app->sizes.frame_bytes > 0)
		started->has |= WL_HAS_FRAME;
	started->frame_bytes = app->sizes.frame_bytes;
	if ((asked->has & WL_HAS_BUFFERS) && asked->buffers == WL_PREFILLED) {
		started->has |= WL_HAS_SLOTS;
		started->slots = WL_APP_SLOTS;
	}
	started->has |= asked->has & WL_HAS_BUFFERS;
	started->buffers = asked->buffers;
	if (asked->layer == WL_ETHERNET) {
		started->has |= WL_HAS_NODE_MAC | (app->peer_mac_known ? WL_HAS_PEER_MAC : 0);
		memcpy(started->node_mac, app->config.mac, 6);
		memcpy(started->peer_mac, app->peer_mac, 6);
		return;
	}
	started->has |= app->config.ip.version ? WL_HAS_NODE_IP : 0;
	started->has |= app->peer.version ? WL_HAS_PEER_IP : 0;
	started->has |= app->sender.on && asked->layer < WL_TCP_IPV4 ? WL_HAS_PEER_PORT : 0;
	started->node_ip = app->config.ip;
	started->peer_ip = app->peer;
	started->peer_port = asked->peer_port;
}

/* The sender and the receiver as requested, before the first frame. */
static void lay_out(struct wl_app *app, uint64_t now, uint64_t interval_ps)
{
	const struct wl_start *asked = &app->asked;
	struct wl_app_sender *sender = &app->sender;
	struct wl_app_receiver *receiver = &app->receiver;
	uint64_t begin = now + AFTER_REPLY_MS * app->ms_ticks;
	bool timed = asked->has & WL_HAS_TIME;

	app->blasting = false;
	memset(sender, 0, sizeof(*sender));
	memset(receiver, 0, sizeof(*receiver));
	sender->on = asked->direction == WL_TRANSMIT || asked->direction == WL_BOTH;
	sender->stream = asked->tx_stream;
	sender->frames = timed ? UINT64_MAX : asked->extent;
	sender->end_ticks = timed ? begin + asked->extent / app->config.tick_ps : UINT64_MAX;
	wl_pace_init(&sender->pace, begin, interval_ps, app->config.tick_ps);
	receiver->on = asked->direction != WL_TRANSMIT;
	receiver->echo = asked->direction == WL_ECHO;
	receiver->frames = timed ? UINT64_MAX : asked->extent;
	receiver->judged.flow.stream_known = !receiver->echo;
	receiver->judged.flow.stream = asked->path == WL_PATH_LOOPBACK ? asked->tx_stream : asked->rx_stream;
	receiver->judged.flow.source_known = asked->layer == WL_ETHERNET && app->peer_mac_known;
	memcpy(receiver->judged.flow.source, app->peer_mac, 6);
	app->began = now;
	app->connect_by = now + CONNECT_MS * app->ms_ticks;
	app->limit = now + asked->limit_ps / app->config.tick_ps + GRACE_MS * app->ms_ticks;
}

/* The CPU's idle baseline: from the end of the previous trial to this one. */
static void begin_figures(struct wl_app *app, uint64_t now)
{
	app->before_window = now - app->ended_at;
	app->before_idle = app->idle - app->idle_at_end;
	app->first_at = app->last_at = 0;
	wl_app_further(app, app->further_before);
	if (wl_app_has_unit(app)) {
		/* The unit would count the cost of software points too. */
		wl_capture_start(0);
		app->config.unit->start(app->asked.unit_point, app->asked.captures);
		app->point_ticks = app->config.unit->cost_ticks();
		return;
	}
	app->point_ticks = app->asked.captures > 0 ? wl_capture_overhead() : 0;
	wl_capture_start(app->asked.captures);
	if (app->asked.captures > 0 && app->config.net->points != 0)
		app->config.net->points(app->config.net->context, true);
}

bool wl_app_start(void *context, uint32_t trial, const struct wl_start *start, const struct wl_peer *peer,
		  uint64_t now_ms, struct wl_started *started, struct wl_refusal *refusal)
{
	struct wl_app *app = context;
	struct wl_app_sizes sizes;
	struct wl_ip other = peer->serial ? start->peer_ip : peer->host;
	uint64_t interval_ps = 0, now;
	uint8_t mac[6];

	(void)trial;
	(void)now_ms;
	if (!can(app, start, refusal) || !wl_app_sizes(start, &sizes, refusal))
		return false;
	if ((start->direction == WL_TRANSMIT || start->direction == WL_BOTH) &&
	    !wl_app_interval(app, start, &sizes, &interval_ps, refusal))
		return false;
	if (start->layer == WL_ETHERNET && !ethernet_peer(app, start, peer, refusal))
		return false;
	if (peer->serial && !(start->has & WL_HAS_PEER_IP))
		other.version = 0;
	if (start->path == WL_PATH_LOOPBACK)
		other = app->config.ip;
	if (!open_port(app, start, &other, started, refusal))
		return false;
	app->peer = other;
	app->asked = *start;
	app->sizes = sizes;
	now = WL_CLOCK();
	lay_out(app, now, interval_ps);
	begin_figures(app, now);
	app->state = WL_RUNNING;
	app->ending = WL_IDLE;
	app->why = 0;
	/* A peer named over the serial line was never heard: its address is resolved before the first frame. */
	app->resolving = (peer->serial || start->path == WL_PATH_DRIVER) && app->sender.on &&
			 start->layer == WL_UDP_IPV4 && start->path != WL_PATH_LOOPBACK &&
			 !app->config.net->neighbour(app->config.net->context, &app->peer, mac);
	say_addresses(app, started);
	return true;
}
