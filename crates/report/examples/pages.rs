//! Writes the pages that `web/tests` opens in a browser into a folder: worked results, hostile ones, and a hundred trials.

#[path = "../tests/common/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;
#[path = "../tests/common/explained.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod explained;

use std::path::Path;

use wirelab_report::{Format, Options, render, render_explanation, render_stages};
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::{FixedSeries, ResultsFile, SeriesBuilder};

/// A run of a hundred trials.
fn hundred() -> ResultsFile {
    let mut file = common::lab();
    let some = file.observations.clone();
    file.observations = some.into_iter().cycle().take(100).collect();
    file
}

/// A run with a million samples.
fn million() -> ResultsFile {
    let mut file = common::loads();
    let clock = file.observations[0].flows[0].series[0].clock;
    let mut random = SplitMix64::new(1);
    let mut series = SeriesBuilder::new(FixedSeries::LATENCY, clock, 1_000_000);
    (0..1_000_000).for_each(|_| series.push(8_000 + random.next_u64() % 1_000));
    file.observations[0].flows[0].series = vec![series.finish()];
    file
}

fn main() {
    let folder = std::env::args().nth(1).expect("a folder to write to");
    let options = Options::default();
    let of = |file: &ResultsFile| render(file, Format::Html, &options);
    let stages = render_stages(&common::linux::ways(), None, Format::Html, &options);
    let explained = render_explanation(&explained::serial(), Format::Html, &options);
    let pages = [
        ("lab", of(&common::lab())),
        ("faulty", of(&common::faulty())),
        ("kinds", of(&common::kinds())),
        ("datasheet", of(&common::am263x::page())),
        ("iperf", of(&common::am263x::iperf_page())),
        ("hostile", of(&common::hostile())),
        ("hostile-datasheet", of(&common::hostile_page())),
        ("hundred", of(&hundred())),
        ("stages", stages.expect("pages have stages")),
        ("called", of(&common::linux::called())),
        ("loads", of(&common::loads())),
        ("million", of(&million())),
        ("explain", explained.expect("pages have explanations")),
    ];
    for (name, page) in pages {
        let place = Path::new(&folder).join(format!("{name}.html"));
        std::fs::write(&place, page).expect("the folder can be written to");
    }
}
