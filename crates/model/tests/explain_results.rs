//! What a results file says by itself: readings made by hand, of which each law is known.

use std::collections::BTreeMap;

use wirelab_model::explain::{explain_results, on_link};
use wirelab_trial::explanation::{CeilingLaw, ReadingLimit, ResultsExplanation};
use wirelab_trial::*;

fn flow(trial: &Trial, bits_per_s: f64, loss: f64) -> FlowObservation {
    let bytes = f64::from(trial.size.bytes);
    let none = || Field::absent("not requested");
    FlowObservation {
        port: "board".to_owned(),
        direction: trial.direction,
        stream: 0,
        sent_frames: Field::absent("not requested"),
        counts: Field::absent("not requested"),
        elapsed: Field::absent("not requested"),
        frames_per_s: Field::measured(bits_per_s / 8.0 / bytes),
        payload_bits_per_s: none(),
        link_bits_per_s: none(),
        efficiency: none(),
        goodput_bits_per_s: Field::measured(bits_per_s),
        loss_ratio: Field::measured(loss),
        loss_ratio_at_most: None,
        intervals: wirelab_trial::FlowIntervals::default(),
        over_time: wirelab_trial::OverTime::default(),
        checker_held_up_ps: Field::absent("not requested"),
        jitter_ps: Field::absent("not requested"),
        sender: Field::absent("not requested"),
        receiver_path: "packet".to_owned(),
        series: Vec::new(),
        counters: BTreeMap::new(),
    }
}

fn trial(direction: Direction, datagram: u32, load: Load) -> Trial {
    Trial {
        link_bits_per_s: Some(1_000_000_000),
        ..Trial::new(
            Framing {
                layer: Layer::UdpIpv4,
                vlan_tags: 0,
            },
            direction,
            Size::new(SizeUnit::Datagram, datagram),
            load,
            Extent::Time {
                time_ps: 1_000_000_000_000,
            },
        )
    }
}

fn observation(trial: Trial, bits_per_s: f64, loss: f64, cpu: Option<f64>) -> Observation {
    let load = |busy_ratio| CpuLoad {
        busy_ratio,
        idle_baseline_ratio: Some(0.0),
        shared: false,
        interval: None,
    };
    let cpu_load = Field::measured_or(cpu.map(load), "not requested");
    Observation {
        sizes: trial.sizes().unwrap(),
        flows: vec![flow(&trial, bits_per_s, loss)],
        trial,
        node: Description {
            name: "node:board".to_owned(),
            node_type: "node".to_owned(),
            ..Description::default()
        },
        status: Status::Complete,
        started_unix_ns: Field::absent("not requested"),
        cpu_load,
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::new(),
        tester: TesterObservation::new(
            Field::absent("not requested"),
            Field::absent("not requested"),
        ),
        warnings: Vec::new(),
    }
}

fn only(observations: &[Observation]) -> (ResultsExplanation, Vec<Option<ReadingLimit>>) {
    let e = explain_results(observations);
    assert_eq!(e.groups.len(), 1, "{e:?}");
    let limits = e.groups[0].readings.iter().map(|r| r.limit).collect();
    (e, limits)
}

#[test]
fn the_rate_of_a_link_is_added_where_it_is_not_known_and_not_replaced() {
    let of_link = |link_bits_per_s| {
        let trial = Trial {
            link_bits_per_s,
            ..trial(Direction::Receive, 1024, Load::Max)
        };
        observation(trial, 90e6, 0.0, None)
    };
    let host = Environment {
        kernel: Field::absent("not asked"),
        cpu: Field::absent("not asked"),
        cpus: Field::absent("not asked"),
        memory_bytes: Field::absent("not asked"),
        virtual_machine: Field::absent("not asked"),
    };
    let mut file = ResultsFile::new("0.0.0", Vec::new(), 0, host);
    file.observations = vec![of_link(None), of_link(Some(100_000_000))];
    let links = |file: &ResultsFile| -> Vec<_> {
        let trials = file.observations.iter().map(|o| &o.trial);
        trials.map(|trial| trial.link_bits_per_s).collect()
    };
    on_link(&mut file, 100_000_000).unwrap();
    assert_eq!(links(&file), [Some(100_000_000); 2]);
    let refused = on_link(&mut file, 1_000_000_000).unwrap_err();
    assert!(
        refused.contains("trial 1 was measured with a link of 100 Mbit/s; fix: "),
        "{refused}"
    );
}

#[test]
fn equal_packets_per_second_are_a_cost_of_each_packet() {
    // The AM263x's transmit rates, the first by the datagrams that were really sent.
    let rates = [(112, 24.6e6), (256, 56.2e6), (512, 112e6), (1470, 323e6)];
    let all: Vec<Observation> = rates
        .iter()
        .map(|(size, rate)| {
            observation(
                trial(Direction::Transmit, *size, Load::Max),
                *rate,
                0.0,
                None,
            )
        })
        .collect();
    let (e, limits) = only(&all);
    assert_eq!(limits, [Some(ReadingLimit::PerPacket); 4]);
    let ceiling = e.groups[0]
        .roofline
        .ceilings
        .iter()
        .find(|c| c.law == CeilingLaw::PerPacket)
        .unwrap();
    assert!(
        (ceiling.cost_ps / 36.46e6 - 1.0).abs() < 0.005,
        "{}",
        ceiling.cost_ps
    );
    assert!(
        e.groups[0]
            .findings
            .iter()
            .any(|f| f.contains("whatever its size")),
        "{:?}",
        e.groups[0].findings
    );
    insta::assert_debug_snapshot!((&e.groups[0].findings, &e.groups[0].open));
}

