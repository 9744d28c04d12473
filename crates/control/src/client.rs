//! A client of a node: one request at a time, repeated until its answer arrives, and executed once however often it was
//! sent.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use wirelab_trial::Clock;
use wirelab_trial::stage::PointTimes;
use wirelab_trial::system_error::system_fix;

use crate::line::RequestId;
use crate::message::{
    AskCaptures, AskCounters, AskLoad, AskSetup, AskStatus, Auth, CpuLoad, Identity, Opened, Point,
    Reply, Request, Start, Started, Status, Stop, VERSION,
};
use crate::message::{Record, Span};
use crate::refusal::{Code, Refusal};
use crate::token::Token;
use crate::transport::Transport;

mod link;

use link::Link;

/// Most items that are collected from the pages of one list.
pub const MAX_ITEMS: usize = 65_536;

/// The timeouts and number of tries.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Wait after the first try; doubled after each further one.
    pub first: Duration,
    /// The longest wait after one try.
    pub longest: Duration,
    /// Tries.
    pub tries: u32,
}

impl Default for Patience {
    /// 100 ms, doubled up to 2 s, eight tries: 9.1 s in all.
    fn default() -> Patience {
        Patience {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(2),
            tries: 8,
        }
    }
}

/// Why there is no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No answer arrived.
    #[error(
        "no answer to '{command}' after {tries} tries; fix: check that the node runs and its control port is reachable"
    )]
    Silent {
        /// The command.
        command: &'static str,
        /// Number of tries.
        tries: u32,
    },
    /// The node refused.
    #[error("the node refuses '{command}': {refusal}; fix: {}", .refusal.code.fix())]
    Refused {
        /// The command.
        command: &'static str,
        /// Its error line.
        refusal: Refusal,
    },
    /// The node requires a token.
    #[error("the node requires a token; fix: give the one that it was started with")]
    NeedsToken,
    /// It has another token.
    #[error("the node has another token; fix: give the one that it was started with")]
    WrongToken,
    /// The node has forgotten the session.
    #[error(
        "the node no longer knows this session: it was restarted, or other clients replaced this one; fix: measure again"
    )]
    SessionLost,
    /// The answer breaks the protocol.
    #[error(
        "the answer to '{command}' breaks the protocol: {what}; fix: use the same release of wirelab on both sides"
    )]
    Protocol {
        /// The command.
        command: &'static str,
        /// The violation.
        what: String,
    },
    /// The request does not fit a line.
    #[error(
        "the request '{0}' does not fit a line of 512 bytes; fix: shorten the rule or the names in it"
    )]
    TooLong(&'static str),
    /// The transport failed.
    #[error("control connection: {}; fix: {}", .0, system_fix(.0))]
    Io(#[from] io::Error),
}

/// Counters beside the answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounts {
    /// Lines sent.
    pub sent: u64,
    /// Of these, repetitions.
    pub repeated: u64,
    /// Answers to an earlier request, or a second answer.
    pub stale: u64,
    /// Unreadable lines: noise, echo, damaged lines.
    pub unreadable: u64,
}

/// Records of one capture point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointRecords {
    /// The point and its clock.
    pub point: Point,
    /// All its records.
    pub records: Vec<Record>,
}

impl PointRecords {
    /// The times with their clock.
    pub fn times(&self) -> PointTimes {
        let point = &self.point;
        PointTimes {
            name: point.name.clone(),
            stream: point.stream,
            clock: Clock {
                kind: point.clock,
                tick_ps: point.tick_ps,
                resolution_ticks: point.resolution_ticks,
                owner: point.owner,
            },
            times: self.records.iter().map(|r| (r.sequence, r.ticks)).collect(),
        }
    }
}

/// A client in a session with a node.
#[derive(Debug)]
pub struct Client<T> {
    transport: T,
    patience: Patience,
    session: u32,
    number: u32,
    counts: ClientCounts,
    opened: Opened,
    identity: Identity,
}

