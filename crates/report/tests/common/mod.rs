//! Worked results for the tests: a lab of Linux ports, a faulty run, and nodes of other kinds.

pub mod am263x;
pub mod linux;
pub mod page;

mod asked;
mod hostile;

pub use asked::trial;
pub use hostile::{hostile, hostile_page};
use std::collections::BTreeMap;

use wirelab_trial::*;
use wirelab_wire::LineRate;

pub fn file(observations: Vec<Observation>) -> ResultsFile {
    let command = [
        "wirelab",
        "measure",
        "lab:4",
        "--payload",
        "66,438,810,1182,1498",
    ];
    let environment = Environment {
        kernel: Field::measured("Linux 6.12.48".to_owned()),
        cpu: Field::measured("Example CPU @ 2.60GHz".to_owned()),
        cpus: Field::measured(2),
        memory_bytes: Field::measured(8 << 30),
        virtual_machine: Field::absent("not reported by this host"),
    };
    let command = command.map(str::to_owned).to_vec();
    ResultsFile {
        observations,
        ..ResultsFile::new("0.1.0", command, 1_795_254_017_000_000_000, environment)
    }
}

/// The name of a series that tests write as a text.
pub fn series_name(text: &str) -> SeriesName {
    SeriesName::parse(text).unwrap_or_else(|| SeriesName::Other(text.to_owned()))
}

/// A histogram around `ps`: a narrow peak, a shoulder at three times as much, and a few that came very late.
pub fn histogram(ps: u64, count: u64) -> Histogram {
    let ns = (ps / 1000).max(100);
    let mut buckets = Vec::new();
    for step in 0..40u64 {
        let distance = step.abs_diff(12);
        let share = count >> (distance + 1).min(40);
        buckets.push((ns * (976 + 2 * step) / 1000, share));
        buckets.push((ns * 3 * (960 + 2 * step) / 1000, share / 3000));
    }
    buckets.extend([(ns * 17, 4), (ns * 40, 2), (ns * 95, 1)]);
    buckets.sort_unstable();
    buckets.retain(|(_, n)| *n > 0);
    let count: u64 = buckets.iter().map(|b| b.1).sum();
    let mean_of = |of: &dyn Fn(f64) -> f64| {
        let each = buckets
            .iter()
            .map(|(ticks, n)| of(*ticks as f64) * *n as f64);
        each.sum::<f64>() / count as f64
    };
    let mean = mean_of(&|ticks| ticks);
    let stddev = mean_of(&|ticks| (ticks - mean).powi(2)).sqrt();
    Histogram {
        tick_ps: Some(1000),
        count,
        min_ticks: buckets[0].0,
        max_ticks: ns * 95,
        mean_ticks: mean,
        stddev_ticks: stddev,
        buckets: buckets.into(),
    }
}

fn clean(n: u64, payload: u32) -> Counts {
    Counts {
        received_frames: n,
        good_frames: n,
        distinct_sequences: n,
        verified_payload_bytes: n * u64::from(payload),
        ..Counts::default()
    }
}