#[test]
fn a_cost_of_packet_and_byte_is_found_and_a_curve_is_refused() {
    let of = |law: fn(f64) -> f64| -> Vec<Observation> {
        [64.0, 256.0, 512.0, 1024.0, 1470.0]
            .map(|size: f64| {
                let asked = trial(Direction::Transmit, size as u32, Load::Max);
                observation(asked, 8e12 * size / law(size), 0.0, None)
            })
            .to_vec()
    };
    let (e, limits) = only(&of(|size| 20e6 + 40e3 * size));
    assert_eq!(limits[0], Some(ReadingLimit::PerPacket));
    assert_eq!(limits[4], Some(ReadingLimit::PerByte));
    assert!(
        e.groups[0]
            .findings
            .iter()
            .any(|f| f.contains("20 µs") && f.contains("40 ns")),
        "{:?}",
        e.groups[0]
    );
    let (e, limits) = only(&of(|size| if size > 300.0 { 80e6 } else { 20e6 }));
    assert_eq!(limits, [None; 5]);
    assert!(
        e.groups[0]
            .open
            .iter()
            .any(|f| f.contains("not linear in its size")),
        "{:?}",
        e.groups[0].open
    );
}

#[test]
fn wire_load_tester_and_cpu_are_told_apart() {
    let wire = observation(
        trial(Direction::Transmit, 1472, Load::Max),
        956e6,
        0.0,
        None,
    );
    let mut tester = observation(trial(Direction::Receive, 1472, Load::Max), 500e6, 0.0, None);
    tester.tester.was_limit = Field::measured(true);
    let load = Load::BitRate { bits_per_s: 50e6 };
    let offered = observation(trial(Direction::Receive, 1472, load), 50e6, 0.0, Some(0.37));
    let full = observation(
        trial(Direction::Receive, 512, Load::Max),
        50e6,
        0.2,
        Some(0.99),
    );
    let e = explain_results(&[wire, tester, offered, full]);
    let mut limits: Vec<(usize, Option<ReadingLimit>)> = e
        .groups
        .iter()
        .flat_map(|g| &g.readings)
        .map(|r| (r.trial, r.limit))
        .collect();
    limits.sort_by_key(|l| l.0);
    let wanted = [
        ReadingLimit::Wire,
        ReadingLimit::Tester,
        ReadingLimit::Load,
        ReadingLimit::Cpu,
    ];
    assert_eq!(limits, [1, 2, 3, 4].map(|n| (n, Some(wanted[n - 1]))));
}

#[test]
fn loss_with_an_idle_cpu_is_said_and_not_explained_away() {
    let of = |mbit: f64, loss: f64, cpu| {
        let load = Load::BitRate {
            bits_per_s: mbit * 1e6,
        };
        observation(
            trial(Direction::Receive, 1470, load),
            mbit * 1e6 * (1.0 - loss),
            loss,
            Some(cpu),
        )
    };
    let (e, limits) = only(&[
        of(50.0, 0.0, 0.37),
        of(95.0, 0.0, 0.68),
        of(110.0, 0.024, 0.78),
    ]);
    assert_eq!(
        limits,
        [Some(ReadingLimit::Load), Some(ReadingLimit::Load), None]
    );
    insta::assert_debug_snapshot!((
        &e.groups[0].findings,
        &e.groups[0].open,
        &e.groups[0].readings[2].words
    ));
}

#[test]
fn models_explain_themselves_and_void_trials_are_left_out() {
    let asked = Trial {
        framing: Framing::default(),
        size: Size::new(SizeUnit::Length, 1514),
        buffers: Some(Buffers::Copied),
        link_bits_per_s: None,
        ..trial(Direction::Transmit, 1000, Load::Max)
    };
    let mut model = observation(asked, 57e6, 0.0, None);
    model.node = Description {
        name: "model:lpc1768".to_owned(),
        node_type: "model".to_owned(),
        ..Description::default()
    };
    let mut gone = model.clone();
    gone.node.name = "model:nowhere".to_owned();
    let mut changed = model.clone();
    changed
        .node
        .setup
        .insert("set".to_owned(), "in-flight=2, gpdma-word=4".to_owned());
    let mut void = model.clone();
    void.status = Status::Void {
        why: "a frame was bad".to_owned(),
    };
    let e = explain_results(&[model.clone(), model, gone, void, changed]);
    assert_eq!((e.groups.len(), e.models.len()), (0, 2));
    assert_eq!(e.models[0].node, "lpc1768");
    assert_eq!(e.models[1].period_ps, 125e6);
    assert_eq!(e.left_out.len(), 2);
    assert!(
        e.left_out[0].contains("there is no node 'nowhere'"),
        "{:?}",
        e.left_out
    );
    assert_eq!(e.left_out[1], "trial 4 is void: a frame was bad");
}

#[test]
fn nonsense_says_nothing_and_breaks_nothing() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
        for loss in [0.0, 1.0, 7.0, f64::NAN] {
            let all = [64, 1470].map(|size| {
                observation(
                    trial(Direction::Receive, size, Load::Max),
                    rate,
                    loss,
                    Some(-1.0),
                )
            });
            let e = explain_results(&all);
            assert!(e.to_json().ends_with('\n'));
        }
    }
    assert_eq!(explain_results(&[]).groups, []);
}
