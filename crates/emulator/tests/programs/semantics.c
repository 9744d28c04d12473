/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Test vectors of what a C compiler makes of a program; each group prints a checksum. */
#include <stdbool.h>
#include <stdint.h>

void write_text(const char *text);

static volatile uint32_t seed;
static uint32_t sum;
static uint8_t bytes[512];
static uint32_t words[128];

static uint32_t random32(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed ^ seed >> 13;
}

static void add(uint32_t value)
{
	sum = (sum << 5 | sum >> 27) + value;
}

static void show(const char *name)
{
	char hex[12];

	write_text(name);
	for (int n = 0; n < 8; n++) {
		hex[n] = "0123456789abcdef"[sum >> (28 - 4 * n) & 15];
	}
	hex[8] = '\n';
	hex[9] = 0;
	write_text(hex);
	sum = 0;
}

static void arithmetic(void)
{
	for (int n = 0; n < 400; n++) {
		const uint32_t a = random32(), b = random32() >> (n & 31), c = random32() | 1;
		const uint64_t wide = (uint64_t)a * b + ((uint64_t)c << 20);
		const int64_t narrow = (int64_t)(int32_t)a * (int32_t)b - (int32_t)c;

		add(a + b);
		add(a - b);
		add((uint32_t)(wide >> 32) ^ (uint32_t)wide);
		add((uint32_t)((uint64_t)narrow >> 16));
		add((uint32_t)(wide / (c >> 4 | 1)));
		add(a < b);
		add((int32_t)a < (int32_t)b);
		add((int32_t)a >> (c & 31));
		add(a >> (c & 31));
		add((uint32_t)(wide << (c & 63)));
		add(narrow < 0);
	}
	show("arithmetic ");
}

static void division(void)
{
	for (int n = 0; n < 400; n++) {
		const uint32_t a = random32() >> (random32() & 31), b = random32() >> (random32() & 31);
		const int32_t sa = (int32_t)random32(), sb = (int32_t)random32() >> (random32() & 31);

		add(b ? a / b : 7);
		add(b ? a % b : 8);
		if (sb != 0 && !(sb == -1 && sa == INT32_MIN)) {
			add((uint32_t)(sa / sb));
			add((uint32_t)(sa % sb));
		}
		add((uint32_t)(((uint64_t)a << 32 | b) / (b | 1)));
		add(a / 10 + a / 7 + a % 1000);
	}
	show("division ");
}

struct fields {
	uint32_t a : 3, b : 7, c : 11, d : 11;
	int32_t e : 5, f : 13, g : 14;
};

static void bit_fields(void)
{
	static volatile struct fields fields;

	for (int n = 0; n < 300; n++) {
		fields.a = random32() & 7;
		fields.b = random32() & 127;
		fields.c = random32() & 2047;
		fields.d = fields.c ^ fields.b;
		fields.e = (int32_t)random32() >> 27;
		fields.f = (int32_t)random32() >> 19;
		fields.g = fields.f ^ fields.e;
		add(fields.a + fields.b * 3 + fields.c * 5 + fields.d);
		add((uint32_t)(fields.e + fields.f * 3 + fields.g * 5));
		add(__builtin_bswap32(random32()));
		add((uint32_t)__builtin_clz(random32() | 1));
		add((uint32_t)__builtin_ctz(random32() | 0x80000000u));
		add((uint32_t)__builtin_popcount(random32()));
		add(__builtin_bswap16((uint16_t)random32()));
	}
	show("bit fields ");
}

static uint32_t chosen(uint32_t which, uint32_t value)
{
	switch (which) {
	case 0:
		return value + 1;
	case 1:
		return value ^ 0x55;
	case 2:
		return value * 3;
	case 3:
		return value >> 3;
	case 4:
		return value - 77;
	case 5:
		return ~value;
	case 6:
		return value << 5 | value >> 27;
	case 7:
		return value | 0x1000;
	case 8:
		return value & 0xfff00fff;
	case 9:
		return value + (value >> 4);
	case 10:
		return value * value;
	case 300:
		return 5;
	default:
		return value;
	}
}

static uint32_t depth(uint32_t n, uint32_t value)
{
	return n == 0 ? value : depth(n - 1, value + n) * 2 + depth(n / 3, value ^ n);
}

static uint32_t (*const calls[])(uint32_t, uint32_t) = { chosen, depth, chosen };

static void flow(void)
{
	for (uint32_t n = 0; n < 400; n++) {
		add(chosen(n % 14, random32()));
		add(calls[n % 3](n % 9, random32()));
	}
	show("flow ");
}

static void memory(void)
{
	for (uint32_t n = 0; n < sizeof bytes; n++) {
		bytes[n] = (uint8_t)random32();
	}
	for (uint32_t n = 0; n < 400; n++) {
		const uint32_t at = random32() % (sizeof bytes - 16);
		const uint8_t *from = bytes + at;
		struct __attribute__((packed)) {
			uint8_t a;
			uint32_t b;
			uint16_t c;
			int16_t d;
		} unaligned;

		__builtin_memcpy(&unaligned, from, sizeof unaligned);
		add(unaligned.a + unaligned.b + unaligned.c + (uint32_t)unaligned.d);
		__builtin_memcpy(bytes + (at * 7 & 255), &unaligned, sizeof unaligned);
		add((uint32_t)(int8_t)bytes[at + 3]);
		words[at & 127] = words[(at * 3 + 1) & 127] + n;
		add(words[(at + 64) & 127]);
		__builtin_memmove(bytes + (at & 63), bytes + (n & 63), 37);
	}
	for (uint32_t n = 0; n < sizeof bytes; n++) {
		add(bytes[n]);
	}
	show("memory ");
}

static void atomics(void)
{
	static uint32_t counter;
	static uint8_t flag;

	for (uint32_t n = 0; n < 50; n++) {
		add(__atomic_fetch_add(&counter, n, __ATOMIC_SEQ_CST));
		add(__atomic_exchange_n(&flag, (uint8_t)n, __ATOMIC_ACQ_REL));
	}
	add(counter);
	show("atomics ");
}

static uint32_t crc(const uint8_t *from, uint32_t length)
{
	uint32_t value = 0xffffffffu;

	while (length-- > 0) {
		value ^= *from++;
		for (int n = 0; n < 8; n++) {
			value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
		}
	}
	return ~value;
}

static void numbers(void)
{
	volatile float real = 1.5f;
	volatile double more = 2.25;

	for (int n = 0; n < 100; n++) {
		real = real * 1.1f - (float)n / 3;
		more = more / 1.01 + real;
		add((uint32_t)(int32_t)(real * 100));
		add((uint32_t)(int64_t)(more * 1000));
	}
	add(crc(bytes, sizeof bytes));
	show("numbers ");
}

int main(void)
{
	seed = 12345;
	sum = 0;
	arithmetic();
	division();
	bit_fields();
	flow();
	memory();
	atomics();
	numbers();
	return 0;
}