impl<T: Transport> Client<T> {
    /// Says hello and opens a session.
    ///
    /// # Errors
    /// [`ClientError`], e.g. where no node answers.
    pub fn open(transport: T, patience: Patience) -> Result<Client<T>, ClientError> {
        Client::open_as(transport, patience, None)
    }

    /// Opens a session with the token that the node may require.
    ///
    /// # Errors
    /// [`ClientError`], e.g. where the node has another token.
    pub fn open_as(
        transport: T,
        patience: Patience,
        token: Option<&Token>,
    ) -> Result<Client<T>, ClientError> {
        use std::hash::{BuildHasher, Hasher};
        // A nonce, so that an earlier client's hello from the same address is not mistaken for this one.
        let nonce = std::hash::RandomState::new().build_hasher().finish() as u32;
        let mut client = Client::open_with(transport, patience, nonce)?;
        client.authenticate(token)?;
        Ok(client)
    }

    fn authenticate(&mut self, token: Option<&Token>) -> Result<(), ClientError> {
        let Some(challenge) = &self.opened.challenge else {
            return Ok(());
        };
        let token = token.ok_or(ClientError::NeedsToken)?;
        let response = token.response(self.session, challenge);
        match self.ask(&Request::Auth(Auth { response })) {
            Ok(Reply::Auth) => Ok(()),
            Ok(_) => Err(unexpected("auth")),
            Err(ClientError::Refused { refusal, .. }) if refusal.code == Code::Token => {
                Err(ClientError::WrongToken)
            }
            Err(error) => Err(error),
        }
    }

    /// Sets the timeouts of further requests, e.g. longer than for the first `hello`.
    pub const fn be_patient(&mut self, patience: Patience) {
        self.patience = patience;
    }

