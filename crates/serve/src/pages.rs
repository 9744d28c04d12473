//! The pages: runs, the figures of a run, a figure over runs. Words are escaped where they are put in.

use wirelab_report::compare::{change, value};
use wirelab_report::document::{Block, Chart, html};
use wirelab_report::format::{self, integer};
use wirelab_store::{Run, StoredFigure};
use wirelab_trial::host_clock::unix_ns;

use crate::chart::gallery;
use crate::html::{page, query, xml};
use crate::trend::{Sense, Trend};

/// What the form of the list asks for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this node; empty for all, as the others.
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
    let mut out = "<form class=\"runs\" action=\"/compare\">\n<div class=\"wide\"><table>\n<tr><td></td><th class=\"number\">Run</th>\
        <th>Begun</th><th>Node</th><th class=\"number\">Trials</th><th>Result</th><th>Tags</th><th>Command</th><td></td></tr>\n"
        .to_owned();
    for run in runs {
        let class = match (run.finished, run.passed) {
            (false, _) => "quiet",
            (true, Some(true)) => "good",
            (true, _) => "bad",
        };
        let id = run.id;
        let tags: Vec<String> = run.tags.iter().map(|tag| link("tag", tag)).collect();
        out.push_str(&format!(
            "<tr><td><input type=\"checkbox\" name=\"run\" value=\"{id}\" aria-label=\"run {id}\"></td>\
             <td class=\"number\"><a href=\"/runs/{id}\">{id}</a></td><td>{}</td><td>{}</td><td class=\"number\">{}</td>\
             <td class=\"{class}\">{}</td><td>{}</td><td><code>{}</code></td>\
             <td><a href=\"/runs/{id}/figures\">figures</a></td></tr>\n",
            xml(&format::utc(run.created_unix_ns)),
            link("node", &run.node),
            run.progress(),
            run.result(),
            tags.join(" "),
            html::words_of(run.short_command())
        ));
    }
    out.push_str("</table></div>\n<p><button>Compare two ticked runs</button></p>\n</form>\n");
    if runs.len() >= LISTED as usize {
        out.push_str(&format!(
            "<p class=\"quiet\">These are the latest {LISTED}; the filter finds others.</p>\n"
        ));
    }
    out
}

/// A link to the runs with this word.
fn link(name: &str, word: &str) -> String {
    format!("<a href=\"/?{name}={}\">{}</a>", query(word), xml(word))
}

/// The figures of a run, each with its trend, and what can be done with the run.
pub fn figures(run: &Run, figures: &[StoredFigure], token: &str) -> String {
    let id = run.id;
    let mut body = format!(
        "<p>{} · {} · <a href=\"/runs/{id}\">report</a> · <a href=\"/runs/{id}/results.json\">results file</a></p>\n\
         <p>{}</p>\n<p><code>{}</code></p>\n<div id=\"live\" data-run=\"{id}\">\n{}</div>\n",
        link("node", &run.node),
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
        out.push_str("<p>It has no figures.</p>\n");
    } else {
        out.push_str(
            "<div class=\"wide\"><table>\n<tr><th>Trial</th><th>Figure</th><th class=\"number\">Median</th>\
             <th class=\"number\">Lowest</th><th class=\"number\">Highest</th><th class=\"number\">Repeats</th><th>Kind</th></tr>\n",
        );
    }
    for figure in figures {
        let shown = |number| xml(&value(&figure.unit, number));
        let kind = figure.kind.name();
        let limited = match figure.tester_limited {
            0 => "",
            _ => ", the tester was the limit",
        };
        out.push_str(&format!(
            "<tr><td>{}</td><td><a href=\"/trend/{}?node={}\">{}</a></td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td>{kind}{limited}</td></tr>\n",
            xml(&figure.trial),
            query(&figure.key),
            query(&run.node),
            xml(&figure.figure),
            shown(figure.median),
            shown(figure.low),
            shown(figure.high),
            integer(figure.repeats)
        ));
    }
    if !figures.is_empty() {
        out.push_str("</table></div>\n");
    }
    out
}

fn in_minutes(seconds: u64) -> String {
    match seconds {
        s if s < 120 => format!("{s} s"),
        s => format!("{} min", integer(s.div_ceil(60))),
    }
}

/// What a form of a run's page has in it.
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
        let (link, tag) = (link("tag", tag), xml(tag));
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
    body.push_str(
        "<h2>Runs</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"number\">Run</th><th>Begun</th><th class=\"number\">Median</th>\
         <th class=\"number\">Lowest</th><th class=\"number\">Highest</th></tr>\n",
    );
    for point in trend.points.iter().rev() {
        let shown = |number| xml(&value(&figure.unit, number));
        body.push_str(&format!(
            "<tr><td class=\"number\"><a href=\"/runs/{id}/figures\">{id}</a></td><td>{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
            xml(&format::utc(point.created_unix_ns)),
            shown(point.figure.median),
            shown(point.figure.low),
            shown(point.figure.high),
            id = point.run
        ));
    }
    body.push_str("</table></div>\n<script src=\"/page.js\"></script>\n");
    page(&format!("{} over runs", figure.figure), &body)
}
