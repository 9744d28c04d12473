//! The figures of TI's page on the AM263x (the third source document) as if `wirelab measure` had seen them, in the
//! parts of the datasheet's plan. What that page does not print is made up where the layout needs it.

use std::collections::BTreeMap;

use wirelab_trial::search::{
    Goal, GoalResult, Limit, MaxLoad, MaxLoadSource, Outcome, Search, SearchEnded, SearchResult,
    TrialRecord,
};
use wirelab_trial::*;

use super::{file, flow, observation, trial};

const LINK: u64 = 1_000_000_000;
const SECOND_PS: u64 = 1_000_000_000_000;

/// Of each size: the rates in Mbit/s with CPU load and loss in percent, the receive maximum, the transmit maximum.
pub type Printed = (f64, f64, f64);
pub const UDP: [(u32, [Printed; 3], Printed, Printed); 4] = [
    (
        64,
        [(5.0, 37.0, 0.0), (10.0, 67.0, 2.6), (15.0, 96.0, 5.5)],
        (7.0, 51.0, 0.8),
        (24.6, 100.0, 0.0),
    ),
    (
        256,
        [(5.0, 18.0, 0.0), (15.0, 50.0, 0.0), (25.0, 73.0, 4.4)],
        (19.0, 60.0, 0.6),
        (56.2, 100.0, 0.0),
    ),
    (
        512,
        [(25.0, 44.0, 0.0), (50.0, 80.0, 0.0), (55.0, 88.0, 4.9)],
        (51.0, 64.0, 0.0),
        (112.0, 100.0, 0.0),
    ),
    (
        1470,
        [(50.0, 37.0, 0.0), (60.0, 44.0, 0.0), (95.0, 68.0, 0.0)],
        (110.0, 78.0, 2.4),
        (323.0, 100.0, 0.0),
    ),
];

