//! The parts of a table: which rows are headings, which columns are labels, and what its columns and rows say.

use wirelab_trial::{Direction, Layer};

use super::figure::figures;
use super::grid::{Grid, GridCell};
use super::words::{ColumnMeaning, LabelFacts, is_figure, said, sized, unit_of, what, words};
use crate::metric::Metric;
use crate::quantity::UNITS;
use crate::table::Forwarding;

/// A column of figures.
pub struct Column {
    pub at: usize,
    /// All headings above it.
    pub head: String,
    /// The nearest of them.
    pub own: String,
    /// Its first figure, where that is a size.
    pub first: u32,
    pub what: ColumnMeaning,
    pub unit: Option<&'static str>,
    pub said: LabelFacts,
}

/// A row's place in its table: the rows of one class have the same columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    pub layer: Option<Layer>,
    pub direction: Option<Direction>,
    pub max: bool,
    pub forwarding: Option<Forwarding>,
    pub tags: Vec<String>,
}

/// The parts of a grid.
pub struct Parts<'g> {
    pub grid: &'g Grid,
    pub heads: usize,
    pub labels: usize,
    pub columns: Vec<Column>,
    pub context: LabelFacts,
}

/// Leading rows that are headings.
pub fn heads(grid: &Grid) -> usize {
    if let Some(heads) = grid.heads {
        return heads;
    }
    let marked = |row: &Vec<GridCell>| row.iter().all(|cell| cell.head || cell.text.is_empty());
    let by_mark = grid.rows.iter().take_while(|row| marked(row)).count();
    if by_mark > 0 && by_mark < grid.rows.len() {
        return by_mark;
    }
    let words = |row: &Vec<GridCell>| !row.iter().any(|cell| is_figure(&cell.text));
    let by_words = grid.rows.iter().take_while(|row| words(row)).count();
    by_words.max(1).min(grid.rows.len())
}

/// Leading columns of words.
pub fn labels(grid: &Grid) -> usize {
    parts(grid).map_or(0, |parts| parts.labels)
}

/// The headings above a column, without repetitions.
fn heads_of(heads: &[Vec<GridCell>], at: usize) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    for row in heads {
        let text = row.get(at).map_or("", |cell| cell.text.as_str());
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// Whether most texts of a column are figures.
fn has_figures(body: &[Vec<GridCell>], at: usize) -> bool {
    let texts = body
        .iter()
        .filter_map(|row| row.get(at))
        .map(|cell| &cell.text);
    let (mut with_figures, mut others) = (0, 0);
    for text in texts {
        match figures(text) {
            Ok(all) if all.iter().all(|f| f.token == "-") => {}
            Ok(_) => with_figures += 1,
            Err(_) => others += 1,
        }
    }
    with_figures > 0 && with_figures >= others
}

pub fn parts(grid: &Grid) -> Option<Parts<'_>> {
    let heads = heads(grid);
    let body = grid.rows.get(heads..).filter(|body| !body.is_empty())?;
    let head_of = |at: usize| heads_of(&grid.rows[..heads], at);
    let is_words = |at: usize| {
        let heads = head_of(at).join(" ");
        !has_figures(body, at)
            || matches!(what(&heads), ColumnMeaning::Words | ColumnMeaning::Interval)
    };
    let width = grid.width();
    let labels = (0..width).take_while(|at| is_words(*at)).count();
    let contexts: Vec<&str> = grid.context.iter().rev().map(String::as_str).collect();
    let words_above = contexts
        .iter()
        .map(|text| said(text))
        .fold(LabelFacts::default(), |all, one| all.or(&one));
    let context = if grid.iperf {
        super::iperf::said(grid).or(&words_above)
    } else {
        words_above
    };
    let columns = (labels..width).filter(|at| has_figures(body, *at));
    let columns = columns.map(|at| {
        let texts = head_of(at);
        let own = texts.last().copied().unwrap_or_default();
        let own_unit = unit_of(own).or_else(|| texts.iter().rev().find_map(|text| unit_of(text)));
        Column {
            at,
            what: meaning(&texts, &contexts, grid.iperf),
            unit: own_unit.or_else(|| common_unit(body, at)),
            said: texts
                .iter()
                .map(|text| said(text))
                .fold(LabelFacts::default(), |all, one| one.or(&all)),
            own: own.to_owned(),
            first: first_of(body, at),
            head: texts.join(" "),
        }
    });
    let mut columns: Vec<Column> = columns.collect();
    let corner = head_of(0).join(" ");
    matrix(&mut columns, &corner, &contexts, labels);
    Some(Parts {
        grid,
        heads,
        labels,
        columns,
        context,
    })
}

/// What the figures below these headings are; the texts above the table say of which kind times and rates are.
fn meaning(heads: &[&str], contexts: &[&str], of_iperf: bool) -> ColumnMeaning {
    let own = match what(heads.last().copied().unwrap_or_default()) {
        ColumnMeaning::Unknown => what(&heads.join(" ")),
        known => known,
    };
    let mut near = contexts.iter().take(2);
    match own {
        ColumnMeaning::Metric(Metric::Time)
            if near.any(|text| text.to_lowercase().contains("latenc")) =>
        {
            ColumnMeaning::Metric(Metric::Latency)
        }
        ColumnMeaning::Rate if of_iperf => ColumnMeaning::Metric(Metric::Bandwidth),
        known => known,
    }
}

