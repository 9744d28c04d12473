//! What a checker of this path makes of each frame: whose it is and whether it is right; the rest is
//! [`wirelab_trial::job::Judge`].

use wirelab_trial::job;
use wirelab_wire::frame::{TPID_CUSTOMER, TPID_SERVICE};
use wirelab_wire::{Flow, classify};

use crate::job::{CheckJob, CheckReport};

/// Judges the frames of a port one by one.
pub(super) struct Judge {
    flow: Flow,
    judge: job::Judge,
}

impl Judge {
    pub(super) fn new(job: &CheckJob) -> Judge {
        Judge {
            flow: job.flow,
            judge: job::Judge::new(job.slots, job.time_every),
        }
    }

    /// Frames of the flow so far.
    pub(super) fn received(&self) -> u64 {
        self.judge.received()
    }

    /// Judges a frame that came at `arrival_ns` (CLOCK_MONOTONIC), if that is known; whether it is of the flow.
    #[inline]
    pub(super) fn frame(&mut self, frame: &[u8], arrival_ns: Option<u64>) -> bool {
        let verdict = classify(frame, &self.flow);
        self.judge.take(verdict, payload_bytes(frame), arrival_ns)
    }

    /// The report, as far as frames tell.
    pub(super) fn finish(self) -> CheckReport {
        self.judge.finish()
    }
}

/// What follows the Ethernet header and its tags, in bytes.
fn payload_bytes(frame: &[u8]) -> u64 {
    let tag = |at: usize| {
        frame.get(at..at + 2).is_some_and(|bytes| {
            let ethertype = u16::from_be_bytes([bytes[0], bytes[1]]);
            ethertype == TPID_CUSTOMER || ethertype == TPID_SERVICE
        })
    };
    let tags = match (tag(12), tag(16)) {
        (true, true) => 2,
        (true, false) => 1,
        _ => 0,
    };
    frame.len().saturating_sub(14 + 4 * tags) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_wire::header::TIME_MODULUS;
    use wirelab_wire::{Flags, FrameSpec, Header, Size, SizeUnit, Transport};

    const SPEC: FrameSpec = FrameSpec {
        destination: [2, 0x57, 0x4C, 0, 0, 2],
        source: [2, 0x57, 0x4C, 0, 0, 1],
        vlans: [Some(5), None],
        transport: Transport::Ethernet,
    };

    fn frame(sequence: u32, flags: Flags, time_ns: u64) -> Vec<u8> {
        let sizes = Size::new(SizeUnit::Frame, 128)
            .resolve_test(SPEC.framing())
            .unwrap();
        let header = Header {
            flags,
            stream: 0,
            sequence,
            time_ns,
            lfsr_len: 0,
        };
        let mut out = vec![0; sizes.length as usize];
        SPEC.build(&sizes, &header, &mut out);
        out
    }

    fn job(slots: Option<u32>, time_every: u32) -> CheckJob {
        let flow = Flow {
            source: Some(SPEC.source),
            ..Flow::default()
        };
        CheckJob {
            flow,
            slots,
            time_every,
        }
    }

    #[test]
    fn a_clean_flow_is_clean_and_timed() {
        let mut judge = Judge::new(&job(None, 1));
        let base = TIME_MODULUS - 50;
        for n in 0..10u64 {
            let sent = base + n * 10;
            assert!(judge.frame(
                &frame(n as u32, Flags::TIME_VALID, sent),
                Some(sent + 7 + n % 2 * 16)
            ));
        }
        let report = judge.finish().with_sent(10);
        assert!(report.counts.is_clean());
        assert_eq!(report.counts.check_identity(10), Ok(()));
        assert_eq!(report.counts.verified_payload_bytes, 10 * (128 - 4 - 18));
        assert_eq!(
            (report.first, report.last),
            (Some((base + 7, 0)), Some((base + 113, 9)))
        );
        assert_eq!(
            report.series[0].raw_ticks[..4],
            [7, 23, 7, 23],
            "also across the modulus"
        );
        assert!(
            report.jitter_ns.is_some_and(|ns| (5..16).contains(&ns)),
            "{:?}",
            report.jitter_ns
        );
        assert!(report.notes.is_empty(), "{:?}", report.notes);
    }

    #[test]
    fn each_finding_is_counted_and_a_loss_is_not_hidden_by_a_duplicate() {
        let mut judge = Judge::new(&job(None, 1));
        for n in [0, 1, 1, 4, 3] {
            judge.frame(&frame(n, Flags::NONE, 0), Some(1));
        }
        let mut bad = frame(5, Flags::NONE, 0);
        bad[60] ^= 1;
        judge.frame(&bad, None);
        judge.frame(&[0xFF; 60], Some(1));
        let report = judge.finish().with_sent(6);
        let c = report.counts;
        assert_eq!(
            (c.duplicated_frames, c.reordered_frames, c.lost_frames),
            (1, 1, 1)
        );
        assert_eq!(
            (c.corrupted_frames, c.foreign_frames, c.received_frames),
            (1, 1, 6)
        );
        assert_eq!(c.check_identity(6), Ok(()));
        assert!(report.series.is_empty() && report.jitter_ns.is_none());
    }

    #[test]
    fn only_the_frames_asked_for_are_timed() {
        let mut judge = Judge::new(&job(None, 4));
        for n in 0..10u64 {
            judge.frame(&frame(n as u32, Flags::TIME_VALID, n), Some(n + 100));
        }
        let report = judge.finish();
        assert_eq!(
            (report.first, report.last),
            (Some((100, 0)), Some((108, 8)))
        );
        assert_eq!(report.series[0].raw_ticks, [100, 100, 100]);
        assert_eq!(report.jitter_ns, None);
    }

    #[test]
    fn repeating_frames_must_follow_one_another() {
        let mut judge = Judge::new(&job(Some(4), 1));
        for n in 0..10 {
            judge.frame(&frame(n % 4, Flags::REPEATING, 0), Some(1));
        }
        assert!(judge.finish().with_sent(10).counts.is_clean());
        let mut judge = Judge::new(&job(Some(4), 1));
        for n in [0, 1, 3, 2, 0] {
            judge.frame(&frame(n, Flags::REPEATING, 0), Some(1));
        }
        let report = judge.finish().with_sent(5);
        assert!(!report.counts.is_clean());
        assert!(
            report.notes[0].contains("did not follow"),
            "{:?}",
            report.notes
        );
    }

    #[test]
    fn a_frame_from_the_future_is_no_latency() {
        let mut judge = Judge::new(&job(None, 1));
        judge.frame(&frame(0, Flags::TIME_VALID, 500), Some(400));
        let report = judge.finish();
        assert!(report.series.is_empty());
        assert!(
            report.notes[0].contains("do not share a clock"),
            "{:?}",
            report.notes
        );
    }
}
