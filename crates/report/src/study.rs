//! Studies for a reader: published figures beside what a node says, errors of the held-out ones, and the notes.

use wirelab_study::figure::{Errors, Figure};
use wirelab_study::quantity::Quantity;
use wirelab_study::run::StudyRun;
use wirelab_study::table::{Relation, Role, Study};

use crate::chart::plane::{LineLook, Pane, Plane, PlaneLine, Point, Series};
use crate::chart::{Axis, Picture, Show};
use crate::document::escape::{clip, line};
use crate::document::table::{Cell, Head, Look, Shown, Table};
use crate::document::{Block, Chart, Document, Gallery, Medium, NoExplanation, terminal};
use crate::options::{Format, Options};
use crate::{format, interval, loss, row};

mod layout;

/// Longest name that a table cell shows, in characters.
const NAME: usize = 40;

/// The studies that there are, one a line.
pub fn list(studies: &[Study], options: &Options) -> String {
    let heads = vec![
        Head::words("study", Shown::Always, 0),
        Head::figures("rows", "", Shown::Always, 9),
        Head::figures("figures", "", Shown::Always, 9),
        Head::words("title", Shown::Always, 0),
        Head::words("source", Shown::Always, 1),
    ];
    let rows = studies.iter().map(|study| {
        let figures: usize = study.rows.iter().map(|row| row.cells.len()).sum();
        vec![
            name(&study.name),
            Cell::Text(format::integer(study.rows.len() as u64)),
            Cell::Text(format::integer((figures + study.claims.len()) as u64)),
            Cell::Text(clip(&line(&study.title), 2 * NAME)),
            Cell::Text(clip(&line(&study.source), 2 * NAME)),
        ]
    });
    let table = Table::new("", heads, rows.collect());
    terminal::render(
        &Document::new(String::new(), vec![Block::Table(table)]),
        options,
    )
}

/// What a study published, for a terminal.
pub fn show(study: &Study, options: &Options) -> String {
    let cells = study.rows.iter().flat_map(|row| {
        let of = move |cell| (row, cell);
        row.cells.iter().map(of)
    });
    let rows = cells.map(|(row, cell)| {
        let node = row.node.as_deref().unwrap_or(&study.node);
        vec![
            name(&row.name),
            name(if row.limit { "the link" } else { node }),
            Cell::Text(layout::words(cell.metric).to_owned()),
            Cell::Text(printed(&cell.published)),
            noted(cell.role.to_string(), cell.reason.clone()),
        ]
    });
    let claims = study.claims.iter().map(|claim| {
        vec![
            name(&claim.name),
            name("the text"),
            Cell::Text(layout::words(claim.metric).to_owned()),
            Cell::Text(bound(claim.relation, &claim.published)),
            noted(
                claim.role.to_string(),
                said(Some(&claim.text), claim.reason.as_deref()),
            ),
        ]
    });
    let heads = vec![
        Head::words("row", Shown::Always, 0),
        Head::words("of", Shown::IfVaries, 8),
        Head::words("metric", Shown::IfVaries, 9),
        Head::figures("published", "", Shown::Always, 0),
        Head::words("role", Shown::IfVaries, 10),
    ];
    let mut blocks = vec![Block::Words(format!("published: {}", study.source))];
    blocks.extend(study.about.clone().map(Block::Words));
    blocks.push(Block::Table(Table {
        look: Look::Study,
        ..Table::new("", heads, rows.chain(claims).collect())
    }));
    terminal::render(&Document::new(study.title.clone(), blocks), options)
}

/// Runs in one of the formats; the text ends with a line end.
///
/// # Errors
/// [`NoExplanation`] for CSV, JUnit and data.
pub fn render(
    runs: &[StudyRun],
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    document(runs, options).written(format, options)
}

/// Runs as one report, a section each where there are several.
fn document<'a>(runs: &[StudyRun], options: &Options) -> Document<'a> {
    let title = match (&options.title, runs) {
        (Some(title), _) => title.clone(),
        (None, [run]) => run.title.clone(),
        (None, _) => "Published figures, and what nodes say".to_owned(),
    };
    let mut blocks = Vec::new();
    for run in runs {
        if runs.len() > 1 || options.title.is_some() {
            blocks.push(Block::heading(run.title.clone()));
        }
        blocks.extend(about(run).into_iter().map(Block::Words));
        let errors = errors(run);
        blocks.push(Block::Only(Medium::Page, vec![Block::List(errors.clone())]));
        blocks.push(Block::Chart(Chart::Gallery(picture(run))));
        blocks.push(Block::Only(Medium::Page, sheets(run)));
        let mut text = vec![Block::Table(table(run))];
        text.extend(errors.into_iter().map(Block::Words));
        blocks.push(Block::Only(Medium::Text, text));
    }
    Document::new(title, blocks)
}

