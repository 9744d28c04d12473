//! Emulated and measured figures in one report: they are never compared, pooled or put into one table.

use wirelab_trial::{
    ClockKind, Direction, Field, FixedSeries, FlowObservation, Kind, Observation, ResultsFile,
    Series, Status,
};

/// The set-up key by which a node says that it is emulated.
const EMULATOR: &str = "emulator";

/// Why results cannot be shown in one report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixedError {
    /// Figures of an emulation beside measured ones.
    #[error(
        "{emulated} holds figures of an emulated node, which depend on the host, and {measured} measured ones: they are \
         not compared; fix: leave one of both out, or show each by itself"
    )]
    Mixed {
        /// Name of the results with emulated figures.
        emulated: String,
        /// Name of those with measured ones.
        measured: String,
    },
    /// An emulated node whose times claim to be measured.
    #[error(
        "{name}, trial {trial}: the node is emulated ({emulator}), but its {figure} claims to be measured, since an earlier \
         version wrote the file or the file was changed; fix: measure again"
    )]
    Mislabelled {
        /// Name of the results.
        name: String,
        /// Number of the trial, from 1.
        trial: usize,
        /// What emulates the node.
        emulator: String,
        /// Name of the figure.
        figure: String,
    },
}

/// Refuse results whose emulated figures claim to be measured, and emulated results beside measured ones.
///
/// # Errors
/// [`MixedError`] names the results.
pub fn refuse_mixed(files: &[(String, ResultsFile)]) -> Result<(), MixedError> {
    for (name, file) in files {
        refuse_mislabelled(name, file)?;
    }
    let of = |kind| files.iter().find(|(_, file)| holds(file, kind));
    match (of(Kind::Emulated), of(Kind::Measured)) {
        (Some((emulated, _)), Some((measured, _))) => Err(MixedError::Mixed {
            emulated: emulated.clone(),
            measured: measured.clone(),
        }),
        _ => Ok(()),
    }
}

/// Refuse results of an emulated node whose times by the host's clock claim to be measured.
///
/// # Errors
/// [`MixedError::Mislabelled`] names the first.
pub fn refuse_mislabelled(name: &str, file: &ResultsFile) -> Result<(), MixedError> {
    for (at, o) in file.observations.iter().enumerate() {
        let emulator = o.node.setup.get(EMULATOR);
        if let Some((emulator, figure)) = emulator.zip(timed_as_measured(o)) {
            return Err(MixedError::Mislabelled {
                name: name.to_owned(),
                trial: at + 1,
                emulator: emulator.clone(),
                figure,
            });
        }
    }
    Ok(())
}

/// Whether any observation of a file is of a kind.
fn holds(file: &ResultsFile, kind: Kind) -> bool {
    file.observations.iter().any(|o| kind_of(o) == Some(kind))
}

/// Whether an observation is emulated or measured, by every figure of its node. Figures that stay measured beside emulated ones
/// are the tester's own. `None` for a model, and for a void observation, which has no figures.
fn kind_of(o: &Observation) -> Option<Kind> {
    if matches!(o.status, Status::Void { .. }) {
        return None;
    }
    let kinds = kinds(o);
    let has = |kind: &Kind| kinds.contains(kind);
    [Kind::Emulated, Kind::Measured].into_iter().find(has)
}

/// The kinds of all figures of an observation that are the node's, without figures of the tester itself.
fn kinds(o: &Observation) -> Vec<Kind> {
    let mut all: Vec<Kind> = o.cpu_load.kind().into_iter().collect();
    all.extend(o.counters.values().filter_map(Field::kind));
    all.extend(of_the_node(&o.series).map(|s| s.kind));
    for flow in &o.flows {
        all.extend(rates(flow).into_iter().filter_map(|(_, kind)| kind));
        all.extend(flow.counters.values().filter_map(Field::kind));
        all.extend(of_the_node(&flow.series).map(|s| s.kind));
        if flow.direction == Direction::Transmit && o.trial.direction != Direction::Echo {
            all.extend(flow.sent_frames.kind());
        }
    }
    all
}

fn of_the_node(series: &[Series]) -> impl Iterator<Item = &Series> {
    series.iter().filter(|s| s.name != FixedSeries::FLOOR)
}

/// A flow's figures by name, with their kinds.
fn rates(flow: &FlowObservation) -> [(&'static str, Option<Kind>); 9] {
    [
        ("frame rate", flow.frames_per_s.kind()),
        ("payload rate", flow.payload_bits_per_s.kind()),
        ("link load", flow.link_bits_per_s.kind()),
        ("efficiency", flow.efficiency.kind()),
        ("goodput", flow.goodput_bits_per_s.kind()),
        ("time", flow.elapsed.kind()),
        ("jitter", flow.jitter_ps.kind()),
        ("loss", flow.loss_ratio.kind()),
        ("counts", flow.counts.kind()),
    ]
}

/// A figure by the host's clock that claims to be measured. Simulated times and counts of instructions really are.
fn timed_as_measured(o: &Observation) -> Option<String> {
    let measured = |kind: Option<Kind>| kind == Some(Kind::Measured);
    let by_wall = |flow: &&FlowObservation| {
        let clock = flow.elapsed.value().map(|elapsed| elapsed.clock);
        clock == Some(ClockKind::Wall)
    };
    let flows = o.flows.iter().filter(by_wall);
    let mut of_flows = flows.flat_map(rates);
    if let Some((name, _)) = of_flows.find(|(_, kind)| measured(*kind)) {
        return Some(name.to_owned());
    }
    let series = o.flows.iter().flat_map(|flow| &flow.series);
    let mut series = series
        .chain(&o.series)
        .filter(|s| s.name != FixedSeries::FLOOR && s.clock.kind == ClockKind::Wall);
    let found = series.find(|s| s.kind == Kind::Measured)?;
    Some(format!("series \"{}\"", found.name))
}
