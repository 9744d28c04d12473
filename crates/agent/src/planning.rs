//! From a request to the work of a trial. Sockets, tracer and XDP programs are opened here, before the reply.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use wirelab_control::Refusal;
use wirelab_control::message::Started;
use wirelab_control::value::{Mac, Path};
use wirelab_cores::clock_id;
use wirelab_port::ebpf::Mode;
use wirelab_port::packet::PREFILLED_SLOTS;
use wirelab_socket::serve::{CountingSocket, UdpInlet};
use wirelab_stages::{FlowFilter, Xdp};
use wirelab_trial::job::Pace;
use wirelab_trial::{Buffers, Direction, Probes, Wait};
use wirelab_wire::{Layer, Transport};

use crate::engine::TrialWork;
use crate::ethernet::{self, EthernetTrial};
use crate::facts;
use crate::handler::{Agent, failed};
use crate::inside::{Inside, RequestedPoints, mode_name};
use crate::past::{self, FastTrackTrial, Track};
use crate::request::Request;
use crate::tcp::{self, TcpTrial};
use crate::udp::{self, UdpTrial};

/// Default UDP and TCP port of trials.
const TRIAL_PORT: u16 = wirelab_wire::header::UDP_PORT;

/// A tracer if one was requested and is available, and notes that say why not.
type Tracing = (Option<Inside>, Vec<String>);

impl Agent {
    /// The work of the trial, and its notes.
    pub(crate) fn plan(&mut self, request: &Request<'_>) -> Result<(TrialWork, Started), Refusal> {
        let start = request.start;
        let mut started = Started {
            frame_bytes: request.sizes.map(|sizes| sizes.frame),
            node_ip: Some(self.location().ip),
            peer_ip: Some(request.peer),
            ..Started::default()
        };
        let mut plan = match start.layer {
            Layer::Ethernet => self.plan_ethernet(request, &mut started)?,
            Layer::UdpIpv4 | Layer::UdpIpv6 => self.plan_udp(request, &mut started)?,
            Layer::TcpIpv4 | Layer::TcpIpv6 => self.plan_tcp(request, &mut started)?,
        };
        // An echo runs the same with a background as without. In one loop for both, the background's frames would
        // also wait for the echo in the application.
        let echo = start.direction == Direction::Echo;
        if let Some(beside) = echo
            .then(|| self.background(request))
            .transpose()?
            .flatten()
        {
            plan.receive = plan.receive.map(|echo| udp::with_background(echo, beside));
        }
        let spins = request.options.wait == Some(Wait::Spin);
        let pace = request.offer.map(|offer| offer.pace);
        plan.sleeps_ps = pace.and_then(Pace::interval_ps).filter(|_| !spins);
        plan.wanted = Some(RequestedPoints {
            records: request.expect.captures,
            direction: start.direction,
            stream_in: request.expect.stream,
            stream_out: start.tx_stream.unwrap_or(0),
        });
        Ok((plan, started))
    }

    fn plan_ethernet(
        &mut self,
        request: &Request<'_>,
        started: &mut Started,
    ) -> Result<TrialWork, Refusal> {
        let start = request.start;
        let peer = self.destination(request)?;
        (started.node_mac, started.peer_mac) = (Some(self.mac()), Some(peer));
        (started.node_ip, started.peer_ip) = (None, None);
        if request.options.path != Path::Stack {
            return self.plan_past(request, peer, None);
        }
        started.buffers = start.buffers;
        let ready = start.buffers == Some(Buffers::Prefilled) && request.offer.is_some();
        started.slots = ready.then_some(PREFILLED_SLOTS);
        let beside = self.beside(request)?;
        let tracing = self.look(request, &[])?;
        let trial = EthernetTrial {
            direction: start.direction,
            interface: self.location().interface.clone(),
            peer,
            sizes: request.sizes,
            offer: request.offer,
            expect: request.expect,
            echo_stream: start.rx_stream,
            buffers: start.buffers,
            expected_frames: request.expected_frames,
            one_by_one: one_by_one(request, &tracing, beside),
        };
        let opened = |socket: BorrowedFd<'_>| watch_socket(&tracing, socket);
        let plan = ethernet::plan(trial, &opened).map_err(failed)?;
        Ok(with(plan, tracing))
    }

