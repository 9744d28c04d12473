/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Inside the control module: writes the replies that the server selects. */
#ifndef WIRELAB_CONTROL_REPLY_H
#define WIRELAB_CONTROL_REPLY_H

#include "wirelab/control.h"

/* Each writes behind the line's name; on false it fills in the refusal. */
void wl_reply_hello(struct wl_out *out, const struct wl_node *node, uint16_t version, uint32_t session);
void wl_reply_started(struct wl_out *out, uint32_t trial, uint64_t limit_ps,
		      const struct wl_started *started);
void wl_reply_status(struct wl_out *out, uint32_t trial, const struct wl_status *status);
void wl_reply_load(struct wl_out *out, uint32_t trial, uint32_t core, const struct wl_cpu_load *load);
bool wl_reply_setup(struct wl_out *out, const struct wl_node *node, uint32_t from,
		    struct wl_refusal *refusal);
bool wl_reply_counters(struct wl_out *out, const struct wl_node *node, uint32_t trial, uint32_t port,
		       uint32_t from, struct wl_refusal *refusal);
bool wl_reply_captures(struct wl_out *out, const struct wl_node *node, uint32_t trial, uint32_t point,
		       uint32_t from, struct wl_refusal *refusal);
void wl_reply_refusal(struct wl_out *out, uint32_t session, uint32_t number,
		      const struct wl_refusal *refusal);

#endif
