//! A table before it has a format: columns that know their unit, cells that know their kind or why they are
//! empty, and the numbered notes that say so.

use std::borrow::Cow;
use std::collections::HashMap;

use wirelab_trial::format::integer;
use wirelab_trial::{CountedRows, Field, Kind};

/// The content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// The request, or a name.
    Text(String),
    /// The trial has no usable figures: a page sets its row apart.
    Void,
    /// The numbers of a row's trials, from 1: a page marks those that have notices of their own.
    Trials(Vec<usize>),
    /// A figure with its kind; `alarm` where a reader must look.
    Figure {
        /// As it is shown, without its unit.
        text: String,
        /// Where it comes from.
        kind: Kind,
        /// Whether it reports a fault.
        alarm: bool,
    },
    /// No figure, and why.
    Absent(String),
    /// A share, 0 to 1, as a bar.
    Bar(f64),
    /// Words, each with the address to which a page leads; a text has the words.
    Links(Vec<(String, String)>),
    /// A command.
    Command(String),
    /// A box in a form of a page, by its name and value; a text has none.
    Tick(&'static str, String),
    /// A word that a note explains.
    Noted {
        /// The word.
        text: String,
        /// The note.
        note: String,
        /// Where it comes from, where it is a figure.
        kind: Option<Kind>,
        /// Whether it reports a fault.
        alarm: bool,
    },
}

/// The word for a trial without usable figures.
const VOID: &str = "VOID";

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl Cell {
    /// A field as it is shown.
    pub fn of<T>(field: Field<T>, show: impl Fn(T) -> String) -> Cell {
        match field {
            Field::Observed { value, kind } => Cell::Figure {
                text: show(value),
                kind,
                alarm: false,
            },
            Field::Absent { absent } => Cell::Absent(absent),
        }
    }

    /// A count that should be 0.
    pub fn fault(field: Field<u64>) -> Cell {
        let wrong = field.value().is_some_and(|n| *n > 0);
        Cell::of(field, crate::format::integer).alarmed(wrong)
    }

    /// The same figure, marked as a fault or not.
    #[must_use]
    pub fn alarmed(mut self, wrong: bool) -> Cell {
        if let Cell::Figure { alarm, .. } | Cell::Noted { alarm, .. } = &mut self {
            *alarm = wrong;
        }
        self
    }

    /// Whether it reports a fault.
    pub const fn alarm(&self) -> bool {
        match self {
            Cell::Figure { alarm, .. } | Cell::Noted { alarm, .. } => *alarm,
            _ => false,
        }
    }

    /// The kind of a figure.
    pub const fn kind(&self) -> Option<Kind> {
        match self {
            Cell::Figure { kind, .. } => Some(*kind),
            Cell::Noted { kind, .. } => *kind,
            _ => None,
        }
    }

    /// Its explanation: why it is absent, or what a reader must know of the figure.
    pub fn note(&self) -> Option<&str> {
        match self {
            Cell::Absent(note) | Cell::Noted { note, .. } => Some(note),
            _ => None,
        }
    }

    /// Its text with the mark of its kind, without its note.
    pub fn marked(&self, column: ColumnKind) -> String {
        let text = match self {
            Cell::Text(text)
            | Cell::Command(text)
            | Cell::Figure { text, .. }
            | Cell::Noted { text, .. } => text,
            Cell::Links(links) => {
                let words: Vec<&str> = links.iter().map(|(words, _)| &**words).collect();
                return words.join(" ");
            }
            Cell::Tick(..) => "",
            Cell::Void => VOID,
            Cell::Trials(numbers) => return trial_numbers(numbers),
            Cell::Absent(_) => "–",
            Cell::Bar(share) => {
                let full = (share.clamp(0.0, 1.0) * 20.0).round() as usize;
                return format!("{}{}", "#".repeat(full), ".".repeat(20 - full));
            }
        };
        match self.kind().map_or("", |kind| column.mark(kind)) {
            "" => text.to_owned(),
            mark => format!("{text} {mark}"),
        }
    }

    /// The same figure with a note beside it.
    #[must_use]
    pub fn with_note(self, note: impl Into<String>) -> Cell {
        let kind = self.kind();
        match self {
            Cell::Figure { text, alarm, .. } => Cell::Noted {
                text,
                note: note.into(),
                kind,
                alarm,
            },
            cell => cell,
        }
    }
}

