/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The node's side of the control protocol: sessions, repetition, and the commands. */
#include "bytes.h"
#include "control_reply.h"

/* Hellos over UDP, whose sender may be forged: most at once, and the milliseconds for one more. */
#define HELLO_BURST 16
#define HELLO_MS 100

static bool same_peer(const struct wl_peer *one, const struct wl_peer *other)
{
	if (one->serial || other->serial)
		return one->serial && other->serial && one->line == other->line;
	return one->host.version == other->host.version &&
	       memcmp(one->host.bytes, other->host.bytes, one->host.version == 6 ? 16 : 4) == 0;
}

void wl_control_init(struct wl_control *control, const struct wl_node *node, uint64_t seed)
{
	memset(control, 0, sizeof(*control));
	control->node = node;
	wl_secret_stir(&control->secret, seed);
	control->hello_saved_ms = HELLO_BURST * HELLO_MS;
}

static enum wl_state state_now(struct wl_control *c, uint64_t now_ms, struct wl_status *status)
{
	*status = (struct wl_status){ 0 };
	c->node->status(c->node->context, now_ms, status);
	return (enum wl_state)status->state;
}

void wl_control_poll(struct wl_control *c, uint64_t now_ms)
{
	struct wl_status status;

	if (c->trial == 0 || now_ms - c->owner_heard_ms < c->node->identity->idle_ms)
		return;
	if (state_now(c, now_ms, &status) == WL_RUNNING)
		c->node->stop(c->node->context, WL_ABANDONED, now_ms);
}

void wl_control_stir(struct wl_control *c, uint64_t word)
{
	wl_secret_stir(&c->secret, word);
}

uint32_t wl_control_random(struct wl_control *c)
{
	return wl_secret_draw(&c->secret, WL_SECRET_CONNECTION);
}

/* No host can compute a session number from those that it received: a host that knows a number has received a reply at its
 * address. */
static uint32_t fresh_number(struct wl_control *c)
{
	for (;;) {
		uint32_t number = wl_secret_draw(&c->secret, WL_SECRET_SESSION);
		bool taken = false;

		for (int n = 0; n < WL_CONTROL_SESSIONS; n++)
			taken = taken || c->sessions[n].number == number;
		if (number != 0 && !taken)
			return number;
	}
}

/* A line outside of a session proves nothing about the address. */
static bool may_be_forged(const struct wl_peer *peer)
{
	return WL_CONTROL_UDP && !peer->serial && !peer->stream;
}

/* In which order places are given away. */
enum { FREE, UNUSED, USED, KEPT };

/* A peer with its full share replaces only its own sessions. Unused ones go first, so that a flood of hellos, in any name,
 * replaces only those. A hello over UDP may be forged, so it replaces no session whose client may be alive. */
static unsigned rank(const struct wl_control *c, const struct wl_session *s, bool share,
		     const struct wl_peer *peer, uint64_t now_ms)
{
	uint32_t idle_ms = c->node->identity->idle_ms;
	uint32_t least_ms = !share ? idle_ms : may_be_forged(peer) ? idle_ms / 2 : 0;

	if (share && (s->number == 0 || !same_peer(&s->peer, peer)))
		return KEPT;
	if (s->last != 0)
		return now_ms - s->heard_ms < least_ms ? KEPT : USED;
	return s->number == 0 ? FREE : UNUSED;
}

/* A place for a session; of several alike the one silent for longest. 0 if a recently heard client holds every place. */
static struct wl_session *make_room(struct wl_control *c, const struct wl_peer *peer, uint64_t now_ms)
{
	struct wl_session *place = 0, *s;
	unsigned own = 0, best = KEPT;

	for (s = c->sessions; s < c->sessions + WL_CONTROL_SESSIONS; s++)
		own += s->number != 0 && same_peer(&s->peer, peer);
	for (s = c->sessions; s < c->sessions + WL_CONTROL_SESSIONS; s++) {
		unsigned ready = rank(c, s, own >= WL_CONTROL_SESSIONS_PER_PEER, peer, now_ms);

		if (ready < best || (ready == best && place != 0 && s->heard_ms < place->heard_ms)) {
			best = ready;
			place = s;
		}
	}
	return place;
}

