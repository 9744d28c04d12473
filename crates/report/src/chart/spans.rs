//! What latencies span: the events on a frame's path in order, and the first and last event of each figure.

use serde::Serialize;

use super::list;
use crate::document::escape::{clip, line};

/// Its caption.
pub const SPANS: &str = "What each latency spans";
/// Longest name of a figure or an event.
const NAME: usize = 24;
/// Characters between the names of two events, at least.
const APART: usize = 3;

/// Events, and the figures between them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Spans {
    /// The events from left to right.
    pub events: Vec<FrameEvent>,
    /// The figures from top to bottom.
    pub rows: Vec<SpanFigure>,
}

/// Something that happens to a frame.
#[derive(Clone, Debug, Serialize)]
pub struct FrameEvent {
    /// Its name in a word or two.
    pub name: String,
    /// Its meaning in a sentence.
    pub about: String,
}

/// A figure.
#[derive(Clone, Debug, Serialize)]
pub struct SpanFigure {
    /// Its name.
    pub name: String,
    /// Indices of its first and last event; several pairs for a sum.
    pub parts: Vec<(usize, usize)>,
    /// The text of its tooltip.
    pub words: String,
}

impl Spans {
    /// Adds an event after the others, or finds the last one if it has the same name; returns its place.
    pub fn event(&mut self, name: &str, about: &str) -> usize {
        let name = clip(&line(name), NAME);
        if self.events.last().is_none_or(|last| last.name != name) {
            let about = line(about);
            self.events.push(FrameEvent { name, about });
        }
        self.events.len() - 1
    }

    /// Adds a figure.
    pub fn row(&mut self, name: &str, parts: Vec<(usize, usize)>) {
        let name = clip(&line(name), NAME);
        let each = parts.iter().map(|(from, to)| {
            let of = |at: &usize| self.events[*at].name.as_str();
            format!("from {} to {}", of(from), of(to))
        });
        let each: Vec<String> = each.collect();
        let words = format!("{name}: {}", each.join(", and "));
        self.rows.push(SpanFigure { name, parts, words });
    }

    /// Its figures in words.
    pub fn words(&self) -> String {
        list(self.rows.iter().map(|row| row.words.clone()))
    }

    /// The meaning of each event, in sentences, each once.
    pub fn about(&self) -> Vec<String> {
        let each = self.events.iter().filter(|event| !event.about.is_empty());
        let mut all: Vec<String> = Vec::new();
        for text in each.map(|event| format!("{}: {}", event.name, event.about)) {
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    }

    /// The picture in lines of characters; in words if these do not fit.
    pub fn drawn(&self, width: usize) -> Vec<String> {
        let count = |text: &str| text.chars().count();
        let margin = self.rows.iter().map(|row| count(&row.name)).max();
        let margin = margin.unwrap_or(0) + 2;
        let mut head = " ".repeat(margin);
        let mut places = Vec::new();
        for event in &self.events {
            let wide = count(&event.name);
            places.push(count(&head) + wide / 2);
            head.push_str(&event.name);
            head.push_str(&" ".repeat(APART));
        }
        let head = head.trim_end().to_owned();
        if count(&head) > width {
            return self.rows.iter().map(|row| row.words.clone()).collect();
        }
        let rows = self.rows.iter().map(|row| {
            let mut cells: Vec<char> = row.name.chars().collect();
            let last = places.last().map_or(0, |place| place + 1);
            cells.resize(last.max(margin), ' ');
            for (from, to) in &row.parts {
                let (from, to) = (places[*from], places[*to]);
                cells[from..=to].fill('─');
                (cells[from], cells[to]) = ('├', '┤');
            }
            String::from_iter(cells).trim_end().to_owned()
        });
        std::iter::once(head).chain(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive() -> Spans {
        let mut spans = Spans::default();
        let of = ["line", "MAC", "driver", "application"];
        let [wire, mac, driver, application] = of.map(|name| spans.event(name, "it happens"));
        spans.row("PHY", vec![(wire, mac)]);
        spans.row("node", vec![(driver, application)]);
        spans.row("total", vec![(wire, mac), (driver, application)]);
        spans
    }

    #[test]
    fn each_figure_is_drawn_from_its_first_event_to_its_last() {
        let drawn = receive().drawn(40);
        let expected = [
            "       line   MAC   driver   application",
            "PHY      ├─────┤",
            "node                   ├──────────┤",
            "total    ├─────┤       ├──────────┤",
        ];
        assert_eq!(drawn, expected);
        let narrow = receive().drawn(39);
        assert_eq!(
            narrow[2],
            "total: from line to MAC, and from driver to application"
        );
    }

    #[test]
    fn an_event_in_which_one_way_ends_and_the_next_begins_is_one() {
        let mut spans = receive();
        let again = spans.event("application", "it happens");
        let driver = spans.event("driver", "it happens");
        assert_eq!((again, driver), (3, 4));
        assert_eq!(spans.about().len(), 4, "what a driver is, is said once");
    }
}