/// Numbers of trials with commas.
pub fn trial_numbers(all: &[usize]) -> String {
    let all: Vec<String> = all.iter().map(usize::to_string).collect();
    all.join(", ")
}

/// Columns of this rank and above stay, even if the layout must become narrower for them.
pub const WORTH: u8 = 8;

/// When a column is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In every table.
    Always,
    /// Where any row has a figure in it.
    IfObserved,
    /// Where rows differ in it; what they have in common is said above the table.
    IfVaries,
}

/// Head of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The unit of its figures; empty for words.
    pub unit: &'static str,
    /// Whether it holds numbers, which are set to the right.
    pub number: bool,
    /// When it is shown.
    pub shown: Shown,
    /// Importance: where room is short, the column with the lowest number goes first; 0 always stays.
    pub rank: u8,
}

impl Head {
    /// A column of words.
    pub fn words(name: impl Into<Cow<'static, str>>, shown: Shown, rank: u8) -> Head {
        Head {
            name: name.into(),
            unit: "",
            number: false,
            shown,
            rank,
        }
    }

    /// A column of figures with their unit.
    pub fn figures(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        shown: Shown,
        rank: u8,
    ) -> Head {
        Head {
            unit,
            number: true,
            ..Head::words(name, shown, rank)
        }
    }

    /// A column of words that is always shown.
    pub fn text(name: impl Into<Cow<'static, str>>) -> Head {
        Head::words(name, Shown::Always, 0)
    }

    /// A column of figures that is always shown; counts have no unit.
    pub fn number(name: impl Into<Cow<'static, str>>, unit: &'static str) -> Head {
        Head::figures(name, unit, Shown::Always, 0)
    }
}

impl<N: Into<Cow<'static, str>>> From<(N, bool)> for Head {
    /// The name of a column, `true` for one of numbers.
    fn from((name, number): (N, bool)) -> Head {
        Head {
            number,
            ..Head::text(name)
        }
    }
}

/// The type of a table, which decides its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Figures of trials, with a line for units and one for kinds.
    Figures,
    /// Rows of an explanation, whose last column is a sentence.
    Sentences,
    /// A published page's layout: the name of a row stands once for several.
    Sheet,
    /// Delay tables: a point and a size name a row, and the point stands once.
    Delays,
    /// The set-up that a node reports.
    Setup,
    /// Published figures beside others.
    Study,
}

impl Look {
    /// Leading columns that name a row; they are repeated where the others do not fit beside each other.
    pub const fn labels(self) -> usize {
        match self {
            Look::Delays => 2,
            _ => 1,
        }
    }

    /// Whether the same name in rows that follow one another stands in the first of them alone.
    pub const fn names_once(self) -> bool {
        matches!(self, Look::Sheet | Look::Delays | Look::Study)
    }
}

/// Columns that stay together, behind those that name a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Lines above them; none where they stand without a heading.
    pub above: Vec<String>,
    /// How many columns.
    pub columns: usize,
}

/// Columns and rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// Its type.
    pub look: Look,
    /// Name, unit and rank of each column.
    pub heads: Vec<Head>,
    /// Groups of the columns behind those that name a row; none where each stands alone.
    pub groups: Vec<Group>,
    /// Rows of as many cells as there are heads.
    pub rows: Vec<Vec<Cell>>,
    /// The first of the separate rows at the end.
    pub apart: usize,
    /// Columns left out because every row is alike in them: name and text.
    pub common: Vec<(Cow<'static, str>, String)>,
}