/// One flow of `fps` frames/s over three seconds.
pub fn flow(
    port: &str,
    direction: Direction,
    sizes: &Sizes,
    fps: f64,
    link: Option<u64>,
) -> FlowObservation {
    let frames = (fps * 3.0) as u64;
    let payload_bits = fps * f64::from(sizes.payload) * 8.0;
    let line = link.and_then(LineRate::new);
    FlowObservation {
        port: port.to_owned(),
        direction,
        stream: 1,
        sent_frames: Field::measured(frames),
        counts: Field::measured(clean(frames, sizes.payload)),
        elapsed: Field::measured(Elapsed {
            ps: 3_000_000_000_000,
            spans: Spans::Wire,
            clock: ClockKind::Wall,
        }),
        frames_per_s: Field::measured(fps),
        payload_bits_per_s: Field::measured(payload_bits),
        link_bits_per_s: Field::measured(fps * f64::from(sizes.frame + 20) * 8.0),
        efficiency: Field::measured_or(
            line.map(|l| payload_bits / l.bits_per_s() as f64),
            "the port has no link rate; --rate gives one",
        ),
        goodput_bits_per_s: Field::absent("an Ethernet trial has no application data"),
        loss_ratio: Field::measured(0.0),
        loss_ratio_at_most: None,
        intervals: wirelab_trial::FlowIntervals::default(),
        over_time: wirelab_trial::OverTime::default(),
        checker_held_up_ps: Field::absent("not simulated"),
        jitter_ps: Field::measured(412_000),
        sender: Field::measured(SenderObservation {
            path: "xdp".to_owned(),
            asked_frames_per_s: Field::measured_or(
                line.map(|l| l.frames_per_s(sizes)),
                "maximum load was requested",
            ),
            achieved_frames_per_s: Field::measured(fps),
            kept_rate: Field::measured(true),
            gap: Field::measured(histogram((1e12 / fps) as u64, frames)),
            slips: Field::measured(0),
            blocked_ps: Field::measured(0),
            longest_burst_frames: Field::measured(1),
            slipped_ps: Field::measured(0),
            kernel_copied: Field::measured(false),
            ledger: None,
        }),
        receiver_path: "xdp".to_owned(),
        series: Vec::new(),
        counters: BTreeMap::new(),
    }
}

pub fn observation(trial: Trial, node: &str, node_type: &str) -> Observation {
    let sizes = trial.size.resolve(trial.framing).unwrap();
    Observation {
        sizes,
        node: Description {
            name: node.to_owned(),
            node_type: node_type.to_owned(),
            capabilities: Capabilities {
                layers: vec![Layer::Ethernet],
                directions: vec![Direction::Transmit, Direction::Receive, Direction::Both],
                buffers: vec![Buffers::Prefilled, Buffers::Copied, Buffers::InPlace],
                ports: trial.ports,
                min_frame_bytes: 64,
                max_frame_bytes: 1518,
                ..Capabilities::default()
            },
            setup: BTreeMap::from(
                [
                    ("core", "Example CPU"),
                    ("interface", "veth, native XDP"),
                    ("offloads", "off"),
                ]
                .map(|(key, value)| (key.to_owned(), value.to_owned())),
            ),
            facts: None,
        },
        trial,
        status: Status::Complete,
        started_unix_ns: Field::measured(1_795_254_017_000_000_000),
        flows: Vec::new(),
        cpu_load: Field::absent("tester and node are one host"),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::new(
            Field::absent("the ceiling was not measured"),
            Field::absent("the ceiling was not measured"),
        ),
        warnings: Vec::new(),
    }
}

/// Four port pairs full duplex at 100 Mbit/s over the payloads of the Ethernet FMC table, then one pair at `max`.
pub fn lab() -> ResultsFile {
    let link = 100_000_000;
    let line = LineRate::new(link).unwrap();
    let mut observations = Vec::new();
    for (at, payload) in [66, 438, 810, 1182, 1498].into_iter().enumerate() {
        let mut o = observation(
            trial(payload, Direction::Both, 4, Some(link)),
            "lab:4",
            "ports",
        );
        for direction in [Direction::Transmit, Direction::Receive] {
            for port in 0..4 {
                let share = 0.9998 - 0.0002 * f64::from(port) - 0.0001 * at as f64;
                let fps = line.frames_per_s(&o.sizes) * share;
                let name = format!("lab-node/n{port}");
                o.flows
                    .push(flow(&name, direction, &o.sizes, fps, Some(link)));
            }
        }
        o.tester.ceiling_frames_per_s = Field::measured(2_310_000.0);
        o.tester.was_limit = Field::measured(false);
        observations.push(o);
    }
    for (payload, fps) in [
        (66, 2.91e6),
        (438, 2.64e6),
        (810, 2.32e6),
        (1182, 2.05e6),
        (1498, 1.83e6),
    ] {
        let mut o = observation(
            trial(payload, Direction::Transmit, 1, None),
            "lab:1",
            "ports",
        );
        o.flows.push(flow(
            "lab-node/n0",
            Direction::Transmit,
            &o.sizes,
            fps,
            None,
        ));
        o.flows[0].series.push(series("latency", 8_300_000, 60_000));
        o.tester.ceiling_frames_per_s = Field::measured(fps * 1.002);
        o.tester.was_limit = Field::measured(true);
        o.warnings.push(Warning {
            code: "tester-was-limit".to_owned(),
            text: "the tester reached its own ceiling, so the node may be faster than this"
                .to_owned(),
            fix: "give the tester more cores, or a rate with --rate".to_owned(),
        });
        observations.push(o);
    }
    file(observations)
}

