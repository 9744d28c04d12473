//! Charts as data, and how a page draws them (SVG) and a terminal (characters). They know nothing of reports.

pub mod bins;
pub mod delays;
pub mod histogram;
pub mod lanes;
pub mod loss;
pub mod roofline;
pub mod scatter;
mod svg;
pub mod timeline;
pub mod unit;
pub mod xy;

pub use svg::nice;

/// What a picture shows, as data.
pub enum Picture {
    /// Curves over two axes.
    Plane(xy::Plane),
    /// Values and how often each occurred.
    Distribution(histogram::Distribution),
    /// How much each trial and direction lost.
    Loss(Vec<loss::Bar>),
    /// A figure of each flow against a size.
    Scatter(scatter::Scatter),
}

impl Picture {
    /// The picture as SVG, `id` being unique in the page; `None` where it has nothing to show.
    pub fn draw(&self, id: &str, title: &str) -> Option<String> {
        match self {
            Picture::Plane(plane) => xy::draw(plane, id, title),
            Picture::Distribution(of) => Some(histogram::draw(of, id, title)),
            Picture::Loss(bars) => loss::draw(bars, id),
            Picture::Scatter(of) => scatter::draw(of, id, title),
        }
    }

    /// Its main figures in words.
    pub fn words(&self) -> Option<String> {
        match self {
            Picture::Distribution(of) => Some(of.words()),
            _ => None,
        }
    }
}