impl Table {
    /// A table of all columns, less those that `shown` takes out.
    pub fn new(caption: impl Into<String>, heads: Vec<Head>, rows: Vec<Vec<Cell>>) -> Table {
        let mut table = Table {
            caption: caption.into(),
            look: Look::Figures,
            heads,
            groups: Vec::new(),
            apart: rows.len(),
            rows,
            common: Vec::new(),
        };
        for at in (0..table.heads.len()).rev() {
            let head = table.heads[at].clone();
            let mut cells = table.rows.iter().map(|row| &row[at]);
            let keep = match head.shown {
                Shown::Always => true,
                Shown::IfObserved => cells.any(|c| c.kind().is_some()),
                Shown::IfVaries => {
                    let first = cells.next();
                    let alike = cells.all(|c| Some(c) == first);
                    let text = match first {
                        Some(Cell::Text(text)) => text,
                        Some(Cell::Void) => VOID,
                        _ => "",
                    };
                    if alike && !text.is_empty() {
                        let text = text.to_owned();
                        table.common.insert(0, (head.name, text));
                    }
                    !alike
                }
            };
            if !keep {
                table.drop_column(at);
            }
        }
        table
    }

    /// A table of sentences: its columns, each a head or a name with `true` for one of numbers, and rows.
    pub fn sentences<H: Into<Head>, C: Into<Cell>>(heads: Vec<H>, rows: Vec<Vec<C>>) -> Table {
        let cells = |row: Vec<C>| row.into_iter().map(Into::into).collect();
        Table {
            look: Look::Sentences,
            ..Table::new(
                "",
                heads.into_iter().map(Into::into).collect(),
                rows.into_iter().map(cells).collect(),
            )
        }
    }

    /// Counted frames, a row for each number of them.
    pub fn counted(caption: &str, rows: CountedRows) -> Table {
        let row = |(n, what)| vec![Cell::of(Field::measured(n), integer), Cell::Text(what)];
        Table {
            caption: caption.to_owned(),
            ..Table::sentences(
                vec![("frames", true), ("", false)],
                rows.into_iter().map(row).collect(),
            )
        }
    }

    /// A table in a published page's layout: what its rows are, groups of columns with their words, and rows.
    pub fn sheet(
        corner: &'static str,
        groups: Vec<(String, Vec<Head>)>,
        rows: Vec<Vec<Cell>>,
    ) -> Table {
        let mut heads = vec![Head::words(corner, Shown::Always, 0)];
        let mut of = Vec::new();
        for (above, columns) in groups {
            of.push(Group {
                above: (!above.is_empty()).then_some(above).into_iter().collect(),
                columns: columns.len(),
            });
            heads.extend(columns);
        }
        let mut table = Table {
            look: Look::Sheet,
            groups: of,
            ..Table::new("", Vec::new(), rows)
        };
        table.heads = heads;
        for at in (1..table.heads.len()).rev() {
            let observed = table.rows.iter().any(|row| row[at].kind().is_some());
            if table.heads[at].shown == Shown::IfObserved && !observed {
                table.drop_column(at);
            }
        }
        table
    }

    /// Take out one column.
    pub fn drop_column(&mut self, at: usize) {
        let mut first = self.look.labels();
        for group in &mut self.groups {
            if (first..first + group.columns).contains(&at) {
                group.columns -= 1;
                break;
            }
            first += group.columns;
        }
        self.groups.retain(|group| group.columns > 0);
        self.heads.remove(at);
        for row in &mut self.rows {
            row.remove(at);
        }
    }

    /// The kind that all figures of a column share.
    pub fn column_kind(&self, at: usize) -> ColumnKind {
        let mut kinds = self.rows.iter().filter_map(|row| row[at].kind());
        match kinds.next() {
            None => ColumnKind::None,
            Some(first) if kinds.all(|k| k == first) => ColumnKind::One(first),
            Some(_) => ColumnKind::Several,
        }
    }

