/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finite work for a Cortex-A9 in QEMU: a loop of calls of small functions, in which a plugin's cost per block and per step is
 * largest. Between calls it adds up words, as a stack does for checksums. */
static unsigned words[256];

__attribute__((noinline)) static unsigned sum(const unsigned *from, int count)
{
	unsigned total = 0;

	for (int n = 0; n < count; n++) {
		total += from[n];
		total = total << 3 | total >> 29;
	}
	return total;
}

__attribute__((noinline)) static unsigned mix(unsigned value)
{
	return value * 2654435761u + 1;
}

__attribute__((noinline)) static unsigned branch(unsigned value)
{
	if (value & 1)
		return mix(value);
	return mix(value ^ 3) + mix(value >> 2);
}

__attribute__((used)) static void work(void)
{
	unsigned total = 0;

	for (unsigned n = 0; n < ROUNDS; n++) {
		total += branch(n);
		words[n & 255] = total;
		if ((n & 15) == 0)
			total ^= sum(words, 64);
	}
}

/* SYS_EXIT of Arm's semihosting ends QEMU. */
__attribute__((naked, section(".start"))) void _start(void)
{
	__asm__ volatile(
		"ldr sp, =0x02000000\n\tbl work\n\tldr r1, =0x20026\n\tmov r0, #0x18\n\tsvc 0x123456\n\tb .");
}
