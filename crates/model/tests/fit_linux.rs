//! A Linux node from its stages: what was put in comes out, each route through the node is a path, and what the fast
//! track would gain is predicted from the stack's stages alone.

use crate::fit_support::{
    FAST, LENGTHS, STACK, Truth, codes, linux, off, parameter, series, staged, warned,
};
use wirelab_model::explain::{explain, explain_results};
use wirelab_model::file::NodeFile;
use wirelab_model::fit::{Fit, FitOptions, fast_track, fit};
use wirelab_model::node::ModelNode;
use wirelab_model::whatif::{WhatifOptions, whatif};
use wirelab_trial::{
    Cancel, Description, Kind, Load, Node, NodeError, Observation, Path, Probes, SeriesName, Trial,
    Wait,
};

const SLEEP: (Option<Path>, Option<Wait>) = (Some(Path::Stack), Some(Wait::Sleep));
const SPIN: (Option<Path>, Option<Wait>) = (Some(Path::Stack), Some(Wait::Spin));

fn fitted(seen: &[Observation]) -> Fit {
    fit(seen, &FitOptions::default()).unwrap()
}

fn file(fit: &Fit) -> NodeFile {
    NodeFile::parse(&fit.node_toml, "fitted.toml")
        .unwrap_or_else(|e| panic!("{e}\n{}", fit.node_toml))
}

fn trial(path: Option<Path>, wait: Option<Wait>, length: u32, load: Load) -> Trial {
    let seen = staged(&STACK, (path, wait), length, 1);
    Trial { load, ..seen.trial }
}

fn slow() -> Load {
    Load::FrameRate {
        frames_per_s: 1_000.0,
    }
}

#[test]
fn a_heavy_tail_moves_no_parameter_and_is_said() {
    let clean = linux(7);
    let mut heavy = clean.clone();
    for o in &mut heavy {
        // Four frames in a thousand meet something that takes 4 ms.
        for s in &mut o.flows[0].series {
            let mut ticks = s.raw_ticks.clone();
            ticks.iter_mut().step_by(250).for_each(|t| *t += 4_000_000);
            *s = series(&s.name.to_string(), ticks);
        }
    }
    let (clean, heavy) = (fitted(&clean), fitted(&heavy));
    for p in &clean.parameters {
        let other = parameter(&heavy, &p.name).value;
        let allowed = match p.unit.as_str() {
            "ns/byte" => 0.03,
            _ => 0.02 * p.value + 3.0,
        };
        assert!(
            (p.value - other).abs() <= allowed,
            "{}: {} {other}",
            p.name,
            p.value
        );
    }
    let said = |fit: &Fit| {
        fit.notes
            .iter()
            .any(|n| n.contains("no parameter holds this tail"))
    };
    assert!(said(&heavy) && !said(&clean), "{:?}", heavy.notes);
}

#[test]
fn each_stage_holds_the_cpu_that_works_and_a_wait_holds_none() {
    let file = file(&fitted(&linux(1)));
    let holds = |stage: &str| file.stages[stage].resource.as_deref();
    for (stage, resource) in [
        ("udp4-receive-wire-to-interrupt", None),
        ("udp4-receive-interrupt-to-driver", Some("cpu-driver")),
        ("udp4-receive-driver-to-stack", Some("cpu-driver")),
        ("udp4-receive-stack-to-socket", Some("cpu-driver")),
        ("udp4-receive-socket-to-copy", None),
        ("udp4-receive-copy-to-call", Some("cpu-application")),
        ("udp4-receive-call-to-application", Some("cpu-application")),
        ("udp4-receive-fast-track-driver-to-application", None),
        ("udp4-transmit-application-to-call", Some("cpu-application")),
        ("udp4-transmit-call-to-queue", Some("cpu-application")),
        ("udp4-transmit-queue-to-driver", Some("cpu-application")),
        ("udp4-transmit-driver-to-wire", None),
    ] {
        assert_eq!(holds(stage), resource, "{stage}");
    }
}

