//! Results of iperf peers and Linux nodes: what of them is fitted, and what they say of the node by themselves.

use crate::fit_support::{ObservationSpec, off, parameter, series};
use wirelab_model::explain::explain_file;
use wirelab_model::fit::{FitOptions, fit};
use wirelab_trial::search::{Goal, GoalResult, Limit, Outcome, Search, SearchEnded, SearchResult};
use wirelab_trial::*;

/// Of the node that these results are made of: busy share when idle, CPU time of a packet in ns and of a byte in ps.
const IDLE: f64 = 0.02;
const PACKET_NS: f64 = 20_000.0;
const BYTE_NS: f64 = 12.0;

fn cost_ns(bytes: u32) -> f64 {
    PACKET_NS + BYTE_NS * f64::from(bytes)
}

/// A UDP receive trial at a share of what fills the CPU, as a node reports it: a busy share, no counts.
fn received(bytes: u32, share: f64) -> Observation {
    let full = (1.0 - IDLE) * 1e9 / cost_ns(bytes);
    let offered = full * share;
    let arrived = offered.min(full);
    let load = Load::FrameRate {
        frames_per_s: offered,
    };
    let busy = IDLE + arrived * cost_ns(bytes) * 1e-9;
    let seen = ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, bytes, arrived);
    let mut o = named(seen.busy(load, busy).observation());
    o.flows[0].goodput_bits_per_s = Field::measured(arrived * 8.0 * f64::from(bytes));
    o.flows[0].loss_ratio = Field::measured(1.0 - arrived / offered);
    o
}

fn named(mut o: Observation) -> Observation {
    o.node.name = "node:192.0.2.7".to_owned();
    o.node.node_type = "node".to_owned();
    o.node.setup.insert("host".to_owned(), "5b1c".to_owned());
    o.node.setup.insert("os".to_owned(), "Linux".to_owned());
    o
}

fn warned(mut o: Observation, code: &str) -> Observation {
    o.warnings.push(Warning {
        code: code.to_owned(),
        text: "made for a test".to_owned(),
        fix: "none".to_owned(),
    });
    o
}

fn shared(mut o: Observation) -> Observation {
    if let Field::Observed { value, .. } = &mut o.cpu_load {
        (value.shared, value.busy_ratio) = (true, 0.999);
    }
    o
}

fn echo(bytes: u32, ns: u64) -> Observation {
    let seen = ObservationSpec::new(Layer::UdpIpv4, Direction::Echo, bytes, 100.0);
    let mut o = named(seen.observation());
    o.flows[0].series.push(series("round trip", [ns; 32]));
    o.series.push(series("tester's floor", [20_000; 32]));
    o
}

fn matrix() -> Vec<Observation> {
    let sizes = [64, 256, 512, 1470];
    let of = |bytes| [0.2, 0.5, 0.8].map(|share| received(bytes, share));
    sizes.into_iter().flat_map(of).collect()
}

#[test]
fn a_node_is_fitted_from_its_loads_and_what_says_nothing_of_it_is_left_out_by_name() {
    let mut all = matrix();
    all.push(shared(received(64, 0.3)));
    all.push(shared(received(512, 0.3)));
    // Figures that would spoil the fit if they were taken.
    let mut fragments = received(256, 0.1);
    fragments.cpu_load = received(256, 0.9).cpu_load;
    all.push(warned(fragments, "fragmented"));
    let mut silent = received(256, 0.9);
    silent.cpu_load = received(256, 0.1).cpu_load;
    all.push(warned(silent, "no-report"));
    // Cores that others kept busy, and a sender that the tester could not follow.
    let mut busy = received(1470, 0.1);
    if let Field::Observed { value, .. } = &mut busy.cpu_load {
        (value.idle_baseline_ratio, value.busy_ratio) = (Some(0.99), 1.0);
    }
    all.push(busy);
    for bytes in [64, 512, 1470] {
        let seen = ObservationSpec::new(Layer::UdpIpv4, Direction::Transmit, bytes, 9_000.0);
        all.push(warned(named(seen.observation()), "checker-missed"));
        let mut lossy = named(seen.observation());
        lossy.flows[0].loss_ratio = Field::measured(0.3);
        all.push(lossy);
    }
    all.push(echo(64, 148_000));
    let fitted = fit(&all, &FitOptions::default()).unwrap();
    assert!(
        off(
            parameter(&fitted, "udp4-receive-cpu-packet").value,
            PACKET_NS
        ) < 1e-6
    );
    assert!(off(parameter(&fitted, "udp4-receive-cpu-byte").value, BYTE_NS) < 1e-6);
    assert!(off(parameter(&fitted, "udp4-receive-idle").value, 100.0 * IDLE) < 1e-6);
    let left_out: Vec<String> = fitted
        .left_out
        .iter()
        .map(|l| format!("{} {}", l.count, l.why))
        .collect();
    assert_eq!(
        left_out,
        [
            "1 CPU busy for 90 % and more before the trial: other work, or a node that waits by spinning",
            "2 CPU load shared: tester and node had a core in common",
            "1 datagrams larger than the path's MTU: each was several frames",
            "1 direction echo: only transmit and receive are fitted",
            "3 period: frames of the node were lost on the way",
            "3 period: the tester was the limit",
            "1 the peer's report is missing, so the arrived frames are unknown",
        ]
    );
    assert!(fitted.node_toml.contains("Linux"), "{}", fitted.node_toml);
    assert!(
        !fitted.node_toml.contains("5b1c"),
        "the host is not the node type"
    );
}