/// The figures as documents print them; every single one with its role is for the appendix.
fn sheets<'a>(run: &StudyRun) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'_>> = layout::tables(run).into_iter().map(Block::Table).collect();
    let all = vec![Block::Table(table(run))];
    let title = format!("Every figure of {} with its role", line(&run.study));
    blocks.push(Block::Appendix(2, title, all));
    blocks
}

/// What a reader must know of a run beside its figures.
fn about(run: &StudyRun) -> Vec<String> {
    let mut texts = vec![format!("published: {}", run.source)];
    if let Some(node) = &run.node {
        texts.push(format!(
            "every row was requested from {node}, not of the study's own node"
        ));
    }
    let untuned = |figure: &Figure| figure.counted && figure.role == Role::Calibration;
    if run.rows.iter().any(untuned) {
        let text = "figures with the role calibration gave the model its parameters; they gave this node none, so its \
                    errors count";
        texts.push(text.to_owned());
    }
    if !run.chosen.is_empty() {
        let chosen: Vec<String> = run.chosen.iter().map(|of| line(of)).collect();
        texts.push(format!(
            "chosen after published figures were seen, so that these are not evidence: {}",
            chosen.join(", ")
        ));
    }
    if run.interrupted {
        texts.push("the run was cancelled: rows without a value were not run".to_owned());
    }
    texts
}

/// The error of each figure, by what was published, those of each kind and role together. Disputed figures and those that
/// no model predicts are left to the table.
fn picture(run: &StudyRun) -> Gallery {
    let mut series: Vec<Series> = Vec::new();
    let mut last = 1.0f64;
    for (at, figure) in run.rows.iter().enumerate() {
        let shown = matches!(figure.role, Role::HeldOut | Role::Calibration);
        let (Some(error), Some(value), Some(kind)) =
            (figure.error_percent, figure.value, figure.kind)
        else {
            continue;
        };
        if !shown {
            continue;
        }
        let unit = match figure.unit {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        let words = format!(
            "{}, {}: published {}, {} {}{unit}, error {}",
            clip(&line(&figure.row), NAME),
            layout::words(figure.metric),
            printed(&figure.printed),
            row::kind(kind),
            digits(figure, value),
            error_in_words(error)
        );
        last = (at + 1) as f64;
        let point = Point::new(last, error / 100.0, words, None);
        let name = format!("{}, {}", row::kind(kind), figure.role);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series {
                kind: Some(kind),
                ..Series::plain(name, false, vec![point])
            }),
        }
    }
    let plane = Plane {
        x: Axis::linear("row of the table", Show::Integer),
        panes: vec![Pane {
            y: Axis::linear("error: value less published, over published", Show::Share),
            series,
            lines: vec![PlaneLine {
                name: "as published".to_owned(),
                look: LineLook::Limit,
                points: vec![(1.0, 0.0), (last, 0.0)],
            }],
        }],
        marked: Vec::new(),
    };
    let caption = "How far each figure is from the published one.".to_owned();
    Gallery {
        pictures: vec![(caption, Picture::Plane(plane.tidied()))],
        wide: true,
        ..Gallery::default()
    }
}

fn table(run: &StudyRun) -> Table {
    let mut heads = vec![
        Head::words("row", Shown::Always, 0),
        Head::words("metric", Shown::IfVaries, 11),
        Head::figures("published", "", Shown::Always, 0),
        Head::figures("value", "", Shown::Always, 0),
        Head::figures(interval::HEAD, "", Shown::IfObserved, 9),
        Head::figures("error", "", Shown::Always, 0),
        Head::words("kind", Shown::IfVaries, 0),
        Head::words("role", Shown::IfVaries, 10),
    ];
    let beside = run.rows.iter().any(|figure| figure.model.is_some());
    if beside {
        heads.insert(3, Head::figures("model", "", Shown::Always, 0));
    }
    let rows = run.rows.iter().map(|figure| {
        let mut cells = vec![
            name(&figure.row),
            Cell::Text(layout::words(figure.metric).to_owned()),
            Cell::Text(bound(figure.relation, &figure.printed)),
            value(figure),
            within(figure),
            error(figure),
            Cell::Text(figure.kind.map_or("", row::kind).to_owned()),
            Cell::Text(figure.role.to_string()),
        ];
        if beside {
            cells.insert(3, of_model(figure));
        }
        cells
    });
    Table {
        look: Look::Study,
        ..Table::new("", heads, rows.collect())
    }
}

fn name(text: &str) -> Cell {
    Cell::Text(clip(&line(text), NAME))
}

fn noted(text: String, note: Option<String>) -> Cell {
    match note {
        Some(note) => Cell::Noted {
            text,
            note,
            kind: None,
            alarm: false,
        },
        None => Cell::Text(text),
    }
}

