//! Delays put in order for a reader: sections that may share a table, their ways in columns, their points in rows.

use std::collections::BTreeMap;

use wirelab_trial::format::si;
use wirelab_trial::stage::{CapturePoint, Delay, StageFigures};
use wirelab_trial::way::{Background, Path, Probes, Wait};
use wirelab_trial::{ClockKind, Direction, Kind, Layer, Load, Observation};

use crate::chart::unit::Unit;
use crate::row;

/// Delays that may stand in one table: of one direction, layer and kind of clock.
pub struct Section<'a> {
    /// As the node sees it.
    pub direction: Direction,
    /// What was offered.
    pub layer: Layer,
    /// The kind of the clock.
    pub clock: ClockKind,
    /// The ways of frames that were measured, each a group of columns.
    pub ways: Vec<Way<'a>>,
    /// Stages and sums of stages in the order of a frame's way.
    pub spans: Vec<Span<'a>>,
    /// Lengths of the frames in bytes, without FCS.
    pub lengths: Vec<u32>,
    /// The unit that suits all figures.
    pub unit: Unit,
}

/// One way through one node, and what was asked of it.
pub struct Way<'a> {
    key: Key<'a>,
    /// What tells it from the other ways of its section, in words; empty for the only way.
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
    /// The same was asked before.
    run: usize,
}

/// A stage or a sum of stages.
#[derive(Clone, Copy, PartialEq)]
pub struct Span<'a> {
    /// Where it begins.
    pub from: &'a str,
    /// Where it ends.
    pub to: &'a str,
    /// Whether it is one stage of every way that has it.
    pub single: bool,
    /// Whether it begins where the frame comes from, or ends where it goes to.
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

/// The sections of all delays, what is received first.
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
    let mut ways = ways(delays);
    label(&mut ways);
    label_by_rule(&mut ways);
    let mut lengths: Vec<u32> = delays.iter().map(|d| d.figures.length_bytes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    Section {
        direction,
        layer,
        clock,
        spans: spans(&ways, direction),
        unit: Unit::of(delays),
        ways,
        lengths,
    }
}

fn ways<'a>(delays: &[&'a Delay]) -> Vec<Way<'a>> {
    let mut ways: Vec<Way<'a>> = Vec::new();
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
        let known = |way: &Way<'_>| {
            let mut all = way.delays.iter().map(|d| &d.figures);
            all.find(|known| same_row(known, f)).map(|k| k.cumulated)
        };
        let mut twice = false;
        while let Some(way) = ways.iter().find(|way| way.key == key) {
            match known(way) {
                // The same two points, once as a stage and once with another between: the first stands.
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
        match ways.iter_mut().find(|way| way.key == key) {
            Some(way) => way.delays.push(delay),
            None => ways.push(Way {
                key,
                label: Vec::new(),
                delays: vec![delay],
            }),
        }
    }
    ways
}

fn same_row(a: &StageFigures, b: &StageFigures) -> bool {
    (a.length_bytes, &a.from, &a.to) == (b.length_bytes, &b.from, &b.to)
}

/// Words for what differs.
fn label(ways: &mut [Way<'_>]) {
    let keys: Vec<Key<'_>> = ways.iter().map(|way| way.key).collect();
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
        // Only some ways have a rule: that others have none says nothing new.
        let mut told = keys.iter().map(get).filter(|text| !text.is_empty());
        let first = told.next();
        let runs = keys
            .iter()
            .any(|k| k.run > 0 && get(k) == format!("run {}", k.run + 1));
        if first.is_none() || (told.all(|text| Some(&text) == first.as_ref()) && !runs) {
            continue;
        }
        for (way, key) in ways.iter_mut().zip(&keys) {
            let text = get(key);
            way.label.extend((!text.is_empty()).then_some(text));
        }
    }
}

