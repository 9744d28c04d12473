//! Delays in an order for a reader: sections that share a table, their paths in columns, their points in rows.

use std::collections::BTreeMap;

use wirelab_trial::format::si;
use wirelab_trial::node_path::{Background, Path, Probes, Wait};
use wirelab_trial::stage::{CapturePoint, Delay, StageFigures};
use wirelab_trial::{ClockKind, Direction, Kind, Layer, Load, Observation};

use crate::chart::unit::Unit;
use crate::row;

/// Delays that may share a table: of one direction, layer and kind of clock.
pub struct Section<'a> {
    /// The direction from the node's side.
    pub direction: Direction,
    /// The layer of the frames.
    pub layer: Layer,
    /// The kind of the clock.
    pub clock: ClockKind,
    /// The measured paths with their options, each a group of columns.
    pub variants: Vec<Variant<'a>>,
    /// Stages and sums of stages in the order of a frame's path.
    pub spans: Vec<Span<'a>>,
    /// Lengths of the frames in bytes, without FCS.
    pub lengths: Vec<u32>,
    /// The unit that suits all figures.
    pub unit: Unit,
}

/// One path through one node, with the options of its trials.
pub struct Variant<'a> {
    key: Key<'a>,
    /// How it differs from the others of its section, in words; empty for the only one.
    pub label: Vec<String>,
    delays: Vec<&'a Delay>,
}

#[derive(Clone, Copy, PartialEq)]
struct Key<'a> {
    node: &'a str,
    kind: Kind,
    path: Option<Path>,
    wait: Option<Wait>,
    rule: Option<&'a str>,
    background: Option<Background>,
    probes: Option<Probes>,
    /// Number of earlier runs with the same options.
    run: usize,
}

/// A stage or a sum of stages.
#[derive(Clone, Copy, PartialEq)]
pub struct Span<'a> {
    /// Where it begins.
    pub from: &'a str,
    /// Where it ends.
    pub to: &'a str,
    /// Whether it is one stage of every path that has it.
    pub single: bool,
    /// Whether it begins where frames enter, or ends where they leave.
    pub outer: bool,
    /// Whether it is CPU time.
    pub cpu_time: bool,
}

impl Span<'_> {
    /// Its name, e.g. `wire to driver`.
    pub fn name(&self) -> String {
        format!("{} to {}", self.from, self.to)
    }
}

/// The sections of all delays, received ones first.
pub fn sections(delays: &[Delay]) -> Vec<Section<'_>> {
    let mut keys: Vec<(Direction, ClockKind, Layer)> = Vec::new();
    for f in delays.iter().map(|d| &d.figures) {
        let key = (f.direction, f.clock, f.layer);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let last = |direction| direction == Direction::Transmit;
    keys.sort_by_key(|(direction, ..)| last(*direction));
    let sections = keys.into_iter().map(|key| {
        let mine = |d: &&Delay| (d.figures.direction, d.figures.clock, d.figures.layer) == key;
        let delays: Vec<&Delay> = delays.iter().filter(mine).collect();
        section(key, &delays)
    });
    sections.collect()
}

fn section<'a>(
    (direction, clock, layer): (Direction, ClockKind, Layer),
    delays: &[&'a Delay],
) -> Section<'a> {
    let mut variants = variants(delays);
    label(&mut variants);
    label_by_rule(&mut variants);
    let mut lengths: Vec<u32> = delays.iter().map(|d| d.figures.length_bytes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    Section {
        direction,
        layer,
        clock,
        spans: spans(&variants, direction),
        unit: Unit::of(delays),
        variants,
        lengths,
    }
}

