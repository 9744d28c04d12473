//! An iperf3 server on sockets: one test at a time, as iperf3 itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use wirelab_socket::access::Access;
use wirelab_trial::Cancel;
use wirelab_trial::host_clock::unix_s;

use super::auth::Authorizer;
use super::chosen::granted;
use super::control::Cookie;
use super::link::{LOOK, Link, PATIENCE};
use super::parameters::{MAX_SECONDS, Parameters};
use super::pending::{Pending, deny};
use super::server_control::{ServerControl, ServerEvent};
use super::server_error::{NO_STREAM, NOT_AUTHORIZED, NOT_IMPLEMENTED};
use super::test::{Outcome, Tell, TestError, TestEvent};
use crate::options::SocketOptions;
use crate::sending::{SendOptions, is_wait};

mod session;

use session::Session;

/// How long data may rest in a test.
const QUIET: Duration = Duration::from_secs(120);
/// The most clients that may have said who they are and not yet what they want.
const MAX_CANDIDATES: usize = 64;

/// A server that listens on one address, and on no other.
pub struct Server {
    listener: TcpListener,
    local: SocketAddr,
    pending: Pending,
    interval: Duration,
    longest: Duration,
    quiet: Duration,
    sending: SendOptions,
    options: SocketOptions,
    access: Arc<Access>,
    authorizer: Option<Authorizer>,
    max_rate_bit_s: Option<u64>,
}

struct Candidate {
    cookie: Cookie,
    stream: TcpStream,
    control: ServerControl,
    since: Instant,
}

impl Server {
    /// Listen on an address; port 0 means any free one.
    pub fn bind(address: SocketAddr) -> Result<Server, TestError> {
        let bind = |source| TestError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
        Ok(Server {
            local: listener.local_addr().map_err(bind)?,
            listener,
            pending: Pending::default(),
            interval: Duration::from_secs(1),
            longest: Duration::from_secs(MAX_SECONDS + 10),
            quiet: QUIET,
            sending: SendOptions::DEFAULT,
            options: SocketOptions::NONE,
            access: Arc::default(),
            authorizer: None,
            max_rate_bit_s: None,
        })
    }

    /// Where it listens.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The time between two lines of `-i`, 1 s unless set; zero for none.
    pub const fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// The longest time that data may flow in one test, whatever a client asks; a day unless set.
    pub const fn set_longest(&mut self, longest: Duration) {
        self.longest = longest;
    }

    /// The longest time in which no stream moves a byte; then the test is ended, so that a client that only holds
    /// its place does not hold up others. 120 s unless set, as iperf3 has it.
    pub const fn set_quiet(&mut self, quiet: Duration) {
        self.quiet = quiet;
    }

    /// How it sends; [`SendOptions::DEFAULT`] unless set.
    pub const fn set_sending(&mut self, sending: SendOptions) {
        self.sending = sending;
    }

    /// What is chosen of its sockets; nothing unless set. Connections take over what its listener has.
    ///
    /// # Errors
    /// [`TestError::Refused`], the first that the system refuses.
    pub fn set_options(&mut self, options: SocketOptions) -> Result<(), TestError> {
        options.apply_stream(&self.listener, self.local.is_ipv6())?;
        self.options = options;
        Ok(())
    }

    /// Who may use the server; everybody unless set.
    pub fn set_access(&mut self, access: Arc<Access>) {
        self.access = access;
    }

    /// The most bit/s that it sends in all, whatever a client asks; no limit unless set.
    pub const fn set_max_rate(&mut self, bit_s: Option<u64>) {
        self.max_rate_bit_s = bit_s;
    }

    /// Whom to let in; all unless set.
    pub fn set_authorizer(&mut self, authorizer: Authorizer) {
        self.authorizer = Some(authorizer);
    }

    /// Wait for a client and run its test to the end. An error ends that test and not the server: call it again.
    pub fn serve_one(&mut self, cancel: &Cancel) -> Result<Outcome, TestError> {
        self.serve_one_telling(cancel, &mut |_| {})
    }

