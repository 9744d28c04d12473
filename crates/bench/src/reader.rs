//! Reads a plan's TOML, and says of everything wrong where it stands and what to write instead.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wirelab_trial::{Extent, FaultRates, Framing, Layer, Size, SizeUnit};
use wirelab_wire::LineRate;

use crate::matrix::MAX_TRIALS;
use crate::plan::{DEFAULT_TIME_PS, Matrix, Plan, PlanError};
use crate::units::{parse_duration_ps, parse_rate};

type Read<T> = Result<T, PlanError>;
type Value<'a> = Spanned<DeValue<'a>>;

const PLAN_KEYS: [&str; 3] = ["title", "node", "matrix"];
const MATRIX_KEYS: [&str; 17] = [
    "name",
    "layer",
    "vlan",
    "frame",
    "length",
    "payload",
    "datagram",
    "load",
    "direction",
    "ports",
    "buffers",
    "time",
    "frames",
    "rate",
    "inject",
    "warmup",
    "repeat",
];
const UNITS: [SizeUnit; 4] = [
    SizeUnit::Frame,
    SizeUnit::Length,
    SizeUnit::Payload,
    SizeUnit::Datagram,
];

/// The text, and what turns a place in it into a line and a column.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn error(&self, span: Range<usize>, field: &str, what: impl Display) -> PlanError {
        let mut at = span.start.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        PlanError::At {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            field: field.to_owned(),
            what: what.to_string(),
        }
    }
}

/// A table, what it is called, and where it stands.
struct Table<'a> {
    source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    name: &'static str,
    span: Range<usize>,
}

/// A value and the key it stands under.
#[derive(Clone, Copy)]
struct Entry<'a> {
    source: &'a Source<'a>,
    value: &'a Value<'a>,
    table: &'static str,
    key: &'a str,
}

pub fn plan(text: &str, file: &str) -> Read<Plan> {
    let source = Source { file, text };
    let document = DeTable::parse(text)
        .map_err(|e| source.error(e.span().unwrap_or(0..0), "TOML", e.message()))?;
    let top = Table {
        source: &source,
        table: document.get_ref(),
        name: "",
        span: 0..0,
    };
    top.known_keys(&PLAN_KEYS)?;
    let entry = top.get("matrix").ok_or_else(|| {
        top.error(
            "matrix",
            "there is none: add a section [[matrix]] with a size",
        )
    })?;
    let mut plan = Plan {
        title: top.get("title").map(|e| e.text()).transpose()?,
        node: top.get("node").map(|e| e.text()).transpose()?,
        matrices: Vec::new(),
    };
    let sections = match entry.value.get_ref() {
        DeValue::Array(list) if list.iter().all(|v| v.get_ref().is_table()) => list,
        _ => return Err(entry.error("write each matrix as a section of its own: [[matrix]]")),
    };
    for (index, section) in sections.iter().enumerate() {
        let Some(table) = section.get_ref().as_table() else {
            continue;
        };
        let section = Table {
            source: &source,
            table,
            name: "matrix",
            span: section.span(),
        };
        let matrix = self::matrix(&section, index)?;
        if plan.matrices.iter().any(|m| m.name == matrix.name) {
            let what = format!("'{}' is the name of another matrix too", matrix.name);
            return Err(section.at_key("name", what));
        }
        plan.matrices.push(matrix);
        if plan.trials() > MAX_TRIALS {
            let trials = plan.trials();
            return Err(section.error_here(format!(
                "with this one the plan has {trials} trials, and at most {MAX_TRIALS} are run: \
                 shorten its lists, or split the plan into several files"
            )));
        }
    }
    if plan.matrices.is_empty() {
        return Err(entry.error("there is none: add a section [[matrix]] with a size"));
    }
    Ok(plan)
}

fn matrix(table: &Table<'_>, index: usize) -> Read<Matrix> {
    table.known_keys(&MATRIX_KEYS)?;
    let name = match table.get("name") {
        Some(entry) => entry.text()?,
        None => format!("matrix {}", index + 1),
    };
    let mut matrix = Matrix::new(name, Vec::new());
    matrix.framings = framings(table)?;
    matrix.sizes = sizes(table, &matrix.framings)?;
    matrix.extent = extent(table)?;
    if let Some(entry) = table.get("rate") {
        matrix.link_bits_per_s = Some(rate(entry)?);
    }
    if let Some(entry) = table.get("direction") {
        matrix.directions = entry.list(Entry::word)?;
    }
    if let Some(entry) = table.get("ports") {
        matrix.ports = entry.list(|e| e.whole(1, 256).map(|n| n as u32))?;
    }
    if let Some(entry) = table.get("buffers") {
        matrix.buffers = entry.list(|e| e.word().map(Some))?;
    }
    if let Some(entry) = table.get("inject") {
        matrix.faults = faults(entry)?;
    }
    if let Some(entry) = table.get("warmup") {
        matrix.warmup_ps = entry.duration()?;
    }
    if let Some(entry) = table.get("repeat") {
        matrix.repeats = entry.whole(1, MAX_TRIALS)? as u32;
    }
    if let Some(entry) = table.get("load") {
        matrix.loads = entry.list(Entry::word)?;
        check_loads(&entry, &matrix)?;
    }
    Ok(matrix)
}

