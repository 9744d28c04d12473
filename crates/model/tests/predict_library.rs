//! What models answer on every path of every node of the library: closed form and simulation alike, what-if from what
//! predict says, and each figure held.

use std::fmt::Write as _;
use std::sync::LazyLock;

use crate::predict_support::{node, run, trial};
use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::whatif::baseline;
use wirelab_sim::sim::{SimRequest, simulate};
use wirelab_sim::steady::steady_state;
use wirelab_trial::{Field, Kind, Layer, Observation, Size, SizeUnit, Trial};

/// Every path of a node at the smallest, a middle and the largest size.
fn trials(file: &NodeFile) -> Vec<Trial> {
    let mut all = Vec::new();
    for path in &file.paths {
        let layer = path.layers[0];
        let sizes = match layer {
            Layer::Ethernet => [64, 512, 1518].map(|b| Size::new(SizeUnit::Frame, b)),
            Layer::TcpIpv4 | Layer::TcpIpv6 => {
                [100, 512, 1440].map(|b| Size::new(SizeUnit::Datagram, b))
            }
            _ => [22, 470, 1450].map(|b| Size::new(SizeUnit::Datagram, b)),
        };
        for size in sizes {
            let mut one = trial(layer, path.direction, size);
            one.buffers = path.buffers.first().copied();
            all.push(one);
        }
    }
    all
}

/// Name of a node of the library, trial and what is predicted of it; played once for all tests that look at it.
static LIBRARY: LazyLock<Vec<(&'static str, Trial, Observation)>> = LazyLock::new(|| {
    let of = |name| {
        let file = node(name);
        let predicted = |trial: Trial| (name, trial.clone(), run(file.clone(), &trial));
        trials(&file).into_iter().map(predicted).collect::<Vec<_>>()
    };
    library::names().flat_map(of).collect()
});

#[test]
fn closed_form_and_simulation_agree_on_every_path_where_both_apply() {
    let mut compared = 0;
    for name in library::names() {
        let file = node(name);
        for trial in trials(&file) {
            let instance = file.instance(&trial).expect("every path has a net");
            let steady = steady_state(&instance.net).expect("a steady state");
            if !steady.exact {
                continue;
            }
            let ask = SimRequest {
                frames_kept: 4_096,
                ..SimRequest::frames(&instance.net, 4_096)
            };
            let run = simulate(&instance.net, &ask).expect("it runs");
            let half = &run.chains[0].frames[2_048..];
            let (first, last) = (half[0], half[half.len() - 1]);
            let played = (last.end_ps - first.end_ps) as f64 / (half.len() - 1) as f64;
            let closed = steady.period.ps();
            let apart = (played - closed).abs() / closed;
            assert!(
                apart < 1e-3,
                "{name} {trial:?}: {played} ps played, {closed} ps in closed form"
            );
            compared += 1;
        }
    }
    assert!(compared >= 30, "{compared} paths and sizes were compared");
}

/// What-if plays fewer frames, so that its list is quick; what it starts from must still be what predict says.
#[test]
fn what_if_starts_from_what_predict_says() {
    for (name, trial, seen) in &*LIBRARY {
        let rate = *seen.flows[0].frames_per_s.value().expect("a rate");
        let baseline = baseline(&node(name), trial).expect("what it starts from");
        let base = baseline.frames_per_s;
        let off = (base - rate).abs() / rate;
        assert!(
            off < 5e-3,
            "{name} {trial:?}: {base} in what-if, {rate} predicted"
        );
        let load = seen.cpu_load.value().map(|load| load.busy_ratio);
        let (ours, theirs) = (load.unwrap_or(0.0), baseline.cpu_load_ratio.unwrap_or(0.0));
        assert!(
            (ours - theirs).abs() < 0.02,
            "{name} {trial:?}: load {theirs}, {ours} predicted"
        );
    }
}

/// A value with its kind in a letter.
fn shown(field: &Field<f64>, places: usize) -> String {
    match field {
        Field::Observed { value, kind } => {
            let kind = match kind {
                Kind::Predicted => "p",
                Kind::Calibrated => "c",
                Kind::Measured => "m",
                Kind::Emulated | Kind::Published => "?",
            };
            format!("{value:.places$} {kind}")
        }
        Field::Absent { .. } => "–".to_owned(),
    }
}

#[test]
fn every_predicted_figure_of_every_path_is_held_by_a_snapshot() {
    let mut out = String::new();
    for (name, trial, seen) in &*LIBRARY {
        let flow = &seen.flows[0];
        let buffers = trial.buffers.map_or(String::new(), |b| format!(" {b}"));
        let load = seen.cpu_load.clone().map(|load| load.busy_ratio);
        let _ = writeln!(
            out,
            "{name} {:?} {}{buffers} frame {}: {} frames/s, load {}, loss {}",
            trial.framing.layer,
            trial.direction,
            seen.sizes.frame,
            shown(&flow.frames_per_s, 3),
            shown(&load, 4),
            shown(&flow.loss_ratio, 4),
        );
        for series in &flow.series {
            let h = &series.histogram;
            let tick = h.tick_ps.unwrap_or(0) as f64;
            let (mean, sigma) = (h.mean_ticks * tick / 1e6, h.stddev_ticks * tick / 1e6);
            let _ = writeln!(out, "    {}: {mean:.4} us, sigma {sigma:.4}", series.name);
        }
    }
    insta::assert_snapshot!(out);
}
