//! How a checker of this path judges each frame: its owner and its correctness. The rest is
//! [`wirelab_trial::job::Judge`].

use wirelab_trial::job;
use wirelab_wire::frame::{TPID_CUSTOMER, TPID_SERVICE};
use wirelab_wire::{Flow, Verdict, classify, header};

use crate::job::{CheckJob, CheckReport};

/// Bytes of a UDP header.
const UDP_BYTES: u64 = 8;

/// Judges the frames of a port one by one.
pub(super) struct Judge {
    flow: Flow,
    judge: job::Judge,
    joined: u64,
    /// Whether the sender's test frames in other streams belong to another run.
    one_flow_at_a_time: bool,
}

impl Judge {
    pub(super) fn new(job: &CheckJob, sent_since_ns: Option<u64>) -> Judge {
        Judge {
            joined: 0,
            one_flow_at_a_time: false,
            flow: job.flow,
            judge: job::Judge::new(job.slots, job.time_every).sent_since(sent_since_ns),
        }
    }

    /// Set whether test frames of the flow's sender in other streams belong to another run.
    pub(super) fn with_one_flow_at_a_time(self, one_flow_at_a_time: bool) -> Judge {
        Judge {
            one_flow_at_a_time,
            ..self
        }
    }

    /// Frames of the flow so far.
    pub(super) fn received(&self) -> u64 {
        self.judge.received()
    }

    /// Frames of other runs so far.
    pub(super) fn other_run(&self) -> u64 {
        self.judge.other_run()
    }

    /// Frames so far that do not belong to the flow.
    pub(super) fn strangers(&self) -> u64 {
        self.judge.foreign()
    }

    /// Arrival of the first timed frame in ns, if one has arrived.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.judge.first_ns()
    }

    /// Judges a frame that arrived at `arrival_ns` (CLOCK_MONOTONIC), if known; returns whether it belongs to the
    /// flow.
    #[inline]
    pub(super) fn frame(&mut self, frame: &[u8], arrival_ns: Option<u64>) -> bool {
        let verdict = classify(frame, &self.flow);
        if self.one_flow_at_a_time
            && verdict == Verdict::Foreign
            && self.is_in_another_stream(frame)
        {
            self.judge.take_of_another_run();
            return false;
        }
        let bytes = payload_bytes(frame);
        if let Verdict::Good(header) = &verdict {
            self.joined += u64::from(holds_more(frame, bytes, header.lfsr_len));
        }
        self.judge.take(verdict, bytes, arrival_ns)
    }

    /// Whether a frame outside the flow is a test frame of the flow's sender.
    #[cold]
    fn is_in_another_stream(&self, frame: &[u8]) -> bool {
        let any = Flow {
            stream: None,
            ..self.flow
        };
        let is_test_frame = classify(frame, &any).header().is_some();
        is_test_frame && self.flow.source.is_none_or(|source| frame[6..12] == source)
    }

    /// Good frames so far with more after their own data: datagrams that the host joined.
    pub(super) fn joined(&self) -> u64 {
        self.joined
    }

    /// The report, as far as the frames show.
    pub(super) fn finish(self) -> CheckReport {
        self.judge.finish()
    }
}

/// The bytes after the Ethernet header and its tags.
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

/// Whether another test header fits after a datagram's own data.
fn holds_more(frame: &[u8], payload_bytes: u64, lfsr_len: u16) -> bool {
    let at = frame.len() - payload_bytes as usize;
    let ip_bytes = match (&frame[at - 2..at], frame.get(at)) {
        ([0x08, 0x00], Some(first)) => u64::from(first & 15) * 4,
        ([0x86, 0xDD], Some(_)) => 40,
        _ => return false,
    };
    let own = ip_bytes + UDP_BYTES + header::LEN as u64 + u64::from(lfsr_len);
    payload_bytes >= own + header::LEN as u64
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
        dscp: 0,
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
        let mut judge = Judge::new(&job(None, 1), None);
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
    fn test_frames_of_the_sender_in_another_stream_are_of_another_run_where_it_sends_one_flow() {
        let one_stream = || {
            let mut job = job(None, 1);
            job.flow.stream = Some(4);
            job
        };
        let mut strangers = frame(3, Flags::NONE, 0);
        strangers[11] ^= 1;
        let counted = |one_flow| {
            let judge = Judge::new(&one_stream(), None);
            let mut judge = judge.with_one_flow_at_a_time(one_flow);
            for frame in [&frame(3, Flags::NONE, 0), &strangers] {
                assert!(!judge.frame(frame, None));
            }
            let counts = judge.finish().counts;
            (counts.other_run_frames, counts.foreign_frames)
        };
        assert_eq!(counted(false), (0, 2));
        assert_eq!(counted(true), (1, 1));
    }

    #[test]
    fn each_finding_is_counted_and_a_loss_is_not_hidden_by_a_duplicate() {
        let mut judge = Judge::new(&job(None, 1), None);
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
    fn datagrams_that_were_joined_are_seen_however_short() {
        let addresses = [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()];
        let ports = [header::UDP_PORT; 2];
        let spec = FrameSpec {
            transport: Transport::UdpIpv4 { addresses, ports },
            ..SPEC
        };
        let sizes = Size::new(SizeUnit::Datagram, header::LEN as u32);
        let sizes = sizes.resolve_test(spec.framing()).unwrap();
        let mut bytes = vec![0; sizes.length as usize];
        let header = Header {
            flags: Flags::NONE,
            stream: 0,
            sequence: 0,
            time_ns: 0,
            lfsr_len: 0,
        };
        spec.build(&sizes, &header, &mut bytes);
        let mut judge = Judge::new(&job(None, 1), None);
        for (more, joined) in [(0, 0), (header::LEN, 1)] {
            // GRO changes the lengths: those of IP and UDP cover both datagrams.
            let mut buffer = bytes.clone();
            buffer.extend_from_within(bytes.len() - more..);
            for at in [18 + 2, 18 + 20 + 4] {
                let length = u16::from_be_bytes([buffer[at], buffer[at + 1]]) + more as u16;
                buffer[at..at + 2].copy_from_slice(&length.to_be_bytes());
            }
            assert!(judge.frame(&buffer, None));
            assert_eq!(judge.joined(), joined);
        }
        judge.frame(&frame(1, Flags::NONE, 0), None);
        assert_eq!(judge.joined(), 1, "a frame of Ethernet is one");
        assert_eq!(judge.finish().counts.good_frames, 3);
    }

    #[test]
    fn only_the_frames_asked_for_are_timed() {
        let mut judge = Judge::new(&job(None, 4), None);
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
        let mut judge = Judge::new(&job(Some(4), 1), None);
        for n in 0..10 {
            judge.frame(&frame(n % 4, Flags::REPEATING, 0), Some(1));
        }
        assert!(judge.finish().with_sent(10).counts.is_clean());
        let mut judge = Judge::new(&job(Some(4), 1), None);
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
        let mut judge = Judge::new(&job(None, 1), None);
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