#[test]
fn a_busy_core_that_carried_all_that_was_offered_is_not_called_the_limit() {
    let mut slow = received(64, 0.01);
    set_busy(&mut slow, |_| 1.0, false);
    let mut file = searched(|_| {});
    file.parts.clear();
    file.observations = vec![slow, received(64, 1.2)];
    let e = explain_file(&file);
    let words: Vec<&str> = e.groups[0]
        .readings
        .iter()
        .map(|r| r.words.as_str())
        .collect();
    assert_eq!(
        words[0],
        "the offered load, though the CPU is 100.00 % busy"
    );
    assert!(words[1].starts_with("the CPU: 100.00 % busy"), "{words:?}");
}

#[test]
fn an_iperf_peer_without_cpu_load_gives_its_service_rate() {
    let overloads = [64, 256, 512, 1470].map(|bytes| {
        let mut o = received(bytes, 1.5);
        o.cpu_load = Field::absent("an iperf peer reports no CPU load");
        o.node.node_type = "iperf".to_owned();
        o
    });
    let fitted = fit(&overloads, &FitOptions::default()).unwrap();
    let packet = parameter(&fitted, "udp4-receive-period-packet").value;
    assert!(off(packet, PACKET_NS / (1.0 - IDLE)) < 1e-6, "{packet}");
}

/// The trials of a search at one size, and what it found, in parts of a results file.
fn searched(cpu: impl Fn(&mut Observation)) -> ResultsFile {
    let bytes = 64;
    let shares = [
        0.1, 0.3, 0.5, 2.0, 1.2, 0.9, 0.98, 1.0, 1.02, 1.01, 1.0, 0.7, 0.8, 0.8, 0.6, 1.5,
    ];
    let mut observations: Vec<Observation> = shares.iter().map(|s| received(bytes, *s)).collect();
    observations.iter_mut().for_each(cpu);
    let at = |share: f64| {
        let load = received(bytes, share).trial.load;
        match load {
            Load::FrameRate { frames_per_s } => frames_per_s,
            _ => unreachable!("the tests ask frames/s"),
        }
    };
    let bound = at(1.0);
    let goal = GoalResult {
        goal: Goal::no_loss(1_000_000_000_000),
        outcome: Outcome::Found,
        limited_by: Field::measured(Limit::Node),
        relevant_lower_bound_frames_per_s: Field::measured(bound),
        relevant_upper_bound_frames_per_s: Field::measured(at(1.01)),
        width_ratio: Field::measured(0.01),
        conditional_throughput_frames_per_s: Field::measured(bound),
        conditional_throughput_payload_bits_per_s: Field::measured(bound * 8.0 * 92.0),
        conditional_throughput_goodput_bits_per_s: Field::measured(bound * 8.0 * 64.0),
        lower_bound_trials: 2,
        trials: 16,
        not_monotone: false,
    };
    let result = SearchResult {
        node: "node:192.0.2.7".to_owned(),
        trial: Trial {
            load: Load::Max,
            ..observations[0].trial.clone()
        },
        sizes: observations[0].sizes,
        search: Search::usual(1_000_000_000_000),
        min_load_frames_per_s: None,
        max_load: None,
        goals: vec![goal],
        trials: Vec::new(),
        asked_ps: 0,
        ended: SearchEnded::Done,
    };
    let parts = vec![Part {
        name: "UDP RX, datagram 64".to_owned(),
        first: 0,
        observations: observations.len() as u64,
        found: Some(SearchOutcome::Rates(result)),
        refused: None,
    }];
    let environment = Environment {
        kernel: Field::absent("made"),
        cpu: Field::absent("made"),
        cpus: Field::absent("made"),
        memory_bytes: Field::absent("made"),
        virtual_machine: Field::absent("made"),
    };
    ResultsFile {
        observations,
        parts,
        ..ResultsFile::new("0.1.0", Vec::new(), 0, environment)
    }
}

