//! Writes `spec/examples/*.json`, a worked results file of each node type:
//! `cargo run -p wirelab-trial --example worked`. The figures are made up, but agree with each other.

use std::collections::BTreeMap;
use std::path::Path;

use wirelab_trial::slices::{Slice, Slices};
use wirelab_trial::*;

const START_NS: u64 = 1_795_254_017_000_000_000;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/examples");
    for (name, node, observations) in [
        ("ports", "lab:1", vec![ports(), ports_with_faults()]),
        ("iperf", "iperf:192.168.1.10", vec![iperf()]),
        ("board-instructions", "board:lpc1768", vec![board()]),
        ("hdl", "hdl:generator", vec![hdl()]),
        ("model", "model:lpc1768", vec![model()]),
    ] {
        let environment = Environment {
            kernel: Field::measured("Linux 6.12.0".to_owned()),
            cpu: Field::measured("Example CPU at 2.1 GHz".to_owned()),
            cpus: Field::measured(2),
            memory_bytes: Field::measured(8_589_934_592),
            virtual_machine: Field::measured(true),
        };
        let command = ["wirelab", "measure", node].map(str::to_owned).to_vec();
        let file = ResultsFile {
            observations,
            ..ResultsFile::new("0.1.0", command, START_NS, environment)
        };
        std::fs::write(folder.join(name).with_extension("json"), file.to_json())?;
    }
    Ok(())
}

/// A name of the node's own.
fn own(name: &str) -> SeriesName {
    SeriesName::Other(name.to_owned())
}

fn trial(layer: Layer, direction: Direction, size: Size, extent: Extent) -> Trial {
    Trial::new(
        Framing {
            layer,
            vlan_tags: 0,
        },
        direction,
        size,
        Load::Max,
        extent,
    )
}

fn ethernet(unit: SizeUnit, bytes: u32, frames: u64) -> Trial {
    let extent = Extent::Frames { frames };
    let size = Size::new(unit, bytes);
    trial(Layer::Ethernet, Direction::Transmit, size, extent)
}

fn observe(trial: Trial, name: &str, node_type: &str, setup: &[(&str, &str)]) -> Observation {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let no_ceiling = "the tester's ceiling was not measured";
    Observation {
        sizes: trial.size.resolve(trial.framing).expect("a size that fits"),
        node: Description {
            name: name.to_owned(),
            node_type: node_type.to_owned(),
            capabilities: Capabilities {
                layers: vec![trial.framing.layer],
                directions: vec![trial.direction],
                buffers: trial.buffers.into_iter().collect(),
                paths: Vec::new(),
                ports: 1,
                min_frame_bytes: 64,
                max_frame_bytes: 1518,
                link_bits_per_s: trial.link_bits_per_s,
            },
            setup: setup.iter().map(text).collect(),
            facts: None,
        },
        trial,
        status: Status::Complete,
        started_unix_ns: Field::measured(START_NS),
        flows: Vec::new(),
        cpu_load: Field::absent("this node does not report its load"),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::new(Field::absent(no_ceiling), Field::absent(no_ceiling)),
        warnings: Vec::new(),
    }
}

/// A flow of which nothing is known except its port.
fn flow(port: &str, o: &Observation, path: &str, why: &str) -> FlowObservation {
    FlowObservation {
        port: port.to_owned(),
        direction: o.trial.direction,
        stream: 0,
        sent_frames: Field::absent(why),
        counts: Field::absent(why),
        elapsed: Field::absent(why),
        frames_per_s: Field::absent(why),
        payload_bits_per_s: Field::absent(why),
        link_bits_per_s: Field::absent(why),
        efficiency: Field::absent(why),
        goodput_bits_per_s: Field::absent("an Ethernet trial has no application data"),
        loss_ratio: Field::absent(why),
        loss_ratio_at_most: None,
        intervals: wirelab_trial::FlowIntervals::default(),
        over_time: wirelab_trial::OverTime::default(),
        checker_held_up_ps: Field::absent(why),
        jitter_ps: Field::absent(why),
        sender: Field::absent(why),
        receiver_path: path.to_owned(),
        series: Vec::new(),
        counters: BTreeMap::new(),
    }
}

