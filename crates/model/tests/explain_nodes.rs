//! What limits the nodes that come with the tool: every sentence, as a snapshot, and laws that hold for all paths.

use wirelab_model::explain::explain;
use wirelab_model::file::{NodeFile, PathDecl};
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_trial::explanation::{Basis, Ceiling, Explanation, LimitKind};
use wirelab_trial::{
    Buffers, Cancel, Direction, Extent, Framing, Layer, Load, Node, Size, SizeUnit, Trial, format,
};

fn trial(layer: Layer, direction: Direction, unit: SizeUnit, bytes: u32) -> Trial {
    Trial::new(
        Framing {
            layer,
            vlan_tags: 0,
        },
        direction,
        Size::new(unit, bytes),
        Load::Max,
        Extent::Frames { frames: 50 },
    )
}

fn explained(node: &str, trial: &Trial) -> Explanation {
    explain(&library::open(node).unwrap(), trial).unwrap()
}

/// The sentences and figures of an explanation, without what a report makes of them.
fn text(e: &Explanation) -> String {
    let mut out = vec![format!(
        "{:?}, {:?}: {} a frame, {} frames/s, lost {} %",
        e.basis,
        e.kind,
        format::time_f(e.period_ps),
        format::frame_rate(e.frames_per_s),
        format::percent(e.loss_ratio),
    )];
    out.push(format!(
        "{:?} {}: {}",
        e.limit.kind, e.limit.name, e.limit.answer
    ));
    out.extend(e.limit.because.iter().map(|s| format!("  because {s}")));
    out.extend(e.circuit.iter().map(|c| format!("circuit {}", c.words)));
    for s in &e.stages {
        let grow = s.may_grow_ps.map_or("-".to_owned(), format::time);
        let critical = if s.critical { ", critical" } else { "" };
        let share = format::percent(s.share_ratio);
        let waits = s.waits_ps.map_or(String::new(), |ps| {
            format!(", waits {}", format::time_f(ps))
        });
        out.push(format!(
            "stage {}: {}, {share} %, may grow {grow}{critical}{waits}",
            s.name,
            format::time(s.cost_ps)
        ));
    }
    out.extend(
        e.resources
            .iter()
            .map(|r| format!("resource {}: {} %", r.name, format::percent(r.busy_ratio))),
    );
    out.extend(e.hidden.iter().map(|h| format!("hidden {}", h.words)));
    out.extend(e.next.iter().map(|c| format!("next {}", c.words)));
    for p in &e.roofline.points {
        out.push(format!(
            "point {} B: {}, {}",
            p.bytes,
            format::si(p.bits_per_s, "bit/s"),
            p.limited_by
        ));
    }
    for c in &e.roofline.ceilings {
        out.push(format!(
            "ceiling {} {:?} {}",
            c.name,
            c.law,
            format::time_f(c.cost_ps)
        ));
    }
    out.extend(e.notes.iter().map(|n| format!("note {n}")));
    out.join("\n")
}

fn lpc1768(buffers: Buffers) -> Explanation {
    let asked = trial(Layer::Ethernet, Direction::Transmit, SizeUnit::Length, 1514);
    explained(
        "lpc1768",
        &Trial {
            buffers: Some(buffers),
            ..asked
        },
    )
}

#[test]
fn lpc1768_copied_is_limited_by_the_order_of_its_work() {
    let e = lpc1768(Buffers::Copied);
    assert_eq!(e.limit.kind, LimitKind::InFlight);
    let because = e.limit.because.join("\n");
    assert!(
        because.contains("property of the software's structure"),
        "{because}"
    );
    assert!(
        because.contains("--set in-flight=2") && because.contains("125 µs a frame"),
        "{because}"
    );
    insta::assert_snapshot!(text(&e));
}

#[test]
fn lpc1768_dma_copied_is_limited_by_the_same_order() {
    let e = lpc1768(Buffers::DmaCopied);
    assert_eq!(e.limit.kind, LimitKind::InFlight);
    insta::assert_snapshot!(text(&e));
}

#[test]
fn lpc1768_prefilled_is_limited_by_the_wire_but_for_the_gap() {
    let e = lpc1768(Buffers::Prefilled);
    assert_eq!(e.limit.kind, LimitKind::Wire);
    insta::assert_snapshot!(text(&e));
}