/// A load above the link is refused here where the plan gives the link's rate; otherwise only the node knows.
fn check_loads(entry: &Entry<'_>, matrix: &Matrix) -> Read<()> {
    let link = matrix.link_bits_per_s.and_then(LineRate::new);
    // Too many trials are refused as such; their product would take long to check.
    if link.is_none() || matrix.trials() > MAX_TRIALS {
        return Ok(());
    }
    for (load, entry) in matrix.loads.iter().zip(entry.entries()) {
        for framing in &matrix.framings {
            for size in &matrix.sizes {
                let sizes = size.resolve_test(*framing).map_err(|e| entry.error(e))?;
                load.frames_per_s(&sizes, framing.layer, link)
                    .map_err(|e| {
                        let (unit, bytes) = (size.unit.name(), size.bytes);
                        entry.error(format!(
                            "at {unit} {bytes}: {e}: lower it, or give a share such as 95%"
                        ))
                    })?;
            }
        }
    }
    Ok(())
}

fn framings(table: &Table<'_>) -> Read<Vec<Framing>> {
    let layers = match table.get("layer") {
        Some(entry) => entry.list(Entry::layer)?,
        None => vec![Layer::Ethernet],
    };
    let tags = match table.get("vlan") {
        Some(entry) => entry.list(|e| e.whole(0, 2).map(|n| n as u8))?,
        None => vec![0],
    };
    let all = layers.iter().flat_map(|layer| {
        tags.iter().map(|vlan_tags| Framing {
            layer: *layer,
            vlan_tags: *vlan_tags,
        })
    });
    Ok(all.collect())
}

fn sizes(table: &Table<'_>, framings: &[Framing]) -> Read<Vec<Size>> {
    let mut sizes = Vec::new();
    for unit in UNITS {
        let Some(entry) = table.get(unit.name()) else {
            continue;
        };
        sizes.extend(entry.list(|e| {
            let size = Size::new(unit, e.whole(1, u64::from(u32::MAX))? as u32);
            for framing in framings {
                size.resolve_test(*framing).map_err(|what| e.error(what))?;
            }
            Ok(size)
        })?);
    }
    if sizes.is_empty() {
        return Err(table.error_here(
            "it has no size: write frame = [64, 1518], or length, payload or datagram",
        ));
    }
    Ok(sizes)
}

fn extent(table: &Table<'_>) -> Read<Extent> {
    match (table.get("time"), table.get("frames")) {
        (Some(_), Some(frames)) => {
            Err(frames.error("the matrix also has a time: keep one of the two"))
        }
        (Some(time), None) => match time.duration()? {
            0 => Err(time.error("a trial of no time: write e.g. \"3s\"")),
            time_ps => Ok(Extent::Time { time_ps }),
        },
        (None, Some(frames)) => Ok(Extent::Frames {
            frames: frames.whole(1, i64::MAX as u64)?,
        }),
        (None, None) => Ok(Extent::Time {
            time_ps: DEFAULT_TIME_PS,
        }),
    }
}

fn rate(entry: Entry<'_>) -> Read<u64> {
    match entry.value.get_ref() {
        DeValue::String(text) => parse_rate(text).map_err(|e| entry.error(e)),
        DeValue::Integer(_) => entry.whole(1, crate::units::HIGHEST_RATE),
        _ => Err(entry.error("write bit/s, e.g. \"100M\"")),
    }
}

fn faults(entry: Entry<'_>) -> Read<FaultRates> {
    let example = "write the faults with their probabilities, e.g. { drop = 1e-5, seed = 7 }";
    let table = entry
        .value
        .get_ref()
        .as_table()
        .ok_or_else(|| entry.error(example))?;
    let table = Table {
        source: entry.source,
        table,
        name: "matrix.inject",
        span: entry.value.span(),
    };
    let mut rates = FaultRates::default();
    let mut keys: Vec<&str> = rates.named().iter().map(|(name, _)| *name).collect();
    keys.push("seed");
    table.known_keys(&keys)?;
    for key in keys {
        let Some(entry) = table.get(key) else {
            continue;
        };
        match rates.rate_mut(key) {
            None => rates.seed = entry.whole(0, u64::MAX)?,
            Some(rate) => *rate = entry.probability()?,
        }
    }
    Ok(rates)
}