fn clean(o: &Observation, frames: u64) -> Counts {
    Counts {
        received_frames: frames,
        good_frames: frames,
        distinct_sequences: frames,
        verified_payload_bytes: frames * u64::from(o.sizes.payload),
        ..Counts::default()
    }
}

/// Rates that follow from a number of frames and the time they took.
fn rates(f: &mut FlowObservation, o: &Observation, frames: u64, elapsed: Elapsed, kind: Kind) {
    let observed = |value| Field::Observed { value, kind };
    let per_s = frames as f64 * 1e12 / elapsed.ps as f64;
    let payload = per_s * f64::from(o.sizes.payload) * 8.0;
    f.elapsed = Field::Observed {
        value: elapsed,
        kind,
    };
    f.frames_per_s = observed(per_s);
    f.payload_bits_per_s = observed(payload);
    f.link_bits_per_s = observed(per_s * f64::from(o.sizes.frame + 20) * 8.0);
    f.efficiency = match o.trial.link_bits_per_s {
        Some(link) => observed(payload / link as f64),
        None => Field::absent("the port has no link rate; --rate gives one"),
    };
}

fn sender(path: &str, per_s: Field<f64>, gap: Field<Histogram>) -> SenderObservation {
    SenderObservation {
        path: path.to_owned(),
        asked_frames_per_s: Field::absent("maximum load was requested"),
        achieved_frames_per_s: per_s,
        kept_rate: Field::absent("maximum load was requested"),
        gap,
        slips: Field::measured(0),
        blocked_ps: Field::measured(0),
        longest_burst_frames: Field::measured(1),
        slipped_ps: Field::measured(0),
        kernel_copied: Field::absent("not known on this path"),
        ledger: None,
    }
}

fn wire(ps: u64, clock: ClockKind) -> Elapsed {
    Elapsed {
        ps,
        spans: Spans::Wire,
        clock,
    }
}

fn ports() -> Observation {
    let mut t = ethernet(SizeUnit::Payload, 1498, 24_414);
    t.link_bits_per_s = Some(100_000_000);
    let setup = [("interface", "veth, native XDP"), ("offloads", "off")];
    let mut o = observe(t, "lab:1", "ports", &setup);
    let frames = 24_414;
    let mut f = flow("lab-node/n0", &o, "xdp", "not observed");
    f.sent_frames = Field::measured(frames);
    f.counts = Field::measured(clean(&o, frames));
    // A frame and its gap take 122.88 µs; the shaper delayed the last ones by 15 µs.
    let elapsed = wire(frames * 122_880_000 + 15_000_000, ClockKind::Wall);
    rates(&mut f, &o, frames, elapsed, Kind::Measured);
    let sixth = Slice {
        ns: 4_069 * 122_880,
        amount: 4_069,
        distinct: 4_069,
        passed: 4_069,
    };
    f.over_time = OverTime::of_frames(&Slices {
        all: vec![sixth; 6],
        first_ns: None,
    });
    f.loss_ratio = Field::measured(0.0);
    f.jitter_ps = Field::measured(412_000);
    let gaps = (0..frames - 1).map(|i| 122_880 + i % 7 * 40 - 120);
    let gap = Field::measured(Histogram::of(Some(1000), gaps));
    f.sender = Field::measured(sender("xdp", f.frames_per_s.clone(), gap));
    let mut latency = SeriesBuilder::new(FixedSeries::LATENCY, Clock::TESTER_NS, 0);
    for ns in [
        8_310, 8_120, 8_344, 8_290, 9_870, 8_305, 8_111, 8_402, 8_266, 8_317, 8_290, 8_335,
    ] {
        latency.push(ns);
    }
    f.series.push(latency.finish());
    o.flows.push(f);
    o.cpu_load = Field::absent("tester and node are one host");
    o.tester.ceiling_frames_per_s = Field::measured(1_834_000.0);
    o.tester.was_limit = Field::measured(false);
    o
}

