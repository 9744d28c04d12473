//! A flame graph: paths of calls as bars, as wide as the instructions that ran in them. Pages draw it; as a file it is an SVG
//! without a script, in which a bar's title has its name and figures. The folded paths, which other tools draw, are in
//! `wirelab stages -o FILE.folded`.

use std::collections::BTreeMap;

use wirelab_trial::Direction;
use wirelab_trial::stage::functions::{BETWEEN, CallPaths};

use crate::chart::flame::{Bar, Flame};
use crate::document::escape::{clip, line, xml};

/// Width of the picture, and height of a bar, in px.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 18.0;
/// Width of a character of the labels, in px.
const CHARACTER: f64 = 6.6;
/// Narrower bars have no label, in px.
const LABELLED: f64 = 24.0;
/// Narrower ones are left out, as a share of the whole.
const NARROWEST: f64 = 0.0004;
/// Most bars: a path is hostile input.
const MOST_BARS: usize = 20_000;
/// Most functions of a path.
const DEEPEST: usize = 128;

/// A function on a path: instructions of a frame in it and in what it calls, now and before.
#[derive(Default)]
struct Node {
    now: f64,
    before: f64,
    calls: BTreeMap<String, Node>,
}

impl Node {
    fn add(&mut self, path: &[String], per_frame: f64, is_now: bool) {
        let mut node = self;
        for n in 0..=path.len().min(DEEPEST) {
            match is_now {
                true => node.now += per_frame,
                false => node.before += per_frame,
            }
            let Some(name) = path.get(n).filter(|_| n < DEEPEST) else {
                return;
            };
            node = node.calls.entry(name.clone()).or_default();
        }
    }
}

/// The head of a stage's paths: its direction and length, then the stage.
fn head(stage: &CallPaths) -> [String; 2] {
    let direction = match stage.direction {
        Direction::Transmit => "transmit",
        _ => "receive",
    };
    [
        format!("{direction} {} B", stage.length_bytes),
        format!("{} to {}", stage.from, stage.to),
    ]
}

/// Paths with their instructions of all frames, one in a line, as tools for flame graphs read them.
pub fn folded(all: &[CallPaths]) -> String {
    let mut out = String::new();
    for stage in all {
        let head = head(stage).join(&BETWEEN.to_string());
        for (path, instructions) in &stage.instructions {
            out.push_str(&format!(
                "{}{BETWEEN}{} {instructions}\n",
                line(&head),
                line(path)
            ));
        }
    }
    out
}

/// The picture of a run, and what changed since another where there is one.
pub fn flame(now: &[CallPaths], before: Option<&[CallPaths]>) -> Flame {
    let mut root = Node::default();
    for (all, is_now) in [(now, true), (before.unwrap_or_default(), false)] {
        for stage in all.iter().filter(|stage| stage.frames > 0) {
            for (path, instructions) in &stage.instructions {
                let mut whole: Vec<String> = head(stage).into();
                whole.extend(path.split(BETWEEN).map(str::to_owned));
                root.add(&whole, *instructions as f64 / stage.frames as f64, is_now);
            }
        }
    }
    let mut flame = Flame {
        name: "instructions of a frame".to_owned(),
        whole: root.now.max(f64::MIN_POSITIVE),
        is_difference: before.is_some(),
        bars: Vec::new(),
    };
    root.draw("all", 0, 0.0, &mut flame);
    flame
}

impl Node {
    /// Adds its bar and those of the functions that it calls; bars too narrow to see are left out.
    fn draw(&self, name: &str, depth: usize, from: f64, flame: &mut Flame) {
        if self.now / flame.whole < NARROWEST || flame.bars.len() >= MOST_BARS {
            return;
        }
        flame.bars.push(Bar {
            name: line(name),
            depth,
            from,
            now: self.now,
            before: self.before,
        });
        let mut at = from;
        for (name, below) in &self.calls {
            below.draw(name, depth + 1, at, flame);
            at += below.now;
        }
    }
}

