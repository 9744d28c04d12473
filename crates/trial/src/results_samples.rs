//! The long lists of a results file: packed behind its text when it is written, and back in their places when it is read.

use std::fmt::Display;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::column::{Column, ColumnRow, Packer, numbers_apart};
use crate::dense::dense;
use crate::field::Field;
use crate::observation::Observation;
use crate::results::ResultsFile;
use crate::results_reader::{MOST_VALUES, ResultsError};
use crate::series::{Percentiles, Series};

impl ResultsFile {
    /// The file's text: JSON with a newline at the end, its long lists packed in `samples`.
    pub fn to_json(&self) -> String {
        let (mut file, packed) = self.packed();
        file.samples = packed
            .iter()
            .map(|list| BASE64_STANDARD.encode(list))
            .collect();
        text(&file)
    }

    /// The file without its long lists, and these lists packed.
    fn packed(&self) -> (ResultsFile, Vec<Vec<u8>>) {
        let mut pack = Pack::default();
        let packed = self.observations.iter().map(|one| {
            let mut one = one.clone();
            let Ok(()) = each_list(&mut one, &mut pack);
            one
        });
        let file = ResultsFile {
            observations: packed.collect(),
            ..self.without_trials()
        };
        (file, pack.lists)
    }

    /// Puts the lists of `samples` back into their places; `values` are in the text already.
    pub(crate) fn unpack(&mut self, values: usize) -> Result<(), ResultsError> {
        let samples = std::mem::take(&mut self.samples);
        let lists = samples.iter().map(|text| {
            let list = BASE64_STANDARD.decode(text);
            list.map_err(|error| format!("is not base64: {error}"))
        });
        self.unpack_of(lists, values)
    }

    fn unpack_of<L: AsRef<[u8]>>(
        &mut self,
        lists: impl Iterator<Item = Result<L, String>>,
        values: usize,
    ) -> Result<(), ResultsError> {
        let mut unpack = Unpack {
            packer: Packer::default(),
            lists,
            free: MOST_VALUES.saturating_sub(values) as u64,
            observation: 0,
        };
        for one in &mut self.observations {
            unpack.observation += 1;
            each_list(one, &mut unpack)?;
        }
        match unpack.lists.count() {
            0 => Ok(()),
            more => Err(ResultsError::Samples {
                place: "at the end of 'samples'".to_owned(),
                what: format!("{more} lists belong to no series of the file"),
            }),
        }
    }
}

fn text(file: &ResultsFile) -> String {
    dense(&serde_json::to_string(file).expect("plain data always serialise"))
}

/// The action on each list that may be packed.
trait Lists {
    type Error;
    fn list<T: ColumnRow>(
        &mut self,
        of: &dyn Display,
        list: &mut Column<T>,
    ) -> Result<(), Self::Error>;
    /// Before and after its lists.
    fn begin(&mut self, _: &mut Series) {}
    fn end(&mut self, _: &mut Series) {}
}

/// Shows the lists of an observation in the order of the text.
fn each_list<L: Lists>(one: &mut Observation, lists: &mut L) -> Result<(), L::Error> {
    for flow in &mut one.flows {
        if let Field::Observed { value: sender, .. } = &mut flow.sender {
            if let Field::Observed { value: gap, .. } = &mut sender.gap {
                lists.list(&"the sender's gap", &mut gap.buckets)?;
            }
        }
        let over_time = &mut flow.over_time;
        lists.list(&"the slices over time", &mut over_time.slice_ns)?;
        lists.list(&"the arrivals over time", &mut over_time.arrived)?;
        lists.list(&"the losses over time", &mut over_time.missing_frames)?;
        each_series(&mut flow.series, lists)?;
    }
    for busy in &mut one.busy_over_time {
        lists.list(&"the slices of the load", &mut busy.slice_ns)?;
        lists.list(&"the load over time", &mut busy.busy_ns)?;
    }
    each_series(&mut one.series, lists)
}

fn each_series<L: Lists>(all: &mut [Series], lists: &mut L) -> Result<(), L::Error> {
    for series in all {
        lists.begin(series);
        lists.list(&series.name, &mut series.raw_ticks)?;
        lists.list(&series.name, &mut series.histogram.buckets)?;
        lists.end(series);
    }
    Ok(())
}

/// Takes the long lists out.
#[derive(Default)]
struct Pack {
    packer: Packer,
    lists: Vec<Vec<u8>>,
}

impl Lists for Pack {
    type Error = std::convert::Infallible;
    fn list<T: ColumnRow>(
        &mut self,
        _: &dyn Display,
        list: &mut Column<T>,
    ) -> Result<(), Self::Error> {
        self.lists.extend(self.packer.pack(list));
        Ok(())
    }
    fn begin(&mut self, series: &mut Series) {
        if series.percentiles.is_empty() {
            series.percentiles = Percentiles::of(series);
        }
    }
}

/// Puts them back.
struct Unpack<I> {
    packer: Packer,
    lists: I,
    /// Numbers that the file may still have.
    free: u64,
    /// The present observation, counted from 1.
    observation: usize,
}

impl<L: AsRef<[u8]>, I: Iterator<Item = Result<L, String>>> Lists for Unpack<I> {
    type Error = ResultsError;
    fn list<T: ColumnRow>(
        &mut self,
        of: &dyn Display,
        list: &mut Column<T>,
    ) -> Result<(), ResultsError> {
        let Some(numbers) = numbers_apart(list) else {
            return Ok(());
        };
        self.free = self
            .free
            .checked_sub(numbers)
            .ok_or(ResultsError::TooManyValues)?;
        let packed = self
            .lists
            .next()
            .unwrap_or_else(|| Err("is missing".to_owned()));
        let unpacked = packed.and_then(|packed| self.packer.unpack(list, packed.as_ref()));
        unpacked.map_err(|what| {
            // The name comes from the file, so it must not control or flood a terminal.
            let of: String = of.to_string().chars().take(80).collect();
            ResultsError::Samples {
                place: format!("observation {}, {of:?}", self.observation),
                what: format!("its list in 'samples' {what}"),
            }
        })
    }
    fn end(&mut self, series: &mut Series) {
        // Percentiles that differ stay in the series, and the check finds them.
        if series.percentiles == Percentiles::of(series) {
            series.percentiles = Percentiles::default();
        }
    }
}