/// Latency of one size at three loads, the last first.
pub fn loads() -> ResultsFile {
    let mut file = lab();
    let one = file.observations.pop().unwrap();
    let at = |(frames_per_s, ps): (f64, u64)| {
        let mut o = one.clone();
        o.trial.load = Load::FrameRate { frames_per_s };
        o.flows[0].series = vec![series("latency", ps, 60_000)];
        o
    };
    let loads = [
        (50_000.0, 95_000_000),
        (1_000.0, 8_300_000),
        (20_000.0, 21_000_000),
    ];
    file.observations = loads.map(at).into();
    file
}

pub fn series(name: &str, ps: u64, count: u64) -> Series {
    Series {
        name: series_name(name),
        kind: Kind::Measured,
        clock: Clock::TESTER_NS,
        raw_ticks: Vec::new().into(),
        sampled: false,
        histogram: histogram(ps, count),
        percentiles: Default::default(),
        intervals: wirelab_trial::PercentileIntervals::default(),
    }
}

/// A run with loss and damage, a partial trial, a void one, ended by its user.
pub fn faulty() -> ResultsFile {
    let mut file = lab();
    file.interrupted = true;
    file.observations.truncate(4);
    let o = &mut file.observations[1];
    for (at, lost) in [(1, 3), (2, 12)] {
        let flow = &mut o.flows[at];
        let sent = *flow.sent_frames.value().unwrap();
        let counts = Counts {
            received_frames: sent - lost + 1,
            good_frames: sent - lost - 1,
            lost_frames: lost,
            corrupted_frames: 2,
            duplicated_frames: 1,
            distinct_sequences: sent - lost,
            ..Counts::default()
        };
        counts.check_identity(sent).unwrap();
        flow.counts = Field::measured(counts);
        flow.loss_ratio = Field::measured(lost as f64 / sent as f64);
    }
    let o = &mut file.observations[2];
    o.trial.faults.drop = 0.001;
    if let Field::Observed { value, .. } = &mut o.flows[0].sender {
        value.ledger = Some(Ledger {
            sent_frames: 1000,
            dropped_frames: 1,
            lost_frames: 1,
            ..Ledger::default()
        });
    }
    file.observations[2].status = Status::Partial {
        why: "Ctrl-C after 1.2 s".to_owned(),
    };
    file.observations[3].status = Status::Void {
        why: "the receiver died".to_owned(),
    };
    file
}

/// An iperf peer over UDP, a board that counts instructions, a simulation, and a model.
pub fn kinds() -> ResultsFile {
    file(vec![iperf(), board(), hdl(), model()])
}

fn iperf() -> Observation {
    let mut t = trial(0, Direction::Receive, 1, Some(1_000_000_000));
    t.framing.layer = Layer::UdpIpv4;
    t.size = Size::new(SizeUnit::Datagram, 1470);
    t.load = Load::BitRate { bits_per_s: 50e6 };
    let mut o = observation(t, "iperf:192.0.2.7", "iperf");
    let mut f = flow(
        "192.0.2.7:5001",
        Direction::Receive,
        &o.sizes,
        4251.7,
        Some(1_000_000_000),
    );
    f.goodput_bits_per_s = Field::measured(4251.7 * 1470.0 * 8.0);
    f.sender = Field::absent("iperf does not report how its sender did");
    f.receiver_path = "iperf".to_owned();
    f.counts = Field::absent("an iperf server checks no content");
    f.loss_ratio = Field::measured(7.1e-5);
    f.counters
        .insert("iperf_lost_datagrams".to_owned(), Field::measured(3));
    o.flows.push(f);
    o.cpu_load = Field::measured(CpuLoad {
        busy_ratio: 0.62,
        idle_baseline_ratio: Some(0.01),
        shared: false,
        interval: None,
    });
    o
}