    /// Opens a session with a given nonce, for repeatable tests.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn open_with(
        transport: T,
        patience: Patience,
        nonce: u32,
    ) -> Result<Client<T>, ClientError> {
        let mut link = Link {
            transport,
            patience,
            counts: ClientCounts::default(),
        };
        let id = RequestId {
            session: 0,
            number: nonce,
        };
        let (opened, identity) = link.hello(id)?;
        if !(1..=VERSION).contains(&opened.version) || opened.session == 0 {
            return Err(ClientError::Protocol {
                command: "hello",
                what: format!("version {}", opened.version),
            });
        }
        let Link {
            transport, counts, ..
        } = link;
        Ok(Client {
            transport,
            patience,
            session: opened.session,
            number: 0,
            counts,
            opened,
            identity,
        })
    }

    /// The node's identity and limits.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }
    /// Version and session.
    pub const fn opened(&self) -> &Opened {
        &self.opened
    }
    /// Counters beside the answers.
    pub const fn counts(&self) -> ClientCounts {
        self.counts
    }
    /// The transport.
    pub fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Sends a request with a new number until there is an answer.
    ///
    /// # Errors
    /// [`ClientError`]; the node's refusal is [`ClientError::Refused`].
    pub fn ask(&mut self, request: &Request) -> Result<Reply, ClientError> {
        self.ask_while(request, |_| false)
    }

    /// Repeats all tries as long as `goes_on`, which gets the number of rounds, returns true. The node executes the
    /// request once.
    fn ask_while(
        &mut self,
        request: &Request,
        mut goes_on: impl FnMut(u32) -> bool,
    ) -> Result<Reply, ClientError> {
        self.number = self.number.checked_add(1).ok_or(ClientError::SessionLost)?;
        let id = RequestId {
            session: self.session,
            number: self.number,
        };
        let mut link = Link {
            transport: &mut self.transport,
            patience: self.patience,
            counts: self.counts,
        };
        let mut rounds = 1;
        let answer = loop {
            match link.exchange(request, id) {
                Err(ClientError::Silent { .. }) if goes_on(rounds) => rounds += 1,
                Err(ClientError::Silent { command, tries }) => {
                    let tries = tries.saturating_mul(rounds);
                    break Err(ClientError::Silent { command, tries });
                }
                answer => break answer,
            }
        };
        self.counts = link.counts;
        answer
    }

    /// All set-up keys.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn setup(&mut self) -> Result<Vec<(String, String)>, ClientError> {
        self.pages(
            "hello",
            |from| Request::Setup(AskSetup { from }),
            |reply| match reply {
                Reply::Setup(page) => Some((page.span, page.keys)),
                _ => None,
            },
        )
    }

    /// Starts a trial.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn start(&mut self, start: Start) -> Result<Started, ClientError> {
        self.start_while(start, |_| false)
    }

    /// Starts a trial on a node whose preparation may take long. After each round of tries, `goes_on` gets the number
    /// of rounds and decides whether to continue with the same request.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn start_while(
        &mut self,
        start: Start,
        goes_on: impl FnMut(u32) -> bool,
    ) -> Result<Started, ClientError> {
        match self.ask_while(&Request::Start(start), goes_on)? {
            Reply::Start(started) => Ok(started),
            _ => Err(unexpected("start")),
        }
    }

    /// The status of a trial, by default of the last one.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn status(&mut self, trial: Option<u32>) -> Result<Status, ClientError> {
        match self.ask(&Request::Status(AskStatus { trial }))? {
            Reply::Status(status) => Ok(status),
            _ => Err(unexpected("status")),
        }
    }

    /// Ends a trial.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn stop(&mut self, trial: u32) -> Result<Status, ClientError> {
        match self.ask(&Request::Stop(Stop { trial }))? {
            Reply::Stop(status) => Ok(status),
            _ => Err(unexpected("stop")),
        }
    }

    /// All counters of a port.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn counters(
        &mut self,
        trial: u32,
        port: u32,
    ) -> Result<BTreeMap<String, u64>, ClientError> {
        let ask = |from| {
            Request::Counters(AskCounters {
                trial,
                port: Some(port),
                from,
            })
        };
        let all = self.pages("counters", ask, |reply| match reply {
            Reply::Counters(page) if (page.trial, page.port) == (trial, port) => {
                Some((page.span, page.counters))
            }
            _ => None,
        })?;
        Ok(all.into_iter().collect())
    }

    /// CPU load of a core.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn load(&mut self, trial: u32, core: u32) -> Result<CpuLoad, ClientError> {
        match self.ask(&Request::Load(AskLoad {
            trial,
            core: Some(core),
        }))? {
            Reply::Load(load) if (load.trial, load.core) == (trial, core) => Ok(load),
            _ => Err(unexpected("load")),
        }
    }

    /// All records of a capture point.
    ///
    /// # Errors
    /// [`ClientError`]
    pub fn captures(&mut self, trial: u32, point: u32) -> Result<PointRecords, ClientError> {
        let mut about = None;
        let ask = |from| Request::Captures(AskCaptures { trial, point, from });
        let records = self.pages("captures", ask, |reply| match reply {
            Reply::Captures(page) if (page.point.trial, page.point.point) == (trial, point) => {
                about = Some(page.point);
                Some((page.span, page.records))
            }
            _ => None,
        })?;
        let point = about.ok_or_else(|| unexpected("captures"))?;
        Ok(PointRecords { point, records })
    }

    /// Collects a list from its pages.
    fn pages<I>(
        &mut self,
        command: &'static str,
        ask: impl Fn(u32) -> Request,
        mut page: impl FnMut(Reply) -> Option<(Span, Vec<I>)>,
    ) -> Result<Vec<I>, ClientError> {
        let mut all = Vec::new();
        let mut from = 0;
        loop {
            let (span, items) = page(self.ask(&ask(from))?).ok_or_else(|| unexpected(command))?;
            if span.from != from {
                return Err(ClientError::Protocol {
                    command,
                    what: format!("page {} for {from}", span.from),
                });
            }
            all.extend(items);
            if all.len() > MAX_ITEMS {
                return Err(ClientError::Protocol {
                    command,
                    what: format!("more than {MAX_ITEMS} items"),
                });
            }
            if span.next >= span.count {
                return Ok(all);
            }
            from = span.next;
        }
    }
}

fn unexpected(command: &'static str) -> ClientError {
    ClientError::Protocol {
        command,
        what: "it answers something else".to_owned(),
    }
}