/// The picture as a file: red bars grew, blue ones shrank.
pub fn svg(now: &[CallPaths], before: Option<&[CallPaths]>) -> String {
    let flame = flame(now, before);
    let height = HEIGHT * flame.rows() as f64;
    let title = match before {
        None => "Instructions of a frame by paths of calls",
        Some(_) => "Instructions of a frame by paths of calls: red grew, blue shrank",
    };
    let bars = flame.bars.iter().map(|bar| drawn(bar, &flame, height));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"11\" role=\"img\">\n<title>{title}</title>\n{}</svg>\n",
        bars.collect::<String>()
    )
}

fn drawn(bar: &Bar, flame: &Flame, height: f64) -> String {
    let [x, width] = [bar.from, bar.now].map(|of| of / flame.whole * WIDTH);
    let y = height - HEIGHT * (bar.depth + 1) as f64;
    let mut out = format!(
        "<g><title>{}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{HEIGHT}\" fill=\"{}\" \
         stroke=\"#ffffff\" stroke-width=\"0.5\"/>",
        xml(&bar.words(flame.is_difference)),
        colour(bar, flame.is_difference)
    );
    if width >= LABELLED {
        let label = clip(&bar.name, (width / CHARACTER) as usize);
        let (x, y) = (x + 3.0, y + HEIGHT - 5.0);
        out.push_str(&format!(
            "<text x=\"{x:.2}\" y=\"{y}\" fill=\"#000000\">{}</text>",
            xml(&label)
        ));
    }
    out + "</g>\n"
}

/// The colour of a bar: of a difference by its growth, else by its name, so that equal functions look alike.
fn colour(bar: &Bar, is_difference: bool) -> String {
    if !is_difference {
        let hash = bar
            .name
            .bytes()
            .fold(7u32, |hash, b| hash.wrapping_mul(31).wrapping_add(b.into()));
        return format!("#{:02x}{:02x}50", 220 + hash % 32, 120 + hash / 32 % 96);
    }
    let most = bar.now.max(bar.before).max(f64::MIN_POSITIVE);
    let share = (bar.now - bar.before) / most;
    let pale = 240 - (share.abs().sqrt() * 160.0) as u32;
    match share {
        share if share > 0.0 => format!("#f0{pale:02x}{pale:02x}"),
        share if share < 0.0 => format!("#{pale:02x}{pale:02x}f0"),
        _ => "#e8e8e8".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(paths: &[(&str, u64)]) -> Vec<CallPaths> {
        vec![CallPaths {
            direction: Direction::Receive,
            length_bytes: 64,
            from: "driver".to_owned(),
            to: "stack".to_owned(),
            frames: 2,
            instructions: paths
                .iter()
                .map(|(path, n)| ((*path).to_owned(), *n))
                .collect(),
        }]
    }

    #[test]
    fn bars_are_as_wide_as_their_instructions() {
        let picture = svg(&run(&[("main;input", 60), ("main;copy", 40)]), None);
        assert!(
            picture.contains("<title>main: 50 instructions of a frame</title>"),
            "{picture}"
        );
        assert!(picture.contains("<title>input: 30 instructions of a frame</title>"));
        assert_eq!(
            picture.matches("width=\"1000.00\"").count(),
            4,
            "all, way, stage, main"
        );
        assert_eq!(picture.matches("width=\"600.00\"").count(), 1);
    }

    #[test]
    fn a_difference_tells_both_and_its_colour_what_grew() {
        let (before, now) = (
            run(&[("main;f", 20), ("main;g", 20)]),
            run(&[("main;f", 60), ("main;g", 20)]),
        );
        let picture = svg(&now, Some(&before));
        assert!(
            picture.contains("f: 30 instructions of a frame, before 10"),
            "{picture}"
        );
        assert!(picture.contains("fill=\"#f0"), "red");
        assert!(!picture.contains("f0\" stroke"), "nothing is blue");
        assert!(picture.contains("fill=\"#e8e8e8\""), "g is as before");
    }

    #[test]
    fn names_of_functions_are_text_and_deep_paths_have_an_end() {
        let deep = vec!["f"; 5_000].join(";");
        let all = run(&[("<script>&\u{1b}", 10), (&deep, 1)]);
        let picture = svg(&all, None);
        assert!(picture.contains("&lt;script&gt;&amp;\u{FFFD}") && !picture.contains("<script"));
        assert!(picture.matches("<rect").count() < 200);
        let text = folded(&run(&[("a;b", 3)]));
        assert_eq!(text, "receive 64 B;driver to stack;a;b 3\n");
    }
}