fn board() -> Observation {
    let mut t = trial(1500, Direction::Transmit, 1, Some(100_000_000));
    t.buffers = Some(Buffers::Copied);
    t.extent = Extent::Frames { frames: 50 };
    let mut o = observation(t, "board:lpc1768", "board");
    let mut s = series("copy of a frame", 1_914_000, 50_000);
    s.clock = Clock {
        kind: ClockKind::Instructions,
        tick_ps: None,
        resolution_ticks: 1,
        owner: Owner::Node,
    };
    s.histogram.tick_ps = None;
    o.series.push(s);
    o.counters
        .insert("mac_tx_frames".to_owned(), Field::measured(50));
    o.counters.insert(
        "mac_tx_underrun".to_owned(),
        Field::absent("this emulator has no such counter"),
    );
    o
}

fn hdl() -> Observation {
    let mut o = observation(
        trial(46, Direction::Transmit, 1, Some(1_000_000_000)),
        "hdl:reference",
        "hdl",
    );
    let mut f = flow(
        "port0",
        Direction::Transmit,
        &o.sizes,
        1_488_095.2,
        Some(1_000_000_000),
    );
    if let Field::Observed { value, .. } = &mut f.elapsed {
        value.clock = ClockKind::Simulated;
    }
    o.flows.push(f);
    let mut s = series("latency", 672_000, 5_000);
    s.clock.kind = ClockKind::Simulated;
    o.series.push(s);
    o
}

fn model() -> Observation {
    let mut o = observation(
        trial(1500, Direction::Transmit, 1, Some(100_000_000)),
        "lpc1768",
        "model",
    );
    let mut f = flow(
        "model",
        Direction::Transmit,
        &o.sizes,
        7042.3,
        Some(100_000_000),
    );
    let predicted = |field: &Field<f64>| match field.value() {
        Some(value) => Field::Observed {
            value: *value,
            kind: Kind::Predicted,
        },
        None => field.clone(),
    };
    f.frames_per_s = predicted(&f.frames_per_s);
    f.payload_bits_per_s = predicted(&f.payload_bits_per_s);
    f.link_bits_per_s = predicted(&f.link_bits_per_s);
    f.efficiency = predicted(&f.efficiency);
    f.counts = Field::absent("a model moves no frames");
    f.sent_frames = Field::absent("a model moves no frames");
    f.loss_ratio = Field::absent("a model moves no frames");
    f.jitter_ps = Field::absent("the model has no jitter");
    f.sender = Field::absent("a model has no sender");
    o.flows.push(f);
    o
}

/// Text that tries to break out of every format.
pub const HOSTILE: &str =
    "=cmd|' /C calc'!A0</td><script>alert(1)</script>\"\x1b[2J\u{202e}]]>\u{0},\r\n|`&amp;";

/// A datasheet of few trials: one of each part, two searches.
pub fn short_page() -> ResultsFile {
    let mut file = am263x::page();
    // Layer 2, TCP, and UDP of one size with its search.
    file.parts.truncate(6);
    let last = file.parts.last().unwrap();
    file.observations
        .truncate((last.first + last.observations) as usize);
    for o in &mut file.observations {
        for series in o.flows.iter_mut().flat_map(|f| &mut f.series) {
            series.raw_ticks.truncate(3);
            series.sampled = true;
        }
    }
    file
}

/// The worked observations of `spec/examples`, by file name.
pub fn examples() -> Vec<(String, ResultsFile)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/examples");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect(folder)
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "one for each node type: {files:?}");
    let named = files.iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let file = ResultsFile::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, file)
    });
    named.collect()
}