#[test]
fn each_direction_through_the_node_is_a_path() {
    let mut seen = linux(2);
    seen.extend(LENGTHS.map(|l| staged(&STACK[..4], SPIN, l, 5)));
    let file = file(&fitted(&seen));
    let taken = |path, wait| -> Result<String, String> {
        let trial = trial(path, wait, 64, slow());
        let instance = file.instance(&trial).map_err(|e| e.to_string())?;
        Ok(file.paths[instance.chains[0].paths[0]].name.clone())
    };
    assert_eq!(taken(None, None).unwrap(), "udp4-receive");
    assert_eq!(taken(Some(Path::Stack), None).unwrap(), "udp4-receive");
    assert_eq!(taken(None, Some(Wait::Spin)).unwrap(), "udp4-receive-spin");
    assert_eq!(
        taken(Some(Path::FastTrack), None).unwrap(),
        "udp4-receive-fast-track"
    );
    let error = taken(Some(Path::Driver), None).unwrap_err();
    assert!(
        error.contains("path") && error.contains("choose stack, fast-track"),
        "{error}"
    );
    let error = taken(Some(Path::FastTrack), Some(Wait::Spin)).unwrap_err();
    assert!(
        error.contains("wait") && error.contains("choose sleep"),
        "{error}"
    );
}

#[test]
fn a_node_of_one_way_says_so() {
    let mut node = ModelNode::new(wirelab_model::library::open("zynq-emaclite").unwrap());
    for (path, wait) in [(Some(Path::Stack), None), (None, Some(Wait::Spin))] {
        let asked = trial(path, wait, 64, slow());
        let error = node.run(&asked, &(), &Cancel::default()).unwrap_err();
        assert!(
            matches!(&error, NodeError::Unsupported(u) if u.why.contains("leave it out")),
            "{error}"
        );
    }
}

#[test]
fn what_was_fitted_to_is_calibrated_and_what_lies_between_is_predicted() {
    let file = file(&fitted(&linux(3)));
    let kinds = |file: &NodeFile, length| -> Vec<Kind> {
        let mut node = ModelNode::new(file.clone());
        let ask = trial(None, None, length, slow());
        let o = node.run(&ask, &(), &Cancel::default()).unwrap();
        o.flows[0].series.iter().map(|s| s.kind).collect()
    };
    assert!(kinds(&file, 256).iter().all(|k| *k == Kind::Calibrated));
    assert!(kinds(&file, 512).iter().all(|k| *k == Kind::Predicted));
    let mut fast = file.clone();
    fast.set("path=fast-track").unwrap();
    assert!(kinds(&fast, 256).iter().all(|k| *k == Kind::Calibrated));
    let mut past = file.clone();
    past.set("alternative=past-the-stack").unwrap();
    assert!(kinds(&past, 256).iter().all(|k| *k == Kind::Predicted));
}

#[test]
fn the_gain_is_predicted_by_the_stack_alone() {
    let seen = linux(4);
    let gains = fitted(&seen).fast_track;
    assert_eq!(gains.len(), LENGTHS.len());
    for gain in &gains {
        let datagram = f64::from(gain.length_bytes - 42);
        // All but the wait: 700 + 900 + 500 + 250 ns, 1.1 ns/byte.
        let skipped = 2_350.0 + 1.1 * datagram;
        assert!(
            off(gain.predicted_gain_ps as f64 / 1e3, skipped) < 0.03,
            "{gain:?}"
        );
        assert!(
            off(gain.predicted_ps as f64 / 1e3, 6_000.0) < 0.02,
            "{gain:?}"
        );
        let fast = 6_700.0 + 0.2 * datagram;
        assert!(
            off(gain.measured_ps.unwrap() as f64 / 1e3, fast) < 0.02,
            "{gain:?}"
        );
        let error = 100.0 * (6_000.0 / fast - 1.0);
        assert!(
            (gain.error_percent.unwrap() - error).abs() < 3.0,
            "{gain:?}"
        );
    }
    // Another fast track, or none, predicts nothing else.
    let slower: [Truth; 3] = [
        FAST[0],
        FAST[1],
        ("driver to application", 9_000.0, 0.2, 90.0),
    ];
    let mut other = seen.clone();
    for (o, length) in other[3..6].iter_mut().zip(LENGTHS) {
        *o = staged(
            &slower,
            (Some(Path::FastTrack), Some(Wait::Sleep)),
            length,
            8,
        );
    }
    other.remove(3);
    let predicted =
        |o: &[Observation]| -> Vec<u64> { fast_track(o).iter().map(|g| g.predicted_ps).collect() };
    assert_eq!(predicted(&seen), predicted(&other));
    let again = fast_track(&other);
    assert_eq!(again[0].measured_ps, None);
    assert!(again[1].measured_gain_ps.unwrap() < gains[1].measured_gain_ps.unwrap());
}

