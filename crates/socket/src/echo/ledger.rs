//! The record of each frame of a probe: when it was due, when it left, when its echo arrived, and by which clock.

use wirelab_trial::{Clock, Extent, FixedSeries, Series, SeriesBuilder};

use super::Stamps;
use crate::flow::Offer;
use crate::frames::Progressing;

/// Frames whose echoes are awaited; the echo of an older one is too late to be timed.
const MOST: u64 = 65_536;

/// Times of one end, in ns; 0 for none. Those of application and kernel are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) application_ns: u64,
    pub(super) kernel_ns: u64,
    pub(super) device_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// One more than the number of the frame; 0 for none.
    number: u64,
    due_ns: u64,
    left: Times,
    arrived: Times,
}

/// The frames of a probe. It allocates only in [`Ledger::new`].
pub(super) struct Ledger {
    entries: Box<[Entry]>,
    /// From the time due: by the kernel's arrivals, and by the application's.
    due: [SeriesBuilder; 2],
    /// From the sending: by the device, by the kernel, by the application.
    sent: [SeriesBuilder; 3],
    /// Number of timed echoes.
    answered: u64,
}

impl Ledger {
    pub(super) fn new(offer: &Offer) -> Ledger {
        let frames = match offer.extent {
            Extent::Frames { frames } => frames,
            Extent::Time { .. } => MOST,
        };
        let entries = frames.clamp(1, MOST).next_power_of_two();
        let series = |name: FixedSeries| SeriesBuilder::new(name, Clock::TESTER_NS, 0);
        Ledger {
            entries: vec![Entry::default(); entries as usize].into_boxed_slice(),
            due: [FixedSeries::ROUND_TRIP; 2].map(series),
            sent: [FixedSeries::FROM_SENDING; 3].map(series),
            answered: 0,
        }
    }

    fn entry(&mut self, number: u64) -> &mut Entry {
        let at = number as usize & (self.entries.len() - 1);
        &mut self.entries[at]
    }

    /// A due frame is handed over.
    pub(super) fn sent(&mut self, number: u64, due_ns: u64, application_ns: u64) {
        let entry = Entry {
            number: number + 1,
            due_ns,
            left: Times {
                application_ns,
                ..Times::default()
            },
            arrived: Times::default(),
        };
        let old = std::mem::replace(self.entry(number), entry);
        self.close(&old);
    }

    /// When a frame that is still awaited was handed over.
    pub(super) fn handed_over_ns(&mut self, number: u64) -> Option<u64> {
        let entry = self.entry(number);
        (entry.number == number + 1).then_some(entry.left.application_ns)
    }

    /// A frame left, by kernel or device, which report it in separate messages.
    pub(super) fn left(&mut self, number: u64, kernel_ns: Option<u64>, device_ns: Option<u64>) {
        let entry = self.entry(number);
        if entry.number == number + 1 {
            let left = &mut entry.left;
            left.kernel_ns = kernel_ns.unwrap_or(left.kernel_ns);
            left.device_ns = device_ns.unwrap_or(left.device_ns);
        }
    }

    /// The echo of a frame arrived; only the first counts.
    pub(super) fn arrived(&mut self, number: u64, arrived: Times) {
        let entry = self.entry(number);
        if entry.number == number + 1 && entry.arrived.application_ns == 0 {
            entry.arrived = arrived;
            self.answered += 1;
        }
    }

    /// Number of timed echoes so far.
    pub(super) const fn answered(&self) -> u64 {
        self.answered
    }

    /// A frame's record is complete: add its times to the series.
    fn close(&mut self, entry: &Entry) {
        let (left, arrived) = (&entry.left, &entry.arrived);
        if arrived.application_ns == 0 {
            return;
        }
        let push = |series: &mut SeriesBuilder, from: u64, to: u64| {
            if from > 0 && to > 0 {
                series.push(to.saturating_sub(from));
            }
        };
        let [kernel, application] = &mut self.due;
        push(kernel, entry.due_ns, arrived.kernel_ns);
        push(application, entry.due_ns, arrived.application_ns);
        let [device, kernel, application] = &mut self.sent;
        push(device, left.device_ns, arrived.device_ns);
        push(kernel, left.kernel_ns, arrived.kernel_ns);
        push(application, left.application_ns, arrived.application_ns);
    }