    /// Leave out side figures until a row is about `room` characters long; their names.
    pub fn narrow(&mut self, room: usize) -> Vec<Cow<'static, str>> {
        let mut left_out = Vec::new();
        while self.estimate() > room {
            let side = self.heads.iter().enumerate();
            let side = side.filter(|(_, h)| (1..WORTH).contains(&h.rank));
            let Some((at, head)) = side.min_by_key(|(_, h)| h.rank) else {
                break;
            };
            left_out.push(head.name.clone());
            self.drop_column(at);
        }
        left_out
    }

    /// The unit of a column in text; the words above a table of delays say it for all.
    pub fn unit(&self, head: &Head) -> &'static str {
        if self.look == Look::Delays {
            ""
        } else {
            head.unit
        }
    }

    /// Words above the columns, a line each; how many lines there are.
    pub fn lines_above(&self) -> usize {
        let lines = self.groups.iter().map(|group| group.above.len());
        lines.max().unwrap_or(0)
    }

    /// How many rows from `at` on have its name, itself included; 0 where the name stands above already.
    pub fn span(&self, at: usize) -> usize {
        let named = |row: usize| self.rows[row][0] == self.rows[at][0];
        if !self.look.names_once() {
            return 1;
        }
        if at > 0 && at != self.apart && named(at - 1) {
            return 0;
        }
        let end = match at < self.apart {
            true => self.apart,
            false => self.rows.len(),
        };
        (at..end).take_while(|row| named(*row)).count()
    }

    /// Characters of the widest head or cell of each column, with a gap.
    fn estimate(&self) -> usize {
        let of = |at: usize| {
            let head = &self.heads[at];
            let kind = self.column_kind(at).head();
            let heads = [&*head.name, head.unit, kind].map(|t| t.chars().count());
            let cells = self.rows.iter().map(|row| {
                let number = match &row[at] {
                    Cell::Absent(_) => 1,
                    Cell::Noted { .. } => 3,
                    _ => 0,
                };
                row[at].marked(ColumnKind::None).chars().count() + number
            });
            cells.chain(heads).max().unwrap_or(0) + 2
        };
        (0..self.heads.len()).map(of).sum()
    }

    /// The kind that all figures of the table share, where they do.
    pub fn kind(&self) -> Option<Kind> {
        let of_several = |cell: &Cell| {
            self.look == Look::Sheet && matches!(cell, Cell::Noted { kind: None, .. })
        };
        if self.rows.iter().flatten().any(of_several) {
            return None;
        }
        let mut kinds = self.rows.iter().flatten().filter_map(Cell::kind);
        let first = kinds.next()?;
        kinds.all(|k| k == first).then_some(first)
    }

    /// The name of the rows, which stands before what they have in common.
    pub const fn all_of(&self) -> &'static str {
        match self.look {
            Look::Study => "All figures",
            _ => "All trials",
        }
    }

    /// What the rows have in common, in words.
    pub fn common_text(&self) -> Option<String> {
        if self.common.is_empty() {
            return None;
        }
        let texts: Vec<String> = self
            .common
            .iter()
            .map(|(name, text)| format!("{name} {text}"))
            .collect();
        Some(texts.join(", "))
    }
}

/// Where the figures of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// It holds no figures.
    None,
    /// All are of one kind, which the head names.
    One(Kind),
    /// They differ, so that each figure names its own.
    Several,
}

impl ColumnKind {
    /// The kind as the head names it.
    pub const fn head(self) -> &'static str {
        match self {
            ColumnKind::None => "",
            ColumnKind::One(kind) => kind.name(),
            ColumnKind::Several => "kind marked",
        }
    }

    /// The short mark of a figure's kind; empty where the head names it.
    pub const fn mark(self, kind: Kind) -> &'static str {
        match self {
            ColumnKind::None | ColumnKind::One(_) => "",
            ColumnKind::Several => kind.short(),
        }
    }
}

/// Reasons for absent figures, numbered in the order of appearance.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Notes {
    /// The number of a reason, from 1; the same reason keeps its number.
    pub fn number(&mut self, reason: &str) -> usize {
        if let Some(number) = self.numbers.get(reason) {
            return *number;
        }
        self.texts.push(reason.to_owned());
        self.numbers.insert(reason.to_owned(), self.texts.len());
        self.texts.len()
    }

    /// Numbers and reasons.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.texts
            .iter()
            .enumerate()
            .map(|(at, t)| (at + 1, t.as_str()))
    }
}
