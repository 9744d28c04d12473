//! Which distributions a report has: every series of times or instructions, those of one sort in a picture. Trials that
//! differ only in their load share a picture, in which a reader chooses the load.

use std::collections::HashMap;

use wirelab_trial::{ClockKind, Extent, Load, ResultsFile, Series, Trial};

use crate::chart::samples::{self, Samples};
use crate::chart::{Picture, Show};
use crate::detail;
use crate::document::Gallery;
use crate::document::escape::{clip, line};
use crate::row;
use crate::stats;

/// Most series of a gallery; the results file has the rest.
const SERIES: usize = 200;

/// A series, and the words around it.
pub struct Named<'a> {
    /// What is compared: series of one group share a picture.
    pub group: String,
    /// Its subject: a direction, or the whole trial.
    pub of: String,
    /// Its name within its group.
    pub name: String,
    /// Its trial, from 1.
    pub trial: usize,
    /// Its samples.
    pub series: &'a Series,
}

/// Every series of times or instructions with samples, those of one name and direction in a trial together, as their
/// table has them.
pub fn series(file: &ResultsFile) -> Gallery {
    let each = file.observations.iter().enumerate();
    let merged = each.flat_map(|(at, o)| detail::merged(at + 1, o));
    let places: Vec<_> = merged.collect();
    let all = places.iter().map(|(trial, of, series)| {
        let simulated = match series.clock.kind {
            ClockKind::Simulated => ", simulated time",
            _ => "",
        };
        let o = &file.observations[trial - 1];
        let load = row::load(&o.trial.load);
        Named {
            group: clip(&line(&format!("{}{simulated}", series.name)), 60),
            of: of.clone(),
            name: format!("{trial} · {} B · {load} · {of}", o.sizes.payload),
            trial: *trial,
            series,
        }
    });
    Gallery {
        title: "Latency and other series",
        about: "How long the slowest took, by the share that was faster. Instruction counts are not times.",
        wide: true,
        ..of_series(file, all.collect(), "trial")
    }
}

/// Distributions of some series of a file. Trials that differ only in their load share a picture, by load. Other series of a
/// group share one; `by` says what their names differ in.
pub fn of_series(file: &ResultsFile, all: Vec<Named<'_>>, by: &'static str) -> Gallery {
    let mut alike: Vec<Vec<Named<'_>>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for named in all {
        let place = *known.entry(but_for_load(file, &named)).or_insert_with(|| {
            alike.push(Vec::new());
            alike.len() - 1
        });
        alike[place].push(named);
    }
    let (mut by_load, mut others) = (Vec::new(), Pictures::default());
    for mut series in alike {
        let first = load(file, &series[0]);
        if series.iter().all(|of| load(file, of) == first) {
            series.iter().for_each(|named| others.add(named, by));
            continue;
        }
        series.sort_by(|a, b| rank(file, a).total_cmp(&rank(file, b)));
        let mut own = Pictures::default();
        for named in series {
            let o = &file.observations[named.trial - 1];
            let group = format!("{}, {} B, {}", named.group, o.sizes.payload, named.of);
            let name = format!("{} · trial {}", load(file, &named), named.trial);
            own.add(
                &Named {
                    group,
                    name,
                    ..named
                },
                "load",
            );
        }
        by_load.extend(own.0);
    }
    by_load.extend(others.0);
    gallery(by_load)
}

/// The key of trials that differ only in their load.
fn but_for_load(file: &ResultsFile, named: &Named<'_>) -> String {
    let o = &file.observations[named.trial - 1];
    let trial = Trial {
        load: Load::Max,
        background: None,
        extent: Extent::Frames { frames: 0 },
        ..o.trial.clone()
    };
    let trial = serde_json::to_string(&trial).expect("plain data always serialise");
    let (group, of, node) = (&named.group, &named.of, &o.node.name);
    format!("{group}\n{of}\n{node}\n{trial}")
}

/// The load of a trial in words, with what else was sent to the node.
fn load(file: &ResultsFile, named: &Named<'_>) -> String {
    let trial = &file.observations[named.trial - 1].trial;
    let load = row::load(&trial.load);
    match trial.background {
        Some(background) => format!("{load}, beside {}", row::load(&background.load)),
        None => load,
    }
}

/// The load of a trial as a number that sorts trials by it.
fn rank(file: &ResultsFile, named: &Named<'_>) -> f64 {
    let trial = &file.observations[named.trial - 1].trial;
    let of = |load: Load| match load {
        Load::Max => f64::INFINITY,
        Load::LinkShare { percent } => percent,
        Load::FrameRate { frames_per_s } => frames_per_s,
        Load::BitRate { bits_per_s } => bits_per_s,
        Load::Gap { gap_bytes } => -f64::from(gap_bytes),
    };
    // An echo has one rate, and its background is the load.
    of(trial
        .background
        .map_or(trial.load, |background| background.load))
}

/// Pictures in the order of their first series.
#[derive(Default)]
struct Pictures(Vec<(String, Samples)>);

impl Pictures {
    fn add(&mut self, named: &Named<'_>, by: &'static str) {
        let Some(samples) = stats::Samples::of_series(named.series) else {
            return;
        };
        let (kind, trial) = (named.series.kind, Some(named.trial));
        let series = samples::Series::of(named.name.clone(), trial, kind, &samples);
        let (name, show) = match samples.instructions {
            true => ("instructions", Show::Integer),
            false => ("time", Show::Time),
        };
        let alike = |(group, of): &&mut (String, Samples)| *group == named.group && of.show == show;
        match self.0.iter_mut().find(alike) {
            Some((_, of)) => of.series.push(series),
            None => self.0.push((
                named.group.clone(),
                Samples {
                    name: name.to_owned(),
                    show,
                    by,
                    steps: samples::STEPS,
                    series: vec![series],
                },
            )),
        }
    }
}

/// A gallery of distributions, with as many series as a page has room for.
pub fn gallery(groups: Vec<(String, Samples)>) -> Gallery {
    let mut left = SERIES;
    let mut left_out = 0;
    let pictures = groups.into_iter().map(|(title, mut of)| {
        left_out += of.series.len().saturating_sub(left);
        of.series.truncate(left);
        left -= of.series.len();
        (title, Picture::Samples(of))
    });
    Gallery {
        pictures: pictures.collect(),
        left_out,
        ..Gallery::default()
    }
}
