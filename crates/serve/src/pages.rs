//! The pages: runs, the figures of a run, a figure over runs. Text is escaped where it is inserted.

use wirelab_report::compare::{change, value};
use wirelab_report::document::table::{Cell, Table};
use wirelab_report::document::{Block, Chart, html};
use wirelab_report::format::{self, integer};
use wirelab_store::{Run, StoredFigure, TrendPoint};
use wirelab_trial::host_clock::unix_ns;

use crate::chart::gallery;
use crate::html::{page, query, xml};
use crate::trend::{Sense, Trend};

/// The filter of the list's form.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The node; empty for all, as in the other fields.
    pub node: String,
    /// With this tag.
    pub tag: String,
    /// From this date on.
    pub since: String,
    /// Up to this date.
    pub until: String,
}

/// Runs on a page.
pub const LISTED: u32 = 100;

/// The list, and why the filter selects nothing if it is wrong.
pub fn runs(store: &str, filter: &Filter, runs: &[Run], trouble: Option<&str>) -> String {
    let field = |name: &str, label: &str, value: &str, hint: &str| {
        let value = xml(value);
        format!(
            "<label>{label}<input name=\"{name}\" value=\"{value}\" placeholder=\"{hint}\"></label>\n"
        )
    };
    let mut body = format!("<p class=\"quiet\">{}</p>\n<form>\n", xml(store));
    body.push_str(&field("node", "Node", &filter.node, "lab:1"));
    body.push_str(&field("tag", "Tag", &filter.tag, "main"));
    body.push_str(&field("since", "Since", &filter.since, "2026-11-01 or 7d"));
    body.push_str(&field("until", "Until", &filter.until, "2026-11-30"));
    body.push_str("<button>Filter</button>\n</form>\n");
    if let Some(trouble) = trouble {
        body.push_str(&format!("<p class=\"bad\">{}</p>\n", xml(trouble)));
    } else if runs.is_empty() {
        body.push_str("<p>No run is selected.</p>\n");
    } else {
        body.push_str(&table(runs));
    }
    page("Runs in the store", &body)
}

fn table(runs: &[Run]) -> String {
    let heads = vec![
        ("", false),
        ("Run", true),
        ("", false),
        ("Begun", false),
        ("Node", false),
        ("Trials", true),
        ("Result", false),
        ("Tags", false),
        ("Command", false),
    ];
    let row = |run: &Run| {
        let id = run.id.to_string();
        let tags = run.tags.iter().map(|tag| with("tag", tag));
        let figures = figures_of(run.id);
        vec![
            Cell::Tick("run", id.clone()),
            Cell::Links(vec![(id.clone(), format!("/runs/{id}"))]),
            Cell::Links(vec![("figures".to_owned(), figures)]),
            format::utc(run.created_unix_ns).into(),
            Cell::Links(vec![with("node", &run.node)]),
            run.progress().into(),
            result(run),
            Cell::Links(tags.collect()),
            Cell::Command(run.short_command().to_owned()),
        ]
    };
    let table = Table::sentences(heads, runs.iter().map(row).collect());
    let mut out = format!(
        "<form class=\"runs\" action=\"/compare\">\n{}<p><button>Compare two ticked runs</button></p>\n</form>\n",
        html::part(&[Block::Table(table)])
    );
    if runs.len() >= LISTED as usize {
        out.push_str(&format!(
            "<p class=\"quiet\">These are the latest {LISTED}; the filter finds others.</p>\n"
        ));
    }
    out
}

/// How a run ended; the reason if it failed.
fn result(run: &Run) -> Cell {
    let text = run.result().to_owned();
    match (run.finished, run.passed) {
        (false, _) | (true, Some(true)) => Cell::Text(text),
        (true, _) => Cell::Noted {
            text,
            note: run.verdict.clone(),
            kind: None,
            alarm: true,
        },
    }
}

/// The address of a run's figures.
fn figures_of(id: i64) -> String {
    format!("/runs/{id}/figures")
}

/// A word, and the address of the runs with it.
fn with(name: &str, word: &str) -> (String, String) {
    (word.to_owned(), format!("/?{name}={}", query(word)))
}

/// The figures of a run, each with its trend, and the actions on the run.
pub fn figures(run: &Run, figures: &[StoredFigure], token: &str) -> String {
    let id = run.id;
    let mut body = format!(
        "<p>{} · {} · <a href=\"/runs/{id}\">report</a> · <a href=\"/runs/{id}/results.json\">results file</a></p>\n\
         <p>{}</p>\n<p><code>{}</code></p>\n<div id=\"live\" data-run=\"{id}\">\n{}</div>\n",
        html::links(&[with("node", &run.node)]),
        xml(&format::utc(run.created_unix_ns)),
        xml(&run.verdict),
        html::words_of(&run.command),
        so_far(run, figures)
    );
    if !run.finished {
        body.push_str(&format!(
            "<form method=\"post\" action=\"/stop\">{}<button>Stop after this trial</button></form>\n",
            hidden(run, token)
        ));
        body.push_str("<script src=\"/live.js\"></script>\n");
    }
    body.push_str(&tags(run, token));
    page(&format!("Figures of run {id}"), &body)
}