    /// [`Server::serve_one`] that tells how it goes.
    pub fn serve_one_telling(
        &mut self,
        cancel: &Cancel,
        tell: Tell<'_>,
    ) -> Result<Outcome, TestError> {
        let (candidate, cookie, mut parameters, options) = self.next_test(cancel, tell)?;
        if let Some(most) = self.max_rate_bit_s {
            parameters.bound_rate(most);
        }
        let mut session = Session {
            server: self,
            link: Link::new(candidate.stream)?,
            control: candidate.control,
            cookie,
            parameters,
            options,
        };
        match session.open(cancel) {
            Ok(ways) => session.measure(ways, cancel, tell),
            Err(error) => {
                // The client is told if it is still there; the reason is what the caller needs.
                let _ = session.refuse(NO_STREAM);
                Err(error)
            }
        }
    }

    /// Wait until some client has said what it wants; those that say nothing hold up nobody.
    fn next_test(
        &mut self,
        cancel: &Cancel,
        tell: Tell<'_>,
    ) -> Result<(Candidate, Cookie, Parameters, SocketOptions), TestError> {
        let mut candidates: Vec<Candidate> = Vec::new();
        while !cancel.is_cancelled() {
            for (cookie, stream) in self.pending.poll(&self.listener, &self.access) {
                if candidates.len() == MAX_CANDIDATES {
                    candidates.remove(0);
                }
                let mut control = ServerControl::new();
                control.receive(cookie.as_bytes());
                let since = Instant::now();
                candidates.push(Candidate {
                    cookie,
                    stream,
                    control,
                    since,
                });
            }
            let mut chosen = None;
            for mut candidate in std::mem::take(&mut candidates) {
                if chosen.is_some() {
                    candidates.push(candidate);
                    continue;
                }
                match candidate.advance() {
                    Ok(Some(parameters)) => {
                        let cookie = candidate.cookie;
                        chosen = self
                            .lets_in(&mut candidate, &parameters, tell)
                            .map(|options| (candidate, cookie, parameters, options));
                    }
                    Ok(None) => candidates.push(candidate),
                    Err(()) => {}
                }
            }
            if let Some(chosen) = chosen {
                // They were asked for their parameters, and must not wait for a word that never comes.
                candidates.into_iter().for_each(|other| deny(other.stream));
                return Ok(chosen);
            }
            thread::sleep(LOOK);
        }
        Err(TestError::Cancelled)
    }
}

impl Server {
    /// What is chosen of the sockets of a client's test, if it may have one. A user that may not is told no reason.
    fn lets_in(
        &self,
        candidate: &mut Candidate,
        parameters: &Parameters,
        tell: Tell<'_>,
    ) -> Option<SocketOptions> {
        let now_unix_s = unix_s();
        let token = parameters.auth_token.as_deref();
        let check = |authorizer: &Authorizer| authorizer.check(token, now_unix_s);
        if let Some(Err(why)) = self.authorizer.as_ref().map(check) {
            if let Ok(peer) = candidate.stream.peer_addr() {
                tell(TestEvent::Refused { peer, why: &why });
            }
            candidate.refuse(NOT_AUTHORIZED);
            return None;
        }
        granted(parameters, &self.options, self.local)
            .map_err(|number| candidate.refuse(number))
            .ok()
    }
}

impl Candidate {
    fn refuse(&mut self, iperf: i32) {
        self.control.refuse(iperf, 0);
        // It may be gone already, and that is no matter.
        let _ = self.stream.write(&self.control.take_output());
    }

    /// What it wants, if it has said so; an error where nothing is to be expected from it.
    fn advance(&mut self) -> Result<Option<Parameters>, ()> {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(()),
            Ok(len) => self.control.receive(&bytes[..len]),
            Err(error) if is_wait(&error) => {}
            Err(_) => return Err(()),
        }
        let asked = match self.control.next_event() {
            Ok(Some(ServerEvent::Asked(_, parameters))) => Some(parameters),
            Ok(None) => None,
            Ok(Some(_)) => return Err(()),
            Err(_) => {
                self.refuse(NOT_IMPLEMENTED);
                return Err(());
            }
        };
        // At most a byte is written here, for which a new connection has room.
        let out = self.control.take_output();
        self.stream.write_all(&out).map_err(|_| ())?;
        if asked.is_none() && self.since.elapsed() > PATIENCE {
            return Err(());
        }
        Ok(asked)
    }
}
