/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Start of the Zynq-7000 image: vectors, stacks, caches off and empty, bss, then memory.c and main(). */
	.syntax unified
	.arm

	.section .vectors, "ax"
	.align 5
	.global _vectors
_vectors:
	b	_start
	b	undefined
	b	service
	b	prefetch_abort
	b	data_abort
	b	.
	b	interrupt
	b	.

	.global _start
_start:
	cpsid	if, #0x13
	/* Only the first core works; the other one waits forever. */
	mrc	p15, 0, r0, c0, c0, 5
	ands	r0, r0, #3
1:	wfene
	bne	1b

	/* SCTLR: no MMU, no caches, no branch prediction, exceptions in ARM state, vectors by VBAR. */
	mrc	p15, 0, r0, c1, c0, 0
	bic	r0, r0, #(1 << 12 | 1 << 11)
	bic	r0, r0, #(1 << 2 | 1 << 0)
	bic	r0, r0, #(1 << 30)
	bic	r0, r0, #(1 << 13)
	mcr	p15, 0, r0, c1, c0, 0
	isb
	ldr	r0, =_vectors
	mcr	p15, 0, r0, c12, c0, 0

	/* TLB, instruction cache and branch predictor are made empty; so is the data cache, set by set: 4 ways of 256
	 * sets of 32 bytes (Cortex-A9 TRM, 7.1). */
	mov	r0, #0
	mcr	p15, 0, r0, c8, c7, 0
	mcr	p15, 0, r0, c7, c5, 0
	mcr	p15, 0, r0, c7, c5, 6
	mov	r1, #0
2:	mov	r2, #0
3:	orr	r3, r1, r2
	mcr	p15, 0, r3, c7, c6, 2
	add	r2, r2, #0x20
	cmp	r2, #0x2000
	bne	3b
	adds	r1, r1, #0x40000000
	bne	2b
	dsb
	isb

	cps	#0x12
	ldr	sp, =_irq_stack
	cps	#0x17
	ldr	sp, =_fault_stack
	cps	#0x1B
	ldr	sp, =_fault_stack
	cps	#0x13
	ldr	sp, =_stack

	ldr	r0, =_bss_start
	ldr	r1, =_bss_end
	mov	r2, #0
	mov	r3, #0
4:	cmp	r0, r1
	strdlo	r2, r3, [r0], #8
	blo	4b

	bl	memory_init
	bl	main
	b	board_exit

	.text
	.arm
interrupt:
	sub	lr, lr, #4
	push	{r0-r3, r12, lr}
	bl	interrupts_handle
	ldm	sp!, {r0-r3, r12, pc}^

/* Prints the fault, its place and its address, and restarts the board. */
undefined:
	mov	r0, #0
	b	fault
service:
	mov	r0, #1
	b	fault
prefetch_abort:
	mov	r0, #2
	b	fault
data_abort:
	mov	r0, #3
fault:
	mov	r1, lr
	mrc	p15, 0, r2, c6, c0, 0
	bl	board_fault
	b	.