static void keep(struct wl_session *session, const struct wl_out *out)
{
	memcpy(session->reply, out->bytes, out->count);
	session->reply_count = out->count;
}

static void repeat(const struct wl_session *session, struct wl_out *out)
{
	memcpy(out->bytes, session->reply, session->reply_count);
	out->count = session->reply_count;
}

/* End a reply; one that does not fit a line becomes an error about that. */
static void end(struct wl_out *out, const struct wl_line *line)
{
	struct wl_refusal refusal;

	if (wl_out_end(out))
		return;
	wl_refuse(&refusal, "failed", 0, "the reply does not fit a line");
	wl_reply_refusal(out, line->session, line->number, &refusal);
}

static void refuse(struct wl_control *c, const struct wl_line *line, const char *code)
{
	struct wl_refusal refusal;

	wl_refuse(&refusal, code, 0, 0);
	wl_reply_refusal(&c->out, line->session, line->number, &refusal);
}

/* A number that wl_request_check has accepted, or 0. */
static uint32_t number_of(const struct wl_line *line, const char *key)
{
	struct wl_text text;
	uint64_t number = 0;

	if (wl_line_get(line, key, &text))
		wl_text_number(text, &number);
	return (uint32_t)number;
}

bool wl_control_proven(const struct wl_control *c, const struct wl_ip *host, uint64_t now_ms)
{
	const struct wl_peer peer = { .host = *host };

	for (const struct wl_session *s = c->sessions; s < c->sessions + WL_CONTROL_SESSIONS; s++)
		if (s->number != 0 && s->last != 0 && now_ms - s->heard_ms < WL_PROOF_MS &&
		    same_peer(&s->peer, &peer))
			return true;
	return false;
}

static bool may_hello(struct wl_control *c, uint64_t now_ms)
{
	/* Modulo 2^32: also correct if the node's counter has 32 bits and wraps. */
	uint32_t passed_ms = (uint32_t)now_ms - c->hello_ms;
	uint32_t room_ms = HELLO_BURST * HELLO_MS - c->hello_saved_ms;

	c->hello_ms = (uint32_t)now_ms;
	c->hello_saved_ms += passed_ms < room_ms ? passed_ms : room_ms;
	if (c->hello_saved_ms < HELLO_MS)
		return false;
	c->hello_saved_ms -= HELLO_MS;
	return true;
}

/* The still unused session that the same hello has opened, or 0. */
static struct wl_session *opened(struct wl_control *c, const struct wl_line *line, const struct wl_peer *peer)
{
	for (struct wl_session *s = c->sessions; s < c->sessions + WL_CONTROL_SESSIONS; s++)
		if (s->number != 0 && s->last == 0 && s->nonce == line->number && same_peer(&s->peer, peer))
			return s;
	return 0;
}

/* Open a session with a reply of at most so many bytes, or fill in the refusal. */
static const char *grant(struct wl_control *c, const struct wl_line *line, const struct wl_peer *peer,
			 uint16_t version, size_t most, uint64_t now_ms)
{
	struct wl_session *s = make_room(c, peer, now_ms);
	uint32_t number;

	if (s == 0)
		return "full";
	number = fresh_number(c);
	wl_out_begin(&c->out, '=', line->session, line->number, "hello");
	wl_reply_hello(&c->out, c->node, version < WL_CONTROL_VERSION ? version : WL_CONTROL_VERSION, number);
	end(&c->out, line);
	if (WL_CONTROL_UDP && c->out.count > most)
		return "pad";
	s->number = number;
	s->nonce = line->number;
	s->last = 0;
	s->heard_ms = now_ms;
	s->peer = *peer;
	keep(s, &c->out);
	return 0;
}

