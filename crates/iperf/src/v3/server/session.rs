//! One test at a server, from the streams that are opened to the results.

use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wirelab_trial::Cancel;
use wirelab_trial::host_clock::unix_s;

use super::Server;
use crate::connecting::set_window;
use crate::options::SocketOptions;
use crate::sending::is_wait;
use crate::v3::control::Cookie;
use crate::v3::cpu::CpuUse;
use crate::v3::datagram::reply_to;
use crate::v3::link::{ControlLink, LOOK, PATIENCE, wanted};
use crate::v3::parameters::{Parameters, stream_id};
use crate::v3::pending::deny;
use crate::v3::run::Run;
use crate::v3::server_control::{ServerControl, ServerEvent};
use crate::v3::stream::{
    Running, StreamSocket, TestSpan, ThreadResult, finish, receive, receive_shared, send,
};
use crate::v3::test::{Beginning, EventSink, TestError, TestEvent, TestOutcome};
use crate::v3::watch::IntervalReporter;

/// The streams of a test before data flows.
pub(super) enum OpenStreams {
    Tcp(Vec<TcpStream>),
    Udp(UdpSocket, Vec<SocketAddr>),
}

/// The error of a client that is idle.
const QUIET: &str = "moved no data for so long that this server ended the test";

/// Streams by their number, and the thread of a shared socket.
type Begun = (Vec<Running>, Option<JoinHandle<ThreadResult>>);

pub(super) struct Session<'a> {
    pub(super) server: &'a mut Server,
    pub(super) link: ControlLink,
    pub(super) control: ServerControl,
    pub(super) cookie: Cookie,
    pub(super) parameters: Parameters,
    /// Options of the sockets of its streams.
    pub(super) options: SocketOptions,
}

