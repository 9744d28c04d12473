/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every option of the library, with its default and what it costs.
 *
 * To change one, define it on the compiler's command line, or name a header of your own that does:
 * -DWL_OPTIONS_HEADER='"my_wirelab_options.h"'. Sizes are per instance, in bytes of RAM, where not said otherwise.
 */
#ifndef WIRELAB_OPTIONS_H
#define WIRELAB_OPTIONS_H

#ifdef WL_OPTIONS_HEADER
#include WL_OPTIONS_HEADER
#endif

/* --- test frame (wirelab/frame.h, wirelab/track.h) ------------------------------------------------------------ */

/* 1: keep the LFSR stream ready in RAM (WL_WINDOW_BYTES, 25.6 KB with the defaults); a payload is then one memcpy or
 * one memcmp. The application calls wl_lfsr_init() first. 0: compute each word, with 1.3 KB of constants. */
#ifndef WL_LFSR_WINDOW
#define WL_LFSR_WINDOW 0
#endif

/* Without the window: WL_LFSR_READY(sequence), an expression of type const uint8_t *, may point to a prepared LFSR
 * part of WL_LFSR_MAX_BYTES, so that a frame is compared with it by words; 0 if there is none. */

/* Longest LFSR part that is built and checked. A frame with a longer one in its header counts as corrupted (spec/test-frame.md
 * allows 9,198). */
#ifndef WL_LFSR_MAX_BYTES
#define WL_LFSR_MAX_BYTES 9198
#endif

/* Sequences that a tracker remembers, a power of two, 32 to 65,536; an older frame is "too late". The specification requires
 * 65,536, hardware has 4,096. Costs 1 bit, and with WL_TRACK_EXTENT 4 bytes more, for each. */
#ifndef WL_TRACK_WINDOW
#define WL_TRACK_WINDOW 4096
#endif

/* 1: measure how far a late frame was moved (RFC 4737, 4.2.2), at 4 bytes for each sequence of the window. */
#ifndef WL_TRACK_EXTENT
#define WL_TRACK_EXTENT 1
#endif

/* --- capture points (wirelab/capture.h) ------------------------------------------------------------------------ */

/* 0: points compile to nothing, and their arguments are not evaluated. */
#ifndef WL_CAPTURE
#define WL_CAPTURE 1
#endif

/* Records of the ring, a power of two; 16 bytes each. */
#ifndef WL_CAPTURE_RECORDS
#define WL_CAPTURE_RECORDS 512
#endif

/* Named points. */
#ifndef WL_CAPTURE_POINTS
#define WL_CAPTURE_POINTS 8
#endif

/* How deeply points may be nested when their cost is computed. */
#ifndef WL_CAPTURE_DEPTH
#define WL_CAPTURE_DEPTH 8
#endif

/* The clock: an expression of type uint64_t that never runs backwards within a trial. The program must extend a timer of 32
 * bits; reads must work inside interrupts. */
#ifndef WL_CLOCK
#include <stdint.h>
uint64_t wl_clock(void);
#define WL_CLOCK() wl_clock()
#endif

/* Around the few instructions that claim a record, for points both in interrupts and outside of them.
 * WL_LOCK declares what it needs, e.g. on a Cortex-M:
 *   #define WL_LOCK() uint32_t wl_primask = __get_PRIMASK(); __disable_irq()
 *   #define WL_UNLOCK() __set_PRIMASK(wl_primask) */
#ifndef WL_LOCK
#define WL_LOCK()
#define WL_UNLOCK()
#endif

/* For a board with a capture unit in hardware: the expression that marks a frame at `point` (wirelab/points.h). It is evaluated
 * in place of taking a record, and should cost no more than a write. */
#ifndef WL_MARK
#define WL_MARK(point) ((void)0)
#endif

/* --- node control (wirelab/control.h) --------------------------------------------------------------------------- */

/* Sessions: 1 to 16. Each costs the 512 bytes of the last reply and about 48 more. */
#ifndef WL_CONTROL_SESSIONS
#define WL_CONTROL_SESSIONS 4
#endif

/* Sessions of one peer; a further one replaces its own oldest. */
#ifndef WL_CONTROL_SESSIONS_PER_PEER
#define WL_CONTROL_SESSIONS_PER_PEER 2
#endif

/* 0: lines only over UART and TCP, without answers over UDP; saves about 160 bytes of code. */
#ifndef WL_CONTROL_UDP
#define WL_CONTROL_UDP 1
#endif