#[test]
fn ways_that_wait_differently_are_not_compared() {
    let mut seen: Vec<Observation> = LENGTHS.map(|l| staged(&STACK, SLEEP, l, 9)).into();
    let fast = (Some(Path::FastTrack), Some(Wait::Spin));
    seen.extend(LENGTHS.map(|l| staged(&FAST, fast, l, 10)));
    let fit = fitted(&seen);
    assert!(fit.fast_track.iter().all(|g| g.measured_ps.is_none()));
    assert!(
        fit.notes.iter().any(|n| n.contains("not compared")),
        "{:?}",
        fit.notes
    );
}

#[test]
fn whatif_tries_the_fast_track_in_both_directions() {
    let file = file(&fitted(&linux(5)));
    let ask = trial(None, None, 64, slow());
    let whatif = whatif(&file, &ask, &WhatifOptions::default()).unwrap();
    assert_eq!(whatif.point.as_deref(), Some("wire to application"));
    let after = |set: &str| {
        let found = whatif.singles.iter().find(|c| c.set == [set]);
        let change = found.unwrap_or_else(|| panic!("no {set}"));
        let latency = &change.after.latency;
        let inside = latency.iter().find(|l| l.point.ends_with("to application"));
        assert!(change.gain_percent > 0.0);
        (inside.unwrap().mean_ps / 1e3, inside.unwrap().kind)
    };
    // From the wire: 2 µs and 0.4 µs more than behind the driver.
    let (predicted, kind) = after("alternative=past-the-stack");
    assert!(
        off(predicted, 8_402.0) < 0.02 && kind == Kind::Predicted,
        "{predicted}"
    );
    let (calibrated, kind) = after("path=fast-track");
    assert!(
        off(calibrated, 9_106.0) < 0.02 && kind == Kind::Calibrated,
        "{calibrated}"
    );
    let mut faster = file.clone();
    assert!(
        faster
            .set("path=express")
            .unwrap_err()
            .what
            .contains("fast-track")
    );
    assert!(
        faster.set("wait=spin").is_ok(),
        "the trial says what is wrong"
    );
    assert!(
        faster
            .instance(&ask)
            .unwrap_err()
            .to_string()
            .contains("choose sleep")
    );
}

#[test]
fn the_stage_that_takes_most_is_named() {
    let seen = linux(6);
    let explanation = explain(&file(&fitted(&seen)), &trial(None, None, 1024, slow())).unwrap();
    let said = explanation.limit.because.join(" ");
    assert!(
        said.contains("udp4-receive-socket-to-copy takes most: 6.0"),
        "{said}"
    );
    let explained = explain_results(&seen);
    let stack = explained
        .groups
        .iter()
        .find(|g| g.title.contains("path stack, wait sleep"));
    let findings = stack.expect("a group of its own").findings.join(" ");
    assert!(
        findings.contains("Length 1,024 B") || findings.contains("Length 1024 B"),
        "{findings}"
    );
    assert!(
        findings.contains("'socket to copy' takes most: 6."),
        "{findings}"
    );
    assert_eq!(explained.fast_track.len(), LENGTHS.len());
}

#[test]
fn background_and_other_points_are_left_out_and_said() {
    let mut seen = linux(8);
    let clean = fitted(&seen);
    let mut loaded = staged(&STACK, SLEEP, 64, 3);
    loaded.trial.background = Some("50kpps".parse().unwrap());
    for s in &mut loaded.flows[0].series {
        *s = series(&s.name.to_string(), s.raw_ticks.iter().map(|t| t * 9));
    }
    seen.push(loaded);
    // A host that could not trace all points at 256 bytes.
    let few = [
        ("wire to driver", 2_400.0, 0.0, 9.0),
        ("driver to application", 9e3, 0.0, 9.0),
    ];
    seen.push(staged(&few, SLEEP, 256, 4));
    let fit = fitted(&seen);
    assert_eq!(fit.parameters, clean.parameters);
    assert!(
        fit.left_out
            .iter()
            .any(|l| l.why.starts_with("other traffic") && l.count == 1)
    );
    assert!(
        fit.notes.iter().any(|n| n.contains("other capture points")),
        "{:?}",
        fit.notes
    );
}