fn set_busy(o: &mut Observation, busy: impl Fn(f64) -> f64, is_shared: bool) {
    if let Field::Observed { value, .. } = &mut o.cpu_load {
        value.busy_ratio = busy(value.busy_ratio);
        value.shared = is_shared;
    }
}

#[test]
fn what_a_search_found_is_said_with_the_cpu_at_the_bound() {
    let said = |file: &ResultsFile| {
        let e = explain_file(file);
        let findings = e.groups[0].findings.clone();
        let search = findings.into_iter().find(|f| f.starts_with("Search at"));
        search.unwrap_or_else(|| panic!("{e:?}"))
    };
    let full = said(&searched(|_| {}));
    assert!(
        full.starts_with("Search at datagram 64 B for no loss: "),
        "{full}"
    );
    assert!(full.contains("the CPU is the limit"), "{full}");
    let idle = said(&searched(|o| set_busy(o, |b| b / 2.0, false)));
    assert!(
        idle.contains("CPU only 50.00 % busy") && idle.contains("ring too small"),
        "{idle}"
    );
    let common = said(&searched(|o| set_busy(o, |b| b, true)));
    assert!(common.contains("the tester shared the core"), "{common}");
    let untold = said(&searched(|o| {
        o.cpu_load = Field::absent("an iperf peer reports no CPU load")
    }));
    assert!(untold.contains("CPU load is not known"), "{untold}");
}

#[test]
fn each_load_of_a_search_is_used_once() {
    let file = searched(|_| {});
    let e = explain_file(&file);
    let readings = &e.groups[0].readings;
    assert_eq!(readings.len(), 12, "those nearest to what was found");
    let trials: std::collections::BTreeSet<usize> = readings.iter().map(|r| r.trial).collect();
    assert_eq!(trials.len(), 12);
    // 1.0 was tried twice, as trials 8 and 11.
    assert!(trials.contains(&8) && !trials.contains(&11), "{trials:?}");
    assert!(!trials.contains(&1), "far from the bound: {trials:?}");
    assert!(
        e.left_out
            .iter()
            .any(|l| l.starts_with("4 trials of searches")),
        "{:?}",
        e.left_out
    );
    // A fit takes observations alone: the same load twice is one cell, and the search's records add nothing.
    let fitted = fit(&file.observations, &FitOptions::default()).unwrap();
    let load = fitted
        .leave_one_out
        .iter()
        .find(|l| l.figure.ends_with("CPU load"))
        .unwrap();
    let most = load.cells.iter().map(|c| c.observations).max();
    assert_eq!(most, Some(2));
    let used: usize = load.cells.iter().map(|c| c.observations).sum();
    assert!(used <= file.observations.len());
}

#[test]
fn a_tcp_rate_below_every_limit_is_compared_with_the_round_trip() {
    let tcp = |mut o: Observation| {
        o.trial.framing.layer = Layer::TcpIpv4;
        o.trial.load = Load::Max;
        o.cpu_load = Field::absent("not reported");
        o.flows[0].goodput_bits_per_s = Field::measured(94e6);
        o.flows[0].frames_per_s = Field::absent("TCP cuts its stream into segments of its own");
        o.flows[0].loss_ratio = Field::absent("TCP retransmits lost data");
        o
    };
    let mut file = searched(|_| {});
    file.parts.clear();
    file.observations = vec![tcp(received(1470, 0.5))];
    let open = |file: &ResultsFile| explain_file(file).groups[0].open.join("\n");
    assert!(
        open(&file).contains("an echo trial of the same node"),
        "{}",
        open(&file)
    );
    file.observations.push(echo(64, 200_000));
    let e = explain_file(&file);
    let group = e.groups.iter().find(|g| g.title.contains("TCP")).unwrap();
    // 94 Mbit/s over 200 µs.
    assert!(
        group.open.join("\n").contains("are 2,350 bytes in flight"),
        "{:?}",
        group.open
    );
}

#[test]
fn shared_loads_and_fragments_are_named_in_an_explanation() {
    let mut file = searched(|_| {});
    file.parts.clear();
    file.observations = vec![
        shared(received(512, 0.5)),
        received(512, 0.7),
        warned(received(512, 0.9), "fragmented"),
    ];
    let e = explain_file(&file);
    let group = &e.groups[0];
    assert_eq!(group.readings.len(), 2);
    assert_eq!(
        group
            .readings
            .iter()
            .filter(|r| r.cpu_ratio.is_some())
            .count(),
        1
    );
    assert!(
        group
            .open
            .iter()
            .any(|o| o.contains("of 1 reading: CPU load shared")),
        "{:?}",
        group.open
    );
    assert!(
        e.left_out
            .iter()
            .any(|l| l.contains("trial 3: datagrams larger")),
        "{:?}",
        e.left_out
    );
}