/* 0: only serial lines are answered. Session numbers can then be guessed, because the host at the cable may choose where
 * traffic goes. Saves about 500 bytes of code. It needs WL_CONTROL_UDP=0. */
#ifndef WL_CONTROL_SECRET
#define WL_CONTROL_SECRET 1
#endif

/* 0: IPv6 addresses are refused as bad values; saves about 500 bytes of code. */
#ifndef WL_CONTROL_IPV6
#define WL_CONTROL_IPV6 1
#endif

/* --- iperf (wirelab/iperf.h) ------------------------------------------------------------------------------------ */

/* Flows at once, 2 to 64: a direction of a stream takes one, so -P 4 with -d takes eight. 336 bytes each. */
#ifndef WL_IPERF_FLOWS
#define WL_IPERF_FLOWS 8
#endif

/* The longest traffic back that a peer may request (-r, -d, -R), in seconds. */
#ifndef WL_IPERF_BACK_S
#define WL_IPERF_BACK_S 600
#endif

/* The same over UDP, where a stack may not report that the peer refuses the data. A longer test ends then, as after its own
 * time. */
#ifndef WL_IPERF_UDP_BACK_S
#define WL_IPERF_UDP_BACK_S 60
#endif

/* The highest rate back over UDP, in bit/s, if the glue does not know the speed of the link. */
#ifndef WL_IPERF_BACK_BITS_PER_S
#define WL_IPERF_BACK_BITS_PER_S 1000000000
#endif

/* Most datagrams or writes of one flow in one call of wl_iperf_poll. */
#ifndef WL_IPERF_BURST
#define WL_IPERF_BURST 16
#endif

/* 0: without the client (wl_iperf_run). */
#ifndef WL_IPERF_CLIENT
#define WL_IPERF_CLIENT 1
#endif

/* --- packet identifier (wirelab/identify.h) --------------------------------------------------------------------- */

/* UDP ports of one rule, 1 to 255; 2 bytes each. */
#ifndef WL_IDENTIFY_PORTS
#define WL_IDENTIFY_PORTS 8
#endif

#if WL_IDENTIFY_PORTS < 1 || WL_IDENTIFY_PORTS > 255
#error "WL_IDENTIFY_PORTS must be 1 to 255"
#endif
#if WL_TRACK_WINDOW < 32 || WL_TRACK_WINDOW > 65536 || (WL_TRACK_WINDOW & (WL_TRACK_WINDOW - 1)) != 0
#error "WL_TRACK_WINDOW must be a power of two from 32 to 65536"
#endif
#if WL_CAPTURE_RECORDS < 2 || (WL_CAPTURE_RECORDS & (WL_CAPTURE_RECORDS - 1)) != 0
#error "WL_CAPTURE_RECORDS must be a power of two"
#endif
#if WL_CAPTURE_POINTS < 1 || WL_CAPTURE_POINTS > 255
#error "WL_CAPTURE_POINTS must be 1 to 255"
#endif
#if WL_LFSR_MAX_BYTES < 64 || WL_LFSR_MAX_BYTES > 9198
#error "WL_LFSR_MAX_BYTES must be 64 to 9198"
#endif
#if WL_CONTROL_SESSIONS < 1 || WL_CONTROL_SESSIONS > 16 || WL_CONTROL_SESSIONS_PER_PEER < 1
#error "WL_CONTROL_SESSIONS must be 1 to 16, WL_CONTROL_SESSIONS_PER_PEER at least 1"
#endif
#if !WL_CONTROL_SECRET && WL_CONTROL_UDP
#error "WL_CONTROL_SECRET=0 lets strangers guess session numbers; fix: set WL_CONTROL_UDP=0 too, or leave it 1"
#endif
#if WL_IPERF_FLOWS < 2 || WL_IPERF_FLOWS > 64 || WL_IPERF_BACK_S < 1 || WL_IPERF_BACK_S > 3600
#error "WL_IPERF_FLOWS must be 2 to 64, WL_IPERF_BACK_S 1 to 3600"
#endif
#if WL_IPERF_UDP_BACK_S < 1 || WL_IPERF_UDP_BACK_S > WL_IPERF_BACK_S
#error "WL_IPERF_UDP_BACK_S must be 1 to WL_IPERF_BACK_S"
#endif

#endif
