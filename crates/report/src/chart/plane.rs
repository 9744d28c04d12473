//! Points and curves over a common axis: figures against the requested or offered load, curves that no figure can lie above.

use serde::Serialize;
use wirelab_trial::{Direction, Kind};

use super::{Axis, list};

/// Most points of a series that are drawn.
const POINTS: usize = 600;

/// Panes over one axis.
#[derive(Serialize)]
pub struct Plane {
    /// The horizontal axis.
    pub x: Axis,
    /// From top to bottom.
    pub panes: Vec<Pane>,
    /// Marked values of the horizontal axis, with their names.
    pub marked: Vec<(f64, String)>,
}

/// One vertical axis, and what is drawn over it.
#[derive(Serialize)]
pub struct Pane {
    /// The vertical axis.
    pub y: Axis,
    /// The figures.
    pub series: Vec<Series>,
    /// Curves to compare them with.
    pub lines: Vec<PlaneLine>,
}

/// Figures of one kind.
#[derive(Serialize)]
pub struct Series {
    /// Its name; empty for the only one.
    pub name: String,
    /// As the node sees it; the shape of its marks.
    pub direction: Option<Direction>,
    /// Where its figures come from; how its marks are filled.
    pub kind: Option<Kind>,
    /// Whether a line joins them.
    pub joined: bool,
    /// The figures, from left to right where they are joined.
    pub points: Vec<Point>,
}

/// A figure.
#[derive(Serialize)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Its largest possible value, if that is larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The lowest and the highest of its repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<(f64, f64)>,
    /// The text of its tooltip: the value with its unit, and its trial.
    pub words: String,
    /// Its trial, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<usize>,
    /// Whether the tester was the limit, and the node may do better.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tester: bool,
}

/// A curve without marks.
#[derive(Serialize)]
pub struct PlaneLine {
    /// Its name.
    pub name: String,
    /// How it is drawn.
    pub look: LineLook,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineLook {
    /// A physical limit, or the ideal.
    Limit,
    /// A cost of each packet.
    PerPacket,
    /// A cost of each byte.
    PerByte,
}

impl Point {
    /// A figure of a trial.
    pub const fn new(x: f64, y: f64, words: String, trial: Option<usize>) -> Point {
        Point {
            x,
            y,
            at_most: None,
            spread: None,
            words,
            trial,
            tester: false,
        }
    }
}

impl Series {
    /// Figures without their own direction or kind.
    pub const fn plain(name: String, joined: bool, points: Vec<Point>) -> Series {
        Series {
            name,
            direction: None,
            kind: None,
            joined,
            points,
        }
    }
}

impl Plane {
    /// Without the figures outside of the axes.
    #[must_use]
    pub fn tidied(mut self) -> Plane {
        let x = &self.x;
        for pane in &mut self.panes {
            let y = &pane.y;
            for series in &mut pane.series {
                series.points.retain(|p| x.has(p.x) && y.has(p.y));
                series.points.truncate(POINTS);
                for point in &mut series.points {
                    point.at_most = point.at_most.filter(|most| y.has(*most));
                    point.spread = point
                        .spread
                        .filter(|(low, high)| y.has(*low) && y.has(*high));
                }
            }
            pane.series.retain(|series| !series.points.is_empty());
            for line in &mut pane.lines {
                line.points
                    .retain(|(across, up)| x.has(*across) && y.has(*up));
            }
            pane.lines.retain(|line| line.points.len() > 1);
        }
        self.panes.retain(|pane| !pane.series.is_empty());
        self.marked.retain(|(value, _)| x.has(*value));
        self
    }

    /// Whether no pane has a figure.
    pub fn is_empty(&self) -> bool {
        self.panes.iter().all(|pane| pane.series.is_empty())
    }

    /// Its figures in words, each once.
    pub fn words(&self) -> String {
        let series = self.panes.iter().flat_map(|pane| &pane.series);
        let points = series.flat_map(|series| &series.points);
        let mut all: Vec<String> = points.map(|point| point.words.clone()).collect();
        all.retain(|words| !words.is_empty());
        all.dedup();
        all.extend(self.marked.iter().map(|(_, name)| name.clone()));
        list(all.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Show;

    fn plane(log: bool, points: &[(f64, f64)]) -> Plane {
        let axis = || Axis {
            log,
            ..Axis::linear("rate", Show::Si)
        };
        let point = |(x, y): &(f64, f64)| Point::new(*x, *y, "p".to_owned(), None);
        let plane = Plane {
            x: axis(),
            panes: vec![Pane {
                y: axis(),
                series: vec![Series::plain(
                    "64 B".to_owned(),
                    true,
                    points.iter().map(point).collect(),
                )],
                lines: Vec::new(),
            }],
            marked: vec![(f64::NAN, "no".to_owned()), (2.0, "bound".to_owned())],
        };
        plane.tidied()
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        for log in [false, true] {
            let odd = [(f64::NAN, 1.0), (1.0, f64::INFINITY), (1e308, 1e308)];
            assert!(plane(log, &odd).is_empty());
            let kept = plane(log, &[(1.0, 1.0), (4.0, 2.0), odd[0]]);
            let json = serde_json::to_string(&kept).unwrap();
            assert!(
                !json.contains("\"x\":null") && !json.contains("\"y\":null"),
                "{json}"
            );
            assert_eq!(kept.panes[0].series[0].points.len(), 2);
            assert_eq!(kept.marked, [(2.0, "bound".to_owned())]);
        }
        assert!(plane(true, &[(0.0, 1.0)]).is_empty());
        assert!(!plane(false, &[(0.0, 1.0)]).is_empty());
    }
}
