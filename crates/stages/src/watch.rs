//! A node that is only watched: frames of another program are timed on their path through this host, to wirelab's
//! receiver or to another program. Start reading at [`Watch::run`].

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wirelab_port::ebpf::Mode;
use wirelab_port::iface::{Interface, PortName};
use wirelab_socket::flow::FlowProgress;
use wirelab_socket::serve::{self, Served, UdpInlet, Watching};
use wirelab_trial::facts::Facts;
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::node_type::{StageOption, StageProfile};
use wirelab_trial::stage::{PointTimes, between};
use wirelab_trial::system_error::system_fix;
use wirelab_trial::{
    Cancel, Capabilities, Description, Direction, Extent, Field, FlowObservation, Framing, Layer,
    Load, NodeError, NodeName, NodeType, Observation, OpenError, Path, Profile, Progress, Size,
    SizeUnit, Status, TesterObservation, Trial, Wait, Warning, WarningCode, unseen,
};

use crate::point::Point;
use crate::store::{FlowFilter, NODE_NS};
use crate::tracer::{Choice, Tracer, TracerOptions};
use crate::watch_load::{self, Readings};
use crate::xdp::Xdp;

/// Most frames whose times are kept.
pub const MOST_WATCHED_FRAMES: u64 = 65_536;
/// Interval between two checks for the last frame.
const LOOK: Duration = Duration::from_millis(10);
/// Most records of a point for each frame, with copies of frames.
const RECORDS: u64 = 2;
/// Longest time of a frame in flight to its last point.
const TAIL: Duration = Duration::from_millis(50);
/// Directions whose frames are timed.
const WAYS: [Direction; 2] = [Direction::Receive, Direction::Transmit];
/// Why figures of the sender are absent.
const ELSEWHERE: &str = "another host sends; its counts are unknown here";

/// What to watch.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The node's port.
    pub port: PortName,
    /// The UDP port of the test frames.
    pub udp_port: u16,
    /// The stream of the test frames.
    pub stream: u8,
    /// How many frames to wait for, at most [`MOST_WATCHED_FRAMES`].
    pub frames: u64,
    /// How long to wait for them; `None` until all have arrived.
    pub time: Option<Duration>,
    /// How wirelab's receiver waits; `None` if another program reads.
    pub receive: Option<Wait>,
    /// Length of the frames in bytes without FCS, where it is known.
    pub length_bytes: Option<u32>,
    /// Which set of programs takes the times.
    pub choice: Choice,
    /// Where the XDP program is attached.
    pub xdp: Xdp,
}

/// The records of a watch.
struct Recorded {
    tracer: Tracer,
    /// Where the XDP program was attached.
    xdp: &'static str,
    served: Option<Served>,
    /// Bytes of the datagrams that wirelab's receiver got.
    bytes: u64,
    notes: Vec<String>,
    cancelled: bool,
    readings: Readings,
}

/// The name of its node type.
const NODE_TYPE: &str = "here";

/// The node type of `here:`. Such a node runs no trials: [`Watch`] times frames that another host sends.
pub static HERE: NodeType = NodeType {
    about: "an interface of this host; another host sends (only 'wirelab stages')",
    target: "IFACE",
    examples: &["here:eth0"],
    with_stages: &["here:IFACE"],
    only_stages: true,
    profile: |_| Profile {
        stages: StageProfile {
            options: &[
                StageOption::Length,
                StageOption::Count,
                StageOption::Wait,
                StageOption::Probes,
            ],
            more: &[
                StageOption::Xdp,
                StageOption::Port,
                StageOption::Stream,
                StageOption::Watch,
                StageOption::Time,
            ],
            max_frames: Some(MOST_WATCHED_FRAMES),
            ..Profile::USUAL.stages
        },
        ..Profile::USUAL
    },
    ..NodeType::new(NODE_TYPE, |name, _| {
        Err(OpenError::usage(format!(
            "{name} runs no trials, as another host sends its frames; fix: run 'wirelab stages {name}', or name another node"
        )))
    })
};

impl Watch {
    /// The port of a node of [`HERE`].
    ///
    /// # Errors
    /// [`OpenError`] where its name has options, or names no interface.
    pub fn port_of(name: &NodeName) -> Result<PortName, OpenError> {
        name.only_options(&[], "write here:IFACE")?;
        name.target().parse().map_err(OpenError::usage)
    }

    /// Watches until all frames have arrived, the time is over, or the user ends it.
    ///
    /// # Errors
    /// [`NodeError`] where nothing can be traced here, or the length of the frames is not known.
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Observation, NodeError> {
        Interface::query(&self.port).map_err(NodeError::bad)?;
        let started_unix_ns = unix_ns();
        let recorded = self.watch(progress, cancel)?;
        self.observation(&recorded, started_unix_ns)
    }

