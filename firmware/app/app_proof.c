/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hosts that have proven their address. The address of a UDP datagram can be forged, so traffic goes to no other host. */
#include "app_parts.h"

void wl_app_connected(struct wl_app *app, const struct wl_ip *host)
{
	struct wl_app_proof *oldest = app->proofs;

	for (struct wl_app_proof *p = app->proofs; p < app->proofs + WL_APP_PROOFS; p++) {
		if (wl_app_same_host(&p->host, host)) {
			oldest = p;
			break;
		}
		if (p->heard < oldest->heard)
			oldest = p;
	}
	oldest->host = *host;
	oldest->heard = WL_CLOCK();
}

bool wl_app_proven(const struct wl_app *app, const struct wl_ip *host)
{
	uint64_t now = WL_CLOCK();

	for (const struct wl_app_proof *p = app->proofs; p < app->proofs + WL_APP_PROOFS; p++)
		if (wl_app_same_host(&p->host, host) && now - p->heard < WL_PROOF_MS * app->ms_ticks)
			return true;
	return wl_control_proven(&app->control, host, now / app->ms_ticks);
}