/// The claim of the text, and the remark on the figure.
fn said(claim: Option<&str>, reason: Option<&str>) -> Option<String> {
    let claim = claim.map(|claim| format!("the text: {claim}"));
    let parts: Vec<String> = claim.into_iter().chain(reason.map(str::to_owned)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A published figure as it was printed, with thousands separators.
fn printed(published: &Quantity) -> String {
    format::grouped(&published.to_string())
}

fn bound(relation: Relation, published: &Quantity) -> String {
    let published = printed(published);
    match relation {
        Relation::Equals => published,
        Relation::Below => format!("< {published}"),
        Relation::Above => format!("> {published}"),
    }
}

/// One digit more than was printed, so that a difference shows, in the unit that was printed.
fn value(figure: &Figure) -> Cell {
    let Some(value) = figure.value else {
        let note = said(figure.claim.as_deref(), figure.reason.as_deref());
        return Cell::Absent(note.unwrap_or_default());
    };
    let least = digits(figure, value);
    let most = figure.value_at_most.map(|most| digits(figure, most));
    Cell::Text(most.map_or_else(|| least.clone(), |most| loss::ends(&least, &most)))
}

/// The interval of the value, in the same unit.
fn within(figure: &Figure) -> Cell {
    interval::cell(figure.interval, figure.kind, |end| digits(figure, end))
}

fn digits(figure: &Figure, value: f64) -> String {
    let text = format::decimal(value, (figure.printed.decimals + 1).min(9));
    match figure.unit {
        "" => text.trim_end_matches(".0").to_owned(),
        _ => text,
    }
}

/// The value of the study's own model, with its kind.
fn of_model(figure: &Figure) -> Cell {
    let model = figure.model.as_ref();
    let Some((value, model)) = model.and_then(|model| Some((model.value?, model))) else {
        return Cell::Text(String::new());
    };
    let kind = model
        .kind
        .map_or_else(String::new, |kind| format!(" {}", kind.name()));
    Cell::Text(format!("{}{kind}", digits(figure, value)))
}

fn error_in_words(percent: f64) -> String {
    format!("{} %", format::signed(percent, 2))
}

/// The error, in brackets where it does not count.
fn error(figure: &Figure) -> Cell {
    let text = match (figure.holds, figure.error_percent) {
        (Some(true), _) => "holds".to_owned(),
        (Some(false), _) => "fails".to_owned(),
        (None, _) if figure.is_undecided() => "undecided".to_owned(),
        (None, Some(percent)) => {
            let text = error_in_words(percent);
            if figure.counted {
                text
            } else {
                format!("({text})")
            }
        }
        (None, None) => String::new(),
    };
    // An absent value explains itself.
    let note = figure
        .value
        .and_then(|_| said(figure.claim.as_deref(), figure.reason.as_deref()));
    noted(text, note)
}

/// The result of the held-out figures, a sentence for each metric.
fn errors(run: &StudyRun) -> Vec<String> {
    let errors = run.errors();
    let mut all: Vec<String> = errors
        .iter()
        .map(|of| sentence(of, layout::words(of.metric)))
        .collect();
    if all.is_empty() {
        all.push("no held-out figure of a node, so no prediction error".to_owned());
    }
    let shown = |f: &Figure| !f.counted && f.error_percent.is_some();
    if run.rows.iter().any(shown) {
        all.push("errors in brackets do not count".to_owned());
    }
    all
}

fn sentence(errors: &Errors, metric: &str) -> String {
    let plural = if errors.count == 1 { "" } else { "s" };
    let mut text = format!("{metric}: {} held-out figure{plural}", errors.count);
    if errors.independent < errors.count {
        text.push_str(&format!(", {} of them independent", errors.independent));
    }
    text.push_str(&format!(", {} as printed", errors.as_printed));
    if errors.with_interval > 0 {
        let (held, all) = (errors.in_interval, errors.with_interval);
        text.push_str(&format!(", {held} of {all} within their interval"));
    }
    if let (Some(mean), Some(max)) = (errors.mean_abs_percent, errors.max_abs_percent) {
        text.push_str(&format!(
            ", error {mean:.2} % on average, at most {max:.2} %"
        ));
    }
    let erring = errors.max_abs_percent.is_some_and(|max| max >= 0.005);
    if let Some(row) = errors.max_row.as_ref().filter(|_| erring) {
        text.push_str(&format!(" ({row})"));
    }
    if let (Some(mean), Some(max)) = (errors.mean_abs_points, errors.max_abs_points) {
        text.push_str(&format!("; {mean:.2} points on average, at most {max:.2}"));
    }
    if errors.without_value > 0 {
        text.push_str(&format!("; {} without a value", errors.without_value));
    }
    text
}