    /// Both series with their clocks: the best stamps that *every* echo has. Leaving out echoes without a better
    /// stamp could leave out exactly the slow ones.
    pub(super) fn finish(mut self) -> [(Series, Stamps); 2] {
        // In their order, because later frames replaced earlier ones.
        let mut waiting: Vec<Entry> = self.entries.to_vec();
        waiting.sort_unstable_by_key(|entry| entry.number);
        waiting.iter().for_each(|entry| self.close(entry));
        let all = self.answered;
        let best = |kinds: &[Stamps], series: Vec<SeriesBuilder>| {
            let mut both = kinds.iter().copied().zip(series).rev();
            let (mut stamps, mut chosen) = match both.next() {
                Some(application) => application,
                None => (
                    Stamps::Application,
                    SeriesBuilder::new(FixedSeries::FROM_SENDING, Clock::TESTER_NS, 0),
                ),
            };
            for (better, series) in both {
                if all > 0 && series.count() == all {
                    (stamps, chosen) = (better, series);
                }
            }
            (chosen.finish(), stamps)
        };
        let kinds = [Stamps::Hardware, Stamps::Kernel, Stamps::Application];
        [
            best(&kinds[1..], Vec::from(self.due)),
            best(&kinds, Vec::from(self.sent)),
        ]
    }
}

/// The number of a frame, not wrapped, of a returned sequence: the latest that was sent with it.
pub(super) fn number_of(sequence: u32, run: &Progressing) -> Option<u64> {
    let last = run.sequences.checked_sub(1)?;
    let age = (last as u32).wrapping_sub(sequence);
    last.checked_sub(u64::from(age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::job::Pace;

    fn ledger(frames: u64) -> Ledger {
        Ledger::new(&Offer {
            stream: 0,
            datagram_bytes: 64,
            pace: Pace::Max,
            extent: Extent::Frames { frames },
            with_time: true,
            node_clock: false,
        })
    }

    fn times(application_ns: u64, kernel_ns: u64, device_ns: u64) -> Times {
        Times {
            application_ns,
            kernel_ns,
            device_ns,
        }
    }

    #[test]
    fn the_best_stamps_that_every_echo_has_are_used() {
        let run = |stamp_of_last: bool| {
            let mut ledger = ledger(3);
            for number in 0..3 {
                let due = 1_000 * (number + 1);
                ledger.sent(number, due, due + 10);
                if number < 2 || stamp_of_last {
                    ledger.left(number, Some(due + 20), None);
                }
                ledger.arrived(number, times(due + 500, due + 400, 0));
                ledger.arrived(number, times(due + 900, due + 900, 0));
            }
            ledger.finish()
        };
        let [(due, arrivals), (sent, stamps)] = run(true);
        assert_eq!((arrivals, stamps), (Stamps::Kernel, Stamps::Kernel));
        assert_eq!(due.raw_ticks, [400; 3]);
        assert_eq!(sent.raw_ticks, [380; 3]);
        let [(due, arrivals), (sent, stamps)] = run(false);
        assert_eq!((arrivals, stamps), (Stamps::Kernel, Stamps::Application));
        assert_eq!(
            (due.raw_ticks.to_vec(), sent.raw_ticks.to_vec()),
            (vec![400; 3], vec![490; 3])
        );
    }

    #[test]
    fn the_device_times_by_its_own_clock() {
        let mut ledger = ledger(1);
        ledger.sent(0, 5_000, 5_010);
        ledger.left(0, Some(5_020), None);
        ledger.left(0, None, Some(77_000));
        ledger.arrived(0, times(5_500, 5_400, 77_300));
        let [(due, arrivals), (sent, stamps)] = ledger.finish();
        assert_eq!((arrivals, stamps), (Stamps::Kernel, Stamps::Hardware));
        assert_eq!(due.raw_ticks, [400]);
        assert_eq!(sent.raw_ticks, [300]);
    }

    #[test]
    fn frames_older_than_the_ledger_are_closed_with_what_is_known() {
        let mut ledger = ledger(2);
        for number in 0..6u64 {
            ledger.sent(number, 100 * number + 100, 100 * number + 100);
            if number != 3 {
                ledger.arrived(number, times(100 * number + 150, 0, 0));
            }
        }
        ledger.arrived(1, times(9_999, 0, 0));
        assert_eq!((ledger.answered(), ledger.handed_over_ns(1)), (5, None));
        let [(due, arrivals), _] = ledger.finish();
        assert_eq!(
            (due.raw_ticks.to_vec(), arrivals),
            (vec![50; 5], Stamps::Application)
        );
    }

    #[test]
    fn times_are_in_the_order_of_their_frames() {
        let mut ledger = ledger(4);
        for number in 0..6 {
            ledger.sent(number, 1_000, 1_000);
            let arrived = Times {
                application_ns: 1_001 + number,
                ..Times::default()
            };
            ledger.arrived(number, arrived);
        }
        let [(round_trip, _), _] = ledger.finish();
        assert_eq!(round_trip.raw_ticks, [1, 2, 3, 4, 5, 6]);
    }
}
