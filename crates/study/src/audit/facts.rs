//! Values that follow from a row's trial: sizes, limits, packets per second, and the row's column.

use wirelab_trial::{Extent, Load};
use wirelab_wire::{Layer, LineRate, Size, SizeUnit, Sizes};

use super::range::Range;
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::table::{Row, Study};

/// Data of the largest TCP segment on standard Ethernet, IPv4 without options.
const TCP_SEGMENT: u32 = 1460;

/// A tool may end early by the first share of its time, or late by the second share, but at least by these seconds.
const EARLY: f64 = 0.02;
const LATE: f64 = 0.05;
const LATE_S: f64 = 0.5;

/// A row with the values that follow from its trial.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    pub row: &'a Row,
    pub sizes: Sizes,
    /// Bytes of a frame that throughput counts: the payload, or the data of UDP or TCP.
    pub counted_bytes: f64,
    pub link: Option<LineRate>,
    pub node: &'a str,
    /// Seconds of the report intervals of this row's run, where its reports agree.
    pub interval_s: Option<f64>,
}

/// All rows with a valid size.
pub fn facts(study: &Study) -> Vec<Facts<'_>> {
    let mut all: Vec<Facts<'_>> = study.rows.iter().filter_map(|row| of(study, row)).collect();
    let runs = groups(&all, Facts::same_run);
    let agreed: Vec<Option<f64>> = runs.iter().map(|run| agreed_interval(run)).collect();
    for row in all.iter_mut().filter(|row| row.row.interval.is_some()) {
        let run = runs.iter().position(|run| run[0].same_run(row));
        row.interval_s = run.and_then(|run| agreed[run]);
    }
    all
}

