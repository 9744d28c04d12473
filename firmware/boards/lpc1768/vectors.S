/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Vectors of the LPC1768 (UM10360 6.3), and the first instructions. */
	.syntax unified
	.thumb

	.section .vectors, "a"
	.word stack_top, start_reset
	.rept 5
	.word start_halt
	.endr
	.word vectors_checksum, 0, 0, 0
	.word start_halt, start_halt, 0, start_halt, start_halt
	.word start_halt, timer_interrupt	@ 0, 1: TIMER0
	.word start_halt, start_halt, start_halt
	.word uart_interrupt			@ 5: UART0
	.rept 22
	.word start_halt
	.endr
	.word emac_interrupt			@ 28: Ethernet
	.rept 6
	.word start_halt
	.endr

	.text
@ A debugger that starts an image in RAM sets the program counter, but perhaps not the stack.
	.global start_reset
	.type start_reset, %function
	.thumb_func
start_reset:
	cpsid i
	ldr r0, =stack_top
	mov sp, r0
	b start_c

@ A fault, or an interrupt that nobody asked for: stand still, so that a debugger finds the place.
	.global start_halt
	.type start_halt, %function
	.thumb_func
start_halt:
	b start_halt