impl Session<'_> {
    pub(super) fn refuse(&mut self, iperf: i32) -> Result<(), TestError> {
        self.control.refuse(iperf, 0);
        self.link.send(&self.control.take_output())
    }

    fn step(&mut self) -> Result<Option<ServerEvent>, TestError> {
        let peer = self.link.peer;
        self.link.send(&self.control.take_output())?;
        let mut event = self.control.next_event();
        if event == Ok(None) {
            let bytes = self.link.look(self.control.during())?;
            self.control.receive(&bytes);
            event = self.control.next_event();
        }
        self.link.send(&self.control.take_output())?;
        event.map_err(|source| TestError::Control { peer, source })
    }

    /// Answers other clients; returns the streams of this test.
    fn visitors(&mut self) -> Vec<TcpStream> {
        let mut ours = Vec::new();
        for (cookie, stream) in self
            .server
            .pending
            .poll(&self.server.listener, &self.server.access)
        {
            let room = ours.len() < self.parameters.all_streams() as usize;
            if cookie == self.cookie && !self.parameters.udp && room {
                ours.push(stream);
            } else {
                deny(stream);
            }
        }
        ours
    }

    pub(super) fn open(&mut self, cancel: &Cancel) -> Result<OpenStreams, TestError> {
        let all = self.parameters.all_streams() as usize;
        let mut streams_open = if self.parameters.udp {
            // Uses the address that the client connected to: it would accept no answer from another one.
            let local = SocketAddr::new(self.link.local.ip(), self.server.local.port());
            let what = format!("listening on UDP {local}");
            let socket = UdpSocket::bind(local).map_err(TestError::io(what))?;
            let socket_request = wanted(self.parameters.window_bytes, &self.options);
            set_window(&socket, socket_request.window);
            socket_request
                .options
                .apply_datagram(&socket, local.is_ipv6())?;
            let what = || TestError::io("waiting for a UDP stream");
            socket.set_read_timeout(Some(LOOK)).map_err(what())?;
            OpenStreams::Udp(socket, Vec::new())
        } else {
            OpenStreams::Tcp(Vec::new())
        };
        self.control.accept();
        let since = Instant::now();
        while since.elapsed() < PATIENCE && !cancel.is_cancelled() {
            if self.step()?.is_some() {
                return Err(self
                    .link
                    .lost("left the order of a test", self.control.during()));
            }
            let visitors = self.visitors();
            let there = match &mut streams_open {
                OpenStreams::Tcp(streams) => {
                    streams.extend(visitors);
                    streams.truncate(all);
                    streams.len()
                }
                OpenStreams::Udp(socket, peers) => {
                    self.greet(socket, peers)?;
                    peers.len()
                }
            };
            if there == all {
                return Ok(streams_open);
            }
        }
        Err(self.link.lost(
            "did not open all its streams in 10 s",
            self.control.during(),
        ))
    }

    /// Answers an opening datagram. It counts only from the host of the control connection.
    fn greet(&self, socket: &UdpSocket, peers: &mut Vec<SocketAddr>) -> Result<(), TestError> {
        let mut datagram = [0; 64];
        let (len, from) = match socket.recv_from(&mut datagram) {
            Ok(received) => received,
            Err(error) if is_wait(&error) => return Ok(()),
            Err(error) => return Err(TestError::io("waiting for a UDP stream")(error)),
        };
        let Some(reply) = reply_to(&datagram[..len]).filter(|_| from.ip() == self.link.peer.ip())
        else {
            return Ok(());
        };
        if !peers.contains(&from) {
            peers.push(from);
        }
        let what = format!("answering {from}");
        socket
            .send_to(&reply, from)
            .map(drop)
            .map_err(TestError::io(what))
    }

    fn begin(&self, run: &Arc<Run>, streams_open: OpenStreams) -> std::io::Result<Begun> {
        let parameters = &self.parameters;
        let begin = |index: u32, transport: StreamSocket| {
            let begin = match parameters.client_sends(index) {
                true => receive,
                false => send,
            };
            begin(run, stream_id(index), transport, parameters)
        };
        let (socket, peers) = match streams_open {
            OpenStreams::Tcp(streams) => {
                let made = (0..).zip(streams).map(|(index, stream)| {
                    let socket_request = wanted(parameters.window_bytes, &self.options);
                    set_window(&stream, socket_request.window);
                    let ipv6 = self.link.local.is_ipv6();
                    let applied = socket_request.options.apply_stream(&stream, ipv6);
                    applied.map_err(std::io::Error::other)?;
                    begin(index, StreamSocket::Tcp(stream))
                });
                return Ok((made.collect::<std::io::Result<_>>()?, None));
            }
            OpenStreams::Udp(socket, peers) => (socket, peers),
        };
        let mut made = Vec::new();
        let mut received = Vec::new();
        for (index, peer) in (0..).zip(&peers) {
            if parameters.client_sends(index) {
                received.push((stream_id(index), *peer));
            } else {
                made.push(begin(index, StreamSocket::Udp(socket.try_clone()?, *peer))?);
            }
        }
        let (received, thread) = receive_shared(run, socket, &received, peers, parameters)?;
        made.extend(received);
        made.sort_by_key(|stream| stream.ends().id);
        Ok((made, Some(thread)))
    }

    pub(super) fn measure(
        mut self,
        streams_open: OpenStreams,
        cancel: &Cancel,
        tell: EventSink<'_>,
    ) -> Result<TestOutcome, TestError> {
        let cpu = CpuUse::start();
        // Only the client reports that an amount is reached: if the server sends, only the client knows how much
        // arrived.
        let run = Run::new(None, self.server.sending);
        let began_unix_s = unix_s();
        // Receiving threads start before the client is informed; sending ones begin with the test.
        let (streams, shared) = self
            .begin(&run, streams_open)
            .map_err(TestError::io("starting the streams"))?;
        self.control.start();
        let omitting = self.parameters.omit_seconds > 0;
        let mut watch = IntervalReporter::new(self.server.interval, omitting, tell);
        let ends: Vec<_> = streams.iter().map(Running::ends).collect();
        watch.tell(TestEvent::Began(Beginning {
            client: false,
            peer: self.link.peer,
            cookie: self.cookie,
            began_unix_s,
            parameters: &self.parameters,
            streams: &ends,
        }));
        let mut failure = self.flow(&run, &streams, &mut watch, cancel).err();
        let stopped_ns = run.now_ns();
        run.stop();
        watch.last(stopped_ns, &streams);
        let began_ns = watch.began_ns();
        let (intervals, omitted, tell) = watch.finish(streams.len());
        let span = TestSpan {
            began_ns,
            stopped_ns,
            seconds: self.parameters.seconds,
        };
        let mut outcome = TestOutcome {
            client: false,
            parameters: self.parameters.clone(),
            cookie: self.cookie,
            peer: self.link.peer,
            began_unix_s,
            elapsed_ns: stopped_ns - began_ns,
            streams: finish(streams, shared, span, omitted),
            intervals,
            cpu_percent: cpu.percent(),
            peer_results: None,
            failure: None,
        };
        if failure.is_none() {
            failure = self.exchange(&mut outcome, tell).err();
        }
        outcome.failure = failure.map(|error| error.to_string());
        Ok(outcome)
    }

    fn flow(
        &mut self,
        run: &Arc<Run>,
        streams: &[Running],
        watch: &mut IntervalReporter<'_>,
        cancel: &Cancel,
    ) -> Result<(), TestError> {
        let mut omit = Duration::from_secs(self.parameters.omit_seconds);
        let requested = match self.parameters.seconds {
            0 => Duration::MAX,
            seconds => Duration::from_secs(seconds)
                .saturating_add(omit)
                .saturating_add(PATIENCE),
        };
        let most_ns =
            u64::try_from(requested.min(self.server.longest).as_nanos()).unwrap_or(u64::MAX);
        let quiet_ns = self.server.quiet.as_nanos();
        let (mut moved, mut moved_ns) = (0, 0);
        while run.now_ns() < most_ns && !cancel.is_cancelled() {
            match self.step()? {
                Some(ServerEvent::Ended) => return Ok(()),
                Some(_) => {
                    return Err(self.link.lost("left the order of a test", "data flows"));
                }
                None => {}
            }
            self.visitors().into_iter().for_each(deny);
            let now_ns = run.now_ns();
            if !omit.is_zero() && u128::from(now_ns) >= omit.as_nanos() {
                omit = Duration::ZERO;
                watch.begin(now_ns, streams);
            }
            watch.look(now_ns, streams);
            if run.moved() != moved {
                (moved, moved_ns) = (run.moved(), now_ns);
            } else if u128::from(now_ns - moved_ns) > quiet_ns {
                self.control.terminate();
                self.link.send(&self.control.take_output())?;
                return Err(self.link.lost(QUIET, "data should flow"));
            }
        }
        self.control.terminate();
        self.link.send(&self.control.take_output())?;
        Err(self.link.lost("was stopped by this server", "data flows"))
    }

    fn exchange(
        &mut self,
        outcome: &mut TestOutcome,
        tell: EventSink<'_>,
    ) -> Result<(), TestError> {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            match self.step()? {
                Some(ServerEvent::PeerResults(results)) => {
                    outcome.peer_results = Some(results);
                    let mut results = outcome.results();
                    if self.parameters.server_output {
                        let output = &mut results.server_output;
                        tell(TestEvent::OutputRequested { outcome, output });
                    }
                    self.control.give_results(&results);
                }
                Some(ServerEvent::Over) => return Ok(()),
                Some(ServerEvent::Requested(..) | ServerEvent::Ended) | None => {}
            }
            self.visitors().into_iter().for_each(deny);
        }
        Err(self
            .link
            .lost("sent nothing for 10 s", self.control.during()))
    }
}
