//! An explanation by a model, part by part.

use wirelab_trial::explanation::{
    Basis, Ceiling, CeilingLaw, Circuit, Explanation, LimitKind, Provenance, Roofline, StageShare,
};
use wirelab_trial::{Field, Kind, Layer, Sizes, Trial};

use crate::chart::roofline::ceiling_name;
use crate::document::table::{Cell, Head, Table};
use crate::document::{Block, Chart};
use crate::format;
use crate::row;

/// The parts in order of what a reader wants first.
pub fn of(e: &Explanation) -> Vec<Block<'_>> {
    let mut out = vec![
        Block::Words(e.title.clone()),
        Block::Words(format!("{}; {}.", request(&e.trial, &e.sizes), reached(e))),
        Block::Answer(e.limit.answer.clone()),
    ];
    if !e.limit.because.is_empty() {
        out.push(Block::List(e.limit.because.clone()));
    }
    if let Some(circuit) = &e.circuit {
        out.push(Block::heading("The critical circuit"));
        out.push(Block::Words(circuit.words.clone()));
    }
    out.push(Block::heading("Where the time goes"));
    out.push(stages(e));
    out.push(resources(e));
    let picture = if rests(e) { "One frame" } else { "Two periods" };
    out.push(Block::heading(picture.to_owned()));
    out.push(Block::Chart(Chart::Timeline(&e.timeline)));
    if rests(e) {
        let period = format::time_f(e.timeline.period_ps);
        out.push(Block::Words(format!(
            "The picture ends when the work on a frame is done: the period is {period}."
        )));
    }
    out.push(Block::heading("What is hidden"));
    out.push(match e.hidden.is_empty() {
        true => Block::Words(nothing_hidden(e).to_owned()),
        false => Block::List(e.hidden.iter().map(|h| h.words.clone()).collect()),
    });
    if !e.next.is_empty() {
        out.push(Block::heading("The next limit"));
        out.push(Block::List(e.next.iter().map(|c| next(e, c)).collect()));
    }
    out.push(Block::heading("Packet roofline"));
    out.extend(roofline(&e.roofline, None));
    out.push(Block::heading("What the costs are made of"));
    out.push(costs(&e.stages));
    if !e.notes.is_empty() {
        out.push(Block::heading("Notes"));
        out.push(Block::List(e.notes.clone()));
    }
    out
}

/// The request, in a line.
pub fn request(trial: &Trial, sizes: &Sizes) -> String {
    let mut text = format!("{} {}", row::layer(trial.framing.layer), trial.direction);
    text.push_str(&format!(
        ", frame {} B",
        format::integer(sizes.frame.into())
    ));
    text.push_str(&format!(
        " (length {}",
        format::integer(sizes.length.into())
    ));
    text.push_str(&format!(
        ", payload {}",
        format::integer(sizes.payload.into())
    ));
    if let Some(datagram) = sizes.datagram {
        text.push_str(&format!(", datagram {}", format::integer(datagram.into())));
    }
    text.push_str(&format!("), load {}", row::load(&trial.load)));
    if let Some(buffers) = trial.buffers {
        text.push_str(&format!(", buffers {buffers}"));
    }
    if trial.ports > 1 {
        text.push_str(&format!(", {} ports", trial.ports));
    }
    text
}

/// What a rate in bit/s counts.
pub fn data(layer: Layer) -> &'static str {
    match layer {
        Layer::Ethernet => "payload",
        _ => "goodput",
    }
}

/// The rate that is reached, in a line.
fn reached(e: &Explanation) -> String {
    let data = data(e.trial.framing.layer);
    let each = if e.trial.ports > 1 {
        " on each port"
    } else {
        ""
    };
    let mut text = format!(
        "{} a frame, {} frames/s, {} {data}{each}",
        format::time_f(e.period_ps),
        format::frame_rate(e.frames_per_s),
        format::si(e.bits_per_s, "bit/s"),
    );
    if let Some(ratio) = e.link_use_ratio {
        text.push_str(&format!(", {} % of line rate", format::percent(ratio)));
    }
    if e.loss_ratio > 0.0 {
        text.push_str(&format!(", {} % lost", format::percent(e.loss_ratio)));
    }
    let basis = match e.basis {
        Basis::ClosedForm => "in closed form",
        Basis::Simulation => "by simulation",
    };
    format!("{text} ({}, {basis})", row::kind(e.kind))
}

fn stages(e: &Explanation) -> Block<'static> {
    let waits = e.stages.iter().any(|s| s.waits_ps.is_some());
    let mut heads = vec![
        Head::text("stage"),
        Head::text("resource"),
        Head::number("time", "µs"),
        Head::number("share of period", "%"),
        Head::number("may grow by", "µs"),
    ];
    if waits {
        heads.push(Head::number("frames wait before it", "µs"));
    }
    let rows = e.stages.iter().map(|s| {
        let grow = match s.may_grow_ps {
            _ if s.critical => "limits".to_owned(),
            Some(ps) => format::micros(ps as f64),
            None => "–".to_owned(),
        };
        let mut row = vec![
            s.name.clone(),
            s.resource.clone().unwrap_or_else(|| "–".to_owned()),
            format::micros(s.cost_ps as f64),
            format::percent(s.share_ratio),
            grow,
        ];
        if waits {
            row.push(s.waits_ps.map_or_else(|| "–".to_owned(), format::micros));
        }
        row
    });
    Block::sentences(heads, rows.collect())
}

