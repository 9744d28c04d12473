// A program for tests of the reference node: prints its state, echoes frames through slots and rings, times accesses.
//
// A byte on the debug link is a command; each reply is a line.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reference_node_registers.h"

#define IO 0x80000000u
#define OFFSET(member) (IO + offsetof(reference_node_registers_t, member))
#define SLOT(name) REFERENCE_NODE_REGISTERS__SLOT_MAC__##name
#define RING(name) REFERENCE_NODE_REGISTERS__RING_MAC__##name
#define RXD(name) REFERENCE_NODE_REGISTERS__RX_DESCRIPTOR__##name
#define TXD(name) REFERENCE_NODE_REGISTERS__TX_DESCRIPTOR__##name

enum { EXTERNAL_INTERRUPT = 0x8000000b, MEIE = 1 << 11, MIE = 1 << 3 };

static volatile uint32_t interrupts;
static volatile bool captures_interrupts;

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

// The data of a slot are in the order of the line, so the two addresses at its start are three words.
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

static void echo_slots(void)
{
	for (;;) {
		const uint32_t status = get(OFFSET(slot_mac.rx_status) + 4 * next_slot);
		if (!(status & SLOT(RX_STATUSX__FULL_bm)))
			return;
		echo(next_slot, (status & SLOT(RX_STATUSX__LENGTH_bm)) >> SLOT(RX_STATUSX__LENGTH_bp));
		next_slot ^= 1;
	}
}

// The rings and their buffers, which are not cached; buffers are shorter than most frames.
enum {
	RX_PLACES = 8,
	TX_PLACES = 6,
	BUFFER_BYTES = 512,
	HEADER_BYTES = 14,
};
struct descriptor {
	uint32_t buffer, state;
};
static volatile struct descriptor *const rx_ring = (void *)0xc0080000;
static volatile struct descriptor *const tx_ring = (void *)0xc0080100;
static volatile uint32_t *const buffers = (void *)0xc0081000;
// Three headers in turn, at an odd offset each.
static volatile uint8_t *const headers = (void *)0xc0080201;
static uint32_t next_rx, next_tx;

// Buffers of the frame whose first buffer is next; 0 if it is not complete.
static uint32_t whole_frame(void)
{
	for (uint32_t count = 1; count <= RX_PLACES; count++) {
		const uint32_t at = (next_rx + count - 1) % RX_PLACES;
		if (!(rx_ring[at].buffer & RXD(BUFFER__USED_bm)))
			return 0;
		if (rx_ring[at].state & RXD(STATE__FINISH_bm))
			return count;
	}
	return 0;
}

static void give(uint32_t place, uint32_t address, uint32_t bytes, uint32_t last)
{
	const uint32_t wrap = place == TX_PLACES - 1 ? TXD(STATE__WRAP_bm) : 0;
	tx_ring[place].buffer = address;
	tx_ring[place].state = bytes | wrap | (last ? TXD(STATE__LAST_bm) : 0);
}

// The payload is sent from the buffers in which it arrived, after a header of its own.
static void echo_ring(void)
{
	uint32_t count;
	while ((count = whole_frame()) != 0) {
		const uint32_t end = (next_rx + count - 1) % RX_PLACES;
		const uint32_t length = rx_ring[end].state & RXD(STATE__LENGTH_bm);
		const volatile uint8_t *from = (void *)(buffers + next_rx * (BUFFER_BYTES / 4));
		volatile uint8_t *const to = headers + 16 * (next_tx % 3);
		for (int i = 0; i < 6; i++) {
			to[i] = from[6 + i];
			to[6 + i] = from[i];
		}
		to[12] = from[12];
		to[13] = from[13];
		// From the last on, because the first one starts the engine.
		uint32_t before = 0;
		for (uint32_t piece = count; piece-- > 0;) {
			const uint32_t skip = piece == 0 ? HEADER_BYTES : 0;
			const uint32_t rest = length - piece * BUFFER_BYTES;
			const uint32_t bytes = (rest < BUFFER_BYTES ? rest : BUFFER_BYTES) - skip;
			const uint32_t buffer = (next_rx + piece) % RX_PLACES;
			before = (uint32_t)(buffers + buffer * (BUFFER_BYTES / 4)) + skip;
			give((next_tx + 1 + piece) % TX_PLACES, before, bytes, piece == count - 1);
		}
		give(next_tx, (uint32_t)to, HEADER_BYTES, 0);
		set(OFFSET(ring_mac.control), get(OFFSET(ring_mac.control)) | RING(CONTROL__TX_START_bm));
		const uint32_t last = (next_tx + count) % TX_PLACES;
		while (!(tx_ring[last].state & TXD(STATE__USED_bm))) {
		}
		for (uint32_t piece = 0; piece < count; piece++) {
			const uint32_t at = (next_rx + piece) % RX_PLACES;
			rx_ring[at].buffer &= ~RXD(BUFFER__USED_bm);
		}
		next_tx = (last + 1) % TX_PLACES;
		next_rx = (end + 1) % RX_PLACES;
	}
}

static bool is_ring(void)
{
	return (get(OFFSET(system.straps)) & 3) == 2;
}

