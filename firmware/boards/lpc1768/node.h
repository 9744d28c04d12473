/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node application without a stack: trials of Ethernet frames, requested by node control over the serial line. */
#ifndef NODE_H
#define NODE_H

#include "wirelab/control.h"
#include "wirelab/load.h"
#include "wirelab/scenario.h"
#include "wirelab/track.h"

/* A trial, running or the last one. */
struct trial {
	bool any, running;
	struct wl_start asked;
	uint8_t state; /* enum wl_state, after its end */
	const char *why; /* or 0 */
	uint64_t limit_ticks, elapsed_ticks;
	/* A requested end, and since when nothing has arrived. */
	bool ending;
	uint8_t ending_state;
	uint64_t ending_ticks, heard_ticks;
	struct wl_scenario scenario;
	struct wl_scenario_result sent;
	struct wl_receiver receiver;
	struct wl_reception reception;
	uint64_t echoed_frames, echoed_bytes, dropped_frames;
	uint32_t last_rounds; /* of the idle loop, at the flow's last frame */
	bool load_known;
	struct wl_load_figure load;
};

struct node {
	uint8_t address[6];
	bool mac; /* it started */
	struct trial trial;
	/* The last transmit trial of prefilled frames, which a reception is compared with. */
	size_t own_length;
	struct wl_scenario_result own;
	struct wl_load idle;
};

extern struct node node;
extern const struct wl_node node_control; /* for the control protocol */

/* control.c: the serial line. Answers received lines; cheap if there are none. */
void control_init(void);
void control_poll(void);

/* trial.c */
void trial_init(void);
bool trial_start(const struct wl_start *start, struct wl_started *started, struct wl_refusal *refusal);
void trial_stop(enum wl_state state);
/* Do work of the started trial; returns after some work, or at the trial's end. */
void trial_run(void);

/* Whether the trial goes on. It also reads the serial line and the time, so call it often. */
bool trial_goes_on(void);

/* rings.c: the EMAC for transmit scenarios; reception of all frames that wait, false if there was none. */
extern const struct wl_ring trial_ring;
bool reception_poll(void);

/* data.c: the application's data, in local SRAM: the LFSR part of a sequence. */
const uint8_t *application_data(void *context, uint32_t sequence, size_t count);
void application_data_init(void);

#endif
