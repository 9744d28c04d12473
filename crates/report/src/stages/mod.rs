//! Stages for a reader: delays from the wire in the layout of published delay tables, with several paths side by
//! side; all figures of each stage; histograms; what grew since an earlier run; and the cost of measuring.

mod against;
mod costs;
mod crossover;
mod csv;
mod flame;
mod frames;
mod full;
mod functions;
mod groups;
mod panels;
mod point_costs;
pub(crate) mod sheet;

use wirelab_trial::crossover::crossovers;
use wirelab_trial::format::{decimal, integer, time_f};
use wirelab_trial::stage::functions::changed;
use wirelab_trial::stage::{self, CapturePoint, Change, Delay, StageFigures};
use wirelab_trial::{ClockKind, ResultsFile};

use crate::document::{self, Block, Chart, Document, Medium, NoExplanation};
use crate::options::{Format, Options};
use crate::{about, over_time};

/// The note on a file in which trials were repeated.
const REPEATED: &str = "these results contain several runs of the same trials: tables and histograms show each separately \
                        (run 2 is the second); the costs of capture points and the frame counts are those of \
                        all runs together";

pub use against::{Against, Before, growth, paths_of};
pub use functions::{is_of_paths, paths_as, reasons};

/// The stages of a results file, and the run that they are compared with, in one of the formats; the text ends with a
/// line end. JUnit has a case for each stage of the run before.
///
/// # Errors
/// [`NoExplanation`] for datasheets, and for JUnit without a run before, which cannot hold it.
pub fn render_stages(
    file: &ResultsFile,
    against: Option<&Against<'_>>,
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    let delays = stage::delays(file);
    let node = delays.first().map_or("no node", |d| &d.figures.node);
    let title = options.title.clone();
    let title = title.unwrap_or_else(|| format!("Where the time goes in {node}"));
    match format {
        Format::Csv => Ok(document::csv::render(&Document::of_records(csv::records(
            &delays,
        )))),
        Format::Json => Ok(file.to_json()),
        Format::Junit if against.is_some() => {
            let cases = against.map(|against| {
                let changed = changed(against.paths, paths_of(file));
                functions::cases(against, &changed)
            });
            Ok(document::junit::render(&Document {
                title,
                cases: cases.unwrap_or_default(),
                ..Document::default()
            }))
        }
        // A terminal is too narrow for the tables of each node; pages have them, too.
        Format::Terminal if !crossovers(file).is_empty() => {
            let title = options.title.clone();
            let title = title.unwrap_or_else(|| crossover::TITLE.to_owned());
            Document::new(title, crossover::blocks(file)).written(format, options)
        }
        _ => {
            let mut blocks = blocks(file, &delays, against);
            // A run prints its notices itself, and a table of delays is often pasted alone.
            let notices = about::notices(file).rest().into_iter();
            let runs = Block::Chart(Chart::Gallery(over_time::of_stages(file)));
            let notices = [runs].into_iter().chain(notices);
            let notices = notices.chain([about::nodes_and_tester(file)]);
            blocks.push(Block::Only(Medium::Page, notices.collect()));
            let document = Document {
                title,
                blocks,
                ..about::of_file(file)
            };
            document.written(format, options)
        }
    }
}

/// Whether a file has stages.
pub(crate) fn has_stages(file: &ResultsFile) -> bool {
    let flows = file.observations.iter().flat_map(|o| &o.flows);
    flows
        .flat_map(|f| &f.series)
        .any(|s| stage::is_stage(s) && s.histogram.count > 0)
}

/// The file without the series of its stages.
pub(crate) fn without_stages(file: &ResultsFile) -> ResultsFile {
    let mut rest = file.clone();
    let flows = rest.observations.iter_mut().flat_map(|o| &mut o.flows);
    flows.for_each(|flow| flow.series.retain(|s| !stage::is_stage(s)));
    rest
}