static void echo_all(void)
{
	if (is_ring()) {
		set(OFFSET(ring_mac.status), RING(STATUS__RECEIVED_bm));
		echo_ring();
	} else {
		echo_slots();
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
	if (captures_interrupts) {
		set(OFFSET(capture.control), 1 << 3 | 1 << 0 | 2 << 8 | 0 << 12);
		set(OFFSET(capture.control), 1 << 0 | 2 << 8 | 0 << 12);
	}
	interrupts++;
	echo_all();
}

// Clocks of eight consecutive accesses, less those of none: read of the slot MAC, then write.
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
		// A posted write may still be pending.
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
	const uint32_t counts = is_ring() ? OFFSET(ring_mac.counts) : OFFSET(slot_mac.counts);
	for (uint32_t at = 0; at < 9; at++)
		say_number("n", get(counts + 4 * at));
	say_number("interrupts", interrupts);
	say_number("identifier", get(OFFSET(identifier.frames)));
	say_number("events", get(OFFSET(ring_mac.status)));
}

static void prepare_ring(void)
{
	for (uint32_t at = 0; at < RX_PLACES; at++)
		rx_ring[at].buffer = (uint32_t)(buffers + at * (BUFFER_BYTES / 4)) |
				     (at == RX_PLACES - 1 ? RXD(BUFFER__WRAP_bm) : 0);
	for (uint32_t at = 0; at < TX_PLACES; at++)
		tx_ring[at].state = TXD(STATE__USED_bm);
	set(OFFSET(ring_mac.own), 0x5e100001);
	set(OFFSET(ring_mac.own) + 4, 0x0200);
	set(OFFSET(ring_mac.rx_ring), (uint32_t)rx_ring);
	set(OFFSET(ring_mac.tx_ring), (uint32_t)tx_ring);
	set(OFFSET(ring_mac.rx_buffer_bytes), BUFFER_BYTES);
	set(OFFSET(ring_mac.irq_enable), RING(IRQ_ENABLE__RECEIVED_bm));
	set(OFFSET(ring_mac.control), RING(CONTROL__RX_ENABLE_bm) | RING(CONTROL__TX_ENABLE_bm));
}

// Port 1 sends this many frames, which its loopback returns, and prints how many its checker found good.
static void test_port(uint32_t frames)
{
	const uint32_t port = OFFSET(port_1);
	say_number("stopped", get(port));
	set(OFFSET(system.clocks), 1);
	say_number("id", get(port));
	set(OFFSET(port_1.generator.payload_bytes), 100);
	set(OFFSET(port_1.generator.frame_count), frames);
	set(OFFSET(port_1.checker.control), 1);
	while (!(get(OFFSET(port_1.checker.status)) & 1)) {
	}
	set(OFFSET(port_1.generator.control), 1);
	while (!(get(OFFSET(port_1.generator.status)) & 2)) {
	}
	// The last frame is still in flight.
	for (int i = 0; i < 200; i++)
		(void)get(port);
	say_number("sent", get(OFFSET(port_1.generator.sent_frames)));
	say_number("good", get(OFFSET(port_1.checker.good)));
	say_number("mac", get(OFFSET(port_1.mac.received)));
	set(OFFSET(system.clocks), 0);
	say_number("stopped", get(port));
}

static void set_interrupts(bool on)
{
	if (on)
		__asm__ volatile("csrs mstatus, %0" : : "r"(MIE) : "memory");
	else
		__asm__ volatile("csrc mstatus, %0" : : "r"(MIE) : "memory");
}

static void prepare(void)
{
	// 02:00:5e:10:00:01, in the order of the line.
	set(OFFSET(slot_mac.own), 0x5e100001);
	set(OFFSET(slot_mac.own) + 4, 0x0200);
	set(OFFSET(slot_mac.control), SLOT(CONTROL__ENABLE_bm) | SLOT(CONTROL__IRQ_ENABLE_bm));
	prepare_ring();
	// From the end of a received frame to the beginning of the sent one. It is enabled after the edges are chosen,
	// because to a unit that has just been switched a silent line looks like the end of a frame.
	set(OFFSET(capture.control), 2 << 8 | 3 << 12);
	set(OFFSET(capture.control), 1 << 1 | 2 << 8 | 3 << 12);
	set(OFFSET(capture.control), 1 << 0 | 2 << 8 | 3 << 12);
	set(OFFSET(system.irq_enable), 1);
	__asm__ volatile("csrw 0xbc0, %0" : : "r"(7));
	__asm__ volatile("csrs mie, %0" : : "r"(MEIE));
	set_interrupts(true);
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
			// There is nothing at that address.
			say_number("nothing", get(0x90000004));
			say_number("fault", get(OFFSET(system.fault)));
			break;
		case 'j':
			((void (*)(void))0x00200000)();
			break;
		case 'p':
			test_port(50);
			break;
		case 'i':
			// From the end of a frame to the interrupt.
			captures_interrupts = true;
			set(OFFSET(capture.control), 2 << 8 | 0 << 12);
			set(OFFSET(capture.control), 1 << 1 | 2 << 8 | 0 << 12);
			set(OFFSET(capture.control), 1 << 0 | 2 << 8 | 0 << 12);
			break;
		case 'h':
			set_interrupts(false);
			break;
		case 'g':
			set_interrupts(true);
			break;
		case 'w': {
			// A descriptor outside the memory.
			set(OFFSET(ring_mac.tx_ring), 0x00400000);
			const uint32_t control = get(OFFSET(ring_mac.control));
			set(OFFSET(ring_mac.control), control | RING(CONTROL__TX_START_bm));
			// The engine reads it some clocks later.
			for (int i = 0; i < 4; i++)
				(void)get(OFFSET(ring_mac.control));
			say_number("events", get(OFFSET(ring_mac.status)));
			say_number("control", get(OFFSET(ring_mac.control)));
			break;
		}
		case 'x':
			return 42;
		default:
			say("what?");
		}
		say_byte('\n');
	}
}