/// The first figure of a column, as bytes; 0 where it has none.
fn first_of(body: &[Vec<GridCell>], at: usize) -> u32 {
    let mut tokens = body.iter().filter_map(|row| {
        let found = figures(&row.get(at)?.text).ok()?;
        found.first()?.token.parse().ok()
    });
    tokens.next().unwrap_or(0)
}

/// The unit that all figures of a column have behind them.
fn common_unit(body: &[Vec<GridCell>], at: usize) -> Option<&'static str> {
    let cells = body
        .iter()
        .filter_map(|row| figures(&row.get(at)?.text).ok());
    let units = cells.flatten().filter(|figure| figure.token != "-");
    let mut units = units.map(|figure| figure.unit);
    let first = units.next()??;
    units.all(|unit| unit == Some(first)).then_some(first)
}

/// Columns headed only by a size or a load have the metric that the corner or the caption names.
fn matrix(columns: &mut [Column], corner: &str, contexts: &[&str], labels: usize) {
    let sizes = |text: &str| -> Option<u32> {
        text.trim()
            .parse()
            .ok()
            .filter(|n| (1..=65_535).contains(n))
    };
    let bare = columns.iter().filter(|c| sizes(&c.head).is_some()).count();
    let of_corner = words(corner);
    let size_word = sized(&of_corner);
    let about_size = size_word.is_some()
        || of_corner
            .iter()
            .any(|w| w == "size" || w == "length" || w == "bytes");
    let headed = |c: &Column| {
        let says = c.said.size.is_some() || c.said.load.is_some() || sizes(&c.head).is_some();
        says && (matches!(c.what, ColumnMeaning::Unknown | ColumnMeaning::Size(_))
            || is_figure(&c.own))
    };
    let first = usize::from(labels == 0);
    if columns.len() <= first || columns[first..].iter().filter(|c| headed(c)).count() < 2 {
        return;
    }
    let around = [corner].into_iter().chain(contexts.iter().copied());
    let metric = around.clone().find_map(|text| match what(text) {
        found @ ColumnMeaning::Metric(_) => Some((found, unit_of(text))),
        ColumnMeaning::Rate => Some((ColumnMeaning::Metric(Metric::Throughput), unit_of(text))),
        _ => None,
    });
    let Some((metric, unit)) = metric else {
        return;
    };
    let unit = unit.or_else(|| around.clone().find_map(unit_of));
    for column in &mut columns[first..] {
        if !headed(column) {
            continue;
        }
        column.what = metric;
        if let Some(bytes) = sizes(&column.head).filter(|_| bare >= 2 && about_size) {
            column.said.size = Some((bytes, size_word));
        }
        column.unit = unit.filter(|unit| fits(metric, unit));
    }
}

/// Whether a unit has the dimension of a metric.
fn fits(what: ColumnMeaning, unit: &str) -> bool {
    let ColumnMeaning::Metric(metric) = what else {
        return true;
    };
    let known = UNITS.iter().find(|known| known.name == unit);
    known.is_some_and(|known| known.dimension.compares_with(metric.dimension()))
}

impl Parts<'_> {
    pub fn body(&self) -> &[Vec<GridCell>] {
        &self.grid.rows[self.heads..]
    }

    pub fn label(&self, row: &[GridCell]) -> String {
        let mut texts: Vec<&str> = Vec::new();
        for cell in row.iter().take(self.labels) {
            if !cell.text.is_empty() && !texts.contains(&cell.text.as_str()) {
                texts.push(&cell.text);
            }
        }
        texts.join(" ")
    }

    /// What a row says about its trial, by its label and its text cells.
    pub fn said(&self, row: &[GridCell]) -> LabelFacts {
        let label = said(&self.label(row));
        let figure = |at: usize| self.columns.iter().any(|column| column.at == at);
        let others = row.iter().enumerate().skip(self.labels);
        let others = others
            .filter(|(at, _)| !figure(*at))
            .map(|(_, cell)| said(&cell.text));
        others.fold(label, |all, one| all.or(&one))
    }

    pub fn class(&self, row: &[GridCell]) -> Class {
        let said = self.said(row).or(&LabelFacts {
            max: false,
            size: None,
            load: None,
            ..self.context.clone()
        });
        let tags = row.iter().skip(self.labels).filter_map(|cell| {
            let all = figures(&cell.text).ok()?;
            let tags: Vec<String> = all.into_iter().filter_map(|f| f.tag).collect();
            (!tags.is_empty()).then_some(tags)
        });
        Class {
            layer: said.layer,
            direction: said.direction,
            max: said.max,
            forwarding: said.forwarding,
            tags: tags.flatten().collect(),
        }
    }
}

pub fn classes(parts: &Parts<'_>) -> Vec<Class> {
    let mut all: Vec<Class> = Vec::new();
    for row in parts.body() {
        let class = parts.class(row);
        if !all.contains(&class) {
            all.push(class);
        }
    }
    all
}