/// Ways that differ in nothing but their rule are told apart by it: one may have been asked without.
fn label_by_rule(ways: &mut [Way<'_>]) {
    let labels: Vec<Vec<String>> = ways.iter().map(|way| way.label.clone()).collect();
    for way in ways.iter_mut() {
        let alike = labels.iter().filter(|label| **label == way.label);
        let text = rule(way.key.rule);
        if alike.count() > 1 && !text.is_empty() {
            way.label.push(text);
        }
    }
}

/// All that was asked of a way, in words.
pub fn words(o: &Observation) -> String {
    let t = &o.trial;
    let mut parts = vec![path(t.path).to_owned()];
    parts.extend(t.wait.map(|w| wait(Some(w)).to_owned()));
    parts.extend(t.background.map(|b| background(Some(b))));
    parts.extend(t.rule.as_ref().map(|rule| format!("rule {rule}")));
    parts.join(", ")
}

/// The same of a trial that was asked a way of its own; `None` where the node was left its own.
pub fn asked(o: &Observation) -> Option<String> {
    let t = &o.trial;
    let any = t.path.is_some() || t.wait.is_some() || t.background.is_some() || t.rule.is_some();
    any.then(|| words(o))
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

/// Every pair of points that a way has delays between: by where it begins, then by where it ends.
fn spans<'a>(ways: &[Way<'a>], direction: Direction) -> Vec<Span<'a>> {
    let outgoing = direction == Direction::Transmit;
    let mut spans: Vec<Span<'a>> = Vec::new();
    for way in ways {
        let figures = || way.delays.iter().map(|d| &d.figures);
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

/// The place of a point on a frame's way.
pub fn rank(point: &str, outgoing: bool) -> usize {
    // Others stand behind them.
    let points: &[CapturePoint] = match outgoing {
        true => &CapturePoint::SENT,
        false => &CapturePoint::RECEIVED,
    };
    let place = points.iter().position(|known| known.word() == point);
    place.unwrap_or(points.len())
}

/// Whether a point is of frames sent, and its name; where a counter does not say, the flow does.
pub fn place(told: &str, flow_is_sent: bool) -> (bool, &str) {
    match (told.strip_prefix("in."), told.strip_prefix("out.")) {
        (Some(point), _) => (false, point),
        (_, Some(point)) => (true, point),
        _ => (flow_is_sent, told),
    }
}

/// What stands where a figure is absent.
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

impl<'a> Way<'a> {
    /// The delay between two points at a size.
    pub fn delay(&self, span: &Span<'_>, length_bytes: u32) -> Option<&'a Delay> {
        let wanted = |f: &StageFigures| {
            (f.length_bytes, &*f.from, &*f.to) == (length_bytes, span.from, span.to)
        };
        self.delays.iter().find(|d| wanted(&d.figures)).copied()
    }

    /// Its label on one line, with something in place of none.
    pub fn title(&self) -> String {
        match self.label.is_empty() {
            true => "all frames".to_owned(),
            false => self.label.join(", "),
        }
    }

    /// Whether nothing else arrived meanwhile.
    pub const fn is_unloaded(&self) -> bool {
        self.key.background.is_none()
    }

    /// Whether another way was asked the same but for the way through the node, and both are of one run.
    pub fn is_asked_like(&self, other: &Way<'a>) -> bool {
        let any_path = |way: &Way<'a>| Key {
            path: None,
            rule: None,
            ..way.key
        };
        any_path(self) == any_path(other)
    }

    /// Whether frames take the fast track.
    pub fn is_fast(&self) -> bool {
        self.key.path == Some(Path::FastTrack)
    }

    /// Whether frames go through the stack.
    pub fn is_stack(&self) -> bool {
        matches!(self.key.path, None | Some(Path::Stack))
    }

    /// The figures of its rows.
    pub fn figures(&self) -> impl Iterator<Item = &'a StageFigures> {
        self.delays.iter().map(|d| &d.figures)
    }
}

impl Section<'_> {
    /// What all of it is, for a heading.
    pub fn heading(&self) -> String {
        let (way, layer) = (self.way(), row::layer(self.layer));
        format!("{way}: {layer}, {}", self.kinds_and_clock())
    }

    /// Which way frames went, in a word.
    pub const fn way(&self) -> &'static str {
        match self.direction {
            Direction::Transmit => "Sent",
            Direction::Receive => "Received",
            _ => "There and back",
        }
    }

    /// Where its figures come from, and what they count.
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

    /// The same in a few words.
    pub fn kinds(&self) -> String {
        let clock = match self.clock {
            ClockKind::Instructions => ", instructions",
            ClockKind::Wall => "",
            ClockKind::Simulated => ", simulated time",
        };
        format!("{}{clock}", self.kind().unwrap_or("of several kinds"))
    }

    fn kind(&self) -> Option<&'static str> {
        let mut kinds = self.ways.iter().map(|way| row::kind(way.key.kind));
        let first = kinds.next()?;
        kinds.all(|kind| kind == first).then_some(first)
    }

    /// What all ways have in common, in words; `None` where a node tells nothing of it.
    pub fn common(&self) -> Option<String> {
        let first = self.ways.first()?.key;
        let all = |same: &dyn Fn(&Key<'_>) -> bool| self.ways.iter().all(|way| same(&way.key));
        let mut parts = Vec::new();
        let chosen = |k: &Key<'_>| k.path.is_some() || k.wait.is_some();
        if !self.ways.iter().any(|way| chosen(&way.key)) {
            return None;
        }
        if all(&|k| path(k.path) == path(first.path)) {
            parts.push(path(first.path).to_owned());
        }
        // A node without an operating system was not asked: its loop is the program's own.
        let waits = self.ways.iter().any(|way| way.key.wait.is_some());
        if waits && all(&|k| wait(k.wait) == wait(first.wait)) {
            let how = match first.wait {
                Some(Wait::Spin) => "asks again and again",
                None | Some(Wait::Sleep) => "sleeps until it is woken",
            };
            parts.push(format!("the application {how}"));
        }
        if all(&|k| k.background == first.background) {
            parts.push(background(first.background));
        }
        let mut rules = self.ways.iter().filter_map(|way| way.key.rule);
        let given = rules.next();
        if rules.all(|rule| Some(rule) == given) {
            parts.extend(given.map(|text| format!("fast track by {}", rule(Some(text)))));
        }
        (!parts.is_empty()).then(|| format!("All: {}.", parts.join(", ")))
    }

    /// Frames of most delays, the larger number of two that are as frequent.
    pub fn frames(&self) -> u64 {
        let mut times: BTreeMap<u64, usize> = BTreeMap::new();
        for f in self.ways.iter().flat_map(Way::figures) {
            *times.entry(f.count).or_default() += 1;
        }
        let most = times
            .into_iter()
            .max_by_key(|(count, times)| (*times, *count));
        most.map_or(0, |(count, _)| count)
    }

    /// Whether every delay is over as many frames.
    pub fn is_even(&self) -> bool {
        let mut all = self.ways.iter().flat_map(Way::figures);
        all.all(|f| f.count == self.frames())
    }

    /// Whether the same was asked again.
    pub fn is_repeated(&self) -> bool {
        self.ways.iter().any(|way| way.key.run > 0)
    }

    /// Whether a way is that of a sleeping application, whose waking is seen.
    pub fn wakes(&self) -> bool {
        let sleeps = |way: &&Way<'_>| way.key.wait != Some(Wait::Spin);
        let mut figures = self.ways.iter().filter(sleeps).flat_map(Way::figures);
        figures.any(|f| f.from == "socket" && f.to == "copy")
    }
}