fn resources(e: &Explanation) -> Block<'static> {
    let rows = e.resources.iter().map(|r| {
        vec![
            Cell::Text(r.name.clone()),
            Cell::Text(format::percent(r.busy_ratio)),
            Cell::Bar(r.busy_ratio),
        ]
    });
    Block::Table(Table::sentences(
        vec![
            Head::text("resource"),
            Head::number("busy", "%"),
            Head::text(""),
        ],
        rows.collect(),
    ))
}

/// Whether the picture is shorter than a period, because nothing happens in the rest.
fn rests(e: &Explanation) -> bool {
    let span = e.timeline.end_ps.saturating_sub(e.timeline.start_ps);
    (span as f64) < e.timeline.period_ps
}

fn nothing_hidden(e: &Explanation) -> &'static str {
    if e.limit.kind == LimitKind::Load {
        "Nothing in the node limits, so nothing is hidden behind a limit."
    } else if e.circuit.is_none() {
        "The simulation names no critical circuit, so nothing can be said to hide behind one."
    } else if e
        .stages
        .iter()
        .filter(|s| s.cost_ps > 0)
        .all(|s| s.critical)
    {
        "Nothing: every stage is on the critical circuit, and none works while another does."
    } else {
        "Nothing that takes time runs while the critical circuit works."
    }
}

fn next(e: &Explanation, circuit: &Circuit) -> String {
    let gain = if circuit.period_ps > 0.0 {
        e.period_ps / circuit.period_ps
    } else {
        f64::INFINITY
    };
    format!(
        "{} ({} × the present rate)",
        circuit.words,
        format::decimal(gain, 2)
    )
}

fn costs(stages: &[StageShare]) -> Block<'static> {
    let mut rows = Vec::new();
    for stage in stages {
        for term in &stage.terms {
            let from = term.parameters.iter().map(|p| {
                let how = match p.provenance {
                    Provenance::Sourced => "source",
                    Provenance::Calibrated => "calibrated from",
                    Provenance::Set => "set by hand",
                };
                match p.from.is_empty() {
                    true => format!("{} = {}: {how}", p.name, p.value),
                    false => format!("{} = {}: {how} {}", p.name, p.value, p.from),
                }
            });
            rows.push(vec![
                stage.name.clone(),
                term.words.clone(),
                format::micros(term.cost_ps as f64),
                from.collect::<Vec<_>>().join("; "),
            ]);
        }
    }
    Block::sentences(
        vec![
            Head::text("stage"),
            Head::text("law"),
            Head::number("time", "µs"),
            Head::text("parameters"),
        ],
        rows,
    )
}

/// The picture, the ceilings and the figures of a roofline; `kind` is that of the readings behind its ceilings.
pub fn roofline(roofline: &Roofline, kind: Option<Kind>) -> Vec<Block<'_>> {
    if roofline.points.is_empty() {
        return vec![Block::Words("There is no point to draw.".to_owned())];
    }
    let mut out = vec![Block::Chart(Chart::Roofline(roofline, kind))];
    let rows = roofline.points.iter().map(|p| {
        let lowest = roofline
            .ceilings
            .iter()
            .filter_map(|c| Some((at(c, p.bytes)?, c)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let (most, which) = lowest.map_or_else(
            || (Cell::from("–"), "–".to_owned()),
            |(value, c)| {
                let most = format::mbit(value);
                let most = match kind.filter(|_| c.law != CeilingLaw::Wire) {
                    Some(kind) => Cell::of(Field::Observed { value: most, kind }, |most| most),
                    None => most.into(),
                };
                (most, ceiling_name(c))
            },
        );
        let (value, kind) = (p.bits_per_s, p.kind);
        vec![
            format::integer(p.bytes.into()).into(),
            p.direction.to_string().into(),
            Cell::of(Field::Observed { value, kind }, format::mbit),
            most,
            which.into(),
            p.limited_by.clone().into(),
        ]
    });
    let heads = vec![
        Head::number(roofline.unit.name(), "B"),
        Head::text("direction"),
        Head::number("rate", "Mbit/s"),
        Head::number("lowest ceiling", "Mbit/s"),
        Head::text("set by"),
        Head::text("limited by"),
    ];
    out.push(Block::sentences(heads, rows.collect()));
    out
}

/// The ceiling at a size that its curve has.
fn at(ceiling: &Ceiling, bytes: u32) -> Option<f64> {
    ceiling
        .curve
        .iter()
        .find(|(size, _)| *size == bytes)
        .map(|(_, value)| *value)
}