    fn plan_udp(
        &mut self,
        request: &Request<'_>,
        started: &mut Started,
    ) -> Result<TrialWork, Refusal> {
        let start = request.start;
        let peer_port = start.peer_port.unwrap_or(TRIAL_PORT);
        let node_port = start.node_port.unwrap_or(TRIAL_PORT);
        started.peer_port = request.offer.map(|_| peer_port);
        let socket = udp::bind(SocketAddr::new(self.location().ip, node_port)).map_err(failed)?;
        let port = socket.local_addr().map_err(failed)?.port();
        started.node_port = Some(port);
        if request.options.path != Path::Stack {
            let peer = self.destination(request)?;
            return self.plan_past(request, peer, Some((socket, port)));
        }
        let earlier_ports = self.senders.begin(request.peer, start.peer_port);
        let beside = self.beside(request)?;
        let tracing = self.look(request, &[port])?;
        watch_socket(&tracing, socket.as_fd()).map_err(failed)?;
        let trial = UdpTrial {
            direction: start.direction,
            offer: request.offer,
            expect: request.expect,
            echo_stream: start.rx_stream,
            peer: SocketAddr::new(request.peer, peer_port),
            earlier_ports,
            expected_frames: request.expected_frames,
            one_by_one: one_by_one(request, &tracing, beside),
        };
        Ok(with(udp::plan(socket, trial).map_err(failed)?, tracing))
    }

    fn plan_tcp(&self, request: &Request<'_>, started: &mut Started) -> Result<TrialWork, Refusal> {
        let start = request.start;
        let node_port = start.node_port.unwrap_or(TRIAL_PORT);
        let (plan, port) = tcp::plan(&TcpTrial {
            direction: start.direction,
            offer: request.offer,
            expect: request.expect,
            local: SocketAddr::new(self.location().ip, node_port),
            peer: request.peer,
        })
        .map_err(failed)?;
        started.node_port = Some(port);
        Ok(plan)
    }

    /// A trial past the stack; for UDP, a socket keeps the flow's port.
    fn plan_past(
        &mut self,
        request: &Request<'_>,
        peer: Mac,
        udp: Option<(UdpSocket, u16)>,
    ) -> Result<TrialWork, Refusal> {
        let start = request.start;
        let port = udp.as_ref().map(|(_, port)| *port);
        let holder = udp.map(|(socket, _)| socket);
        let past = FastTrackTrial {
            port: self.location().interface.port.clone(),
            xdp: self.xdp,
            layer: start.layer,
            peer,
            udp_port: port.unwrap_or(0),
        };
        if let (Direction::Transmit, Some(offer), Some(sizes)) =
            (start.direction, request.offer, request.sizes)
        {
            let frame = ethernet::spec(
                &self.location().interface,
                peer,
                self.transport(request, port),
            );
            let send = past::send(&past, frame, &offer, sizes)
                .map_err(|error| Refusal::unsupported("path", &error.to_string()))?;
            return Ok(TrialWork {
                send: Some(send),
                expected_frames: request.expected_frames,
                ..TrialWork::default()
            });
        }
        let (tracing, made) = if request.options.path == Path::Driver {
            let made = past::echo(&past, request.peer, holder);
            ((None, Vec::new()), made)
        } else {
            let beside = self.beside(request)?;
            let other_port = port.and_then(|port| request.options.other_port(port));
            let ports: Vec<u16> = port.into_iter().chain(other_port).collect();
            let tracing = self.look(request, &ports)?;
            let (holder, apart) = match (other_port, holder) {
                (Some(other), Some(socket)) => {
                    (None, Some((other, apart(request, socket, &tracing)?)))
                }
                (_, holder) => (holder, None),
            };
            let track = Track {
                rules: request.options.rules_for(start.layer, past.udp_port),
                expect: request.expect,
                wait: request.options.waits(),
                beside,
                holder,
                apart,
            };
            let store = tracing.0.as_ref().map(Inside::store);
            let made = past::receive(&past, track, store);
            (tracing, made)
        };
        let (work, mode, remark) = made.map_err(|error| past::refused(&error))?;
        self.sits(mode);
        let mut plan = with(TrialWork::default(), tracing);
        plan.receive = Some(work);
        plan.expected_frames = request.expected_frames;
        plan.notes.extend(remark);
        Ok(plan)
    }

    /// The headers of the frames that the node sends.
    fn transport(&self, request: &Request<'_>, port: Option<u16>) -> Transport {
        use std::net::IpAddr::{V4, V6};
        let ports = [
            port.unwrap_or(TRIAL_PORT),
            request.start.peer_port.unwrap_or(TRIAL_PORT),
        ];
        match (
            request.start.layer,
            self.location().ip,
            request.peer.to_canonical(),
        ) {
            (Layer::UdpIpv4, V4(own), V4(peer)) => Transport::UdpIpv4 {
                addresses: [own, peer],
                ports,
            },
            (Layer::UdpIpv6, V6(own), V6(peer)) => Transport::UdpIpv6 {
                addresses: [own, peer],
                ports,
            },
            _ => Transport::Ethernet,
        }
    }

