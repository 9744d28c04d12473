//! A node that is only watched, over the run: how many frames passed, and how busy its cores were meanwhile.

use std::time::Instant;

use wirelab_cores::course::EVERY;
use wirelab_cores::{Course, Meter, allowed};
use wirelab_trial::over_time::{Cores, MOST_KEPT};
use wirelab_trial::slices::{Marks, Totals};
use wirelab_trial::stage::PointTimes;
use wirelab_trial::{BusyOverTime, FlowObservation, OverTime};

/// Frames over time, at the point that saw most of them.
pub fn frames(points: &[PointTimes]) -> OverTime {
    let Some(most) = points.iter().max_by_key(|point| point.times.len()) else {
        return OverTime::default();
    };
    let mut times: Vec<u64> = most.times.iter().map(|(_, ns)| *ns).collect();
    times.sort_unstable();
    // The number of sent frames is unknown here, so none counts as missing.
    let totals = |n: usize| Totals {
        amount: n as u64,
        distinct: n as u64,
        passed: n as u64,
    };
    let mut marks = Marks::new();
    for (n, ns) in times.iter().enumerate() {
        if marks.is_due(*ns) {
            marks.come_to(*ns, totals(n));
        }
    }
    let last = times.last().copied().unwrap_or(0);
    OverTime::of_frames(&marks.finish(last, totals(times.len())))
}

/// Readings of the cores that this host lets a program use.
pub struct Readings {
    meter: Option<Meter>,
    course: Course,
    last: Option<Instant>,
}

impl Readings {
    /// None yet; a host that does not report its load never has one.
    pub fn new() -> Readings {
        Readings {
            meter: allowed().ok().and_then(|cores| Meter::new(&cores).ok()),
            course: Course::new(MOST_KEPT),
            last: None,
        }
    }

    /// Reads the cores where the last reading is far enough away.
    pub fn look(&mut self) {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return;
        }
        if let Some(Ok(sample)) = self.meter.as_mut().map(Meter::sample) {
            self.course.take(&sample);
            self.last = Some(Instant::now());
        }
    }

    /// How busy the cores were from the first frame of the flows to the last.
    pub fn between(&self, flows: &[FlowObservation]) -> Option<BusyOverTime> {
        let spans = flows.iter().filter_map(|flow| flow.over_time.span_ns());
        let (first, last) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        let found = self.course.between(self.meter.as_ref()?, first, last)?;
        Some(BusyOverTime::new(Cores::Node, found.from_ns, &found.slices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NODE_NS;

    fn point(name: &str, times: Vec<(u32, u64)>) -> PointTimes {
        PointTimes {
            name: name.to_owned(),
            stream: 0,
            clock: NODE_NS,
            times,
        }
    }

    #[test]
    fn frames_are_counted_where_most_passed_in_the_order_of_their_times() {
        // The second of two seconds has twice the frames; the table of the point is in no order.
        let at = |n: u64| match n {
            0..1000 => 5_000_000_000 + n * 1_000_000,
            _ => 5_500_000_000 + n * 500_000,
        };
        let mut times: Vec<(u32, u64)> = (0..3000).map(|n| (n as u32, at(n))).collect();
        times.reverse();
        let found = frames(&[point("stack", times[..9].to_vec()), point("driver", times)]);
        assert_eq!(found.arrived.iter().sum::<u64>(), 3000);
        assert_eq!(found.missing_frames.iter().sum::<u64>(), 0);
        assert_eq!(found.span_ns(), Some((at(0), at(2999))));
        let per_s: Vec<u64> = found
            .slice_ns
            .iter()
            .zip(found.arrived.iter())
            .map(|(ns, n)| n * 1_000_000_000 / ns)
            .collect();
        assert!(per_s[0].abs_diff(1000) < 50, "{per_s:?}");
        assert!(per_s[per_s.len() - 1].abs_diff(2000) < 100, "{per_s:?}");
        assert!(frames(&[]).is_empty());
        assert_eq!(frames(&[point("driver", vec![])]).span_ns(), None);
    }
}