/* Handle a line in session 0, with an answer of at most `most` bytes. */
static void open(struct wl_control *c, const struct wl_line *line, const struct wl_peer *peer, size_t most,
		 uint64_t now_ms)
{
	struct wl_refusal refusal = { 0 };
	bool hello = wl_text_is(line->name, "hello");
	struct wl_session *s;

	if (hello && may_be_forged(peer) && !may_hello(c, now_ms)) {
		c->out.count = 0;
		return;
	}
	if (wl_request_check(line, &refusal)) {
		uint32_t version = number_of(line, "version");

		if (!hello)
			refusal.code = "no-session";
		else if (version < 1)
			refusal = (struct wl_refusal){ .code = "version", .limited = true, .limit = 1 };
		else if ((s = opened(c, line, peer)) == 0)
			refusal.code = grant(c, line, peer, (uint16_t)version, most, now_ms);
		else if (WL_CONTROL_UDP && s->reply_count > most)
			refusal.code = "pad";
		else
			repeat(s, &c->out);
	}
	if (refusal.code != 0)
		wl_reply_refusal(&c->out, line->session, line->number, &refusal);
}

static bool start(struct wl_control *c, const struct wl_line *line, const struct wl_peer *peer,
		  uint64_t now_ms, struct wl_refusal *refusal)
{
	/* 0 stands for "no trial yet". */
	uint32_t trial = c->trial == UINT32_MAX ? 1 : c->trial + 1;
	struct wl_started started = { 0 };
	struct wl_status status;
	struct wl_start asked;

	if (!wl_start_read(line, &asked, refusal) ||
	    !wl_start_check(&asked, c->node->identity, peer, refusal))
		return false;
	if (c->trial != 0 && state_now(c, now_ms, &status) == WL_RUNNING) {
		*refusal = (struct wl_refusal){ .code = "busy", .about_trial = true, .trial = c->trial };
		return false;
	}
	if (!c->node->start(c->node->context, trial, &asked, peer, now_ms, &started, refusal))
		return false;
	c->trial = trial;
	c->owner = *peer;
	c->owner_heard_ms = now_ms;
	wl_reply_started(&c->out, trial, asked.limit_ps, &started);
	return true;
}

static bool stop(struct wl_control *c, const struct wl_peer *peer, uint64_t now_ms,
		 struct wl_refusal *refusal)
{
	struct wl_status status;

	if (!same_peer(&c->owner, peer)) {
		*refusal = (struct wl_refusal){ .code = "not-owner", .about_trial = true, .trial = c->trial };
		return false;
	}
	if (state_now(c, now_ms, &status) == WL_RUNNING)
		c->node->stop(c->node->context, WL_STOPPED, now_ms);
	state_now(c, now_ms, &status);
	wl_reply_status(&c->out, c->trial, &status);
	return true;
}

static bool load(struct wl_control *c, uint32_t core, struct wl_refusal *refusal)
{
	struct wl_cpu_load figures = { 0 };

	if (!c->node->load(c->node->context, core, &figures, refusal))
		return false;
	wl_reply_load(&c->out, c->trial, core, &figures);
	return true;
}

/* Execute a request; the reply has begun. On false it fills in the refusal. */
static bool execute(struct wl_control *c, const struct wl_line *line, const struct wl_peer *peer,
		    uint64_t now_ms, struct wl_refusal *refusal)
{
	uint32_t from = number_of(line, "from"), trial = number_of(line, "trial");
	struct wl_status status;
	struct wl_text text;

	if (!wl_request_check(line, refusal))
		return false;
	if (wl_text_is(line->name, "hello"))
		return wl_reply_setup(&c->out, c->node, from, refusal);
	if (wl_text_is(line->name, "start"))
		return start(c, line, peer, now_ms, refusal);
	if (wl_line_get(line, "trial", &text) && (trial == 0 || trial != c->trial)) {
		*refusal = (struct wl_refusal){ .code = "no-trial", .about_trial = true, .trial = trial };
		return false;
	}
	if (wl_text_is(line->name, "status")) {
		state_now(c, now_ms, &status);
		wl_reply_status(&c->out, c->trial, &status);
		return true;
	}
	if (wl_text_is(line->name, "stop"))
		return stop(c, peer, now_ms, refusal);
	if (wl_text_is(line->name, "counters"))
		return wl_reply_counters(&c->out, c->node, trial, number_of(line, "port"), from, refusal);
	if (wl_text_is(line->name, "load"))
		return load(c, number_of(line, "core"), refusal);
	return wl_reply_captures(&c->out, c->node, trial, number_of(line, "point"), from, refusal);
}