/// The part of the page that changes while the run measures.
pub fn so_far(run: &Run, figures: &[StoredFigure]) -> String {
    let mut out = String::new();
    if !run.finished {
        let left = run.seconds_left(unix_ns());
        let left = left.map_or_else(String::new, |s| format!(", about {} left", in_minutes(s)));
        out.push_str(&format!(
            "<p class=\"quiet\">… not finished: trials so far: {}{left}.</p>\n",
            run.progress()
        ));
    }
    if figures.is_empty() {
        return out + "<p>It has no figures.</p>\n";
    }
    let row = |figure: &StoredFigure| {
        let trend = format!("/trend/{}?node={}", query(&figure.key), query(&run.node));
        let [median, low, high] = spread(figure);
        let median = match figure.tester_limited {
            0 => median,
            _ => median.with_note("the tester was the limit"),
        };
        vec![
            figure.trial.clone().into(),
            Cell::Links(vec![(figure.figure.clone(), trend)]),
            median,
            low,
            high,
            integer(figure.repeats).into(),
        ]
    };
    let heads = [("Trial", false), ("Figure", false)].into_iter();
    let heads = heads.chain(SPREAD).chain([("Repeats", true)]).collect();
    let table = Table::sentences(heads, figures.iter().map(row).collect());
    out + &html::part(&[Block::Table(table)])
}

/// Column heads of [`spread`].
const SPREAD: [(&str, bool); 3] = [("Median", true), ("Lowest", true), ("Highest", true)];

/// The median of a figure, its lowest and its highest repeat.
fn spread(figure: &StoredFigure) -> [Cell; 3] {
    [figure.median, figure.low, figure.high].map(|number| Cell::Figure {
        text: value(&figure.unit, number),
        kind: figure.kind,
        alarm: false,
    })
}

fn in_minutes(seconds: u64) -> String {
    match seconds {
        s if s < 120 => format!("{s} s"),
        s => format!("{} min", integer(s.div_ceil(60))),
    }
}

/// The hidden fields of a form on a run's page.
fn hidden(run: &Run, token: &str) -> String {
    format!(
        "<input type=\"hidden\" name=\"token\" value=\"{}\"><input type=\"hidden\" name=\"run\" value=\"{}\">",
        xml(token),
        run.id
    )
}

fn tags(run: &Run, token: &str) -> String {
    let hidden = hidden(run, token);
    let mut out = "<h2>Tags</h2>\n".to_owned();
    for tag in &run.tags {
        let (link, tag) = (html::links(&[with("tag", tag)]), xml(tag));
        out.push_str(&format!(
            "<form method=\"post\" action=\"/untag\">{hidden}<input type=\"hidden\" name=\"tag\" value=\"{tag}\">{link} \
             <button>Take away</button></form>\n"
        ));
    }
    out.push_str(&format!(
        "<form method=\"post\" action=\"/tag\">{hidden}<label>New tag<input name=\"tag\" required maxlength=\"200\"></label>\
         <button>Add</button></form>\n"
    ));
    out
}

/// A figure over runs.
pub fn trend(trend: &Trend, node: &str, tag: &str) -> String {
    let figure = &trend.points[0].figure;
    let mut body = format!("<p>{}</p>\n", xml(&figure.trial));
    body.push_str(&format!(
        "<form>\n<label>Node<input name=\"node\" value=\"{}\"></label>\n<label>Tag<input name=\"tag\" value=\"{}\"></label>\n\
         <button>Filter</button>\n</form>\n{}",
        xml(node),
        xml(tag),
        html::part(&[Block::Chart(Chart::Gallery(gallery(trend)))])
    ));
    body.push_str("<h2>Changes</h2>\n");
    if trend.changes.is_empty() {
        body.push_str("<p>Its level did not change: no split of these runs differs more than chance explains.</p>\n");
    }
    for found in &trend.changes {
        let (before, after) = (&trend.points[found.at - 1], &trend.points[found.at]);
        let (class, word) = match trend.sense(found) {
            Sense::Better => ("good", "▲ better"),
            Sense::Worse => ("bad", "▼ worse"),
        };
        let interval = &found.shift.interval;
        body.push_str(&format!(
            "<p><span class=\"{class}\">{word}</span> from run <a href=\"/runs/{a}\">{a}</a> to run <a href=\"/runs/{b}\">{b}</a>, \
             {}: {} ({} to {}). <a href=\"/compare?run={a}&amp;run={b}\">Compare them</a></p>\n",
            xml(&format::utc(after.created_unix_ns)),
            xml(&change(trend.scale, found.shift.change)),
            xml(&change(trend.scale, interval.low)),
            xml(&change(trend.scale, interval.high)),
            a = before.run,
            b = after.run
        ));
    }
    let row = |point: &TrendPoint| {
        let run = (point.run.to_string(), figures_of(point.run));
        let begun = format::utc(point.created_unix_ns).into();
        let row = vec![Cell::Links(vec![run]), begun];
        row.into_iter().chain(spread(&point.figure)).collect()
    };
    let heads = [("Run", true), ("Begun", false)].into_iter();
    let rows = trend.points.iter().rev().map(row).collect();
    let table = Table::sentences(heads.chain(SPREAD).collect(), rows);
    body.push_str(&format!(
        "<h2>Runs</h2>\n{}<script src=\"/page.js\"></script>\n",
        html::part(&[Block::Table(table)])
    ));
    page(&format!("{} over runs", figure.figure), &body)
}