fn variants<'a>(delays: &[&'a Delay]) -> Vec<Variant<'a>> {
    let mut variants: Vec<Variant<'a>> = Vec::new();
    for delay in delays {
        let f = &delay.figures;
        let mut key = Key {
            node: &f.node,
            kind: f.kind,
            path: f.path,
            wait: f.wait,
            rule: f.rule.as_deref(),
            background: f.background,
            probes: f.probes,
            run: 0,
        };
        let known = |variant: &Variant<'_>| {
            let mut all = variant.delays.iter().map(|d| &d.figures);
            all.find(|known| same_row(known, f)).map(|k| k.cumulated)
        };
        let mut twice = false;
        while let Some(variant) = variants.iter().find(|variant| variant.key == key) {
            match known(variant) {
                // The same two points, once as a stage and once as a sum: the first is kept.
                Some(cumulated) if cumulated != f.cumulated => twice = true,
                Some(_) => {
                    key.run += 1;
                    continue;
                }
                None => {}
            }
            break;
        }
        if twice {
            continue;
        }
        match variants.iter_mut().find(|variant| variant.key == key) {
            Some(variant) => variant.delays.push(delay),
            None => variants.push(Variant {
                key,
                label: Vec::new(),
                delays: vec![delay],
            }),
        }
    }
    variants
}

fn same_row(a: &StageFigures, b: &StageFigures) -> bool {
    (a.length_bytes, &a.from, &a.to) == (b.length_bytes, &b.from, &b.to)
}

/// Words for the differences.
fn label(variants: &mut [Variant<'_>]) {
    let keys: Vec<Key<'_>> = variants.iter().map(|variant| variant.key).collect();
    let words: [&dyn Fn(&Key<'_>) -> String; 8] = [
        &|k| k.node.to_owned(),
        &|k| path(k.path).to_owned(),
        &|k| wait(k.wait).to_owned(),
        &|k| background(k.background),
        &|k| rule(k.rule),
        &|k| k.probes.map_or_else(String::new, |p| format!("probes {p}")),
        &|k| row::kind(k.kind).to_owned(),
        &|k| match k.run {
            0 => String::new(),
            n => format!("run {}", n + 1),
        },
    ];
    for get in words {
        // Only some paths have a rule: the lack of one needs no word.
        let mut texts = keys.iter().map(get).filter(|text| !text.is_empty());
        let first = texts.next();
        let runs = keys
            .iter()
            .any(|k| k.run > 0 && get(k) == format!("run {}", k.run + 1));
        if first.is_none() || (texts.all(|text| Some(&text) == first.as_ref()) && !runs) {
            continue;
        }
        for (variant, key) in variants.iter_mut().zip(&keys) {
            let text = get(key);
            variant.label.extend((!text.is_empty()).then_some(text));
        }
    }
}

/// Paths that differ only in their rule are labelled by it: one may have none.
fn label_by_rule(variants: &mut [Variant<'_>]) {
    let labels: Vec<Vec<String>> = variants
        .iter()
        .map(|variant| variant.label.clone())
        .collect();
    for variant in variants.iter_mut() {
        let alike = labels.iter().filter(|label| **label == variant.label);
        let text = rule(variant.key.rule);
        if alike.count() > 1 && !text.is_empty() {
            variant.label.push(text);
        }
    }
}

/// The options of a trial, in words.
pub fn options(o: &Observation) -> String {
    let t = &o.trial;
    let mut parts = vec![path(t.path).to_owned()];
    parts.extend(t.wait.map(|w| wait(Some(w)).to_owned()));
    parts.extend(t.background.map(|b| background(Some(b))));
    parts.extend(t.rule.as_ref().map(|rule| format!("rule {rule}")));
    parts.join(", ")
}

/// As [`options`], if a trial has options; `None` for the node's default.
pub fn chosen_options(o: &Observation) -> Option<String> {
    let t = &o.trial;
    let any = t.path.is_some() || t.wait.is_some() || t.background.is_some() || t.rule.is_some();
    any.then(|| options(o))
}

fn path(path: Option<Path>) -> &'static str {
    match path {
        None | Some(Path::Stack) => "stack",
        Some(Path::Driver) => "driver",
        Some(Path::FastTrack) => "fast track",
    }
}

fn wait(wait: Option<Wait>) -> &'static str {
    match wait {
        None | Some(Wait::Sleep) => "sleep",
        Some(Wait::Spin) => "spin",
    }
}

fn background(background: Option<Background>) -> String {
    match background {
        None => "unloaded".to_owned(),
        Some(b) => match b.load {
            Load::FrameRate { frames_per_s } => format!("beside {}", si(frames_per_s, "pps")),
            load => format!("beside {}", row::load(&load)),
        },
    }
}

fn rule(rule: Option<&str>) -> String {
    rule.map_or_else(String::new, |rule| format!("rule {rule}"))
}

/// Every pair of points of a path's delays: by the first point, then by the second.
fn spans<'a>(variants: &[Variant<'a>], direction: Direction) -> Vec<Span<'a>> {
    let outgoing = direction == Direction::Transmit;
    let mut spans: Vec<Span<'a>> = Vec::new();
    for variant in variants {
        let figures = || variant.delays.iter().map(|d| &d.figures);
        let outermost = match outgoing {
            true => figures().map(|f| &*f.to).max_by_key(|to| rank(to, true)),
            false => figures()
                .map(|f| &*f.from)
                .min_by_key(|from| rank(from, false)),
        };
        for f in figures() {
            let end = if outgoing { &*f.to } else { &*f.from };
            let outer = Some(end) == outermost;
            let known = spans.iter_mut().find(|s| s.from == f.from && s.to == f.to);
            match known {
                Some(span) => {
                    span.single &= !f.cumulated;
                    span.outer |= outer;
                    span.cpu_time |= f.cpu_time;
                }
                None => spans.push(Span {
                    from: &f.from,
                    to: &f.to,
                    single: !f.cumulated,
                    outer,
                    cpu_time: f.cpu_time,
                }),
            }
        }
    }
    spans.sort_by_key(|s| (rank(s.from, outgoing), rank(s.to, outgoing)));
    spans
}

