//! Where slots and DMA are level: each delay at each length with each pair of wait states, and which is faster.

use wirelab_trial::crossover::{Ahead, Crossover, CrossoverChange, Slots, crossovers};
use wirelab_trial::format::{decimal, integer};
use wirelab_trial::{Direction, ResultsFile};

use crate::document::Block;
use crate::document::table::Head;

/// The title of a page with only this.
pub const TITLE: &str = "Where slots and DMA are level";
/// ps of the unit of the table, µs.
const UNIT_PS: f64 = 1e6;

/// The tables, one for each direction; none if a file has no slots with several wait states, or no DMA.
pub fn blocks(file: &ResultsFile) -> Vec<Block<'static>> {
    let all = crossovers(file);
    let mut out = Vec::new();
    for (direction, word) in [
        (Direction::Receive, "received"),
        (Direction::Transmit, "sent"),
    ] {
        let mine = |c: &&Crossover| c.direction == direction;
        let mut left: Vec<&Crossover> = all.iter().filter(mine).collect();
        // Measurements with other wait states have other columns.
        while let Some(first) = left.first().copied() {
            let like =
                |c: &&Crossover| c.attachment == first.attachment && pairs(c).eq(pairs(first));
            let (table, others) = left.into_iter().partition::<Vec<_>, _>(like);
            left = others;
            out.push(Block::heading(format!(
                "Slots ({}) beside DMA, {word}",
                first.attachment
            )));
            out.push(Block::Words(
                "Mean delays (measured): of slots by clocks from one read of their bus to the next and from one write \
                 to the next, and of DMA. Level is where a straight line between two pairs has the mean of DMA."
                    .to_owned(),
            ));
            out.push(grid(&table));
        }
    }
    out
}

fn pairs(crossover: &Crossover) -> impl Iterator<Item = (u32, u32)> {
    let slots = crossover.slots.iter();
    slots.map(|slots| (slots.read_clocks, slots.write_clocks))
}

fn pair(slots: &Slots) -> String {
    format!("{},{}", slots.read_clocks, slots.write_clocks)
}

fn grid(table: &[&Crossover]) -> Block<'static> {
    let mut heads = vec![Head::text("delay"), Head::number("length", "B")];
    let slots = table.iter().take(1).flat_map(|first| &first.slots);
    heads.extend(slots.map(|slots| Head::number(pair(slots), "µs")));
    heads.extend([
        Head::number("DMA", "µs"),
        Head::text("ahead"),
        Head::number("level at", "clk"),
    ]);
    let rows = table.iter().map(|row| cells(row));
    Block::sentences(heads, rows.collect())
}

fn cells(row: &Crossover) -> Vec<String> {
    let us = |ps: f64| decimal(ps / UNIT_PS, 2);
    let path = row.path.map(|path| format!(" ({path})"));
    let mut cells = vec![
        format!("{} to {}{}", row.from, row.to, path.unwrap_or_default()),
        integer(row.length_bytes.into()),
    ];
    cells.extend(row.slots.iter().map(|slots| us(slots.mean_ps)));
    let level = row.changes.iter().map(|change| {
        let (read, write) = (change.level_read_clocks, change.level_write_clocks);
        format!("{},{}", decimal(read, 1), decimal(write, 1))
    });
    let level: Vec<String> = level.collect();
    cells.extend([us(row.dma_mean_ps), ahead(row), level.join("; ")]);
    cells
}

/// Which is faster, throughout or up to which pair.
fn ahead(row: &Crossover) -> String {
    let name = |who: Ahead| match who {
        Ahead::Slots => "slots",
        Ahead::Dma => "DMA",
        Ahead::Level => "level",
    };
    let first = row.slots.first().map_or("", |slots| name(slots.ahead));
    if row.changes.is_empty() {
        return format!("{first} throughout");
    }
    let from = |change: &CrossoverChange| {
        let next = row.slots.get(change.after + 1);
        format!(
            "{} from {}",
            name(change.then),
            next.map_or(String::new(), pair)
        )
    };
    let changes: Vec<String> = row.changes.iter().map(from).collect();
    format!("{first}, {}", changes.join(", "))
}
