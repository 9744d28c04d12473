//! A node without I/O: takes a line and its sender, and returns at most one line.

mod check;
mod handler;
mod opening;
mod pace;
mod session;

use std::net::IpAddr;
use std::time::Duration;

pub use check::check_start;
pub use handler::NodeHandler;
use pace::Pace;
use session::Sessions;

use crate::line::{Kind, Line, LineBuf, RequestId, word};
use crate::message::{Capture, Counters, Setup, Span};
use crate::message::{Reply, Request, Start, Status};
use crate::refusal::{Code, MAX_WHY, Refusal, cut};
use crate::token::Token;
use crate::value::State;

/// Hellos from addresses that may be forged: this many at once, then this many per second. The node does not answer
/// more.
const HELLOS_AT_ONCE: u32 = 32;
const HELLOS_PER_S: u32 = 16;
/// Most capture records that can fit one line: `0:0,` each.
const MAX_RECORDS_A_LINE: usize = 100;

/// The origin of a line. Traffic goes only there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A host: TCP or UDP from this address, whatever the port.
    Host(IpAddr),
    /// The other end of this UART or pipe.
    Serial(u32),
}

impl Peer {
    /// Whether lines need a checksum, because no lower layer detects errors.
    pub const fn needs_check(self) -> bool {
        matches!(self, Peer::Serial(_))
    }
}

/// Limits of the server itself.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Most sessions at once; each takes less than 1 KiB.
    pub max_sessions: usize,
    /// Most sessions of one peer at once.
    pub max_sessions_per_peer: usize,
    /// Seed of session numbers, for repeatable tests; without one the system generates them, and they cannot be
    /// guessed.
    pub seed: Option<u64>,
}

impl Config {
    /// 16 sessions, 4 of each peer, with random numbers of the system.
    pub const fn random() -> Config {
        Config {
            max_sessions: 16,
            max_sessions_per_peer: 4,
            seed: None,
        }
    }
}

/// The last started trial.
#[derive(Clone, Copy, Debug)]
struct Current {
    trial: u32,
    owner: Peer,
    heard: Duration,
}

/// A node behind the protocol.
#[derive(Debug)]
pub struct Server<H> {
    handler: H,
    sessions: Sessions,
    trials: u32,
    current: Option<Current>,
    token: Option<Token>,
    hellos: Pace,
    proven: bool,
}

impl<H: NodeHandler> Server<H> {
    /// A node without clients.
    pub fn new(handler: H, config: Config) -> Server<H> {
        let sessions = Sessions::new(
            config.max_sessions.max(1),
            config.max_sessions_per_peer.max(1),
            config.seed,
        );
        Server {
            handler,
            sessions,
            trials: 0,
            current: None,
            token: None,
            hellos: Pace::new(HELLOS_AT_ONCE, HELLOS_PER_S),
            proven: false,
        }
    }

    /// Requires this token of all clients.
    #[must_use]
    pub fn with_token(self, token: Token) -> Server<H> {
        Server {
            token: Some(token),
            ..self
        }
    }

    /// The node itself.
    pub fn handler(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Sessions in use.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Whether the last line was from a client that has proven that it receives at its address (it knows its session
    /// number), and that has the token, if any.
    pub const fn last_was_proven(&self) -> bool {
        self.proven
    }

    /// Whether clients need a token.
    pub const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Handles timeouts: abandons the trial of a silent client. Call it regularly.
    pub fn poll(&mut self, now: Duration) {
        let Some(current) = self.current else { return };
        let idle = self.idle();
        if now.saturating_sub(current.heard) >= idle
            && self.handler.status(now).state == State::Running
        {
            self.handler.stop(State::Abandoned, now);
        }
    }

    fn idle(&self) -> Duration {
        Duration::from_millis(u64::from(self.handler.identity().idle_ms))
    }

    /// Takes one line (or what should be one) and writes the answer, if any, into `out`.
    pub fn handle<'o>(
        &mut self,
        bytes: &[u8],
        peer: Peer,
        now: Duration,
        out: &'o mut LineBuf,
    ) -> Option<&'o [u8]> {
        let answered = self.take(bytes, peer, now, None, out);
        answered.then_some(out.as_bytes())
    }

