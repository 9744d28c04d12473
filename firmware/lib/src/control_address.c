/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses in control lines: MAC, IPv4 as dotted quad, IPv6 as in RFC 4291 (read) and RFC 5952 (written). */
#include "bytes.h"
#include "wirelab/control.h"

static int small_hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool wl_mac_read(struct wl_text text, uint8_t mac[6])
{
	if (text.count != 17)
		return false;
	for (int n = 0; n < 6; n++) {
		const char *at = text.at + 3 * n;
		int high = small_hex(at[0]), low = small_hex(at[1]);

		if (high < 0 || low < 0 || (n < 5 && at[2] != ':'))
			return false;
		mac[n] = (uint8_t)(high << 4 | low);
	}
	return true;
}

void wl_mac_write(const uint8_t mac[6], struct wl_out *out)
{
	for (int n = 0; n < 6; n++) {
		char text[3] = { ':', "0123456789abcdef"[mac[n] >> 4], "0123456789abcdef"[mac[n] & 15] };

		wl_out_text(out, text + (n == 0), n == 0 ? 2 : 3);
	}
}

static bool read_ipv4(struct wl_text text, uint8_t bytes[4])
{
	for (int n = 0; n < 4; n++) {
		struct wl_text part = { text.at, 0 };
		uint64_t value;

		while (part.count < text.count && text.at[part.count] != '.')
			part.count++;
		if (!wl_text_number(part, &value) || value > 255)
			return false;
		bytes[n] = (uint8_t)value;
		/* A dot behind each number except the last, and nothing behind that. */
		if ((part.count < text.count) != (n < 3))
			return false;
		text.at += part.count + (n < 3);
		text.count -= part.count + (n < 3);
	}
	return true;
}

#if WL_CONTROL_IPV6

/* Reads up to four digits, capital or small; returns how many. */
static size_t read_group(struct wl_text text, uint32_t *value)
{
	size_t at = 0;

	*value = 0;
	for (; at < text.count && at < 5; at++) {
		char digit = text.at[at];
		int one = small_hex(digit >= 'A' && digit <= 'F' ? (char)(digit + 32) : digit);

		if (one < 0)
			break;
		*value = *value << 4 | (uint32_t)one;
	}
	return at;
}

static bool read_ipv6(struct wl_text text, uint8_t bytes[16])
{
	size_t filled = 0, gap = 17;

	memset(bytes, 0, 16);
	if (text.count >= 2 && text.at[0] == ':' && text.at[1] == ':') {
		gap = 0;
		text.at += 2;
		text.count -= 2;
	}
	while (text.count > 0) {
		uint32_t value;
		size_t count = read_group(text, &value);

		if (count < text.count && text.at[count] == '.') {
			if (filled > 12 || !read_ipv4(text, bytes + filled))
				return false;
			filled += 4;
			break;
		}
		if (count < 1 || count > 4 || filled > 14)
			return false;
		wl_put16(bytes + filled, (uint16_t)value);
		filled += 2;
		text.at += count;
		text.count -= count;
		if (text.count == 0)
			break;
		/* A colon must be followed by something; a second colon is the gap. */
		if (text.at[0] != ':' || text.count < 2)
			return false;
		text.at++;
		text.count--;
		if (text.at[0] == ':') {
			if (gap < 17)
				return false;
			gap = filled;
			text.at++;
			text.count--;
		}
	}
	if (gap == 17)
		return filled == 16;
	/* The gap stands for at least one group. */
	if (filled > 14)
		return false;
	for (size_t n = 0; n < filled - gap; n++) {
		bytes[15 - n] = bytes[filled - 1 - n];
		bytes[filled - 1 - n] = 0;
	}
	return true;
}

static void write_group(uint16_t value, struct wl_out *out)
{
	bool begun = false;

	for (int shift = 12; shift >= 0; shift -= 4) {
		begun = begun || value >> shift != 0 || shift == 0;
		if (begun)
			wl_out_text(out, &"0123456789abcdef"[value >> shift & 15], 1);
	}
}

/* RFC 5952: "::" replaces the longest run of at least two zero groups, the first of equal ones. */
static void write_ipv6(const uint8_t bytes[16], struct wl_out *out)
{
	int best = 8, length = 1;

	for (int from = 0; from < 8; from++) {
		int to = from;

		while (to < 8 && wl_be16(bytes + 2 * to) == 0)
			to++;
		if (to - from > length) {
			best = from;
			length = to - from;
		}
	}
	for (int n = 0; n < 8; n++) {
		if (n == best) {
			wl_out_text(out, "::", 2);
			n += length - 1;
			continue;
		}
		if (n > 0 && n != best + length)
			wl_out_text(out, ":", 1);
		write_group(wl_be16(bytes + 2 * n), out);
	}
}

#endif

bool wl_ip_read(struct wl_text text, struct wl_ip *ip)
{
	*ip = (struct wl_ip){ .version = 4 };
	if (read_ipv4(text, ip->bytes))
		return true;
#if WL_CONTROL_IPV6
	ip->version = 6;
	return read_ipv6(text, ip->bytes);
#else
	return false;
#endif
}

void wl_ip_write(const struct wl_ip *ip, struct wl_out *out)
{
#if WL_CONTROL_IPV6
	if (ip->version == 6) {
		write_ipv6(ip->bytes, out);
		return;
	}
#endif
	for (int n = 0; n < 4; n++) {
		if (n > 0)
			wl_out_text(out, ".", 1);
		wl_out_number(out, ip->bytes[n]);
	}
}
