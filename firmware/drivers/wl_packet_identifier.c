/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Driver of the packet identifier. */
#include "wl_packet_identifier.h"

#include "fields.h"

#define WHAT(name, value) FIELD(IDENTIFIER_REGISTERS__RULE__WHAT__##name, value)
#define VALUES(name, value) FIELD(IDENTIFIER_REGISTERS__RULE__VALUES__##name, value)

void wl_packet_identifier_reset(uintptr_t base)
{
	for (unsigned index = 0; index < WL_PACKET_RULES; index++)
		WRITE(base, identifier, rule[index].what, 0);
	WRITE(base, identifier, address_enable, 0);
}

void wl_packet_identifier_own(uintptr_t base, const uint8_t mac[6])
{
	write_mac(AT(base, identifier, own), mac);
}

static bool write_address(uintptr_t base, unsigned index, const uint32_t words[4])
{
	uint32_t enabled;

	if (index >= WL_PACKET_ADDRESSES)
		return false;
	enabled = READ(base, identifier, address_enable);
	/* A half-written address belongs to no host. */
	WRITE(base, identifier, address_enable, enabled & ~(UINT32_C(1) << index));
	for (unsigned word = 0; word < 4; word++)
		WRITE(base, identifier, address[index].word[word], words[word]);
	WRITE(base, identifier, address_enable, enabled | UINT32_C(1) << index);
	return true;
}

bool wl_packet_identifier_ipv4(uintptr_t base, unsigned index, const uint8_t address[4])
{
	/* IPv4 within IPv6, RFC 4291, 2.5.5.2. */
	const uint32_t words[4] = { word_of(address), 0xFFFF, 0, 0 };

	return write_address(base, index, words);
}

bool wl_packet_identifier_ipv6(uintptr_t base, unsigned index, const uint8_t address[16])
{
	const uint32_t words[4] = { word_of(address + 12), word_of(address + 8), word_of(address + 4),
				    word_of(address) };

	return write_address(base, index, words);
}

bool wl_packet_identifier_port(uintptr_t base, unsigned index, uint16_t number, uint16_t mask)
{
	if (index >= WL_PACKET_PORTS)
		return false;
	WRITE(base, identifier, udp_port[index],
	      FIELD(IDENTIFIER_REGISTERS__UDP_PORT__PORT_NUMBER, number) |
		      FIELD(IDENTIFIER_REGISTERS__UDP_PORT__MASK, mask));
	return true;
}

bool wl_packet_identifier_rule(uintptr_t base, unsigned index, const struct wl_packet_rule *wanted)
{
	if (index >= WL_PACKET_RULES)
		return false;
	/* A rule is off while its words change. */
	WRITE(base, identifier, rule[index].what, 0);
	if (wanted == NULL)
		return true;
	WRITE(base, identifier, rule[index].values,
	      VALUES(ETHERTYPE, wanted->ethertype) | VALUES(PROTOCOL, wanted->protocol));
	WRITE(base, identifier, rule[index].what,
	      WHAT(ENABLE, 1) | WHAT(ASKS_OWN, wanted->asks_own) | WHAT(ASKS_TYPE, wanted->asks_type) |
		      WHAT(ASKS_PROTOCOL, wanted->asks_protocol) |
		      WHAT(ASKS_PRIORITY, wanted->asks_priority) | WHAT(PRIORITY, wanted->priority) |
		      WHAT(PORTS, wanted->ports));
	return true;
}

void wl_packet_identifier_clear(uintptr_t base)
{
	WRITE(base, identifier, control, FIELD(IDENTIFIER_REGISTERS__CONTROL__CLEAR, 1));
}

void wl_packet_identifier_read(uintptr_t base, struct wl_packet_identifier_state *state)
{
	uint32_t status = READ(base, identifier, status);

	state->is_wanted = VALUE(status, IDENTIFIER_REGISTERS__STATUS__WANTED) != 0;
	state->rules = (uint8_t)VALUE(status, IDENTIFIER_REGISTERS__STATUS__RULES);
	state->frames = READ(base, identifier, frames);
	state->wanted = READ(base, identifier, wanted);
	state->overflow = (uint8_t)READ(base, identifier, overflow);
}
