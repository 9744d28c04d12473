/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks whether a trial may start: the node's abilities, its limits, and the allowed destinations. */
#include "bytes.h"
#include "wirelab/control.h"
#include "wirelab/frame.h"

#define FCS_BYTES 4
#define TAG_BYTES 4
#define MIN_FRAME 64

static const char *const size_names[] = { "frame_bytes", "length_bytes", "payload_bytes", "datagram_bytes" };

static bool among(struct wl_refusal *refusal, const char *field, uint8_t wanted, uint32_t can)
{
	if (can & WL_SET(wanted))
		return true;
	return wl_refuse(refusal, "unsupported", field, "see hello for what can be asked");
}

static bool capabilities(const struct wl_start *start, const struct wl_identity *node,
			 struct wl_refusal *refusal)
{
	if (!among(refusal, "direction", start->direction, node->directions) ||
	    !among(refusal, "layer", start->layer, node->layers) ||
	    !among(refusal, "traffic", start->traffic, node->traffic) ||
	    !among(refusal, "path", start->path, node->paths))
		return false;
	if ((start->has & WL_HAS_BUFFERS) && !among(refusal, "buffers", start->buffers, node->buffers))
		return false;
	if (start->beyond != 0)
		return wl_refuse(refusal, "unsupported", start->beyond, "this node has no operating system");
	if ((start->has & WL_HAS_UNIT) && !node->capture_unit)
		return wl_refuse(refusal, "unsupported", "capture_unit",
				 "this node has no capture unit in hardware");
	if (start->traffic == WL_TRAFFIC_IPERF2 && start->layer == WL_ETHERNET)
		return wl_refuse(refusal, "unsupported", "traffic", "iperf needs UDP or TCP");
	return true;
}

static bool sends_unasked(const struct wl_start *start)
{
	return start->direction == WL_TRANSMIT || start->direction == WL_BOTH;
}

/* Bytes of a frame in front of and behind the part that a size counts. */
static uint32_t around(const struct wl_start *start, uint8_t unit)
{
	static const uint8_t inner[] = { 0, 20 + 8, 40 + 8, 20 + 20, 40 + 20 };
	uint32_t ethernet = WL_ETHERNET_HEADER_BYTES + (uint32_t)TAG_BYTES * start->vlan_tags + FCS_BYTES;

	if (unit == WL_FRAME_BYTES)
		return 0;
	if (unit == WL_LENGTH_BYTES)
		return FCS_BYTES;
	return unit == WL_PAYLOAD_BYTES ? ethernet : ethernet + inner[start->layer];
}

static uint32_t min_size(const struct wl_start *start, uint32_t test)
{
	if (start->size_unit == WL_DATAGRAM_BYTES)
		return test;
	test += around(start, WL_DATAGRAM_BYTES);
	return (test > MIN_FRAME ? test : MIN_FRAME) - around(start, start->size_unit);
}

static bool sizes(const struct wl_start *start, const struct wl_identity *node, struct wl_refusal *refusal)
{
	const char *field = size_names[start->size_unit];
	uint64_t frame, bound, outside = around(start, start->size_unit);
	uint32_t least, most;

	if (start->vlan_tags > 2)
		return wl_refuse_limit(refusal, "vlan_tags", 2);
	if (!(start->has & WL_HAS_SIZE))
		return sends_unasked(start) ? wl_refuse(refusal, "missing-field", "frame_bytes", 0) : true;
	if (start->size_unit == WL_DATAGRAM_BYTES && start->layer == WL_ETHERNET)
		return wl_refuse(refusal, "unsupported", field, "a datagram needs UDP or TCP");
	/* A write to a TCP connection has no frame of its own. */
	if (start->size_unit == WL_DATAGRAM_BYTES && start->layer >= WL_TCP_IPV4)
		return true;
	if (start->traffic == WL_TRAFFIC_TEST) {
		least = min_size(start, WL_HEADER_BYTES);
		most = around(start, WL_DATAGRAM_BYTES) + WL_HEADER_BYTES + WL_LFSR_MAX_BYTES -
		       (uint32_t)outside;
		if (start->size_bytes < least || start->size_bytes > most)
			return wl_refuse_limit(refusal, field, start->size_bytes < least ? least : most);
	}
	frame = start->size_bytes + outside;
	frame = frame > MIN_FRAME ? frame : MIN_FRAME;
	bound = frame < node->min_frame_bytes ? node->min_frame_bytes : frame;
	bound = bound > node->max_frame_bytes ? node->max_frame_bytes : bound;
	if (bound == frame)
		return true;
	return wl_refuse_limit(refusal, field, bound > outside ? bound - outside : 0);
}

