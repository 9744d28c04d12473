//! The beginning of a session: the hello, whose sender may be forged, and the token.

use std::time::Duration;

use super::{NodeHandler, Peer, Server, answer, refuse};
use crate::line::{Line, LineBuf};
use crate::message::{Auth, Opened, Reply, Request, VERSION};
use crate::refusal::{Code, Refusal};
use crate::token::challenge;

impl<H: NodeHandler> Server<H> {
    /// Answers a line of session 0. `most` is the largest size of the answer in bytes.
    pub(super) fn open(
        &mut self,
        line: &Line<'_>,
        peer: Peer,
        now: Duration,
        most: Option<usize>,
        out: &mut LineBuf,
    ) {
        let hello = match Request::parse(line) {
            Ok(Request::Hello(hello)) => hello,
            Ok(_) => return refuse(Refusal::new(Code::NoSession), line.id, out),
            Err(refusal) => return refuse(refusal, line.id, out),
        };
        if hello.version < 1 {
            return refuse(
                Refusal {
                    limit: Some(1),
                    ..Refusal::new(Code::Version)
                },
                line.id,
                out,
            );
        }
        let too_long = |out: &LineBuf| most.is_some_and(|most| out.as_bytes().len() > most);
        if let Some(session) = self.sessions.opened_by(peer, line.id.number) {
            out.clone_from(&session.reply);
            if too_long(out) {
                refuse(Refusal::new(Code::Pad), line.id, out);
            }
            return;
        }
        let opened = Opened {
            version: hello.version.min(VERSION),
            session: self.sessions.fresh_number(),
            challenge: self.token.is_some().then(challenge),
        };
        let identity = self.handler.identity().clone();
        answer(Reply::Hello(opened.clone(), identity), line.id, out);
        // Before it is known that the reply may be sent, no session is opened or replaced.
        if too_long(out) {
            return refuse(Refusal::new(Code::Pad), line.id, out);
        }
        let idle = self.idle();
        let forgeable = most.is_some();
        let Some(session) =
            self.sessions
                .open(opened.session, peer, line.id.number, now, idle, forgeable)
        else {
            return refuse(Refusal::new(Code::Full), line.id, out);
        };
        session.challenge = opened.challenge;
        session.reply.clone_from(out);
    }

    /// Takes the answer to a session's challenge. A wrong answer ends the challenge, so that a client cannot guess.
    pub(super) fn authenticate(
        &mut self,
        session: u32,
        peer: Peer,
        now: Duration,
        auth: &Auth,
    ) -> Result<Reply, Refusal> {
        let Some(token) = &self.token else {
            return Err(Refusal::unsupported(
                "response",
                "this node requires no token",
            ));
        };
        let Some(session) = self.sessions.get(session, peer, now) else {
            return Err(Refusal::new(Code::NoSession));
        };
        let challenge = session.challenge.take();
        session.proven = session.proven
            || challenge.is_some_and(|c| token.accepts(session.number, &c, &auth.response));
        match session.proven {
            true => Ok(Reply::Auth),
            false => Err(Refusal::new(Code::Token)),
        }
    }
}