#[test]
fn sums_of_stages_and_trials_without_probes_are_no_stages() {
    let mut seen = linux(9);
    let clean = fitted(&seen);
    for o in &mut seen {
        // As a tester adds them: points further apart, frame by frame.
        let stages = &o.flows[0].series;
        let (first, last) = (&stages[0], &stages[stages.len() - 1]);
        let (first, last) = (first.points().unwrap(), last.points().unwrap());
        let whole = SeriesName::stage(first.from, last.to);
        let sum = |at: usize| stages.iter().map(|s| s.raw_ticks[at]).sum::<u64>();
        let sums = series(&whole.to_string(), (0..512).map(sum));
        o.flows[0].series.push(sums);
    }
    let whole = [("wire to application", 8_000.0, 0.0, 9.0)];
    for length in LENGTHS {
        let mut off = staged(&whole, SLEEP, length, 4);
        off.trial.probes = Some(Probes::Off);
        seen.push(off);
    }
    assert_eq!(fitted(&seen).parameters, clean.parameters);
}

#[test]
fn a_point_of_few_frames_is_no_point() {
    // An application that spins, and lost its core before 40 of 512 frames: these alone have the point `copy`.
    let mut seen = Vec::new();
    for length in LENGTHS {
        let mut o = staged(&STACK, SPIN, length, 2);
        let stages = &mut o.flows[0].series;
        let upto: Vec<u64> = (0..512)
            .map(|at| stages[..6].iter().map(|s| s.raw_ticks[at]).sum())
            .collect();
        let socket: Vec<u64> = (0..512)
            .map(|at| stages[..4].iter().map(|s| s.raw_ticks[at]).sum())
            .collect();
        stages[4] = series("socket to copy", [3_000_000; 40]);
        stages[5] = series("copy to call", [90_000; 40]);
        stages.push(series("wire to call", upto));
        stages.push(series("wire to socket", socket));
        seen.push(o);
    }
    let fit = fitted(&seen);
    let names: Vec<&str> = fit.parameters.iter().map(|p| p.name.as_str()).collect();
    assert!(names.iter().all(|n| !n.contains("copy")), "{names:?}");
    let packet = parameter(&fit, "udp4-receive-spin-socket-to-call-packet").value;
    assert!(off(packet, 6_500.0) < 0.02, "{packet}");
    let file = file(&fit);
    let stage = &file.stages["udp4-receive-spin-socket-to-call"];
    assert_eq!(stage.resource, None, "a wait is in it");
}

#[test]
fn repeats_tell_how_sure_a_middle_is_and_one_size_gives_no_byte() {
    let mut seen = Vec::new();
    for block in 0..8 {
        seen.extend(LENGTHS.map(|l| staged(&STACK, SLEEP, l, 40 + block)));
    }
    let fit = fitted(&seen);
    let copy = parameter(&fit, "udp4-receive-copy-to-call-byte");
    let interval = copy.interval.unwrap();
    assert!(interval.low < 0.8 && 0.8 < interval.high && interval.high - interval.low < 0.05);
    let one = fitted(&[staged(&STACK, SLEEP, 64, 1)]);
    assert!(
        one.parameters.iter().all(|p| p.unit != "ns/byte"),
        "{:?}",
        one.parameters
    );
    assert_eq!(one.fast_track.len(), 1);
}

#[test]
fn a_bent_stage_is_said_and_its_interval_is_as_wide_as_the_bend() {
    let mut seen = Vec::new();
    for (length, ns) in [(64, 500.0), (256, 1_500.0), (1024, 1_600.0)] {
        let mut stages = STACK;
        stages[5] = ("copy to call", ns, 0.0, 10.0);
        seen.push(staged(&stages, SLEEP, length, 3));
    }
    let fit = fitted(&seen);
    let said = warned(&fit, "line-does-not-fit");
    assert!(
        said.iter().any(|t| t.contains("'copy to call'")),
        "{:?}",
        codes(&fit)
    );
    assert_eq!(said.len(), 1, "{said:?}");
    let packet = parameter(&fit, "udp4-receive-copy-to-call-packet")
        .interval
        .unwrap();
    assert!(packet.high - packet.low > 1_000.0, "{packet:?}");
}

#[test]
fn a_description_of_a_fitted_node_has_its_paths() {
    let node = ModelNode::new(file(&fitted(&linux(1))));
    let Description { capabilities, .. } = node.describe();
    assert_eq!(capabilities.paths, [Path::Stack, Path::FastTrack]);
}