/// The interval that more than half of a run's reports imply.
fn agreed_interval(run: &[Facts<'_>]) -> Option<f64> {
    let implied = run.iter().filter_map(|row| {
        let both = row
            .rounded(Metric::Transfer)
            .zip(row.rounded(Metric::Bandwidth))?;
        Some(interval(both.0 / both.1))
    });
    let all: Vec<f64> = implied.collect();
    let same = |s: &f64| all.iter().filter(|other| *other == s).count();
    all.iter()
        .copied()
        .find(|s| 2 * same(s) > all.len() && all.len() > 1)
}

/// The report interval in seconds nearest to the one that transfer and bandwidth imply.
pub fn interval(implied: Range) -> f64 {
    let seconds = implied.middle();
    let short = [0.1, 0.2, 0.25, 0.5];
    let usual = short.into_iter().find(|s| implied.contains(*s));
    usual.unwrap_or_else(|| seconds.round().clamp(1.0, 3600.0))
}

/// The facts of one row.
pub fn of<'a>(study: &'a Study, row: &'a Row) -> Option<Facts<'a>> {
    if !row.size_known {
        return None;
    }
    let sizes = row.trial.size.resolve(row.trial.framing).ok()?;
    let bits_per_s = row.trial.link_bits_per_s.or(study.link_bits_per_s);
    let counted = sizes.datagram.unwrap_or(sizes.payload);
    Some(Facts {
        row,
        sizes,
        counted_bytes: f64::from(counted),
        link: bits_per_s.and_then(LineRate::new),
        node: row.node.as_deref().unwrap_or(&study.node),
        interval_s: None,
    })
}

impl<'a> Facts<'a> {
    pub fn published(&self, metric: Metric) -> Option<&'a Quantity> {
        self.row.cell(metric).map(|cell| &cell.published)
    }

    /// The values that round to the cell's figure.
    pub fn rounded(&self, metric: Metric) -> Option<Range> {
        self.published(metric).map(Range::rounded)
    }

    /// Bytes of a frame on the link, with preamble and gap.
    pub fn link_bytes(&self) -> f64 {
        self.link.map_or(f64::from(self.sizes.frame) + 20.0, |l| {
            l.overhead.link_bytes(&self.sizes) as f64
        })
    }

    /// The highest rate in bit/s in the unit of throughput. TCP merges small writes into full segments.
    pub fn limit_bits_per_s(&self) -> Option<f64> {
        let link = self.link?;
        let mut sizes = self.sizes;
        let mut counted = self.counted_bytes;
        if self.is_tcp() && counted < f64::from(TCP_SEGMENT) {
            let full = Size::new(SizeUnit::Datagram, TCP_SEGMENT);
            sizes = full.resolve(self.row.trial.framing).ok()?;
            counted = f64::from(TCP_SEGMENT);
        }
        Some(link.frames_per_s(&sizes) * 8.0 * counted)
    }

    pub fn is_tcp(&self) -> bool {
        matches!(
            self.row.trial.framing.layer,
            Layer::TcpIpv4 | Layer::TcpIpv6
        )
    }

    /// Frames of the trial, where their number is given.
    pub fn frames(&self) -> Option<f64> {
        match self.row.trial.extent {
            Extent::Frames { frames } => Some(frames as f64),
            Extent::Time { .. } => None,
        }
    }

    /// The duration of a trial that has one, in seconds. The last data may arrive later.
    pub fn seconds(&self) -> Option<Range> {
        match self.row.trial.extent {
            Extent::Time { time_ps } => {
                let seconds = time_ps as f64 * 1e-12;
                Some(Range {
                    low: seconds * (1.0 - EARLY),
                    high: seconds + (LATE * seconds).max(LATE_S),
                })
            }
            Extent::Frames { .. } => None,
        }
    }

    /// Frames per second that were offered, where the trial states them.
    pub fn offered_per_s(&self) -> Option<f64> {
        let load = self.row.trial.load;
        // Another rule handles a load above the link.
        load.frames_per_s(&self.sizes, self.row.trial.framing.layer, self.link)
            .ok()
            .flatten()
    }

    /// Frames per second of the row with all their uncertainty: rounding, and whether the printed rate includes lost
    /// frames.
    pub fn packets_per_s(&self) -> Option<Range> {
        let bits = 8.0 * self.counted_bytes;
        let printed = self
            .rounded(Metric::FramesPerS)
            .or_else(|| Some(self.rounded(Metric::Throughput)?.scaled(1.0 / bits)))
            .or_else(|| self.offered_per_s().map(Range::exact))?;
        let lost = self.rounded(Metric::Loss).map_or(0.0, |l| l.high.min(1.0));
        Some(Range {
            low: printed.low * (1.0 - lost),
            high: printed.high,
        })
    }

    /// The most likely number of delivered frames per second.
    pub fn delivered_per_s(&self) -> Option<f64> {
        let bits = 8.0 * self.counted_bytes;
        let kept = 1.0 - self.published(Metric::Loss).map_or(0.0, Quantity::base);
        match self.offered_per_s() {
            Some(offered) => Some(offered * kept),
            None => {
                let throughput = self.published(Metric::Throughput).map(|q| q.base() / bits);
                throughput.or_else(|| Some(self.published(Metric::FramesPerS)?.base()))
            }
        }
    }

    pub fn is_max(&self) -> bool {
        self.row.trial.load == Load::Max
    }

    /// The same row as if its frames carried datagrams of `bytes`.
    pub fn with_datagram(&self, bytes: u32) -> Option<Facts<'a>> {
        let size = Size::new(SizeUnit::Datagram, bytes);
        let sizes = size.resolve(self.row.trial.framing).ok()?;
        Some(Facts {
            sizes,
            counted_bytes: f64::from(bytes),
            ..*self
        })
    }

    /// Whether two rows are reports of one run.
    pub fn same_run(&self, other: &Facts<'_>) -> bool {
        self.row.interval.is_some()
            && other.row.interval.is_some()
            && self.node == other.node
            && self.row.trial == other.row.trial
            && self.row.column == other.row.column
    }

    /// Whether two rows differ at most in size and load.
    pub fn same_kind(&self, other: &Facts<'_>) -> bool {
        let (a, b) = (&self.row.trial, &other.row.trial);
        !self.row.limit
            && !other.row.limit
            && self.node == other.node
            && a.framing == b.framing
            && a.direction == b.direction
            && a.ports == b.ports
            && a.buffers == b.buffers
            && self.row.point == other.row.point
            && self.row.window == other.row.window
            && self.row.forwarding == other.row.forwarding
            && self.row.interval.is_none()
            && other.row.interval.is_none()
            && a.link_bits_per_s == b.link_bits_per_s
    }

    /// Whether the study puts two rows into one column: by name, or because they differ at most in size and load.
    pub fn same_column(&self, other: &Facts<'_>) -> bool {
        match (&self.row.column, &other.row.column) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.same_kind(other) && self.row.set == other.row.set,
            _ => false,
        }
    }
}

/// Rows in groups: each row joins the first group whose first row it belongs to.
pub fn groups<'a>(
    rows: &[Facts<'a>],
    belongs: impl Fn(&Facts<'a>, &Facts<'a>) -> bool,
) -> Vec<Vec<Facts<'a>>> {
    let mut groups: Vec<Vec<Facts<'a>>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| belongs(&group[0], row)) {
            Some(group) => group.push(*row),
            None => groups.push(vec![*row]),
        }
    }
    groups
}