/* Answer a request. False for a start that has to wait: it may be another client's on that host, so it does not show that the
 * client of the running trial is alive. */
static bool perform(struct wl_control *c, const struct wl_line *line, const struct wl_peer *peer,
		    uint64_t now_ms)
{
	struct wl_refusal refusal = { 0 };
	char name[WL_KEY_BYTES + 1];

	memcpy(name, line->name.at, line->name.count);
	name[line->name.count] = 0;
	wl_out_begin(&c->out, '=', line->session, line->number, name);
	if (execute(c, line, peer, now_ms, &refusal)) {
		end(&c->out, line);
		return true;
	}
	wl_reply_refusal(&c->out, line->session, line->number, &refusal);
	return !(refusal.about_trial && wl_text_is(line->name, "start"));
}

/* Answer a line of a session. False if the peer has no session of that number. */
static bool within(struct wl_control *c, const struct wl_line *line, const struct wl_peer *peer,
		   uint64_t now_ms)
{
	struct wl_session *s = c->sessions;
	bool counts = true;

	while (s < c->sessions + WL_CONTROL_SESSIONS &&
	       (s->number != line->session || !same_peer(&s->peer, peer)))
		s++;
	if (s == c->sessions + WL_CONTROL_SESSIONS) {
		refuse(c, line, "no-session");
		return false;
	}
	s->heard_ms = now_ms;
	if (line->number == 0 || line->number < s->last) {
		refuse(c, line, "stale");
	} else if (line->number == s->last) {
		repeat(s, &c->out);
	} else {
		counts = perform(c, line, peer, now_ms);
		s->last = line->number;
		keep(s, &c->out);
	}
	if (counts && c->trial != 0 && same_peer(&c->owner, peer))
		c->owner_heard_ms = now_ms;
	return true;
}

/* Whether the options allow requests from a peer of that kind. */
static bool may_ask(const struct wl_peer *peer)
{
	if (!WL_CONTROL_SECRET && !peer->serial)
		return false;
	return WL_CONTROL_UDP || peer->serial || peer->stream;
}

size_t wl_control_handle(struct wl_control *c, const char *bytes, size_t count, const struct wl_peer *peer,
			 uint64_t now_ms, const char **reply)
{
	/* A host that forges an address causes no more traffic to it than it sends itself. */
	size_t most = may_be_forged(peer) ? count : WL_LINE_BYTES;
	struct wl_line line;
	bool known = false;

	wl_control_poll(c, now_ms);
	*reply = c->out.bytes;
	/* Neither answers nor noise are answered, so two nodes cannot answer each other endlessly. */
	if (count == 0 || bytes[0] != '?' || !may_ask(peer))
		return 0;
	switch (wl_line_read(bytes, count, peer->serial, &line)) {
	case WL_LINE_NOISE:
		return 0;
	case WL_LINE_TOO_LONG:
		wl_control_too_long(c, reply);
		break;
	case WL_LINE_BAD_CHECK:
		refuse(c, &line, "bad-check");
		break;
	case WL_LINE_NO_CHECK:
		refuse(c, &line, "no-check");
		break;
	case WL_LINE_BAD:
		refuse(c, &line, "bad-line");
		break;
	case WL_LINE_OK:
		if (line.session == 0)
			open(c, &line, peer, most, now_ms);
		else
			known = within(c, &line, peer, now_ms);
	}
	return !WL_CONTROL_UDP || known || c->out.count <= most ? c->out.count : 0;
}

size_t wl_control_too_long(struct wl_control *c, const char **reply)
{
	struct wl_refusal refusal = { .code = "too-long", .limited = true, .limit = WL_LINE_BYTES };

	wl_reply_refusal(&c->out, 0, 0, &refusal);
	*reply = c->out.bytes;
	return c->out.count;
}