fn ports_with_faults() -> Observation {
    let mut t = ethernet(SizeUnit::Frame, 64, 1_000);
    t.faults = FaultRates {
        drop: 0.001,
        corrupt: 0.002,
        seed: 1,
        ..FaultRates::default()
    };
    let mut o = observe(t, "lab:1", "ports", &[("interface", "veth, native XDP")]);
    let mut f = flow("lab-node/n0", &o, "xdp", "not observed");
    let counts = Counts {
        good_frames: 997,
        corrupted_frames: 2,
        lost_frames: 1,
        verified_payload_bytes: 997 * 46,
        ..clean(&o, 999)
    };
    f.sent_frames = Field::measured(1_000);
    f.counts = Field::measured(counts);
    rates(
        &mut f,
        &o,
        999,
        wire(412_000_000, ClockKind::Wall),
        Kind::Measured,
    );
    f.loss_ratio = Field::measured(0.001);
    f.jitter_ps = Field::absent("frames carried no time");
    let gap = Field::absent("the sender kept no frame times");
    let mut s = sender("xdp", f.frames_per_s.clone(), gap);
    s.ledger = Some(Ledger {
        sent_frames: 1_000,
        dropped_frames: 1,
        lost_frames: 1,
        corrupted_frames: 2,
        ..Ledger::default()
    });
    f.sender = Field::measured(s);
    o.flows.push(f);
    o
}

fn iperf() -> Observation {
    let size = Size::new(SizeUnit::Datagram, 1470);
    let extent = Extent::Time {
        time_ps: 10_000_000_000_000,
    };
    let mut t = trial(Layer::UdpIpv4, Direction::Receive, size, extent);
    t.load = Load::BitRate { bits_per_s: 50e6 };
    let setup = [
        ("core", "Cortex-R5F"),
        ("clock", "400 MHz"),
        ("stack", "lwIP"),
    ];
    let mut o = observe(t, "iperf:192.168.1.10", "iperf", &setup);
    let (sent, lost) = (42_518u64, 3u64);
    let why = "an iperf server checks no content and reports only these counts";
    let mut f = flow("192.168.1.10:5001", &o, "iperf", why);
    let elapsed = Elapsed {
        ps: 10_000_214_000_000,
        spans: Spans::Call,
        clock: ClockKind::Wall,
    };
    rates(&mut f, &o, sent - lost, elapsed, Kind::Measured);
    f.payload_bits_per_s = Field::absent(why);
    f.sent_frames = Field::measured(sent);
    f.goodput_bits_per_s =
        Field::measured((sent - lost) as f64 * 1470.0 * 8e12 / elapsed.ps as f64);
    f.loss_ratio = Field::measured(lost as f64 / sent as f64);
    f.jitter_ps = Field::measured(34_000_000);
    f.counters = [
        ("received_datagrams", sent - lost),
        ("lost_datagrams", lost),
    ]
    .map(|(name, n)| (name.to_owned(), Field::measured(n)))
    .into();
    let late = Field::absent("this version of iperf does not report it");
    f.counters.insert("out_of_order_datagrams".to_owned(), late);
    o.flows.push(f);
    o.cpu_load = Field::measured(CpuLoad {
        busy_ratio: 0.47,
        idle_baseline_ratio: Some(0.01),
        shared: false,
        interval: None,
    });
    o
}

