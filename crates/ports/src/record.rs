//! What one direction alone counted: a record for scripts, and the same figures in words for a reader.

use serde::Serialize;
use wirelab_port::job::SendReport;
use wirelab_trial::{CountedRows, Counts, Histogram, Kind, Trial, format};

use crate::Path;
use crate::checker::FramePath;
use crate::one_way::Received;

/// What arrived.
#[derive(Debug, Serialize)]
pub struct Arrived<'a> {
    counts: &'a Counts,
    sent_frames: Option<u64>,
    frames_per_s: Option<f64>,
    checker_missed_frames: u64,
    checker_missed_frames_at_most: Option<u64>,
    checker_held_up_ns: Option<u64>,
    link_fault: Option<&'a str>,
    notes: &'a [String],
    path: FramePath,
    kind: Kind,
}

impl<'a> Arrived<'a> {
    /// Of a receiver; `sent_frames` is the sender's number where it is known.
    pub fn of(received: &'a Received, sent_frames: Option<u64>) -> Arrived<'a> {
        let report = &received.report;
        Arrived {
            counts: &report.counts,
            sent_frames,
            frames_per_s: report.frames_per_s(),
            checker_missed_frames: report.missed.at_least,
            checker_missed_frames_at_most: report.missed.bound(),
            checker_held_up_ns: report.held_up_ns,
            link_fault: received.link_fault.as_deref(),
            notes: &report.notes,
            path: received.path,
            kind: Kind::Measured,
        }
    }

    /// How many frames arrived, and how fast.
    pub fn title(&self) -> String {
        format!(
            "{} of the flow at {}",
            format::count(self.counts.received_frames, "frame"),
            at_rate(self.frames_per_s, self.kind, self.path)
        )
    }

    /// The frames by what the checker found.
    pub fn rows(&self) -> CountedRows {
        let mut rows = self.counts.verdicts(&self.dropped());
        rows.extend(self.sent_frames.map(|sent| self.counts.lost_of(sent)));
        rows
    }

    /// Drops of the host before the checker: of the missing frames where their number is known, otherwise of the port.
    fn dropped(&self) -> [(&'static str, u64); 2] {
        match self.sent_frames {
            Some(_) => [
                (
                    "dropped by this host before they were checked, and not lost",
                    self.counts.missed_frames,
                ),
                (
                    "lost, or dropped by this host before they were checked",
                    self.counts.lost_or_missed_frames,
                ),
            ],
            None => [
                (
                    "at least dropped by this host before they were checked",
                    self.checker_missed_frames,
                ),
                (
                    "at most dropped by this host before they were checked, or later without a receiver",
                    self.checker_missed_frames_at_most.unwrap_or(0),
                ),
            ],
        }
    }

    /// What a reader must know of the counts: possible causes of missing frames at the tester or its link, and notes.
    pub fn remarks(&self) -> Vec<String> {
        let unknown = self.sent_frames.is_none();
        let unknown =
            unknown.then(|| "losses need the sender's number: give it with --sent".to_owned());
        let held_ns = self.checker_held_up_ns.filter(|ns| *ns > 0);
        let held = held_ns.map(|ns| {
            format!(
                "this host paused the checker for {}",
                format::time(ns.saturating_mul(1000))
            )
        });
        let link = self
            .link_fault
            .map(|fault| format!("{fault}: missing frames may have been lost by the link"));
        let remarks = unknown.into_iter().chain(held).chain(link);
        remarks.chain(self.notes.iter().cloned()).collect()
    }
}

fn at_rate(frames_per_s: Option<f64>, kind: Kind, path: FramePath) -> String {
    let rate = frames_per_s.map_or("–".to_owned(), format::frame_rate);
    format!("{rate} frames/s ({kind}, path {})", path.word())
}

/// What was sent.
#[derive(Debug, Serialize)]
pub struct Sent<'a> {
    sent_frames: u64,
    sequences: u64,
    refused_frames: u64,
    achieved_frames_per_s: Option<f64>,
    slips: u64,
    slipped_ns: u64,
    longest_burst_frames: Option<u64>,
    #[serde(rename = "asked_frames_per_s")]
    requested_frames_per_s: Option<f64>,
    kept_rate: Option<bool>,
    gap: &'a Histogram,
    path: FramePath,
    interrupted: bool,
    kind: Kind,
}

impl<'a> Sent<'a> {
    /// Of a sender of the trial, by [`crate::one_way::send`].
    pub fn of(report: &'a SendReport, trial: &Trial, path: Path, interrupted: bool) -> Sent<'a> {
        let requested_frames_per_s = trial.sizes().ok().and_then(|sizes| {
            let (load, layer) = (trial.load, trial.framing.layer);
            let rate = load.frames_per_s(&sizes, layer, trial.link());
            rate.ok().flatten()
        });
        Sent {
            sent_frames: report.emitted_frames,
            sequences: report.sequences,
            refused_frames: report.refused_frames,
            achieved_frames_per_s: report.frames_per_s(),
            slips: report.slips,
            slipped_ns: report.slipped_ns,
            longest_burst_frames: report.longest_burst_frames,
            requested_frames_per_s,
            kept_rate: report.kept_rate(requested_frames_per_s),
            gap: &report.gap,
            path: match path {
                Path::Xdp => FramePath::Xdp,
                Path::Auto | Path::Packet => FramePath::Packet,
            },
            interrupted,
            kind: Kind::Measured,
        }
    }

    /// Whether every requested frame was sent.
    pub fn is_whole(&self) -> bool {
        self.refused_frames == 0 && !self.interrupted
    }

    /// How fast it was.
    pub fn title(&self) -> String {
        let rate = at_rate(self.achieved_frames_per_s, self.kind, self.path);
        format!("sent at {rate}")
    }

    /// The frames that left, and those that did not.
    pub fn rows(&self) -> CountedRows {
        let sequences = self.sequences;
        let last = sequences.saturating_sub(1);
        let sent = format!("sent (sequences 0 to {last})");
        match self.refused_frames {
            0 => vec![(
                self.sent_frames,
                format!("{sent}; check with --sent {sequences}"),
            )],
            // A receiver does not know which sequences were not sent.
            refused => vec![
                (self.sent_frames, sent),
                (refused, "refused by the driver, not sent".to_owned()),
            ],
        }
    }

    /// What was not as requested.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let (Some(requested), Some(false)) = (self.requested_frames_per_s, self.kept_rate) {
            let requested = format::frame_rate(requested);
            remarks.push(format!(
                "the sender fell behind the requested {requested} frames/s; fix: free the processors, or offer less"
            ));
        }
        if self.interrupted {
            remarks.push("interrupted: not everything requested was sent".to_owned());
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use wirelab_trial::{Direction, Extent, Framing, Load, Size, SizeUnit};

    use super::*;

    #[test]
    fn what_was_sent_is_in_rows_with_remarks() {
        let trial = Trial::new(
            Framing::default(),
            Direction::Transmit,
            Size::new(SizeUnit::Frame, 64),
            Load::FrameRate {
                frames_per_s: 2_000.0,
            },
            Extent::Frames { frames: 1_000 },
        );
        let report = SendReport {
            emitted_frames: 995,
            sequences: 1_000,
            refused_frames: 5,
            last_ns: 994_000_000,
            ..SendReport::default()
        };
        let sent = Sent::of(&report, &trial, Path::Auto, true);
        assert_eq!(
            sent.title(),
            "sent at 1,000 frames/s (measured, path packet)"
        );
        let rows = [
            (995, "sent (sequences 0 to 999)".to_owned()),
            (5, "refused by the driver, not sent".to_owned()),
        ];
        assert_eq!(sent.rows(), rows);
        let remarks = [
            "the sender fell behind the requested 2,000 frames/s; fix: free the processors, or offer less",
            "interrupted: not everything requested was sent",
        ];
        assert_eq!(sent.remarks(), remarks);
        assert!(!sent.is_whole());
        let all = SendReport {
            emitted_frames: 1_000,
            refused_frames: 0,
            last_ns: 499_500_000,
            ..report
        };
        let sent = Sent::of(&all, &trial, Path::Auto, false);
        let row = "sent (sequences 0 to 999); check with --sent 1000".to_owned();
        assert_eq!(sent.rows(), [(1_000, row)]);
        assert!(sent.remarks().is_empty() && sent.is_whole());
    }
}
