/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program of its own: port 1 of the reference node, whose generator and checker it sets up through their drivers.
 *
 * A line `PAYLOAD_BYTES FRAMES DROP_EVERY` sends so many frames without each DROP_EVERY-th (0: all), and prints the checker's
 * counts once they have arrived. The strap loopback_1 makes them return without a cable.
 */
#include "board.h"
#include "print.h"
#include "reference.h"
#include "wl_checker.h"
#include "wl_generator.h"
#include "wl_port.h"

#define PORT PLACE(port_1)
#define UDP_PORT 5003
#define STREAM 1
/* More than the last frame takes from the generator to the checker. */
#define LAST_FRAME_CLOCKS 20000u
/* A checker computes for 514 clocks. A generator that does not end in this time is broken. */
#define READY_CLOCKS 10000u

static const uint8_t source[6] = { 0x02, 0, 0x5E, 0x10, 0, 1 };
static const uint8_t destination[6] = { 0x02, 0, 0x5E, 0x10, 0, 2 };

/* Line 0 is not used: the interrupt of its MAC is never on. */
void mac_interrupt(void)
{
}

static uint32_t now(void)
{
	return NODE(system.cycles);
}

static void say(const char *name, uint32_t number)
{
	print(name);
	print_number(number);
}

/* A number that a space or a line feed ends. */
static uint32_t read_number(void)
{
	uint32_t number = 0;

	for (;;) {
		int byte = board_uart_get();

		if (byte == ' ' || byte == '\n')
			return number;
		if (byte >= '0' && byte <= '9')
			number = 10 * number + (uint32_t)(byte - '0');
	}
}

static bool prepare(void)
{
	struct wl_checker_flow flow = { .udp_port = UDP_PORT, .has_stream = true, .stream = STREAM };
	uint32_t began = now();

	wl_checker_start(wl_port_checker(PORT), &flow);
	while (!wl_checker_ready(wl_port_checker(PORT)))
		if (now() - began > READY_CLOCKS)
			return false;
	return true;
}

static void tell(uint32_t clocks)
{
	struct wl_generator_counts sent;
	struct wl_checker_counts seen;

	wl_generator_read(wl_port_generator(PORT), &sent);
	wl_checker_read(wl_port_checker(PORT), &seen);
	say("sent=", sent.sent_frames);
	say(" sequences=", sent.used_sequences);
	say(" good=", seen.good);
	say(" lost=", seen.lost);
	say(" corrupted=", seen.corrupted + seen.header_corrupt + seen.truncated + seen.stale);
	say(" bad_fcs=", seen.bad_fcs);
	say(" bytes=", (uint32_t)seen.verified_bytes);
	say(" clocks=", clocks);
	print("\n");
}

static void run(uint32_t payload_bytes, uint32_t frames, uint32_t drop_every)
{
	struct wl_generator_settings settings = {
		.payload_bytes = payload_bytes,
		.frames = frames,
		.stream = STREAM,
		.fault = drop_every > 0 ? WL_FAULT_DROP : WL_FAULT_NONE,
		.fault_every = drop_every,
	};
	uint32_t began, ended;

	for (unsigned n = 0; n < sizeof source; n++) {
		settings.source[n] = source[n];
		settings.destination[n] = destination[n];
	}
	if (!prepare()) {
		print("FAULT the checker does not get ready\n");
		return;
	}
	began = now();
	if (frames == 0 || wl_generator_start(wl_port_generator(PORT), &settings) != WL_GENERATOR_STARTED) {
		print("REFUSED\n");
		return;
	}
	while (!wl_generator_finished(wl_port_generator(PORT)))
		;
	ended = now();
	while (now() - ended < LAST_FRAME_CLOCKS)
		;
	tell(ended - began);
}

int main(void)
{
	NODE(system.clocks) = BITS(SYSTEM__CLOCKS__PORT_1);
	if (!wl_port_is_there(PORT)) {
		print("FAULT port 1 does not answer\n");
		board_exit();
	}
	print("READY name=reference-port\n");
	for (;;) {
		uint32_t payload_bytes = read_number(), frames = read_number();

		run(payload_bytes, frames, read_number());
	}
}