    fn options(&self) -> TracerOptions {
        TracerOptions {
            port: self.port.clone(),
            filter: FlowFilter {
                udp_ports: vec![self.udp_port],
                ethernet: false,
                stream_in: Some(self.stream),
                stream_out: Some(self.stream),
                one_clock: false,
            },
            capacity: self.capacity(),
            choice: self.choice,
            xdp: self.xdp,
            btf: None,
        }
    }

    fn capacity(&self) -> u32 {
        (RECORDS * self.frames.min(MOST_WATCHED_FRAMES)) as u32
    }

    fn watch(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Recorded, NodeError> {
        let tracer = Tracer::attach(&self.options())?;
        let inlet = self.receive.map(|wait| self.open(wait, &tracer));
        let inlet = inlet.transpose()?;
        // Frames that arrived before every point was attached, or without a receiver, do not count.
        tracer.clear();
        let (live, mut readings) = (FlowProgress::default(), Readings::new());
        let served = match self.receive.zip(inlet) {
            None => {
                self.wait((&tracer, None), &mut readings, progress, cancel);
                tail(&tracer);
                None
            }
            Some((wait, inlet)) => Some(self.receive(
                (wait, inlet),
                (&tracer, &live),
                &mut readings,
                progress,
                cancel,
            )?),
        };
        let xdp = tracer.node().and_then(|node| node.mode());
        let xdp = match xdp {
            Some(Mode::Native) => "native",
            Some(Mode::Generic) => "generic",
            None => "none",
        };
        let notes = tracer.notes();
        Ok(Recorded {
            tracer,
            xdp,
            served,
            bytes: live.bytes.load(Ordering::Relaxed),
            notes,
            cancelled: cancel.is_cancelled(),
            readings,
        })
    }

    /// The socket of wirelab's receiver, in the port's namespace; the tracer knows it.
    fn open(&self, wait: Wait, tracer: &Tracer) -> Result<UdpInlet, NodeError> {
        let udp = self.udp_port;
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), udp);
        let namespace = self.port.netns().map_err(NodeError::bad)?;
        let socket = namespace
            .run_in(|| UdpSocket::bind(any))
            .map_err(NodeError::bad)?;
        let failed = |e: std::io::Error| {
            NodeError::BadTrial(format!(
                "UDP port {udp} is not available here ({e}); fix: choose another with --port, or --watch where another program \
                 receives the frames"
            ))
        };
        let socket = Arc::new(socket.map_err(failed)?);
        tracer
            .store()
            .set_socket(socket.as_fd())
            .map_err(|e| NodeError::Failed(e.to_string()))?;
        UdpInlet::new(socket, None, Some(self.stream), wait, true).map_err(failed)
    }

    /// Receive the frames, on a thread of its own.
    fn receive(
        &self,
        (wait, mut inlet): (Wait, UdpInlet),
        (tracer, live): (&Tracer, &FlowProgress),
        readings: &mut Readings,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Served, NodeError> {
        let over = Cancel::new();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let mut watching = Watching::new(self.capacity(), live);
                let ended = serve::run(&mut inlet, wait, None, &mut watching, &over);
                watching.finish(ended)
            });
            self.wait((tracer, Some(live)), readings, progress, cancel);
            // The receiver ends after the tracer, which would otherwise count unread frames as dropped.
            tail(tracer);
            over.cancel();
            let mut served = receiver
                .join()
                .unwrap_or_else(|p| std::panic::resume_unwind(p));
            match served.failure.take() {
                Some(error) => Err(NodeError::Failed(format!(
                    "receiving the frames: {error}; fix: {}",
                    system_fix(&error)
                ))),
                None => Ok(served),
            }
        })
    }

    /// Waits for the frames; once one has arrived, the cores are read between checks for more.
    fn wait(
        &self,
        (tracer, live): (&Tracer, Option<&FlowProgress>),
        readings: &mut Readings,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) {
        let begun = Instant::now();
        let late = |since: Instant| self.time.is_some_and(|time| since.elapsed() >= time);
        while !cancel.is_cancelled() && !late(begun) {
            let mut done = match live {
                Some(live) => live.frames.load(Ordering::Relaxed),
                None => passed(tracer),
            };
            if done > 0 {
                readings.look();
            }
            if done >= self.frames {
                // A copy of a frame does not count as another one; frames that no point saw are no longer expected.
                done = Some(distinct(tracer)).filter(|n| *n > 0).unwrap_or(done);
            }
            progress.report(done, self.frames, "frames have come");
            if done >= self.frames {
                break;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The observation of a watch.
    fn observation(
        &self,
        recorded: &Recorded,
        started_unix_ns: u64,
    ) -> Result<Observation, NodeError> {
        let framing = Framing {
            layer: Layer::UdpIpv4,
            vlan_tags: 0,
        };
        let size = Size::new(SizeUnit::Length, self.length(recorded, framing)?);
        let sizes = size.resolve_test(framing).map_err(NodeError::bad)?;
        let mut notes = recorded.notes.clone();
        let flows: Vec<FlowObservation> = WAYS
            .into_iter()
            .filter_map(|direction| self.flow(recorded, direction, &mut notes))
            .collect();
        let mut warnings: Vec<Warning> = notes.into_iter().map(Warning::of_node).collect();
        warnings.extend(self.without_frames(recorded, &flows));
        let busy_over_time = recorded.readings.between(&flows).into_iter().collect();
        let most_frames = flows.iter().map(longest).max().unwrap_or(0);
        let mut counters = counters(recorded);
        // Frames that arrived while the points were being attached were received too, so only the points' own counts are used.
        for direction in [Direction::Receive, Direction::Transmit] {
            warnings.extend(unseen::count(&mut counters, direction, 0));
        }
        Ok(Observation {
            trial: Trial {
                path: Some(Path::Stack),
                wait: self.receive,
                probes: Some(self.choice.into()),
                ..Trial::new(
                    framing,
                    flows.first().map_or(Direction::Receive, |f| f.direction),
                    size,
                    Load::Max,
                    Extent::Frames {
                        frames: self.frames,
                    },
                )
            },
            sizes,
            node: self.description(recorded),
            status: self.status(most_frames, recorded.cancelled),
            started_unix_ns: Field::measured(started_unix_ns),
            flows,
            cpu_load: Field::absent(
                "not measured for a node that is only watched: the source of its cores' work is unknown",
            ),
            busy_over_time,
            series: Vec::new(),
            counters,
            tester: TesterObservation::new(
                Field::absent("there is no tester"),
                Field::absent("there is no tester"),
            ),
            warnings,
        })
    }

    /// That no frame passed, or that none of those that passed was received.
    fn without_frames(&self, recorded: &Recorded, flows: &[FlowObservation]) -> Option<Warning> {
        if flows.is_empty() {
            let text = format!(
                "no test frame of stream {} to UDP port {} passed {}",
                self.stream, self.udp_port, self.port
            );
            let fix = "send some meanwhile: wirelab send IFACE --layer udp4 --load 1kpps --to MAC";
            return Some(Warning::new(WarningCode::NOTHING_SEEN, text, fix));
        }
        let served = recorded.served.as_ref()?;
        (served.report.counts.received_frames == 0).then(|| {
            let text = format!(
                "frames passed {}, and none reached wirelab's receiver on UDP port {}",
                self.port, self.udp_port
            );
            let fix = "they are for another port or address, or a firewall drops them; 'wirelab send' sends to \
                       198.18.0.2: sudo ip address add 198.18.0.2/24 dev IFACE";
            Warning::new(WarningCode::NONE_RECEIVED, text, fix)
        })
    }

    fn status(&self, most_frames: u64, was_ended: bool) -> Status {
        let when = match was_ended {
            _ if most_frames >= self.frames => return Status::Complete,
            true => "before it was ended",
            false => "in the time",
        };
        let why = format!("{most_frames} of {} frames came {when}", self.frames);
        Status::Partial { why }
    }

    /// The length of the frames: what wirelab's receiver got, or the given one.
    fn length(&self, recorded: &Recorded, framing: Framing) -> Result<u32, NodeError> {
        let frames = recorded
            .served
            .as_ref()
            .map_or(0, |s| s.report.counts.received_frames);
        let around = framing.layer.header_bytes();
        let had = recorded
            .bytes
            .checked_div(frames)
            .and_then(|bytes| u32::try_from(bytes).ok());
        let had = had.filter(|bytes| u64::from(*bytes) * frames == recorded.bytes);
        // An Ethernet header of 14 bytes precedes the layer's headers.
        let had = had.map(|bytes| bytes + around + 14);
        match (self.length_bytes, had, frames) {
            (Some(length), ..) => Ok(length),
            (None, Some(length), _) => Ok(length.max(60)),
            (None, None, 0) if recorded.served.is_some() => Ok(64),
            _ => Err(NodeError::bad(
                "the frames' length is unknown; fix: give it with --length, one only, as the sender has it",
            )),
        }
    }

    fn description(&self, recorded: &Recorded) -> Description {
        let mut setup = BTreeMap::new();
        setup.insert("probes".to_owned(), recorded.tracer.set().to_string());
        setup.insert("xdp".to_owned(), recorded.xdp.to_owned());
        setup.insert("interface".to_owned(), self.port.to_string());
        let application = match self.receive {
            Some(_) => "wirelab stages here:",
            None => "another program",
        };
        setup.insert("application".to_owned(), application.to_owned());
        for info in recorded.tracer.points() {
            let key = format!("function.{}", info.point.key());
            let function = match info.point {
                Point::InDriver => format!("{} ({})", info.function, recorded.xdp),
                _ => info.function.to_owned(),
            };
            setup.insert(key, function);
        }
        Description {
            name: format!("{NODE_TYPE}:{}", self.port),
            node_type: NODE_TYPE.to_owned(),
            capabilities: Capabilities::default(),
            setup,
            facts: Some(Facts::default()),
        }
    }

    /// The flow of one direction; `None` if no frame passed two of its points.
    fn flow(
        &self,
        recorded: &Recorded,
        direction: Direction,
        notes: &mut Vec<String>,
    ) -> Option<FlowObservation> {
        let mut points = recorded.tracer.times_of(direction);
        // Without `wire`: the sender stamped it, usually by the clock of another host.
        points.retain(|p| p.name != Point::InWire.name() && p.stream == self.stream);
        if let (Direction::Receive, Some(served)) = (direction, &recorded.served) {
            let times = served.passed.iter().map(|p| (p.sequence, p.application_ns));
            points.push(PointTimes {
                name: "application".to_owned(),
                stream: self.stream,
                clock: NODE_NS,
                times: times.collect(),
            });
        }
        let over_time = watch_load::frames(&points);
        let series: Vec<_> = between(&points, notes)
            .into_iter()
            .map(|(_, s)| s)
            .collect();
        if series.is_empty() {
            return None;
        }
        if direction == Direction::Receive && recorded.served.is_none() {
            notes.push("application: no point, another program reads the frames; the last point is the return of its system call".to_owned());
        }
        let absent = || Field::absent(ELSEWHERE);
        let mut counters = BTreeMap::new();
        if let Some(served) = recorded
            .served
            .as_ref()
            .filter(|_| direction == Direction::Receive)
        {
            let counts = &served.report.counts;
            for (name, value) in [
                ("received_frames", counts.received_frames),
                ("good_frames", counts.good_frames),
                ("distinct_sequences", counts.distinct_sequences),
                ("duplicated_frames", counts.duplicated_frames),
                ("reordered_frames", counts.reordered_frames),
            ] {
                counters.insert(name.to_owned(), Field::measured(value));
            }
        }
        Some(FlowObservation {
            port: self.port.to_string(),
            direction,
            stream: self.stream,
            sent_frames: absent(),
            counts: Field::absent(format!("{ELSEWHERE}, so the loss is unknown")),
            elapsed: Field::absent(ELSEWHERE),
            frames_per_s: Field::absent(ELSEWHERE),
            payload_bits_per_s: Field::absent(ELSEWHERE),
            link_bits_per_s: Field::absent(ELSEWHERE),
            efficiency: Field::absent(ELSEWHERE),
            goodput_bits_per_s: Field::absent(ELSEWHERE),
            loss_ratio: Field::absent(ELSEWHERE),
            loss_ratio_at_most: None,
            intervals: wirelab_trial::FlowIntervals::default(),
            over_time,
            checker_held_up_ps: Field::absent("not measured"),
            jitter_ps: absent(),
            sender: Field::absent(ELSEWHERE),
            receiver_path: "stack".to_owned(),
            series,
            counters,
        })
    }
}

fn longest(flow: &FlowObservation) -> u64 {
    let counts = flow.series.iter().map(|s| s.histogram.count);
    counts.max().unwrap_or(0)
}

fn counters(recorded: &Recorded) -> BTreeMap<String, Field<u64>> {
    let all = recorded.tracer.counters().into_iter();
    all.map(|(name, value)| (name, Field::measured(value)))
        .collect()
}

/// Frames that passed the whole path, in or out.
fn passed(tracer: &Tracer) -> u64 {
    let taken = |point: Point| tracer.store().counts(point).taken;
    let ended = [Point::InCall, Point::OutDriver];
    ended.into_iter().map(taken).max().unwrap_or(0)
}

/// Lets frames that are under way reach their last point, then stops.
fn tail(tracer: &Tracer) {
    std::thread::sleep(TAIL);
    tracer.pause();
}

/// Different frames at the point that saw most.
fn distinct(tracer: &Tracer) -> u64 {
    let each = tracer.times().into_iter().map(|point| {
        let frames: BTreeSet<u32> = point.times.iter().map(|(sequence, _)| *sequence).collect();
        frames.len() as u64
    });
    each.max().unwrap_or(0)
}
