//! The report of results, trial by trial.

use wirelab_trial::ResultsFile;

use crate::chart::Bar;
use crate::document::table::Table;
use crate::document::{Block, Chart, Document, Gallery, Medium, Picture, Verdict};
use crate::options::Options;
use crate::row::{self, Row};
use crate::{
    about, charts, columns, detail, distributions, format, loaded, over_time, repeated, search,
    spans, stages, summary,
};

/// Characters that a row of the first table may have on a page, so that it is read without scrolling.
const ROOM: usize = 132;

/// Most flows that a page shows one by one.
const FLOWS: usize = 200;

/// The report of results.
pub fn document<'a>(file: &'a ResultsFile, options: &Options) -> Document<'a> {
    let delays = stages::has_stages(file).then(|| wirelab_trial::stage::delays(file));
    // Stages stand in tables and pictures of their own.
    let rest = delays.is_some().then(|| stages::without_stages(file));
    let others = rest.as_ref().unwrap_or(file);
    let together = row::listed(file, false);
    let flows = row::listed(file, true);
    let mut notices = about::notices(file);
    let mut blocks = Vec::new();
    let mut left_out = false;
    blocks.push(on_page(overview(file)));
    if !together.is_empty() {
        let rows = if options.each_flow { &flows } else { &together };
        let table = columns::table(rows, options.each_flow);
        let mut narrow = table.clone();
        left_out = !narrow.narrow(ROOM).is_empty();
        blocks.push(on_page(vec![
            Block::heading("Results"),
            Block::Table(narrow),
        ]));
        blocks.push(Block::Only(Medium::Text, vec![Block::Table(table)]));
    }
    blocks.extend(repeated::table(file).into_iter().flat_map(titled));
    let searched = row::searched(file);
    blocks.extend(notices.of_trials(|trial| !searched[trial - 1]));
    blocks.extend(row::left_to_searches(file).map(Block::Remark));
    blocks.extend(search::tables(file).into_iter().flat_map(titled));
    blocks.push(on_page(vec![Block::Chart(Chart::Gallery(
        charts::searches(file),
    ))]));
    blocks.extend(notices.rest());
    blocks.extend(loaded::table(file).into_iter().flat_map(titled));
    if let Some(delays) = &delays {
        blocks.push(on_page(stages::blocks(file, delays, None)));
    }
    let runs = match delays.is_some() {
        true => over_time::of_stages(others),
        false => over_time::gallery(others),
    };
    blocks.push(on_page(pictures(others, runs, &together)));
    blocks.extend(spans::of_results(file));
    let series = |file| detail::series_tables(file, options.each_flow).into_iter();
    match delays.is_some() {
        true => {
            blocks.push(on_page(series(others).flat_map(titled).collect()));
            let all = series(file).flat_map(titled).collect();
            blocks.push(Block::Only(Medium::Text, all));
        }
        false => blocks.extend(series(file).flat_map(titled)),
    }
    blocks.extend(detail::counters(file).map(|mut table| {
        let caption = std::mem::take(&mut table.caption);
        Block::Appendix(2, caption, vec![Block::Table(table)])
    }));
    if left_out || flows.len() > together.len() {
        let shown = &flows[..flows.len().min(FLOWS)];
        let mut all = vec![Block::Table(columns::table(shown, true))];
        if flows.len() > FLOWS {
            let rest = flows.len() - FLOWS;
            all.push(Block::Remark(format!(
                "{rest} more are in CSV and in the results file."
            )));
        }
        let title = "All figures of each flow".to_owned();
        blocks.push(on_page(vec![Block::Appendix(2, title, all)]));
    }
    blocks.push(on_page(vec![about::nodes_and_tester(file)]));
    Document {
        title: options.title_of(file),
        verdict: Some(Verdict {
            head: summary::head(file),
            text: summary::verdict(file),
            first: false,
        }),
        blocks,
        ..about::of_file(file)
    }
}

/// Parts that only a page has room for.
const fn on_page(of: Vec<Block<'_>>) -> Block<'_> {
    Block::Only(Medium::Page, of)
}

/// A table under a heading of its own.
fn titled<'a>(mut table: Table) -> [Block<'a>; 2] {
    let caption = std::mem::take(&mut table.caption);
    [Block::heading(caption), Block::Table(table)]
}

/// What a reader looks at first: how much of the link the node fills.
fn overview<'a>(file: &ResultsFile) -> Vec<Block<'a>> {
    vec![
        wide(
            "Efficiency against payload",
            "Each mark is one flow; the dashed line is the most a link can carry, whatever its rate: the payload \
             over the payload with 18 B of Ethernet header and FCS, 8 B of preamble and 12 B of gap.",
            Picture::Plane(charts::efficiency(&file.observations)),
        ),
        wide(
            "Frames per second against frame size",
            "Flows on ports without a link rate, where there is no efficiency. Each mark is one flow; a dashed line \
             is what the tester reached against itself.",
            Picture::Plane(charts::frame_rate(&file.observations)),
        ),
    ]
}

/// A picture with the width of the page.
fn wide<'a>(title: &'static str, caption: &str, picture: Picture) -> Block<'a> {
    Block::Chart(Chart::Gallery(Gallery {
        title,
        pictures: vec![(caption.to_owned(), picture)],
        wide: true,
        ..Gallery::default()
    }))
}

/// What was lost, the gaps of the senders, and every series.
fn pictures<'a>(others: &ResultsFile, runs: Gallery, rows: &[Row<'_>]) -> Vec<Block<'a>> {
    let lost = charts::losses(rows);
    let none = !lost.rows.is_empty() && lost.rows.iter().all(Bar::is_good);
    // A picture of nothing says less than a sentence.
    let lost = match none {
        true => Block::Words(format!(
            "No frame was lost in any of {} trials and directions.",
            format::integer(lost.rows.len() as u64)
        )),
        false => wide(
            "Loss",
            "Frames sent that never arrived with an intact header, for each trial and direction; the scale is \
             logarithmic, and no loss stands left of it.",
            Picture::Bars(lost),
        ),
    };
    let [gaps, series] = [charts::gaps(rows), distributions::series(others)];
    vec![
        lost,
        Block::Chart(Chart::Gallery(runs)),
        Block::Chart(Chart::Gallery(gaps)),
        Block::Chart(Chart::Gallery(series)),
    ]
}