fn board() -> Observation {
    let mut t = ethernet(SizeUnit::Length, 1514, 50);
    t.buffers = Some(Buffers::Copied);
    let setup = [
        ("core", "Cortex-M3, emulated"),
        ("memory", "frames in AHB SRAM"),
    ];
    let mut o = observe(t, "board:lpc1768", "board", &setup);
    let why = "this board counts instructions, not time";
    let mut f = flow("eth0", &o, "pcapng", why);
    f.sent_frames = Field::measured(50);
    f.counts = Field::measured(clean(&o, 50));
    f.loss_ratio = Field::measured(0.0);
    o.flows.push(f);
    let instructions = Clock {
        kind: ClockKind::Instructions,
        tick_ps: None,
        resolution_ticks: 1,
        owner: Owner::Node,
    };
    let mut pulse = SeriesBuilder::new(own("pulse"), instructions, 0);
    let mut copy = SeriesBuilder::new(own("copy"), instructions, 0);
    for _ in 0..50 {
        copy.push(1_537);
    }
    pulse.push(50 * (1_537 + 61) + 9);
    o.series = vec![pulse.finish(), copy.finish()];
    o.counters = BTreeMap::from([
        ("mac_tx_frames".to_owned(), Field::measured(50)),
        (
            "mac_tx_underrun".to_owned(),
            Field::absent("this emulator has no such counter"),
        ),
    ]);
    o
}

fn hdl() -> Observation {
    let mut t = ethernet(SizeUnit::Payload, 46, 1_000);
    t.link_bits_per_s = Some(1_000_000_000);
    let mut o = observe(t, "hdl:generator", "hdl", &[("clock", "125 MHz")]);
    let mut f = flow("port0", &o, "checker", "the test bench does not observe it");
    f.sent_frames = Field::measured(1_000);
    f.counts = Field::measured(clean(&o, 1_000));
    // 84 bytes of 8 ns each.
    let elapsed = wire(1_000 * 672_000, ClockKind::Simulated);
    rates(&mut f, &o, 1_000, elapsed, Kind::Measured);
    f.loss_ratio = Field::measured(0.0);
    f.jitter_ps = Field::measured(0);
    let gap = Field::measured(Histogram::of(Some(8_000), [84; 999]));
    f.sender = Field::measured(sender("generator", f.frames_per_s.clone(), gap));
    let clock = Clock {
        kind: ClockKind::Simulated,
        tick_ps: Some(8_000),
        resolution_ticks: 1,
        owner: Owner::Tester,
    };
    let mut latency = SeriesBuilder::new(FixedSeries::LATENCY, clock, 0);
    (0..512).for_each(|_| latency.push(31));
    // Simulated hardware repeats itself: its intervals would say nothing.
    f.series.push(Series {
        intervals: PercentileIntervals::default(),
        ..latency.finish()
    });
    o.flows.push(f);
    o
}

fn model() -> Observation {
    let mut t = ethernet(SizeUnit::Length, 1514, 50);
    t.link_bits_per_s = Some(100_000_000);
    t.buffers = Some(Buffers::DmaCopied);
    let setup = [("core", "Cortex-M3"), ("clock", "100 MHz")];
    let mut o = observe(t, "model:lpc1768", "model", &setup);
    o.started_unix_ns = Field::absent("a model runs in no time");
    o.tester.was_limit = Field::absent("a model has no tester");
    o.tester.ceiling_frames_per_s = Field::absent("a model has no tester");
    let mut f = flow("port0", &o, "model", "a model moves no frames");
    // For each frame a DMA copy of 18.95 µs, then 123.04 µs on the wire.
    let elapsed = Elapsed {
        ps: 50 * (18_950_000 + 123_040_000),
        spans: Spans::Pin,
        clock: ClockKind::Simulated,
    };
    rates(&mut f, &o, 50, elapsed, Kind::Predicted);
    o.flows.push(f);
    let mut copy = SeriesBuilder::new(
        own("copy"),
        Clock {
            kind: ClockKind::Simulated,
            tick_ps: Some(1),
            resolution_ticks: 1,
            owner: Owner::Node,
        },
        0,
    );
    copy.push(18_950_000);
    let mut copy = copy.finish();
    copy.kind = Kind::Predicted;
    o.series.push(copy);
    o.cpu_load = Field::Observed {
        value: CpuLoad {
            busy_ratio: 0.99,
            idle_baseline_ratio: Some(0.0),
            shared: false,
            interval: None,
        },
        kind: Kind::Predicted,
    };
    o
}
