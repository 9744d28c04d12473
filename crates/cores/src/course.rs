//! The load of cores in the course of a run: readings far enough apart for a share, in little memory however long it lasts.

use std::time::Duration;

use crate::busy::{Meter, Sample};

/// From one reading to the next: a little more than the shortest window that has a share.
pub const EVERY: Duration = Duration::from_millis(210);

/// Readings over a run.
#[derive(Debug)]
pub struct Course {
    samples: Vec<Sample>,
    most: usize,
    apart_ns: u64,
}

/// The load between two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourseSlices {
    /// From the first moment to the first slice, in ns.
    pub from_ns: u64,
    /// Length of each slice, and how long a core worked in it on average, in ns.
    pub slices: Vec<(u64, u64)>,
}

impl Course {
    /// No reading yet; it will have at most `most` slices.
    pub fn new(most: usize) -> Course {
        Course {
            samples: Vec::with_capacity(most + 1),
            most,
            apart_ns: EVERY.as_nanos() as u64,
        }
    }

    /// Keeps a reading if it is far enough from the previous one. If there are too many, every second one is dropped,
    /// and further ones are kept at twice the distance.
    pub fn take(&mut self, sample: &Sample) {
        let last = self.samples.last();
        if last.is_some_and(|last| sample.at_ns < last.at_ns.saturating_add(self.apart_ns)) {
            return;
        }
        if self.samples.len() > self.most {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.apart_ns *= 2;
        }
        self.samples.push(sample.clone());
    }

    /// The load between two moments of CLOCK_MONOTONIC in ns; `None` where they lie too near for a slice.
    pub fn between(&self, meter: &Meter, first_ns: u64, last_ns: u64) -> Option<CourseSlices> {
        let inside = |sample: &&Sample| (first_ns..=last_ns).contains(&sample.at_ns);
        let inside: Vec<&Sample> = self.samples.iter().filter(inside).collect();
        let slice = |pair: &[&Sample]| {
            let busy = meter.between(pair[0], pair[1]).ok()?;
            let sum: u64 = busy.iter().map(|core| core.busy_ns).sum();
            Some((busy.first()?.window_ns, sum / busy.len() as u64))
        };
        let slices: Vec<(u64, u64)> = inside.windows(2).map_while(slice).collect();
        (!slices.is_empty()).then(|| CourseSlices {
            from_ns: inside[0].at_ns - first_ns,
            slices,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_has_the_load_of_each_part_however_long_it_is() {
        let meter = Meter::new(&crate::allowed().unwrap()).unwrap();
        // A core that is idle for the first half, and works for the rest.
        let ms = |n: u64| n * 1_000_000;
        let sample = |n: u64, all: u64| Sample::of(ms(100 * n), vec![10 * n.min(all / 2)]);
        for readings in [40, 2_000] {
            let mut course = Course::new(32);
            (0..=readings).for_each(|n| course.take(&sample(n, readings)));
            let found = course.between(&meter, ms(50), ms(100 * readings)).unwrap();
            assert!((6..=32).contains(&found.slices.len()), "{found:?}");
            assert!(found.from_ns <= ms(100 * readings) / 8);
            let share = |(ns, busy): &(u64, u64)| *busy as f64 / *ns as f64;
            assert_eq!(found.slices.first().map(share), Some(0.0));
            assert_eq!(found.slices.last().map(share), Some(1.0));
        }
        let mut short = Course::new(32);
        (0..2).for_each(|n| short.take(&sample(n, 2)));
        assert_eq!(short.between(&meter, 0, ms(1_000)), None);
    }
}