#[test]
fn ethernet_fmc_is_limited_by_the_wire_at_any_size() {
    let explained = |payload| {
        let asked = trial(
            Layer::Ethernet,
            Direction::Transmit,
            SizeUnit::Payload,
            payload,
        );
        explained("ethernet-fmc", &Trial { ports: 4, ..asked })
    };
    for (payload, mbit) in [(66, "634.6 Mbit/s"), (1498, "975.3 Mbit/s")] {
        let e = explained(payload);
        assert_eq!(
            (e.limit.kind, format::si(e.bits_per_s, "bit/s").as_str()),
            (LimitKind::Wire, mbit)
        );
    }
    insta::assert_snapshot!(text(&explained(66)));
}

#[test]
fn am263x_transmit_costs_the_cpu_the_same_for_any_size() {
    let e = explained(
        "am263x",
        &trial(Layer::UdpIpv4, Direction::Transmit, SizeUnit::Datagram, 512),
    );
    assert_eq!(
        (e.limit.kind, e.limit.name.as_str()),
        (LimitKind::Resource, "cpu")
    );
    assert!(
        e.limit.because[0].contains("whatever its size"),
        "{:?}",
        e.limit
    );
    insta::assert_snapshot!(text(&e));
}

#[test]
fn am263x_receive_carries_what_is_offered_and_then_fills_the_cpu() {
    let asked = trial(Layer::UdpIpv4, Direction::Receive, SizeUnit::Datagram, 1470);
    let e = explained(
        "am263x",
        &Trial {
            load: Load::BitRate { bits_per_s: 95e6 },
            ..asked.clone()
        },
    );
    assert_eq!(
        (e.limit.kind, e.basis),
        (LimitKind::Load, Basis::Simulation)
    );
    insta::assert_snapshot!("am263x_receive_95M", text(&e));
    let e = explained("am263x", &asked);
    assert_eq!(e.limit.kind, LimitKind::Loss);
    assert!(
        e.limit
            .because
            .iter()
            .any(|s| s.contains("cpu is never idle")),
        "{:?}",
        e.limit
    );
    insta::assert_snapshot!("am263x_receive_max", text(&e));
}

#[test]
fn nuttx_is_limited_by_the_cpu_and_hides_the_wire() {
    let e = explained(
        "esp32-nuttx",
        &trial(
            Layer::UdpIpv4,
            Direction::Transmit,
            SizeUnit::Datagram,
            1000,
        ),
    );
    assert_eq!(
        (e.limit.kind, e.limit.name.as_str()),
        (LimitKind::Resource, "cpu")
    );
    assert!(
        e.hidden.iter().any(|h| h.stages == ["wire"]),
        "{:?}",
        e.hidden
    );
    insta::assert_snapshot!(text(&e));
}

#[test]
fn zynq_receive_at_a_hundred_frames_a_second_waits_for_frames() {
    let asked = trial(Layer::UdpIpv4, Direction::Receive, SizeUnit::Length, 1024);
    let load = Load::FrameRate {
        frames_per_s: 100.0,
    };
    let e = explained(
        "zynq-emaclite",
        &Trial {
            load,
            ..asked.clone()
        },
    );
    assert_eq!(e.limit.kind, LimitKind::Load);
    let span = e.timeline.end_ps - e.timeline.start_ps;
    assert!(
        (span as f64) < e.timeline.period_ps / 10.0,
        "the picture shows the work, not the rest"
    );
    insta::assert_snapshot!("zynq_receive_100", text(&e));
    insta::assert_snapshot!(
        "zynq_receive_max",
        text(&explained("zynq-emaclite", &asked))
    );
}

/// A trial for each layer and kind of buffers of a path.
fn trials(file: &NodeFile, path: &PathDecl) -> Vec<Trial> {
    let mut out = Vec::new();
    for layer in &path.layers {
        let unit = if *layer == Layer::Ethernet {
            SizeUnit::Payload
        } else {
            SizeUnit::Datagram
        };
        let asked = trial(*layer, path.direction, unit, 1000);
        let link_bits_per_s = if file.link.is_none() {
            Some(1_000_000_000)
        } else {
            None
        };
        let buffers: Vec<Option<Buffers>> = match path.buffers.is_empty() {
            true => vec![None],
            false => path.buffers.iter().copied().map(Some).collect(),
        };
        out.extend(buffers.into_iter().map(|buffers| Trial {
            buffers,
            link_bits_per_s,
            ..asked.clone()
        }));
    }
    out
}

