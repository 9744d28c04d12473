//! An iperf3 server on sockets: one test at a time, like iperf3.

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
use super::link::{ControlLink, LOOK, PATIENCE};
use super::parameters::{MAX_SECONDS, Parameters};
use super::pending::{Pending, deny};
use super::server_control::{ServerControl, ServerEvent};
use super::server_error::{NO_STREAM, NOT_AUTHORIZED, NOT_IMPLEMENTED};
use super::test::{EventSink, TestError, TestEvent, TestOutcome};
use crate::options::SocketOptions;
use crate::sending::{SendOptions, is_wait};

mod session;

use session::Session;

/// Longest time without data in a test.
const QUIET: Duration = Duration::from_secs(120);
/// Most clients that have identified themselves but not sent their parameters.
const MAX_CANDIDATES: usize = 64;

/// A server that listens on only one address.
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
    /// Listens on an address; port 0 means any free one.
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

    /// Its address.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Sets the interval of report lines (`-i`), 1 s by default; zero for none.
    pub const fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// Sets the longest time of data in one test, a day by default.
    pub const fn set_longest(&mut self, longest: Duration) {
        self.longest = longest;
    }

    /// Sets the longest time in which no stream moves a byte; then the test ends, so that an idle client does not block
    /// others. The default is 120 s, as in iperf3.
    pub const fn set_quiet(&mut self, quiet: Duration) {
        self.quiet = quiet;
    }

    /// Sets how it sends; [`SendOptions::DEFAULT`] by default.
    pub const fn set_sending(&mut self, sending: SendOptions) {
        self.sending = sending;
    }

    /// Sets the options of its sockets. Connections inherit those of the listener.
    ///
    /// # Errors
    /// [`TestError::Refused`] for the first option that the system refuses.
    pub fn set_options(&mut self, options: SocketOptions) -> Result<(), TestError> {
        options.apply_stream(&self.listener, self.local.is_ipv6())?;
        self.options = options;
        Ok(())
    }

    /// Sets who may use the server; by default every host.
    pub fn set_access(&mut self, access: Arc<Access>) {
        self.access = access;
    }

    /// Sets the most bit/s that it sends in total; no limit by default.
    pub const fn set_max_rate(&mut self, bit_s: Option<u64>) {
        self.max_rate_bit_s = bit_s;
    }

    /// Sets which users to accept; all by default.
    pub fn set_authorizer(&mut self, authorizer: Authorizer) {
        self.authorizer = Some(authorizer);
    }

    /// Waits for a client and runs its test to the end. An error ends that test, not the server: call it again.
    pub fn serve_one(&mut self, cancel: &Cancel) -> Result<TestOutcome, TestError> {
        self.serve_one_telling(cancel, &mut |_| {})
    }

    /// [`Server::serve_one`] with events.
    pub fn serve_one_telling(
        &mut self,
        cancel: &Cancel,
        tell: EventSink<'_>,
    ) -> Result<TestOutcome, TestError> {
        let (candidate, cookie, mut parameters, options) = self.next_test(cancel, tell)?;
        if let Some(most) = self.max_rate_bit_s {
            parameters.bound_rate(most);
        }
        let mut session = Session {
            server: self,
            link: ControlLink::new(candidate.stream)?,
            control: candidate.control,
            cookie,
            parameters,
            options,
        };
        match session.open(cancel) {
            Ok(streams_open) => session.measure(streams_open, cancel, tell),
            Err(error) => {
                // The client is informed if it is still there; the caller needs the reason.
                let _ = session.refuse(NO_STREAM);
                Err(error)
            }
        }
    }

    /// Waits until a client has sent its parameters; silent clients delay no other.
    fn next_test(
        &mut self,
        cancel: &Cancel,
        tell: EventSink<'_>,
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
                // Their parameters were requested, and they must not wait for an answer forever.
                candidates.into_iter().for_each(|other| deny(other.stream));
                return Ok(chosen);
            }
            thread::sleep(LOOK);
        }
        Err(TestError::Cancelled)
    }
}

impl Server {
    /// The socket options of a client's test, if the client may have one. A refused user gets no reason.
    fn lets_in(
        &self,
        candidate: &mut Candidate,
        parameters: &Parameters,
        tell: EventSink<'_>,
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
        // It does not matter if it is already gone.
        let _ = self.stream.write(&self.control.take_output());
    }

    /// Its parameters, if it has sent them; an error where nothing more can come from it.
    fn advance(&mut self) -> Result<Option<Parameters>, ()> {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(()),
            Ok(len) => self.control.receive(&bytes[..len]),
            Err(error) if is_wait(&error) => {}
            Err(_) => return Err(()),
        }
        let requested = match self.control.next_event() {
            Ok(Some(ServerEvent::Requested(_, parameters))) => Some(parameters),
            Ok(None) => None,
            Ok(Some(_)) => return Err(()),
            Err(_) => {
                self.refuse(NOT_IMPLEMENTED);
                return Err(());
            }
        };
        // This writes at most a byte, for which a new connection has room.
        let out = self.control.take_output();
        self.stream.write_all(&out).map_err(|_| ())?;
        if requested.is_none() && self.since.elapsed() > PATIENCE {
            return Err(());
        }
        Ok(requested)
    }
}