impl<'a> Table<'a> {
    fn get(&self, key: &'a str) -> Option<Entry<'a>> {
        self.table.get(key).map(|value| Entry {
            source: self.source,
            value,
            table: self.name,
            key,
        })
    }

    fn known_keys(&self, known: &[&str]) -> Read<()> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let nearest = known
                .iter()
                .map(|k| (strsim::damerau_levenshtein(k, head(name)), k))
                .min()
                .filter(|(distance, k)| *distance <= k.len().div_ceil(3).max(2));
            let meant = nearest.map_or(String::new(), |(_, k)| format!("did you mean '{k}'? "));
            let what = format!("no such key: {meant}The keys here are {}", known.join(", "));
            let field = qualified(self.name, head(name));
            return Err(self.source.error(key.span(), &field, what));
        }
        Ok(())
    }

    fn error(&self, key: &str, what: impl Display) -> PlanError {
        self.source
            .error(self.span.clone(), &qualified(self.name, key), what)
    }

    fn error_here(&self, what: impl Display) -> PlanError {
        self.source.error(self.span.clone(), self.name, what)
    }

    fn at_key(&self, key: &str, what: String) -> PlanError {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.source.error(span, &qualified(self.name, key), what)
    }
}

impl<'a> Entry<'a> {
    fn error(&self, what: impl Display) -> PlanError {
        let field = qualified(self.table, self.key);
        self.source.error(self.value.span(), &field, what)
    }

    /// The values of a list, or the one value.
    fn entries(&self) -> Vec<Entry<'a>> {
        match self.value.get_ref() {
            DeValue::Array(values) => values
                .iter()
                .map(|value| Entry { value, ..*self })
                .collect(),
            _ => vec![*self],
        }
    }

    /// One value or a list of them, none of them twice.
    fn list<T: PartialEq>(&self, read: impl Fn(&Entry<'a>) -> Read<T>) -> Read<Vec<T>> {
        let entries = self.entries();
        // It also keeps the search for twins short.
        if entries.len() as u64 > MAX_TRIALS {
            return Err(self.error(format!("at most {MAX_TRIALS} values are taken")));
        }
        let mut list = Vec::new();
        for entry in entries {
            let item = read(&entry)?;
            if list.contains(&item) {
                return Err(
                    entry.error("it stands in the list twice: to run it more often, use repeat")
                );
            }
            list.push(item);
        }
        if list.is_empty() {
            return Err(self.error("the list is empty: give a value, or leave the key out"));
        }
        Ok(list)
    }

    fn text(&self) -> Read<String> {
        match self.value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text.to_string()),
            _ => Err(self.error("write a text in quotes")),
        }
    }

    fn word<T: FromStr<Err: Display>>(&self) -> Read<T> {
        let DeValue::String(text) = self.value.get_ref() else {
            return Err(self.error("write it in quotes, as on the command line"));
        };
        text.parse().map_err(|e| self.error(e))
    }

    fn layer(&self) -> Read<Layer> {
        match self.value.get_ref().as_str() {
            Some("ethernet") => Ok(Layer::Ethernet),
            Some("udp4") => Ok(Layer::UdpIpv4),
            Some("udp6") => Ok(Layer::UdpIpv6),
            Some("tcp4") => Ok(Layer::TcpIpv4),
            Some("tcp6") => Ok(Layer::TcpIpv6),
            _ => Err(self.error(
                "no such layer: choose one of \"ethernet\", \"udp4\", \"udp6\", \"tcp4\", \"tcp6\"",
            )),
        }
    }

    fn whole(&self, min: u64, max: u64) -> Read<u64> {
        self.value
            .get_ref()
            .as_integer()
            .and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok())
            .filter(|n| (min..=max).contains(n))
            .ok_or_else(|| self.error(format!("write a whole number from {min} to {max}")))
    }

    fn probability(&self) -> Read<f64> {
        let number = match self.value.get_ref() {
            DeValue::Float(n) => n.as_str().parse().ok(),
            DeValue::Integer(n) => n.as_str().parse().ok(),
            _ => None,
        };
        number
            .filter(|n| (0.0..=1.0).contains(n))
            .ok_or_else(|| self.error("a probability is a number from 0 to 1, e.g. 1e-5"))
    }

    fn duration(&self) -> Read<u64> {
        match self.value.get_ref().as_str() {
            Some(text) => parse_duration_ps(text).map_err(|e| self.error(e)),
            None => Err(self.error("write a duration in quotes, e.g. \"200ms\"")),
        }
    }
}

/// The first 64 characters: a hostile key may be long.
fn head(name: &str) -> &str {
    let end = name.char_indices().nth(64).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

fn qualified(table: &str, key: &str) -> String {
    if table.is_empty() {
        key.to_owned()
    } else {
        format!("{table}.{key}")
    }
}
