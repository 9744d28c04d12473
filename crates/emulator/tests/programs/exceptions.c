/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Exceptions, priorities and masks: each handler logs when it begins and ends; the log is printed. */
#include <stdint.h>

void write_text(const char *text);

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define BYTE(address) (*(volatile uint8_t *)(address))
#define ENABLE REGISTER(0xe000e100)
#define DISABLE REGISTER(0xe000e180)
#define PEND REGISTER(0xe000e200)
#define UNPEND REGISTER(0xe000e280)
#define PRIORITY(line) BYTE(0xe000e400u + (line))
#define SYSTEM_PRIORITY(exception) BYTE(0xe000ed14u + (exception))
#define ICSR REGISTER(0xe000ed04)
#define AIRCR REGISTER(0xe000ed0c)
#define PEND_PENDSV (1u << 28)
#define PEND_SYSTICK (1u << 26)

static char text[4000];
static unsigned used;
/* What the handler of a line does: pends these lines, sets these bits of ICSR, sets BASEPRI or PRIMASK meanwhile. */
static volatile struct {
	uint32_t pend, control, basepri;
	int primask, supervisor;
} plan[48];

static void put(char c)
{
	if (used < sizeof text - 1) {
		text[used++] = c;
	}
}

static void number(const char *name, uint32_t value)
{
	put(' ');
	while (*name != 0) {
		put(*name++);
	}
	for (int n = 28; n >= 0; n -= 4) {
		if (value >> n != 0 || n == 0) {
			put("0123456789abcdef"[value >> n & 15]);
		}
	}
}

static uint32_t ipsr(void)
{
	uint32_t value;

	__asm volatile("mrs %0, ipsr" : "=r"(value));
	return value;
}

static void basepri(uint32_t value)
{
	__asm volatile("msr basepri, %0\n isb" ::"r"(value) : "memory");
}

static void settle(void)
{
	__asm volatile("dsb\n isb" ::: "memory");
}

void supervisor_body(uint32_t *frame)
{
	const uint8_t *code = (const uint8_t *)frame[6];

	number("svc", code[-2]);
	number("r0=", frame[0]);
	frame[0] += 100;
	if (code[-2] == 43) {
		/* Back to privilege: what prints needs it. */
		__asm volatile("msr control, %0\n isb" ::"r"(2) : "memory");
	}
}

void body(void)
{
	const uint32_t exception = ipsr(), n = exception & 63;

	number("<", exception);
	number("state", ICSR & 0x0fc00fff & ~(1u << 22));
	if (plan[n].primask != 0) {
		__asm volatile("cpsid i" ::: "memory");
	}
	if (plan[n].basepri != 0) {
		basepri(plan[n].basepri);
	}
	PEND = plan[n].pend;
	ICSR = plan[n].control;
	settle();
	if (plan[n].supervisor != 0) {
		__asm volatile("svc 9" ::: "memory");
	}
	number("-", n);
	basepri(0);
	__asm volatile("cpsie i" ::: "memory");
	settle();
	number(">", n);
	plan[n].pend = plan[n].control = 0;
	plan[n].supervisor = 0;
}

/* All vectors lead here; SVC gets the frame of whichever stack it came from. */
__attribute__((naked)) void any_exception(void)
{
	__asm volatile("mrs r0, ipsr\n"
		       "cmp r0, #11\n"
		       "bne body\n"
		       "tst lr, #4\n"
		       "ite eq\n"
		       "mrseq r0, msp\n"
		       "mrsne r0, psp\n"
		       "b supervisor_body\n");
}

static void end(const char *name)
{
	put('\n');
	text[used] = 0;
	write_text(name);
	write_text(text);
	used = 0;
}

static uint32_t call(uint32_t value)
{
	register uint32_t r0 __asm("r0") = value;

	__asm volatile("svc 42" : "+r"(r0)::"memory");
	return r0;
}

/* Pends lines and system exceptions while all are held back, then lets them in. */
static void together(uint32_t lines, uint32_t control)
{
	__asm volatile("cpsid i" ::: "memory");
	PEND = lines;
	ICSR = control;
	settle();
	number("icsr", ICSR & 0x1fffffff & ~(1u << 23));
	__asm volatile("cpsie i" ::: "memory");
	settle();
}

int main(void)
{
	uint32_t masked;

	ENABLE = 0x1ff00000;
	for (uint32_t line = 20; line < 29; line++) {
		PRIORITY(line) = (uint8_t)((28 - line) << 5);
	}
	SYSTEM_PRIORITY(11) = 0x08;
	SYSTEM_PRIORITY(14) = 0xf8;
	SYSTEM_PRIORITY(15) = 0x58;
	together(0x1ff00000, PEND_PENDSV | PEND_SYSTICK);
	end("all at once:");

	plan[16 + 22].pend = 1u << 23 | 1u << 21 | 1u << 26;
	plan[16 + 22].control = PEND_PENDSV;
	plan[16 + 26].pend = 1u << 24;
	plan[16 + 26].supervisor = 1;
	PEND = 1u << 22;
	settle();
	end("nested:");

	plan[16 + 22].pend = 1u << 23 | 1u << 25 | 1u << 27;
	plan[16 + 22].basepri = 0x48;
	PEND = 1u << 22;
	settle();
	plan[16 + 22].basepri = 0;
	plan[16 + 24].pend = 1u << 28 | 1u << 22;
	plan[16 + 24].primask = 1;
	PEND = 1u << 24;
	settle();
	plan[16 + 24].primask = 0;
	end("masked:");

	for (uint32_t group = 0; group < 8; group++) {
		AIRCR = 0x05fa0000 | group << 8;
		plan[16 + 22].pend = 1u << 23 | 1u << 26;
		plan[16 + 25].pend = 1u << 26 | 1u << 28;
		PEND = 1u << 22;
		settle();
		together(1u << 22 | 1u << 25 | 1u << 27, PEND_SYSTICK);
		number("group", AIRCR & 0x700);
	}
	AIRCR = 0x05fa0000;
	end("groups:");

	basepri(0x80);
	PEND = 1u << 22 | 1u << 23;
	settle();
	number("waiting", PEND);
	UNPEND = 1u << 22;
	DISABLE = 1u << 23;
	basepri(0);
	settle();
	number("waiting", PEND);
	ENABLE = 1u << 23;
	settle();
	end("thread:");

	number("call", call(7));
	/* Go on with this stack as the process stack; the handlers' begins further down. */
	__asm volatile("mrs r0, msp\n msr psp, r0\n sub r1, r0, #1024\n movs r0, #2\n msr control, r0\n "
		       "isb\n msr msp, r1" ::
			       : "r0", "r1", "memory");
	number("call", call(8));
	PEND = 1u << 22;
	settle();
	__asm volatile("movs r0, #3\n msr control, r0\n isb" ::: "r0", "memory");
	/* Without privilege the masks do not change. */
	__asm volatile("cpsid i" ::: "memory");
	number("call", call(9));
	__asm volatile("mrs %0, primask" : "=r"(masked));
	number("primask", masked);
	__asm volatile("svc 43" ::: "memory");
	end("stacks:");
	return 0;
}