fn setup() -> BTreeMap<String, String> {
    [
        ("core", "R5F"),
        ("processing_core", "Main R5F0 Core 0"),
        ("core_clock_hz", "400000000"),
        ("memory", "MSRAM"),
        ("cache", "Enabled"),
        ("interface", "RGMII"),
        ("phy", "DP83869HM"),
        ("phy_rx_ps", "193000"),
        ("phy_tx_ps", "384000"),
        ("layer2_buffer_memory", "MSRAM (un-cached)"),
        ("buffer_memory", "MSRAM (cached)"),
        ("scatter_gather_tx", "Yes"),
        ("scatter_gather_rx", "Yes"),
        ("checksum_tx", "hardware"),
        ("checksum_rx", "software"),
        ("interrupt_pacing", "Yes"),
        ("os", "FreeRTOS"),
        ("application", "EXAMPLES_ENET_LWIP_CPSW example"),
        ("stack", "LwIP"),
        ("tool", "iperf v2.0.10"),
        ("rx_buffers", "32"),
        ("tx_buffers", "16"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

/// A trial of one second.
fn asked(layer: Layer, direction: Direction, size: Size, load: Load) -> Observation {
    let mut t = trial(0, direction, 1, Some(LINK));
    t.framing.layer = layer;
    t.size = size;
    t.load = load;
    t.extent = Extent::Time { time_ps: SECOND_PS };
    let mut o = observation(t, "node:192.0.2.7", "node");
    o.node.setup = setup();
    o.tester.ceiling_frames_per_s = Field::measured(620_000.0);
    o.tester.was_limit = Field::measured(false);
    o
}

fn bits(o: &Observation) -> f64 {
    let bytes = match o.trial.framing.layer {
        Layer::Ethernet => o.sizes.payload,
        _ => o.sizes.datagram.unwrap(),
    };
    8.0 * f64::from(bytes)
}

/// Add a flow of `mbit` Mbit/s that arrived after a loss of `loss` percent.
fn add(o: &mut Observation, direction: Direction, mbit: f64, loss: f64) {
    let fps = mbit * 1e6 / bits(o);
    let mut f = flow("192.0.2.7:5003", direction, &o.sizes, fps, Some(LINK));
    if o.trial.framing.layer != Layer::Ethernet {
        f.goodput_bits_per_s = Field::measured(mbit * 1e6);
    }
    let sent = (fps * 3.0 / (1.0 - loss / 100.0)).round() as u64;
    let lost = (sent as f64 * loss / 100.0).round() as u64;
    f.sent_frames = Field::measured(sent);
    let counts = Counts {
        received_frames: sent - lost,
        good_frames: sent - lost,
        distinct_sequences: sent - lost,
        lost_frames: lost,
        ..Counts::default()
    };
    f.counts = Field::measured(counts);
    f.loss_ratio = Field::measured(loss / 100.0);
    if let (Field::Observed { value, .. }, Load::Max) = (&mut f.sender, o.trial.load) {
        value.asked_frames_per_s = Field::absent("maximum load was requested");
    }
    o.flows.push(f);
}

fn busy(o: &mut Observation, percent: f64) {
    o.cpu_load = Field::measured(CpuLoad {
        busy_ratio: percent / 100.0,
        idle_baseline_ratio: Some(0.012),
        shared: false,
        interval: None,
    });
}

/// Samples of one value, as a node's captures are.
fn captured(name: &str, ns: u64, samples: u64, owner: Owner) -> Series {
    let mut clock = Clock::TESTER_NS;
    clock.owner = owner;
    let mut builder = SeriesBuilder::new(super::series_name(name), clock, 1);
    for at in 0..samples {
        // Even spread around the median, and one that came late.
        let late = if at == 7 { 3 * ns } else { 0 };
        builder.push(ns + late + at % 9 - 4);
    }
    builder.finish()
}

fn layer2_latency(direction: Direction, ns: u64) -> Observation {
    let load = Load::FrameRate {
        frames_per_s: 1000.0,
    };
    let size = Size::new(SizeUnit::Length, 200);
    let mut o = asked(Layer::Ethernet, direction, size, load);
    add(&mut o, direction, 1.48, 0.0);
    let name = match direction {
        Direction::Receive => "driver to application",
        _ => "application to driver",
    };
    o.flows[0].series.push(captured(name, ns, 512, Owner::Node));
    o
}

fn tcp(direction: Direction, flows: &[(Direction, f64)], cpu: f64) -> Observation {
    let size = Size::new(SizeUnit::Datagram, 1460);
    let mut o = asked(Layer::TcpIpv4, direction, size, Load::Max);
    for (direction, mbit) in flows {
        add(&mut o, *direction, *mbit, 0.0);
        o.flows.last_mut().unwrap().loss_ratio = Field::absent("TCP retransmits lost data");
    }
    busy(&mut o, cpu);
    o
}

fn udp(bytes: u32, direction: Direction, load: Load, (mbit, cpu, loss): Printed) -> Observation {
    let size = Size::new(SizeUnit::Datagram, bytes);
    let mut o = asked(Layer::UdpIpv4, direction, size, load);
    let arrived = match load {
        Load::Max => mbit,
        _ => mbit * (1.0 - loss / 100.0),
    };
    add(&mut o, direction, arrived, loss);
    busy(&mut o, cpu);
    o
}

/// A search for both goals: the trials around what was found, and the one at the bound that the page prints.
fn search(bytes: u32, (mbit, cpu, loss): Printed) -> (Vec<Observation>, SearchOutcome) {
    let frame_bits = 8.0 * f64::from(bytes);
    let offered_fps = mbit * 1e6 / frame_bits / (1.0 - loss / 100.0);
    let at = |share: f64, cpu: f64, loss: f64| {
        let frames_per_s = offered_fps * share;
        let load = Load::FrameRate { frames_per_s };
        let arrived = frames_per_s * frame_bits * (1.0 - loss / 100.0) / 1e6;
        let mut o = udp(bytes, Direction::Receive, load, (1.0, cpu, loss));
        o.flows.clear();
        add(&mut o, Direction::Receive, arrived, loss);
        o
    };
    let observations = vec![
        at(0.1, cpu * 0.1, 0.0),
        at(0.4, cpu * 0.4, 0.0),
        at(2.0, 100.0, 40.0),
        at(1.0, cpu, loss),
        at(0.9, cpu * 0.9, 0.0),
        at(1.02, cpu, 2.7),
    ];
    let goal = |goal: Goal, share: f64, upper: f64, loss: f64| GoalResult {
        outcome: Outcome::Found,
        limited_by: Field::measured(Limit::Node),
        relevant_lower_bound_frames_per_s: Field::measured(offered_fps * share),
        relevant_upper_bound_frames_per_s: Field::measured(offered_fps * upper),
        width_ratio: Field::measured(1.0 - share / upper),
        conditional_throughput_frames_per_s: Field::measured(offered_fps * share * (1.0 - loss)),
        conditional_throughput_payload_bits_per_s: Field::measured(
            offered_fps * share * (1.0 - loss) * (frame_bits + 8.0 * 28.0),
        ),
        conditional_throughput_goodput_bits_per_s: Field::measured(
            offered_fps * share * (1.0 - loss) * frame_bits,
        ),
        lower_bound_trials: 1,
        trials: 3,
        not_monotone: false,
        goal,
    };
    let record = |o: &Observation| TrialRecord {
        held_back: false,
        load_frames_per_s: match o.trial.load {
            Load::FrameRate { frames_per_s } => Some(frames_per_s),
            _ => None,
        },
        trial_ps: SECOND_PS,
        sent_frames: o.flows[0].sent_frames.clone(),
        loss_ratio: o.flows[0].loss_ratio.clone(),
        forwarding_frames_per_s: o.flows[0].frames_per_s.clone(),
        tester_was_limit: false,
        problem: None,
    };
    let result = SearchResult {
        node: "node:192.0.2.7".to_owned(),
        trial: Trial {
            load: Load::Max,
            ..observations[0].trial.clone()
        },
        sizes: observations[0].sizes,
        search: Search::usual(SECOND_PS),
        min_load_frames_per_s: Some(offered_fps * 0.01),
        max_load: Some(MaxLoad {
            frames_per_s: offered_fps * 2.0,
            set_by: MaxLoadSource::Link,
        }),
        goals: vec![
            goal(Goal::no_loss(SECOND_PS), 0.9, 0.904, 0.0),
            goal(Goal::at_loss(0.025, SECOND_PS), 1.0, 1.02, loss / 100.0),
        ],
        trials: observations.iter().map(record).collect(),
        asked_ps: 6 * SECOND_PS,
        ended: SearchEnded::Done,
    };
    (observations, SearchOutcome::Rates(result))
}

fn echo(bytes: u32, ns: u64) -> Observation {
    let load = Load::FrameRate {
        frames_per_s: 100.0,
    };
    let size = Size::new(SizeUnit::Datagram, bytes);
    let mut o = asked(Layer::UdpIpv4, Direction::Echo, size, load);
    o.trial.extent = Extent::Frames { frames: 512 };
    add(&mut o, Direction::Echo, 0.05, 0.0);
    o.flows[0]
        .series
        .push(captured("round trip", ns, 512, Owner::Tester));
    o.series
        .push(captured("tester's floor", 21_000, 512, Owner::Tester));
    busy(&mut o, 3.4);
    o
}

fn part(
    into: &mut ResultsFile,
    name: &str,
    observations: Vec<Observation>,
    found: Option<SearchOutcome>,
) {
    into.parts.push(Part {
        name: name.to_owned(),
        first: into.observations.len() as u64,
        observations: observations.len() as u64,
        found,
        refused: None,
    });
    into.observations.extend(observations);
}

/// The whole page.
pub fn page() -> ResultsFile {
    use Direction::{Both, Receive, Transmit};
    let mut all = file(Vec::new());
    all.command = ["wirelab", "measure", "node:192.0.2.7", "-o", "am263x.json"]
        .map(str::to_owned)
        .to_vec();
    let rx = layer2_latency(Receive, 39_400);
    part(
        &mut all,
        "Layer 2 latency",
        vec![rx, layer2_latency(Transmit, 11_000)],
        None,
    );
    let mut tx = asked(
        Layer::Ethernet,
        Transmit,
        Size::new(SizeUnit::Payload, 1500),
        Load::Max,
    );
    add(&mut tx, Transmit, 950.0, 0.0);
    busy(&mut tx, 24.0);
    part(&mut all, "Layer 2 throughput", vec![tx], None);
    let tcp = vec![
        tcp(Receive, &[(Receive, 178.0)], 98.0),
        tcp(Transmit, &[(Transmit, 178.0)], 98.0),
        tcp(Both, &[(Receive, 53.0), (Transmit, 132.0)], 100.0),
    ];
    part(&mut all, "TCP", tcp, None);
    for (bytes, rates, max, transmit) in UDP {
        let (observations, found) = search(bytes, max);
        part(
            &mut all,
            &format!("UDP RX search, datagram {bytes}"),
            observations,
            Some(found),
        );
        // In another order than on the page: the page sorts them.
        let receive = [2, 0, 1].map(|at| {
            let bits_per_s = rates[at].0 * 1e6;
            udp(bytes, Receive, Load::BitRate { bits_per_s }, rates[at])
        });
        part(
            &mut all,
            &format!("UDP RX, datagram {bytes}"),
            receive.into(),
            None,
        );
        let transmit = udp(bytes, Transmit, Load::Max, transmit);
        part(
            &mut all,
            &format!("UDP TX, datagram {bytes}"),
            vec![transmit],
            None,
        );
    }
    let echoes = [(64, 148_000), (256, 161_000), (1024, 203_000)];
    let echoes = echoes.map(|(bytes, ns)| echo(bytes, ns));
    part(&mut all, "UDP echo", echoes.into(), None);
    all
}

/// The same plan against an iperf peer: it reports no CPU load, and supports neither Ethernet nor echo.
pub fn iperf_page() -> ResultsFile {
    let mut all = page();
    let none = "an iperf peer reports no CPU load";
    let void = |o: &mut Observation, why: &str| {
        o.status = Status::Void {
            why: why.to_owned(),
        };
        o.flows.clear();
        o.series.clear();
        o.cpu_load = Field::absent("the trial was not run");
        o.warnings.push(Warning {
            code: "unsupported".to_owned(),
            text: why.to_owned(),
            fix: "run 'wirelab node serve' on the peer and measure node:HOST".to_owned(),
        });
    };
    for o in &mut all.observations {
        o.node.name = "iperf:192.0.2.7".to_owned();
        o.node.node_type = "iperf".to_owned();
        o.node.setup.clear();
        o.cpu_load = Field::absent(none);
        for flow in &mut o.flows {
            flow.counts = Field::absent("iperf checks no content");
        }
        match (o.trial.framing.layer, o.trial.direction) {
            (Layer::Ethernet, _) => void(o, "layer: iperf supports only UDP and TCP"),
            (_, Direction::Echo) => void(o, "direction: an iperf peer sends nothing back"),
            _ => {}
        }
    }
    for part in &mut all.parts {
        if let Some(SearchOutcome::Rates(result)) = &mut part.found {
            result.node = "iperf:192.0.2.7".to_owned();
        }
    }
    all
}
