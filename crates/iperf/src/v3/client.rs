//! An iperf3 client on sockets.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wirelab_trial::Cancel;
use wirelab_trial::host_clock::{unix_ns, unix_s};

use super::auth::Credentials;
use super::chosen::{requested, try_out};
use super::client_control::{ClientControl, ClientEvent};
use super::control::{ControlError, Cookie};
use super::cpu::CpuUse;
use super::datagram::{OPENING_LEN, hello, is_reply};
use super::link::{ControlLink, PATIENCE, connect, connect_udp, wanted};
use super::parameters::{Parameters, stream_id};
use super::run::Run;
use super::stream::{Running, StreamSocket, TestSpan, finish, receive, send};
use super::test::{Beginning, EventSink, TestError, TestEvent, TestOutcome};
use super::watch::IntervalReporter;
use crate::options::SocketOptions;
use crate::sending::{SendOptions, is_wait};

/// How often an opening datagram is sent before the stream counts as blocked, and the wait for each answer.
const OPENINGS: u32 = 10;
const OPENING_WAIT: Duration = Duration::from_millis(300);

/// Default time for a server to answer.
pub const CONNECT_TIMEOUT: Duration = PATIENCE;

/// A test to run against a server.
#[derive(Clone, Debug)]
pub struct Client {
    /// The server's control port.
    pub server: SocketAddr,
    /// The requested test.
    pub parameters: Parameters,
    /// The interval of report lines (`-i`); zero for none.
    pub interval: Duration,
    /// How it sends.
    pub sending: SendOptions,
    /// Options of its sockets; the control connection uses only address and device, as in iperf3.
    pub options: SocketOptions,
    /// How long the server may take to answer the control connection.
    pub connect_timeout: Duration,
    /// The user, for a server that requires one.
    pub credentials: Option<Credentials>,
}

impl Client {
    /// A test with default options: no lines of `-i`, no user.
    pub const fn new(server: SocketAddr, parameters: Parameters) -> Client {
        Client {
            server,
            parameters,
            interval: Duration::ZERO,
            sending: SendOptions::DEFAULT,
            options: SocketOptions::NONE,
            connect_timeout: CONNECT_TIMEOUT,
            credentials: None,
        }
    }

    /// Runs the test to its end. Once data has flowed, the measurement is kept together with the reason of an early
    /// end.
    pub fn run(&self, cancel: &Cancel) -> Result<TestOutcome, TestError> {
        self.run_telling(cancel, &mut |_| {})
    }

    /// [`Client::run`] with events.
    pub fn run_telling(
        &self,
        cancel: &Cancel,
        tell: EventSink<'_>,
    ) -> Result<TestOutcome, TestError> {
        let parameters = requested(&self.parameters, &self.options);
        parameters.check().map_err(TestError::Unsupported)?;
        if !parameters.udp {
            try_out(self.server, &self.options)?;
        }
        let peer = self.server;
        let of_control = SocketOptions {
            address: self.options.address,
            device: self.options.device,
            ..SocketOptions::NONE
        };
        let stream = connect(peer, 0, wanted(0, &of_control), self.connect_timeout)?;
        let link = ControlLink::new(stream)?;
        let cookie = Cookie::new(unix_ns() ^ u64::from(std::process::id()) << 40);
        let client = &Client {
            parameters,
            ..self.clone()
        };
        let mut parameters = client.parameters.clone();
        if let Some(credentials) = &self.credentials {
            // Made late, because the server compares its time with its own clock.
            let token = credentials.token(unix_s());
            parameters.auth_token = Some(token.map_err(TestError::Credentials)?);
        }
        let control = ClientControl::new(cookie, parameters);
        let mut session = Session {
            client,
            link,
            control,
            cookie,
        };
        let transports = session.agree(cancel)?;
        session.measure(transports, cancel, tell)
    }
}

struct Session<'a> {
    client: &'a Client,
    link: ControlLink,
    control: ClientControl,
    cookie: Cookie,
}