/// The rank of a point on a frame's path.
pub fn rank(point: &str, outgoing: bool) -> usize {
    // All others follow.
    let points: &[CapturePoint] = match outgoing {
        true => &CapturePoint::SENT,
        false => &CapturePoint::RECEIVED,
    };
    let place = points.iter().position(|known| known.word() == point);
    place.unwrap_or(points.len())
}

/// The text of an absent figure.
pub fn dash() -> String {
    "–".to_owned()
}

/// Counters of each flow of a trial and of the trial as a whole, each with its direction.
pub fn counters(o: &Observation) -> impl Iterator<Item = (Direction, &str, u64)> {
    let flows = o.flows.iter().map(|flow| (flow.direction, &flow.counters));
    let all = flows.chain([(o.trial.direction, &o.counters)]);
    let each = all.flat_map(|(direction, counters)| {
        let known = counters.iter();
        known.map(move |(name, value)| (direction, name.as_str(), value))
    });
    each.filter_map(|(direction, name, value)| Some((direction, name, *value.value()?)))
}

impl<'a> Variant<'a> {
    /// The delay between two points at a size.
    pub fn delay(&self, span: &Span<'_>, length_bytes: u32) -> Option<&'a Delay> {
        let wanted = |f: &StageFigures| {
            (f.length_bytes, &*f.from, &*f.to) == (length_bytes, span.from, span.to)
        };
        self.delays.iter().find(|d| wanted(&d.figures)).copied()
    }

    /// Its label on one line, or a text for none.
    pub fn title(&self) -> String {
        match self.label.is_empty() {
            true => "all frames".to_owned(),
            false => self.label.join(", "),
        }
    }

    /// Whether there was no background.
    pub const fn is_unloaded(&self) -> bool {
        self.key.background.is_none()
    }

    /// Whether another one differs only in the path through the node, in the same run.
    pub fn differs_only_in_path(&self, other: &Variant<'a>) -> bool {
        let any_path = |variant: &Variant<'a>| Key {
            path: None,
            rule: None,
            ..variant.key
        };
        any_path(self) == any_path(other)
    }

    /// Whether frames take the fast track.
    pub fn is_fast(&self) -> bool {
        self.key.path == Some(Path::FastTrack)
    }

    /// Whether frames take the stack.
    pub fn is_stack(&self) -> bool {
        matches!(self.key.path, None | Some(Path::Stack))
    }

    /// The figures of its rows.
    pub fn figures(&self) -> impl Iterator<Item = &'a StageFigures> {
        self.delays.iter().map(|d| &d.figures)
    }
}

