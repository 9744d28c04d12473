//! An iperf3 server on sockets: one test at a time, as iperf3 itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wirelab_trial::Cancel;

use super::control::Cookie;
use super::cpu::CpuUse;
use super::datagram::reply_to;
use super::link::{LOOK, Link, PATIENCE, is_wait};
use super::parameters::{MAX_SECONDS, Parameters, stream_id};
use super::pending::{Pending, deny};
use super::server_control::{ServerControl, ServerEvent};
use super::stream::{Run, Running, Way, receive, receive_shared, send};
use super::test::{Outcome, TestError, unsupported};
use super::watch::Watch;

/// iperf3's number for "an option you are trying to set is not implemented yet".
const NOT_IMPLEMENTED: i32 = 13;
/// iperf3's number for "unable to create a new stream".
const NO_STREAM: i32 = 123;
/// The most clients that may have said who they are and not yet what they want.
const MAX_CANDIDATES: usize = 64;

/// A server that listens on one address, and on no other.
pub struct Server {
    listener: TcpListener,
    local: SocketAddr,
    pending: Pending,
    interval: Duration,
    longest: Duration,
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
        let what = || TestError::io(format!("listening on {address}"));
        let listener = TcpListener::bind(address).map_err(what())?;
        listener.set_nonblocking(true).map_err(what())?;
        Ok(Server {
            local: listener.local_addr().map_err(what())?,
            listener,
            pending: Pending::default(),
            interval: Duration::from_secs(1),
            longest: Duration::from_secs(MAX_SECONDS + 10),
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

    /// Wait for a client and run its test to the end. An error ends that test and not the server: call it again.
    pub fn serve_one(&mut self, cancel: &Cancel) -> Result<Outcome, TestError> {
        let (candidate, cookie, parameters) = self.next_test(cancel)?;
        let link = Link::new(candidate.stream)?;
        let mut session = Session {
            server: self,
            link,
            control: candidate.control,
            cookie,
            parameters,
        };
        if let Some(why) = unsupported(&session.parameters) {
            session.refuse(NOT_IMPLEMENTED)?;
            return Err(TestError::Unsupported(why));
        }
        match session.open(cancel) {
            Ok(ways) => session.measure(ways, cancel),
            Err(error) => {
                // The client is told if it is still there; the reason is what the caller needs.
                let _ = session.refuse(NO_STREAM);
                Err(error)
            }
        }
    }

    /// Wait until some client has said what it wants; those that say nothing hold up nobody.
    fn next_test(&mut self, cancel: &Cancel) -> Result<(Candidate, Cookie, Parameters), TestError> {
        let mut candidates: Vec<Candidate> = Vec::new();
        while !cancel.is_cancelled() {
            for (cookie, stream) in self.pending.poll(&self.listener) {
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
            for mut candidate in std::mem::take(&mut candidates) {
                match candidate.advance() {
                    Ok(Some(parameters)) => {
                        let cookie = candidate.cookie;
                        return Ok((candidate, cookie, parameters));
                    }
                    Ok(None) => candidates.push(candidate),
                    Err(()) => {}
                }
            }
            thread::sleep(LOOK);
        }
        Err(TestError::Cancelled)
    }
}

impl Candidate {
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
                self.control.refuse(NOT_IMPLEMENTED, 0);
                let _ = self.stream.write(&self.control.take_output());
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

/// The streams of a test before data flows.
enum Ways {
    Tcp(Vec<TcpStream>),
    Udp(UdpSocket, Vec<SocketAddr>),
}

struct Session<'a> {
    server: &'a mut Server,
    link: Link,
    control: ServerControl,
    cookie: Cookie,
    parameters: Parameters,
}

impl Session<'_> {
    fn refuse(&mut self, iperf: i32) -> Result<(), TestError> {
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

    /// Answer who else connects; the streams of this test are returned.
    fn visitors(&mut self) -> Vec<TcpStream> {
        let mut ours = Vec::new();
        for (cookie, stream) in self.server.pending.poll(&self.server.listener) {
            let room = ours.len() < self.parameters.streams as usize;
            if cookie == self.cookie && !self.parameters.udp && room {
                ours.push(stream);
            } else {
                deny(stream);
            }
        }
        ours
    }

    fn open(&mut self, cancel: &Cancel) -> Result<Ways, TestError> {
        let wanted = self.parameters.streams as usize;
        let mut ways = if self.parameters.udp {
            let what = format!("listening on UDP {}", self.server.local);
            let socket = UdpSocket::bind(self.server.local).map_err(TestError::io(what))?;
            let what = || TestError::io("waiting for a UDP stream");
            socket.set_read_timeout(Some(LOOK)).map_err(what())?;
            Ways::Udp(socket, Vec::new())
        } else {
            Ways::Tcp(Vec::new())
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
            let there = match &mut ways {
                Ways::Tcp(streams) => {
                    streams.extend(visitors);
                    streams.truncate(wanted);
                    streams.len()
                }
                Ways::Udp(socket, peers) => {
                    self.greet(socket, peers)?;
                    peers.len()
                }
            };
            if there == wanted {
                return Ok(ways);
            }
        }
        Err(self.link.lost(
            "did not open all its streams in 10 s",
            self.control.during(),
        ))
    }

    /// Answer an opening datagram. It counts only from the host that the control connection comes from.
    fn greet(&self, socket: &UdpSocket, peers: &mut Vec<SocketAddr>) -> Result<(), TestError> {
        let mut datagram = [0; 64];
        let (len, from) = match socket.recv_from(&mut datagram) {
            Ok(came) => came,
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

    fn begin(&self, run: &Arc<Run>, ways: Ways) -> std::io::Result<Vec<Running>> {
        let parameters = &self.parameters;
        let number = |index: usize| stream_id(index as u32);
        match ways {
            Ways::Tcp(streams) => {
                let begin = if parameters.reverse { send } else { receive };
                let streams = streams.into_iter().enumerate();
                streams
                    .map(|(i, s)| begin(run, number(i), Way::Tcp(s), parameters))
                    .collect()
            }
            Ways::Udp(socket, peers) if parameters.reverse => {
                let begin = |(i, peer): (usize, &SocketAddr)| {
                    send(
                        run,
                        number(i),
                        Way::Udp(socket.try_clone()?, *peer),
                        parameters,
                    )
                };
                peers.iter().enumerate().map(begin).collect()
            }
            Ways::Udp(socket, peers) => {
                let peers = peers
                    .into_iter()
                    .enumerate()
                    .map(|(i, peer)| (number(i), peer));
                receive_shared(run, socket, &peers.collect::<Vec<_>>(), parameters)
            }
        }
    }

    fn measure(mut self, ways: Ways, cancel: &Cancel) -> Result<Outcome, TestError> {
        let cpu = CpuUse::start();
        // The client says when an amount is reached, since it alone knows what arrived where the server sends.
        let run = Run::new(None);
        let began_unix_s = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        // Receiving threads are there before the client is told; sending ones begin with the test.
        let streams = self
            .begin(&run, ways)
            .map_err(TestError::io("starting the streams"))?;
        self.control.start();
        let mut watch = Watch::new(self.server.interval);
        let mut failure = self.flow(&run, &streams, &mut watch, cancel).err();
        let elapsed_ns = run.now_ns();
        run.stop();
        watch.last(elapsed_ns, &streams);
        let mut outcome = Outcome {
            client: false,
            parameters: self.parameters.clone(),
            cookie: self.cookie,
            peer: self.link.peer,
            began_unix_s,
            elapsed_ns,
            streams: streams.into_iter().map(|s| s.finish(elapsed_ns)).collect(),
            intervals: watch.intervals,
            cpu_percent: cpu.percent(),
            peer_results: None,
            failure: None,
        };
        outcome.streams.sort_by_key(|stream| stream.id);
        if failure.is_none() {
            failure = self.exchange(&mut outcome).err();
        }
        outcome.failure = failure.map(|error| error.to_string());
        Ok(outcome)
    }

    fn flow(
        &mut self,
        run: &Arc<Run>,
        streams: &[Running],
        watch: &mut Watch,
        cancel: &Cancel,
    ) -> Result<(), TestError> {
        let asked = match self.parameters.seconds {
            0 => Duration::MAX,
            seconds => Duration::from_secs(seconds).saturating_add(PATIENCE),
        };
        let most_ns = u64::try_from(asked.min(self.server.longest).as_nanos()).unwrap_or(u64::MAX);
        while run.now_ns() < most_ns && !cancel.is_cancelled() {
            match self.step()? {
                Some(ServerEvent::Ended) => return Ok(()),
                Some(_) => {
                    return Err(self.link.lost("left the order of a test", "data flows"));
                }
                None => {}
            }
            self.visitors().into_iter().for_each(deny);
            watch.look(run.now_ns(), streams);
        }
        self.control.terminate();
        self.link.send(&self.control.take_output())?;
        Err(self.link.lost("was stopped by this server", "data flows"))
    }

    fn exchange(&mut self, outcome: &mut Outcome) -> Result<(), TestError> {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            match self.step()? {
                Some(ServerEvent::PeerResults(results)) => {
                    outcome.peer_results = Some(results);
                    self.control.give_results(&outcome.results());
                }
                Some(ServerEvent::Over) => return Ok(()),
                Some(ServerEvent::Asked(..) | ServerEvent::Ended) | None => {}
            }
            self.visitors().into_iter().for_each(deny);
        }
        Err(self
            .link
            .lost("said nothing for 10 s", self.control.during()))
    }
}