    /// The second socket that the loop of the flow serves.
    fn beside(&self, request: &Request<'_>) -> Result<Option<CountingSocket>, Refusal> {
        match request.start.direction {
            Direction::Echo => Ok(None),
            _ => self.background(request),
        }
    }

    /// The socket of the background.
    fn background(&self, request: &Request<'_>) -> Result<Option<CountingSocket>, Refusal> {
        let bind = |port| CountingSocket::bind(SocketAddr::new(self.location().ip, port));
        let opened = request.options.background_port.map(bind).transpose();
        opened.map_err(|error| Refusal::unsupported("background_port", &error.to_string()))
    }

    /// If capture points are requested, attach a tracer to the flow to these UDP ports; without ports, to Ethernet.
    fn look(&mut self, request: &Request<'_>, udp_ports: &[u16]) -> Result<Tracing, Refusal> {
        let probes = request.options.probes;
        if request.expect.captures == 0 || probes == Probes::Off {
            return Ok((None, Vec::new()));
        }
        let echo = request.start.direction == Direction::Echo;
        let stream = |stream: Option<u8>| (!echo).then(|| stream.unwrap_or(0));
        let filter = FlowFilter {
            ethernet: udp_ports.is_empty(),
            udp_ports: udp_ports.to_vec(),
            stream_in: stream(request.start.rx_stream),
            stream_out: stream(request.start.tx_stream),
            one_clock: request.start.clock_id.is_some() && request.start.clock_id == clock_id(),
        };
        let port = self.location().interface.port.clone();
        // The fast track has its own program, and sent frames pass none.
        let own =
            request.options.path == Path::Stack && request.start.direction != Direction::Transmit;
        let xdp = if own { self.xdp } else { Xdp::Off };
        let attached = match &self.allowed.probes {
            // The node found out at its start that no tracer can be attached.
            Err(why) if probes == Probes::Auto => Err(why.clone()),
            _ => Inside::attach(&self.shelf, &port, &filter, request.expect.captures, probes)
                .map_err(|error| error.to_string()),
        };
        match attached {
            Ok(mut inside) => {
                // The request may name another set than the best.
                for (key, value) in inside.keys() {
                    self.set_key(&key, &value);
                }
                let why = facts::short(facts::why_this_set(&self.allowed, probes));
                self.set_key("probes_why", &why);
                let mode = inside.watch_driver(&port, xdp);
                self.sits(mode);
                Ok((Some(inside), Vec::new()))
            }
            Err(why) if probes == Probes::Auto => Ok((
                None,
                vec![format!("no capture points inside the stack: {why}")],
            )),
            Err(why) => Err(Refusal::unsupported("probes", &why)),
        }
    }

    /// Keep the mode of the XDP program, for the set-up keys.
    fn sits(&mut self, mode: Option<Mode>) {
        if let Some(mode) = mode {
            self.set_key("xdp", mode_name(mode));
            self.set_key(facts::DRIVER, &facts::driver(mode_name(mode)));
        }
    }
}

/// The socket of a fast track's flow for frames that pass the stack.
fn apart(request: &Request<'_>, socket: UdpSocket, tracing: &Tracing) -> Result<UdpInlet, Refusal> {
    watch_socket(tracing, socket.as_fd()).map_err(failed)?;
    let (from, stream) = (Some(request.peer), Some(request.expect.stream));
    UdpInlet::new(
        Arc::new(socket),
        from,
        stream,
        request.options.waits(),
        false,
    )
    .map_err(failed)
}

/// How frames are taken one by one; `None` if they are not.
fn one_by_one(
    request: &Request<'_>,
    tracing: &Tracing,
    beside: Option<CountingSocket>,
) -> Option<(Wait, Option<CountingSocket>)> {
    let options = &request.options;
    let timed = tracing.0.is_some() || options.probes == Probes::Off;
    let captured = request.expect.captures > 0 && timed;
    let needed = captured || options.wait.is_some() || beside.is_some();
    needed.then(|| (options.waits(), beside))
}

/// Give the tracer the socket that receives the flow.
fn watch_socket(tracing: &Tracing, socket: BorrowedFd<'_>) -> io::Result<()> {
    match &tracing.0 {
        Some(inside) => inside.store().set_socket(socket),
        None => Ok(()),
    }
}

fn with(plan: TrialWork, (inside, notes): Tracing) -> TrialWork {
    TrialWork {
        inside,
        notes,
        ..plan
    }
}