#[test]
fn every_path_of_every_node_is_explained() {
    let mut explained = 0;
    for name in library::names() {
        let file = library::open(name).unwrap();
        for asked in file.paths.iter().flat_map(|path| trials(&file, path)) {
            let e = explain(&file, &asked).unwrap_or_else(|why| panic!("{name} {asked:?}: {why}"));
            check(&e);
            explained += 1;
        }
    }
    assert!(explained >= 20, "{explained}");
}

/// What holds for every explanation.
fn check(e: &Explanation) {
    let what = format!("{} {:?}", e.node, e.trial);
    assert!(!e.limit.answer.is_empty() && !e.stages.is_empty(), "{what}");
    assert!(
        (e.frames_per_s * e.period_ps / 1e12 - 1.0).abs() < 1e-9,
        "{what}"
    );
    assert!(
        e.resources
            .iter()
            .all(|r| (0.0..=1.000_001).contains(&r.busy_ratio)),
        "{what}"
    );
    assert!(
        e.timeline.lanes.iter().any(|l| !l.boxes.is_empty()),
        "{what}"
    );
    for lane in &e.timeline.lanes {
        let in_order = lane.boxes.windows(2).all(|w| w[0].end_ps <= w[1].start_ps);
        assert!(in_order, "{what}: boxes of {} overlap", lane.name);
    }
    for p in &e.roofline.points {
        for c in &e.roofline.ceilings {
            let at = c.curve.iter().find(|(size, _)| *size == p.bytes);
            let most = at
                .unwrap_or_else(|| panic!("{what}: {} has no {} B", c.name, p.bytes))
                .1;
            // Costs of whole words make a line over sizes a little too low here and there.
            assert!(
                p.bits_per_s <= most * 1.01,
                "{what}: {} B above {}",
                p.bytes,
                c.name
            );
        }
    }
    if let Some(circuit) = &e.circuit {
        assert!(circuit.period_ps <= e.period_ps * 1.000_001, "{what}");
        assert!(
            e.next
                .iter()
                .all(|next| next.period_ps <= circuit.period_ps),
            "{what}"
        );
    }
}

#[test]
fn both_directions_share_the_cpu_in_an_explanation_as_in_a_prediction() {
    let third = Load::LinkShare { percent: 30.0 };
    let cases = [
        ("am263x", 112, Direction::Both, Load::Max),
        ("am263x", 112, Direction::Both, third),
        ("am263x", 1470, Direction::Both, Load::Max),
        ("zynq-gem", 22, Direction::Both, Load::Max),
        ("zynq-emaclite-so", 22, Direction::Echo, Load::Max),
    ];
    for (name, bytes, direction, load) in cases {
        let asked = Trial {
            extent: Extent::Time {
                time_ps: 1_000_000_000_000,
            },
            load,
            ..trial(Layer::UdpIpv4, direction, SizeUnit::Datagram, bytes)
        };
        let seen = explained(name, &asked);
        let predicted = ModelNode::new(library::open(name).unwrap())
            .run(&asked, &(), &Cancel::new())
            .unwrap();
        let rate = *predicted.flows[0].frames_per_s.value().unwrap();
        let off = seen.frames_per_s / rate - 1.0;
        assert!(
            off.abs() < 0.01,
            "{name}, {bytes} B: {} and {rate}",
            seen.frames_per_s
        );
        let share_of = |way: &str| {
            let of_way = |s: &&wirelab_trial::explanation::StageShare| s.name.starts_with(way);
            seen.stages
                .iter()
                .filter(of_way)
                .map(|s| s.share_ratio)
                .sum::<f64>()
        };
        assert!(share_of("rx-") > 0.1 && share_of("tx-") > 0.1, "{name}");
        for resource in &seen.resources {
            assert!(resource.busy_ratio <= 1.0, "{name}: {}", resource.name);
        }
        // No mark stands above the ceiling of both directions' costs.
        for point in &seen.roofline.points {
            let at = |c: &Ceiling| {
                c.curve
                    .iter()
                    .find(|(b, _)| *b == point.bytes)
                    .map(|(_, v)| *v)
            };
            let lowest = seen
                .roofline
                .ceilings
                .iter()
                .filter_map(at)
                .fold(f64::INFINITY, f64::min);
            assert!(
                point.bits_per_s <= 1.01 * lowest,
                "{name}: {point:?} above {lowest}"
            );
        }
    }
}
