// A program for tests of the reference node: says what it sees, echoes frames through the slots, times accesses.
//
// A byte on the debug link asks for something; each answer is a line.
#include <stddef.h>
#include <stdint.h>

#include "reference_node_registers.h"

#define IO 0x80000000u
#define OFFSET(member) (IO + offsetof(reference_node_registers_t, member))
#define SLOT(name) REFERENCE_NODE_REGISTERS__SLOT_MAC__##name

enum { EXTERNAL_INTERRUPT = 0x8000000b, MEIE = 1 << 11, MIE = 1 << 3 };

static volatile uint32_t interrupts;

static inline uint32_t get(uint32_t address)
{
	return *(volatile uint32_t *)address;
}

static inline void set(uint32_t address, uint32_t value)
{
	*(volatile uint32_t *)address = value;
}

static void say_byte(char c)
{
	while (get(OFFSET(system.uart_tx)) >> 31) {
	}
	set(OFFSET(system.uart_tx), (uint8_t)c);
}

static void say(const char *text)
{
	while (*text)
		say_byte(*text++);
}

static void say_number(const char *name, uint32_t value)
{
	say(name);
	say_byte('=');
	for (int shift = 28; shift >= 0; shift -= 4)
		say_byte("0123456789abcdef"[value >> shift & 15]);
	say_byte(' ');
}

// The data of a slot is in the order of the line, so that the two addresses at its start are three words.
static void echo(uint32_t slot, uint32_t length)
{
	const uint32_t from = OFFSET(slot_mac.rx_slot) + 0x800 * slot,
		       to = OFFSET(slot_mac.tx_slot) + 0x800 * slot;
	while (get(OFFSET(slot_mac.tx_status)) >> slot & 1) {
	}
	const uint32_t one = get(from), two = get(from + 4), three = get(from + 8);
	set(to, two >> 16 | three << 16);
	set(to + 4, three >> 16 | one << 16);
	set(to + 8, one >> 16 | two << 16);
	for (uint32_t at = 12; at < length; at += 4)
		set(to + at, get(from + at));
	set(OFFSET(slot_mac.rx_done), 1u << slot);
	set(OFFSET(slot_mac.tx_length) + 4 * slot, length);
	set(OFFSET(slot_mac.tx_go), 1u << slot);
}

static uint32_t next_slot;

static void echo_all(void)
{
	for (;;) {
		const uint32_t status = get(OFFSET(slot_mac.rx_status) + 4 * next_slot);
		if (!(status & SLOT(RX_STATUSX__FULL_bm)))
			return;
		echo(next_slot, (status & SLOT(RX_STATUSX__LENGTH_bm)) >> SLOT(RX_STATUSX__LENGTH_bp));
		next_slot ^= 1;
	}
}

void trap(uint32_t cause, uint32_t place);
void trap(uint32_t cause, uint32_t place)
{
	if (cause != EXTERNAL_INTERRUPT) {
		say_number("trap", cause);
		say_number("at", place);
		set(OFFSET(system.leave), 0xdead);
		for (;;) {
		}
	}
	interrupts++;
	echo_all();
}

// Clocks that eight accesses in a row take, less those of none: read of the slot MAC, then write.
static void time_accesses(void)
{
	uint32_t begin, reads, writes, none;
	const uint32_t status = OFFSET(slot_mac.tx_status), length = OFFSET(slot_mac.tx_length);
	const uint32_t clock = OFFSET(system.cycles);
	uint32_t word;
	// Twice: the first time fills the cache.
	for (int round = 0; round < 2; round++) {
		begin = get(clock);
		none = get(clock) - begin;
		// A posted write may still be on its way.
		word = get(status);
		begin = get(clock);
		__asm__ volatile("lw %0, 0(%1)\n lw %0, 0(%1)\n lw %0, 0(%1)\n lw %0, 0(%1)\n"
				 "lw %0, 0(%1)\n lw %0, 0(%1)\n lw %0, 0(%1)\n lw %0, 0(%1)\n"
				 : "=&r"(word)
				 : "r"(status));
		reads = get(clock) - begin - none;
		begin = get(clock);
		__asm__ volatile("sw %1, 0(%0)\n sw %1, 0(%0)\n sw %1, 0(%0)\n sw %1, 0(%0)\n"
				 "sw %1, 0(%0)\n sw %1, 0(%0)\n sw %1, 0(%0)\n sw %1, 0(%0)\n"
				 :
				 : "r"(length), "r"(64));
		writes = get(clock) - begin - none;
	}
	say_number("reads", reads);
	say_number("writes", writes);
}

static void tell_captures(void)
{
	say_number("level", get(OFFSET(capture.status)));
	say_number("missed", get(OFFSET(capture.missed)));
	while (get(OFFSET(capture.status)) & 0x3ff)
		say_number("count", get(OFFSET(capture.oldest)));
}

static void tell_counts(void)
{
	for (uint32_t at = 0; at < 9; at++)
		say_number("n", get(OFFSET(slot_mac.counts) + 4 * at));
	say_number("interrupts", interrupts);
	say_number("identifier", get(OFFSET(identifier.frames)));
}

static void prepare(void)
{
	// 02:00:5e:10:00:01, in the order of the line.
	set(OFFSET(slot_mac.own), 0x5e100001);
	set(OFFSET(slot_mac.own) + 4, 0x0200);
	set(OFFSET(slot_mac.control), SLOT(CONTROL__ENABLE_bm) | SLOT(CONTROL__IRQ_ENABLE_bm));
	// From the end of a frame that comes to the beginning of the one that goes. Enabled when the edges are chosen: a line
	// that is silent looks like the end of a frame to a unit that has just been told to look at it.
	set(OFFSET(capture.control), 2 << 8 | 3 << 12);
	set(OFFSET(capture.control), 1 << 1 | 2 << 8 | 3 << 12);
	set(OFFSET(capture.control), 1 << 0 | 2 << 8 | 3 << 12);
	set(OFFSET(system.irq_enable), 1);
	__asm__ volatile("csrw 0xbc0, %0" : : "r"(7));
	__asm__ volatile("csrs mie, %0" : : "r"(MEIE));
	__asm__ volatile("csrs mstatus, %0" : : "r"(MIE));
}

int main(void)
{
	prepare();
	say_number("id", get(OFFSET(system.id)));
	say_number("straps", get(OFFSET(system.straps)));
	say_number("waits", get(OFFSET(system.wait_states)));
	say("READY\n");
	for (;;) {
		const uint32_t asked = get(OFFSET(system.uart_rx));
		if (asked >> 31)
			continue;
		switch (asked & 0xff) {
		case 't':
			time_accesses();
			break;
		case 'c':
			tell_captures();
			break;
		case 'n':
			tell_counts();
			break;
		case 'f':
			// Nothing is there.
			say_number("nothing", get(0x90000004));
			say_number("fault", get(OFFSET(system.fault)));
			break;
		case 'j':
			((void (*)(void))0x00200000)();
			break;
		case 'x':
			return 42;
		default:
			say("what?");
		}
		say_byte('\n');
	}
}