static bool at_most(struct wl_refusal *refusal, const char *field, uint64_t value, uint64_t limit)
{
	if (value >= 1 && value <= limit)
		return true;
	return wl_refuse_limit(refusal, field, value == 0 ? 1 : limit);
}

static bool load(const struct wl_start *start, struct wl_refusal *refusal)
{
	if (!(start->has & WL_HAS_LOAD))
		return sends_unasked(start) ? wl_refuse(refusal, "missing-field", "load", 0) : true;
	switch (start->load_unit) {
	case WL_LOAD_PPM:
		return at_most(refusal, "load_ppm", start->load, 1000000);
	case WL_LOAD_MILLIFRAMES_PER_S:
		return at_most(refusal, "load_milliframes_per_s", start->load, UINT64_MAX);
	case WL_LOAD_BITS_PER_S:
		return at_most(refusal, "load_bits_per_s", start->load, UINT64_MAX);
	default:
		return true;
	}
}

static bool amounts(const struct wl_start *start, const struct wl_identity *node, struct wl_refusal *refusal)
{
	bool time = start->has & WL_HAS_TIME;

	if (!at_most(refusal, time ? "time_ps" : "frames", start->extent,
		     time ? node->max_time_ps : node->max_frames))
		return false;
	if ((start->has & WL_HAS_LIMIT) && !at_most(refusal, "limit_ps", start->limit_ps, node->max_time_ps))
		return false;
	if (!at_most(refusal, "ports", start->ports, node->ports))
		return false;
	if (start->captures > node->max_captures)
		return wl_refuse_limit(refusal, "captures", node->max_captures);
	return load(start, refusal);
}

static bool is_station(const uint8_t mac[6])
{
	return (mac[0] & 1) == 0 && (mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5]) != 0;
}

/* An address of version 4 within one of version 6 is the same host. */
static struct wl_ip canonical(const struct wl_ip *ip)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	struct wl_ip plain = { .version = 4 };

	if (ip->version == 6 && memcmp(ip->bytes, mapped, 12) != 0)
		return *ip;
	memcpy(plain.bytes, ip->bytes + (ip->version == 6 ? 12 : 0), 4);
	return plain;
}

static bool is_host(const struct wl_ip *ip)
{
	static const uint8_t zero[16], broadcast[4] = { 255, 255, 255, 255 };
	struct wl_ip plain = canonical(ip);

	if (memcmp(plain.bytes, zero, 16) == 0)
		return false;
	if (plain.version == 6)
		return plain.bytes[0] != 0xFF;
	return plain.bytes[0] >> 4 != 14 && memcmp(plain.bytes, broadcast, 4) != 0;
}

static bool destination(const struct wl_start *start, const struct wl_peer *peer, struct wl_refusal *refusal)
{
	bool mac = start->has & WL_HAS_PEER_MAC, ip = start->has & WL_HAS_PEER_IP;

	if (start->path == WL_PATH_LOOPBACK)
		return true;
	if (mac && !is_station(start->peer_mac))
		return wl_refuse(refusal, "peer", "peer_mac", "must be the address of one station");
	if (!peer->serial) {
		struct wl_ip asked = canonical(&start->peer_ip), asks = canonical(&peer->host);

		if (ip && memcmp(&asked, &asks, sizeof(asked)) != 0)
			return wl_refuse(refusal, "peer", "peer_ip",
					 "traffic goes only to the address that asks");
		return true;
	}
	if (start->direction == WL_RECEIVE)
		return true;
	if (start->layer == WL_ETHERNET)
		return mac ? true : wl_refuse(refusal, "missing-field", "peer_mac", 0);
	if (!ip)
		return wl_refuse(refusal, "missing-field", "peer_ip", 0);
	return is_host(&start->peer_ip)
		       ? true
		       : wl_refuse(refusal, "peer", "peer_ip", "must be the address of one host");
}

bool wl_start_check(struct wl_start *start, const struct wl_identity *node, const struct wl_peer *peer,
		    struct wl_refusal *refusal)
{
	uint64_t latest = start->has & WL_HAS_TIME ? start->extent : node->max_time_ps;

	if (!capabilities(start, node, refusal) || !sizes(start, node, refusal) ||
	    !amounts(start, node, refusal) || !destination(start, peer, refusal))
		return false;
	latest = start->has & WL_HAS_LIMIT ? start->limit_ps : latest;
	start->limit_ps = latest < node->max_time_ps ? latest : node->max_time_ps;
	return true;
}