impl Session<'_> {
    /// The next event, if one arrives within a check.
    fn step(&mut self) -> Result<Option<ClientEvent>, TestError> {
        let peer = self.link.peer;
        let next = |control: &mut ClientControl| {
            control
                .next_event()
                .map_err(|source| TestError::Control { peer, source })
        };
        let mut event = next(&mut self.control)?;
        if event.is_none() {
            self.say()?;
            match self.link.look(self.control.during()) {
                Ok(bytes) => self.control.receive(&bytes),
                Err(error) => return Err(self.meant(error)),
            }
            event = next(&mut self.control)?;
        }
        self.say()?;
        Ok(event)
    }

    /// Sends pending data. A server that refuses a client may have closed already: its message is read first.
    fn say(&mut self) -> Result<(), TestError> {
        let Err(error) = self.link.send(&self.control.take_output()) else {
            return Ok(());
        };
        let peer = self.link.peer;
        if let Ok(bytes) = self.link.look(self.control.during()) {
            self.control.receive(&bytes);
            if let Err(source) = self.control.next_event() {
                return Err(TestError::Control { peer, source });
            }
        }
        Err(self.meant(error))
    }

    /// The meaning of a closed connection.
    fn meant(&mut self, error: TestError) -> TestError {
        let peer = self.link.peer;
        match self.control.closed() {
            Some(source) => TestError::Control { peer, source },
            None => error,
        }
    }

    /// Waits for one specific event.
    fn wait(&mut self, cancel: &Cancel) -> Result<ClientEvent, TestError> {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if cancel.is_cancelled() {
                self.control.abandon();
                self.link.send(&self.control.take_output())?;
                return Err(TestError::Cancelled);
            }
            if let Some(event) = self.step()? {
                return Ok(event);
            }
        }
        let peer = self.link.peer;
        if !self.control.has_heard() {
            let source = ControlError::Silent;
            return Err(TestError::Control { peer, source });
        }
        Err(self
            .link
            .lost("sent nothing for 10 s", self.control.during()))
    }

    fn agree(&mut self, cancel: &Cancel) -> Result<Vec<StreamSocket>, TestError> {
        let mut transports = Vec::new();
        loop {
            match self.wait(cancel)? {
                ClientEvent::OpenStreams => {
                    for index in 0..self.client.parameters.all_streams() {
                        transports.push(self.open(index)?);
                    }
                }
                ClientEvent::Run => return Ok(transports),
                _ => {
                    return Err(self
                        .link
                        .lost("left the order of a test", self.control.during()));
                }
            }
        }
    }

    fn open(&self, index: u32) -> Result<StreamSocket, TestError> {
        let server = self.client.server;
        let what = || TestError::io(format!("opening a stream to {server}"));
        let parameters = &self.client.parameters;
        let wanted = wanted(parameters.window_bytes, &self.client.options);
        if !parameters.udp {
            let mut stream = connect(server, index, wanted, PATIENCE)?;
            stream.write_all(self.cookie.as_bytes()).map_err(what())?;
            return Ok(StreamSocket::Tcp(stream));
        }
        let socket = connect_udp(server, index, wanted)?;
        socket
            .set_read_timeout(Some(OPENING_WAIT))
            .map_err(what())?;
        let mut answer = [0; 2 * OPENING_LEN];
        for _ in 0..OPENINGS {
            socket.send(&hello()).map_err(what())?;
            match socket.recv(&mut answer) {
                Ok(len) if is_reply(&answer[..len]) => {
                    return Ok(StreamSocket::Udp(socket, server));
                }
                Ok(_) => {}
                Err(error) if is_wait(&error) => {}
                Err(error) => return Err(what()(error)),
            }
        }
        let how = "answers over TCP but not over UDP; is UDP filtered on the path?";
        Err(self.link.lost(how, "a stream is opened"))
    }

    fn measure(
        mut self,
        transports: Vec<StreamSocket>,
        cancel: &Cancel,
        tell: EventSink<'_>,
    ) -> Result<TestOutcome, TestError> {
        let parameters = &self.client.parameters;
        let omitting = parameters.omit_seconds > 0;
        let cpu = CpuUse::start();
        let run = Run::new(
            parameters.wanted_bytes().filter(|_| !omitting),
            self.client.sending,
        );
        let began_unix_s = unix_s();
        let mut streams = Vec::new();
        for (index, transport) in (0..).zip(transports) {
            let begin = match parameters.client_sends(index) {
                true => send,
                false => receive,
            };
            let running = begin(&run, stream_id(index), transport, parameters);
            streams.push(running.map_err(TestError::io("starting a stream"))?);
        }
        let mut watch = IntervalReporter::new(self.client.interval, omitting, tell);
        let ends: Vec<_> = streams.iter().map(Running::ends).collect();
        watch.tell(TestEvent::Began(Beginning {
            client: true,
            peer: self.link.peer,
            cookie: self.cookie,
            began_unix_s,
            parameters,
            streams: &ends,
        }));
        let mut failure = self.flow(&run, &streams, &mut watch, cancel).err();
        let stopped_ns = run.now_ns();
        run.stop();
        watch.last(stopped_ns, &streams);
        let began_ns = watch.began_ns();
        let (intervals, omitted, _) = watch.finish(streams.len());
        let span = TestSpan {
            began_ns,
            stopped_ns,
            seconds: parameters.seconds,
        };
        let mut outcome = TestOutcome {
            client: true,
            parameters: parameters.clone(),
            cookie: self.cookie,
            peer: self.link.peer,
            began_unix_s,
            elapsed_ns: stopped_ns - began_ns,
            streams: finish(streams, None, span, omitted),
            intervals,
            cpu_percent: cpu.percent(),
            peer_results: None,
            failure: None,
        };
        if failure.is_none() {
            failure = self.exchange(&mut outcome).err();
        }
        let failure = failure.map(|error| error.to_string());
        outcome.failure = failure.or_else(|| outcome.not_read());
        Ok(outcome)
    }

    /// Transfers data until the test is over, for any reason.
    fn flow(
        &mut self,
        run: &Arc<Run>,
        streams: &[Running],
        watch: &mut IntervalReporter<'_>,
        cancel: &Cancel,
    ) -> Result<(), TestError> {
        let parameters = &self.client.parameters;
        let ns = |seconds: u64| seconds.saturating_mul(1_000_000_000);
        let mut omit_ns = ns(parameters.omit_seconds);
        let after = |began_ns: u64| match parameters.seconds {
            0 => u64::MAX,
            seconds => began_ns.saturating_add(ns(seconds)),
        };
        let mut end_ns = after(omit_ns);
        // After the end message a server drops what it has not read.
        let all_sent = || run.reached() && streams.iter().all(Running::is_settled);
        while run.now_ns() < end_ns && !all_sent() && !cancel.is_cancelled() {
            if self.step()?.is_some() {
                return Err(self.link.lost("ended the test", "data flows"));
            }
            let now_ns = run.now_ns();
            if omit_ns > 0 && now_ns >= omit_ns {
                (omit_ns, end_ns) = (0, after(now_ns));
                watch.begin(now_ns, streams);
                run.count_anew(parameters.wanted_bytes());
            }
            watch.look(now_ns, streams);
        }
        self.control.end();
        self.link.send(&self.control.take_output())
    }

    fn exchange(&mut self, outcome: &mut TestOutcome) -> Result<(), TestError> {
        let cancel = Cancel::new();
        loop {
            match self.wait(&cancel)? {
                ClientEvent::GiveResults => {
                    self.control.give_results(&outcome.results());
                }
                ClientEvent::PeerResults(results) => outcome.peer_results = Some(results),
                ClientEvent::Over => return Ok(()),
                _ => {
                    return Err(self
                        .link
                        .lost("left the order of a test", self.control.during()));
                }
            }
        }
    }
}