/// Tables and pictures of the stages of a file.
pub(crate) fn blocks(
    file: &ResultsFile,
    delays: &[Delay],
    against: Option<&Against<'_>>,
) -> Vec<Block<'static>> {
    let mut out = crossover::blocks(file);
    let sections = sheet::sections(delays);
    for section in &sections {
        out.push(Block::heading(section.heading()));
        out.push(Block::Words(about(section)));
        out.push(Block::Table(groups::table(section)));
        out.push(Block::Chart(Chart::Gallery(panels::stacks(section))));
    }
    if sections.is_empty() {
        out.push(Block::Words("No stage was timed.".to_owned()));
    }
    let notes = file.measuring.iter().flat_map(|m| m.notes.iter().cloned());
    let mut notes: Vec<String> = notes.chain(sections.iter().flat_map(passed_over)).collect();
    if sections.iter().any(sheet::Section::is_repeated) {
        notes.push(REPEATED.to_owned());
    }
    if !notes.is_empty() {
        out.push(Block::heading("What to know"));
        out.push(Block::List(notes));
    }
    let paths = paths_of(file);
    if let Some(against) = against {
        out.push(Block::heading("Against the run before"));
        let changes = &against.changes;
        out.push(match changes.is_empty() {
            true => Block::Answer("Every stage takes as many instructions as before.".to_owned()),
            false => Block::List(changes.iter().map(sentence).collect()),
        });
        if let Some(table) = functions::changes(against.paths, paths) {
            out.push(Block::heading("Functions that changed"));
            out.push(table);
        }
    }
    for section in &sections {
        out.extend(
            panels::of(section)
                .into_iter()
                .map(|c| Block::Chart(Chart::Delays(c))),
        );
    }
    for section in &sections {
        let variants = section.variants.iter();
        let tables = variants.map(|variant| Block::Table(full::table(section, variant)));
        let title = format!("{}, all figures", section.heading());
        out.push(Block::Appendix(2, title, tables.collect()));
    }
    let before = against
        .map(|against| against.paths)
        .filter(|paths| !paths.is_empty());
    out.extend(functions::blocks(paths, before));
    out.extend(costs::blocks(file));
    out
}

/// The notes on a section's table.
fn about(section: &sheet::Section<'_>) -> String {
    let frames = integer(section.frames());
    let mut text = format!(
        "All figures in {}. {frames} frames of each length",
        section.unit.name
    );
    text.push_str(match section.is_even() {
        true => ".",
        false => {
            ", unless 'frames' says otherwise: a row counts the frames that were seen at both of its points."
        }
    });
    if let Some(common) = section.common() {
        text.push_str(&format!(" {common}"));
    }
    // Counts of instructions are not time, and all of them are work.
    let is_time = section.clock != ClockKind::Instructions;
    let work = section.spans.iter().find(|s| is_time && s.cpu_time);
    if let Some(span) = work {
        let what = match span.outer {
            true => "all of it",
            false if span.from == CapturePoint::INTERRUPT.word() => {
                "the total less the wait for the interrupt"
            }
            false => "the total less the wait for the wire",
        };
        text.push_str(&format!(" CPU time is {what}: {}.", span.name()));
        if section.wakes() {
            text.push_str(
                " If the application sleeps, this includes the time until it is woken and gets its core: socket to copy.",
            );
        }
    }
    text
}

/// Points that are left out because few frames were seen there.
fn passed_over(section: &sheet::Section<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for variant in &section.variants {
        let mut points: Vec<(&str, Vec<String>)> = Vec::new();
        for f in variant.figures() {
            let Some(past) = &f.passed_over else { continue };
            let (passed, of) = (integer(past.count), integer(f.count));
            let text = format!(
                "{passed} of {of} frames at length {}",
                integer(f.length_bytes.into())
            );
            match points.iter_mut().find(|(point, _)| *point == past.point) {
                Some((_, texts)) => texts.push(text),
                None => points.push((&past.point, vec![text])),
            }
        }
        let of_variant = match variant.label.is_empty() {
            true => String::new(),
            false => format!(" ({})", variant.title()),
        };
        out.extend(points.into_iter().map(|(point, texts)| {
            format!(
                "the point {point} is left out{of_variant}: only {} were seen there, mostly because their reader did \
                 not sleep",
                texts.join(", ")
            )
        }));
    }
    out
}

fn sentence(change: &Change) -> String {
    let old = &change.before;
    let (from, to, length) = (&old.from, &old.to, old.length_bytes);
    let was = figure(old, old.mean_ticks);
    match change.now_mean_ticks {
        None => format!("{from} to {to} at length {length}: no longer present (was {was})"),
        Some(now) => {
            let how = if change.is_worse() { "grew" } else { "shrank" };
            let now = figure(old, now);
            format!("{from} to {to} at length {length}: {how} from {was} to {now} instructions")
        }
    }
}

fn figure(row: &StageFigures, ticks: f64) -> String {
    match row.tick_ps {
        Some(ps) => time_f(ticks * ps as f64),
        None if ticks.fract() == 0.0 => integer(ticks as u64),
        None => decimal(ticks, 1),
    }
}
