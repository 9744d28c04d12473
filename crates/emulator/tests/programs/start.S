/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Start of the test programs: vectors, main, and the end by semihosting. */
    .syntax unified
    .cpu cortex-m3
    .thumb
    .section .vectors, "a"
    .word 0x20084000
    .word _start
    .rept 46
    .word any_exception
    .endr
    .weak any_exception
    .thumb_set any_exception, fail

    .text
    .thumb_func
    .global _start
_start:
    bl main
    .global leave
    .thumb_func
leave:
    movs r0, #0x18          /* SYS_EXIT */
    ldr r1, =0x20026        /* ADP_Stopped_ApplicationExit */
    bkpt 0xab
    b .
    .thumb_func
fail:
    adr r1, message
    movs r0, #4             /* SYS_WRITE0 */
    bkpt 0xab
    b leave
    .align 2
message:
    .asciz "exception\n"

    .text
    .align 2
    .thumb_func
    .global write_text
write_text:                 /* void write_text(const char *text) */
    mov r1, r0
    movs r0, #4
    bkpt 0xab
    bx lr