impl Section<'_> {
    /// The heading of the section.
    pub fn heading(&self) -> String {
        let (direction, layer) = (self.direction_name(), row::layer(self.layer));
        format!("{direction}: {layer}, {}", self.kinds_and_clock())
    }

    /// The direction in a word.
    pub const fn direction_name(&self) -> &'static str {
        match self.direction {
            Direction::Transmit => "Sent",
            Direction::Receive => "Received",
            _ => "Echo",
        }
    }

    /// The origin of its figures, and their clock.
    pub fn kinds_and_clock(&self) -> String {
        let clock = match self.clock {
            ClockKind::Instructions => "instructions",
            ClockKind::Wall => "time by the node's clock",
            ClockKind::Simulated => "simulated time",
        };
        match self.kind() {
            Some(kind) => format!("{clock} ({kind})"),
            None => clock.to_owned(),
        }
    }

    /// The origin of its figures, and their clock, in a few words.
    pub fn kinds(&self) -> String {
        let clock = match self.clock {
            ClockKind::Instructions => ", instructions",
            ClockKind::Wall => "",
            ClockKind::Simulated => ", simulated time",
        };
        format!("{}{clock}", self.kind().unwrap_or("of several kinds"))
    }

    fn kind(&self) -> Option<&'static str> {
        let mut kinds = self
            .variants
            .iter()
            .map(|variant| row::kind(variant.key.kind));
        let first = kinds.next()?;
        kinds.all(|kind| kind == first).then_some(first)
    }

    /// What all paths have in common, in words; `None` if the node reports nothing of it.
    pub fn common(&self) -> Option<String> {
        let first = self.variants.first()?.key;
        let all = |same: &dyn Fn(&Key<'_>) -> bool| {
            self.variants.iter().all(|variant| same(&variant.key))
        };
        let mut parts = Vec::new();
        let chosen = |k: &Key<'_>| k.path.is_some() || k.wait.is_some();
        if !self.variants.iter().any(|variant| chosen(&variant.key)) {
            return None;
        }
        if all(&|k| path(k.path) == path(first.path)) {
            parts.push(path(first.path).to_owned());
        }
        // A node without an operating system ignores the request: its loop is the program's own.
        let waits = self
            .variants
            .iter()
            .any(|variant| variant.key.wait.is_some());
        if waits && all(&|k| wait(k.wait) == wait(first.wait)) {
            let how = match first.wait {
                Some(Wait::Spin) => "spins",
                None | Some(Wait::Sleep) => "sleeps",
            };
            parts.push(format!("the application {how}"));
        }
        if all(&|k| k.background == first.background) {
            parts.push(background(first.background));
        }
        let mut rules = self.variants.iter().filter_map(|variant| variant.key.rule);
        let given = rules.next();
        if rules.all(|rule| Some(rule) == given) {
            parts.extend(given.map(|text| format!("fast track by {}", rule(Some(text)))));
        }
        (!parts.is_empty()).then(|| format!("All: {}.", parts.join(", ")))
    }

    /// The most frequent number of frames of a delay; of two equally frequent numbers the larger.
    pub fn frames(&self) -> u64 {
        let mut times: BTreeMap<u64, usize> = BTreeMap::new();
        for f in self.variants.iter().flat_map(Variant::figures) {
            *times.entry(f.count).or_default() += 1;
        }
        let most = times
            .into_iter()
            .max_by_key(|(count, times)| (*times, *count));
        most.map_or(0, |(count, _)| count)
    }

    /// Whether every delay has the same number of frames.
    pub fn is_even(&self) -> bool {
        let mut all = self.variants.iter().flat_map(Variant::figures);
        all.all(|f| f.count == self.frames())
    }

    /// Whether trials were repeated.
    pub fn is_repeated(&self) -> bool {
        self.variants.iter().any(|variant| variant.key.run > 0)
    }

    /// Whether the application sleeps on some path, and its wake-up was seen.
    pub fn wakes(&self) -> bool {
        let sleeps = |variant: &&Variant<'_>| variant.key.wait != Some(Wait::Spin);
        let mut figures = self
            .variants
            .iter()
            .filter(sleeps)
            .flat_map(Variant::figures);
        figures.any(|f| f.from == CapturePoint::SOCKET.word() && f.to == CapturePoint::COPY.word())
    }
}
