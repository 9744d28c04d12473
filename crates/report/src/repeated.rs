//! The repeats of a trial taken together: which they are, and the rate of each direction over them.

use std::collections::HashMap;

use wirelab_statistics::bootstrap::CONFIDENCE;
use wirelab_trial::{Direction, Field, Kind, Observation, ResultsFile, Stated, Status, Summary};

use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Head, Shown, Table};
use crate::format;
use crate::interval;
use crate::row;

/// Longest name that a cell shows, in characters.
const NAME: usize = 40;

/// The observations of one trial on one node in one part of a plan.
pub struct Repeats<'a> {
    /// The part; none where the file has none.
    pub part: Option<usize>,
    /// Their numbers in the file, from 1.
    pub numbers: Vec<usize>,
    /// The observations, of which there is at least one.
    pub observations: Vec<&'a Observation>,
}

/// Frames/s of each direction over repeats.
pub type Rates = Vec<(Direction, Field<Summary>)>;

/// The repeats of each trial, in the order of the file.
pub fn of(file: &ResultsFile) -> Vec<Repeats<'_>> {
    let mut parts = vec![None; file.observations.len()];
    for (part, of) in file.parts.iter().enumerate() {
        parts[row::range_of(of, file.observations.len())].fill(Some(part));
    }
    let mut all: Vec<Repeats<'_>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, o) in file.observations.iter().enumerate() {
        // A trial holds f64, which cannot be a key; its debug text is unique.
        let key = format!("{:?} {:?} {:?}", parts[at], o.node.name, o.trial);
        let place = *places.entry(key).or_insert(all.len());
        if place == all.len() {
            all.push(Repeats {
                part: parts[at],
                numbers: Vec::new(),
                observations: Vec::new(),
            });
        }
        all[place].numbers.push(at + 1);
        all[place].observations.push(o);
    }
    all
}

/// The trials of several observations, without those of searches: a search repeats a trial if it must.
pub fn listed(file: &ResultsFile) -> Vec<Repeats<'_>> {
    let searched = row::searched(file);
    let mut all = of(file);
    all.retain(|of| of.numbers.len() > 1 && !searched[of.numbers[0] - 1]);
    all
}

impl Repeats<'_> {
    /// How many are complete; only these are in the rates.
    pub fn complete(&self) -> usize {
        let complete = |o: &&&Observation| o.status == Status::Complete;
        self.observations.iter().filter(complete).count()
    }

    /// Frames/s of each direction over the complete repeats, the sum of its flows.
    pub fn rates(&self) -> Rates {
        let complete = self.observations.iter().copied();
        let complete = complete.filter(|o| o.status == Status::Complete);
        let mut directions: Vec<(Direction, Vec<Field<f64>>)> = Vec::new();
        for o in complete {
            for row in row::rows(std::slice::from_ref(o), false) {
                let rate = row.sum(|f| &f.frames_per_s);
                match directions.iter_mut().find(|(of, _)| *of == row.direction) {
                    Some((_, rates)) => rates.push(rate),
                    None => directions.push((row.direction, vec![rate])),
                }
            }
        }
        let repeats = self.complete();
        let directions = directions.into_iter();
        directions
            .map(|(direction, rates)| (direction, together(rates, repeats)))
            .collect()
    }
}

/// The summary of one figure of each repeat. It is absent if any repeat lacks it, because a mean over the others would be
/// another quantity.
fn together(figures: Vec<Field<f64>>, repeats: usize) -> Field<Summary> {
    if figures.len() < repeats {
        return Field::absent("a repeat has no flow of this direction");
    }
    let mut known: Option<Kind> = None;
    let mut values = Vec::new();
    for figure in figures {
        match figure {
            Field::Absent { absent } => return Field::Absent { absent },
            Field::Observed { kind, .. } if known.is_some_and(|of| of != kind) => {
                return Field::absent("its repeats are of different kinds");
            }
            Field::Observed { value, kind } => {
                known = Some(kind);
                values.push(value);
            }
        }
    }
    match (Summary::of(&values, CONFIDENCE), known) {
        (Some(value), Some(kind)) => Field::Observed { value, kind },
        _ => Field::absent("a figure of a repeat is not finite"),
    }
}

/// A row for each trial and direction, by the number of its first trial; `None` where no trial was repeated.
pub fn table(file: &ResultsFile) -> Option<Table> {
    let all = listed(file);
    if all.is_empty() {
        return None;
    }
    let varied = |name, unit| Head::figures(name, unit, Shown::IfVaries, 0);
    let figure = |name, unit| Head::figures(name, unit, Shown::Always, 0);
    let heads = vec![
        figure("first trial", ""),
        Head::words("node", Shown::IfVaries, 9),
        Head::words("direction", Shown::Always, 0),
        varied("payload", "B"),
        varied("frame", "B"),
        Head::words("load", Shown::IfVaries, 0),
        figure("mean", "frames/s"),
        figure(interval::HEAD, "frames/s"),
        figure("median", "frames/s"),
        figure("complete", ""),
    ];
    let rows = all.iter().flat_map(|of| {
        let rates = of.rates().into_iter();
        rates.map(|(direction, rate)| cells(of, direction, rate))
    });
    Some(Table::new("Repeated trials", heads, rows.collect()))
}

fn cells(of: &Repeats<'_>, direction: Direction, rate: Field<Summary>) -> Vec<Cell> {
    let (first, shown) = (of.observations[0], format::frame_rate);
    let bytes = |bytes: u32| Cell::Text(format::integer(bytes.into()));
    vec![
        Cell::Trials(vec![of.numbers[0]]),
        Cell::Text(clip(&line(&first.node.name), NAME)),
        direction.to_string().into(),
        bytes(first.sizes.payload),
        bytes(first.sizes.frame),
        row::load(&first.trial.load).into(),
        Cell::of(rate.clone(), |rate| shown(rate.mean)),
        interval::cell(
            rate.value().and_then(Stated::of_repeats),
            rate.kind(),
            shown,
        ),
        Cell::of(rate, |rate| shown(rate.median)),
        format!("{} of {}", of.complete(), of.numbers.len()).into(),
    ]
}
