//! Pictures of searches: the loss of each trial against its load with the bounds that were found, loss curves, and the
//! longest burst of each repeat.

use wirelab_trial::search::{BurstResult, CurveResult, SearchResult};
use wirelab_trial::{Found, ResultsFile};

use super::xy::{Axis, Curve, Plane, Point, draw};
use crate::escape::{clip, line, xml};
use crate::format;
use crate::search::{allowed, bracket};

/// Pictures of searches; the tables have all.
const PICTURES: usize = 24;

/// A picture of each search; empty where there are none.
pub fn pictures(file: &ResultsFile) -> String {
    let mut out = String::new();
    let found = file
        .parts
        .iter()
        .filter_map(|part| Some((part, part.found.as_ref()?)));
    for (at, (part, found)) in found.take(PICTURES).enumerate() {
        let name = clip(&line(&part.name), 60);
        let id = format!("search-{at}");
        let svg = match found {
            Found::Rates(r) => rates(id, &name, r),
            Found::LossCurve(c) => loss_curve(id, &name, c),
            Found::Bursts(b) => bursts(id, &name, b),
        };
        if let Some(svg) = svg {
            out.push_str(&format!(
                "<figure>\n<figcaption>{}</figcaption>\n{svg}</figure>\n",
                xml(&name)
            ));
        }
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "<h2>Searches, trial by trial</h2>\n<div class=\"panels\">\n{out}</div>\n<p class=\"quiet\">Each mark is a trial \
         of a search; dashed lines are the rates that it found, with the loss that was allowed.</p>\n"
    )
}

fn number(v: f64) -> String {
    format::si(v, "").trim_end().to_owned()
}

fn rates(id: String, name: &str, r: &SearchResult) -> Option<String> {
    let points = r.trials.iter().filter_map(|t| {
        let x = t.load_frames_per_s?;
        let loss = *t.loss_ratio.value()?;
        let beside = match (t.tester_was_limit, t.held_back) {
            (true, _) => ", the tester was the limit",
            (false, true) => " of what was sent, the path held the sender back",
            (false, false) => "",
        };
        let title = format!(
            "{} frames/s for {}: {} % lost{beside}",
            format::frame_rate(x),
            format::time(t.trial_ps),
            format::percent(loss)
        );
        let y = loss * 100.0;
        Some(Point { x, y, title })
    });
    let found = r.goals.iter().filter(|g| bracket(g).is_none());
    let marked = found.filter_map(|g| {
        let bound = *g.relevant_lower_bound_frames_per_s.value()?;
        Some((bound, allowed(g.goal.loss_ratio)))
    });
    let plane = Plane {
        id,
        title: name,
        x: axis("load in frames/s", true),
        y: axis("loss in %", false),
        diagonal: false,
        marked: marked.collect(),
    };
    draw(&plane, &[curve(points.collect(), false)])
}

fn loss_curve(id: String, name: &str, c: &CurveResult) -> Option<String> {
    let mut points: Vec<Point> = c
        .points
        .iter()
        .filter_map(|p| {
            let loss = *p.loss_ratio.value()?;
            let achieved = p.held_back_at_frames_per_s;
            let x = achieved.map_or(p.load_percent, |rate| {
                rate / c.max_load_frames_per_s * 100.0
            });
            let load = match achieved {
                Some(_) => format!(
                    "held back at {} % of the highest load ({} % was asked)",
                    format::decimal(x, 1),
                    format::decimal(p.load_percent, 1)
                ),
                None => format!("{} % of the highest load", format::decimal(x, 1)),
            };
            Some(Point {
                x,
                y: loss * 100.0,
                title: format!("{load}: {} % lost", format::percent(loss)),
            })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let plane = Plane {
        id,
        title: name,
        x: axis("load in % of the highest", false),
        y: axis("loss in %", false),
        diagonal: false,
        marked: Vec::new(),
    };
    draw(&plane, &[curve(points, true)])
}

fn bursts(id: String, name: &str, b: &BurstResult) -> Option<String> {
    let points = b.bursts.iter().enumerate().map(|(at, burst)| Point {
        x: (at + 1) as f64,
        y: burst.frames as f64,
        title: format!(
            "repeat {}: {} frames",
            at + 1,
            format::integer(burst.frames)
        ),
    });
    let plane = Plane {
        id,
        title: name,
        x: axis("repeat", false),
        y: axis("longest burst in frames", false),
        diagonal: false,
        marked: Vec::new(),
    };
    draw(&plane, &[curve(points.collect(), false)])
}

fn axis(name: &str, log: bool) -> Axis<'_> {
    Axis {
        name,
        log,
        show: &number,
    }
}

fn curve(points: Vec<Point>, joined: bool) -> Curve {
    Curve {
        label: String::new(),
        joined,
        points,
    }
}