    /// Takes a datagram, whose sender's address may be forged: outside a session an answer has at most as many bytes.
    pub fn handle_datagram<'o>(
        &mut self,
        bytes: &[u8],
        peer: Peer,
        now: Duration,
        out: &'o mut LineBuf,
    ) -> Option<&'o [u8]> {
        let answered = self.take(bytes, peer, now, Some(bytes.len()), out);
        answered.then_some(out.as_bytes())
    }

    /// Returns whether there is an answer. `most` is its largest size outside a session.
    fn take(
        &mut self,
        bytes: &[u8],
        peer: Peer,
        now: Duration,
        most: Option<usize>,
        out: &mut LineBuf,
    ) -> bool {
        self.poll(now);
        self.proven = false;
        // Answers and noise get no answer, so two nodes cannot start a conversation.
        if bytes.first() != Some(&b'?') {
            return false;
        }
        let in_session = match Line::parse(bytes, peer.needs_check()) {
            Err(error) => match Refusal::of_fault(error.fault) {
                None => return false,
                Some(refusal) => {
                    refuse(refusal, error.id, out);
                    false
                }
            },
            Ok(line) if line.id.session == 0 => {
                if most.is_some() && !self.hellos.allows(now) {
                    return false;
                }
                self.open(&line, peer, now, most, out);
                false
            }
            Ok(line) => self.within(&line, peer, now, out),
        };
        in_session || most.is_none_or(|most| out.as_bytes().len() <= most)
    }

    /// Answers a request whose line was too long to keep.
    pub fn handle_too_long<'o>(&self, out: &'o mut LineBuf) -> &'o [u8] {
        if let Some(refusal) = Refusal::of_fault(crate::line::Fault::TooLong) {
            refuse(refusal, RequestId::default(), out);
        }
        out.as_bytes()
    }

    /// Answers a line of a session; returns whether the session exists.
    fn within(&mut self, line: &Line<'_>, peer: Peer, now: Duration, out: &mut LineBuf) -> bool {
        let Some(session) = self.sessions.get(line.id.session, peer, now) else {
            refuse(Refusal::new(Code::NoSession), line.id, out);
            return false;
        };
        // Only a client that received the reply to hello knows the number.
        session.proven |= self.token.is_none();
        let (last, number, mut proven) = (session.last, line.id.number, session.proven);
        let mut starts = false;
        if number != 0 && number == last {
            out.clone_from(&session.reply);
        } else if number < last || number == 0 {
            refuse(Refusal::new(Code::Stale), line.id, out);
        } else {
            let reply = match Request::parse(line) {
                Ok(Request::Auth(auth)) => self.authenticate(line.id.session, peer, now, &auth),
                _ if !proven => Err(Refusal::new(Code::Token)),
                Ok(request) => {
                    starts = matches!(request, Request::Start(_));
                    self.execute(&request, peer, now)
                }
                Err(refusal) => Err(refusal),
            };
            answer(reply.unwrap_or_else(Reply::Error), line.id, out);
            if let Some(session) = self.sessions.get(line.id.session, peer, now) {
                session.last = number;
                session.reply.clone_from(out);
                proven = session.proven;
            }
        }
        self.proven = proven;
        // A waiting tester on the same host must not keep another's trial alive.
        let owner = self.current.as_mut().filter(|c| c.owner == peer);
        if let Some(current) = owner.filter(|_| proven && !starts) {
            current.heard = now;
        }
        true
    }

    fn execute(&mut self, request: &Request, peer: Peer, now: Duration) -> Result<Reply, Refusal> {
        match request {
            Request::Hello(_) | Request::Auth(_) => Err(Refusal::new(Code::NoSession)),
            Request::Setup(ask) => self.setup(ask.from).map(Reply::Setup),
            Request::Start(start) => self.start(start, peer, now),
            Request::Status(ask) => {
                if let Some(trial) = ask.trial {
                    self.is_last(trial)?;
                }
                Ok(Reply::Status(self.status(now)))
            }
            Request::Stop(stop) => {
                if self.is_last(stop.trial)?.owner != peer {
                    return Err(Refusal {
                        trial: Some(stop.trial),
                        ..Refusal::new(Code::NotOwner)
                    });
                }
                if self.handler.status(now).state == State::Running {
                    self.handler.stop(State::Stopped, now);
                }
                Ok(Reply::Stop(self.status(now)))
            }
            Request::Counters(ask) => {
                self.is_last(ask.trial)?;
                self.counters(ask.trial, ask.port.unwrap_or(0), ask.from)
                    .map(Reply::Counters)
            }
            Request::Load(ask) => {
                self.is_last(ask.trial)?;
                let load = self.handler.load(ask.core.unwrap_or(0))?;
                Ok(Reply::Load(crate::message::CpuLoad {
                    trial: ask.trial,
                    ..load
                }))
            }
            Request::Captures(ask) => {
                self.is_last(ask.trial)?;
                self.captures(ask.trial, ask.point, ask.from)
                    .map(Reply::Captures)
            }
        }
    }

    fn start(&mut self, start: &Start, peer: Peer, now: Duration) -> Result<Reply, Refusal> {
        let limit_ps = check_start(start, self.handler.identity(), peer)?;
        if let Some(current) = self
            .current
            .filter(|_| self.handler.status(now).state == State::Running)
        {
            return Err(Refusal {
                trial: Some(current.trial),
                ..Refusal::new(Code::Busy)
            });
        }
        // 0 stands for "no trial yet".
        let trial = self.trials.checked_add(1).unwrap_or(1);
        let started = self.handler.start(
            trial,
            start,
            Duration::from_nanos(limit_ps / 1000),
            peer,
            now,
        )?;
        self.trials = trial;
        self.current = Some(Current {
            trial,
            owner: peer,
            heard: now,
        });
        Ok(Reply::Start(crate::message::Started {
            trial,
            limit_ps,
            ..started
        }))
    }

    fn is_last(&self, trial: u32) -> Result<Current, Refusal> {
        let refusal = Refusal {
            trial: Some(trial),
            ..Refusal::new(Code::NoTrial)
        };
        self.current.filter(|c| c.trial == trial).ok_or(refusal)
    }

    fn status(&mut self, now: Duration) -> Status {
        let status = self.handler.status(now);
        let why = status
            .why
            .as_deref()
            .map(|why| cut(why, MAX_WHY).to_owned());
        Status {
            trial: self.current.map_or(0, |c| c.trial),
            why,
            ..status
        }
    }

    fn setup(&self, from: u32) -> Result<Setup, Refusal> {
        let all = self.handler.setup();
        let span = page(from, all.len())?;
        let keys: Vec<_> = all[from as usize..]
            .iter()
            .map(|(k, v)| (k.clone(), cut(v, MAX_WHY).to_owned()))
            .collect();
        names(keys.iter().map(|(key, _)| key))?;
        Ok(Setup { span, keys })
    }

    fn counters(&mut self, trial: u32, port: u32, from: u32) -> Result<Counters, Refusal> {
        let mut counters = self.handler.counters(port);
        if counters.is_empty() {
            return Err(Refusal::unsupported("port", "no counters here"));
        }
        names(counters.iter().map(|(name, _)| name))?;
        let span = page(from, counters.len())?;
        counters.drain(..from as usize);
        Ok(Counters {
            trial,
            port,
            span,
            counters,
        })
    }

    fn captures(&mut self, trial: u32, at: u32, from: u32) -> Result<Capture, Refusal> {
        let (point, count) = self.handler.point(at)?;
        let span = page(from, count as usize)?;
        let mut records = self.handler.records(at, from, MAX_RECORDS_A_LINE);
        records.truncate((count - from) as usize);
        let point = crate::message::Point {
            trial,
            point: at,
            ..point
        };
        Ok(Capture {
            point,
            span,
            records,
        })
    }
}

/// The span of a page from index `from`.
fn page(from: u32, count: usize) -> Result<Span, Refusal> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    if from > count {
        return Err(Refusal::limit("from", u64::from(count)));
    }
    Ok(Span {
        from,
        count,
        next: from,
    })
}

/// Whether each name, after its prefix, is a valid key: an error of the node must not produce an unreadable line.
fn names<'a>(mut all: impl Iterator<Item = &'a String>) -> Result<(), Refusal> {
    match all.find(|name| word(format!("set.{name}").as_bytes()).is_none()) {
        Some(bad) => Err(Refusal::failed(&format!("invalid key '{bad}'"))),
        None => Ok(()),
    }
}

fn refuse(refusal: Refusal, id: RequestId, out: &mut LineBuf) {
    answer(Reply::Error(refusal), id, out);
}

/// Writes a reply; one that does not fit a line becomes an error.
fn answer(reply: Reply, id: RequestId, out: &mut LineBuf) {
    if reply.emit(id, out).is_none() {
        out.begin(Kind::Error, id, Code::Failed.word());
        out.field("why", b"the reply does not fit a line");
        let _ = out.finish();
    }
}
