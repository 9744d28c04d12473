//! TCP flows: test frames one after another in a stream, with every byte compared.
//!
//! All frames of a flow have the same length, so that a damaged frame does not hide the start of the next. After the
//! last frame, the sender ends its half of the connection, which shows the receiver the end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use wirelab_trial::host_clock::{now_ns, wait_until};
use wirelab_trial::job::{Judge, Pace};
use wirelab_trial::{Cancel, HoldWatch};
use wirelab_wire::check::classify_data;

use crate::flow::{Expect, FlowProgress, LEAST_BYTES, MOST_BYTES, Offer, Reception, Sent, checked};
use crate::frames::{Frames, Progressing};
use crate::sys;
use crate::udp::{PATIENCE, is_not_yet};

/// Bytes written at once without a pace.
const SEND_BYTES: usize = 128 * 1024;
/// Bytes read at once.
const RECEIVE_BYTES: usize = 256 * 1024;
/// How long a frame in progress may take to be completed when the flow should end, in ns.
const LAST_FRAME_NS: u64 = 1_000_000_000;
/// Nothing for this long after the end means that nothing is in flight, in ns.
const QUIET_NS: u64 = 50_000_000;
/// Longest time to follow a stream that does not end, in ns.
const LONGEST_TAIL_NS: u64 = 2_000_000_000;

/// Bytes that were written into a stream and that its peer has not acknowledged.
///
/// # Errors
/// The system's error.
pub fn unacked_bytes(stream: &TcpStream) -> io::Result<u64> {
    sys::unacked_bytes(stream.as_fd())
}

/// The system's state of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments that were retransmitted since the connection was made.
    pub retransmits: u32,
    /// Bytes of a sent segment.
    pub segment_bytes: u32,
    /// The congestion window in bytes.
    pub window_bytes: u64,
    /// The smoothed round trip in µs.
    pub round_trip_us: u32,
    /// Its mean deviation in µs.
    pub deviation_us: u32,
    /// MTU of the path in bytes.
    pub path_mtu_bytes: u32,
}

impl TcpInfo {
    /// The present state of a stream's connection.
    ///
    /// # Errors
    /// The system's error.
    pub fn of(stream: &TcpStream) -> io::Result<TcpInfo> {
        let words = sys::tcp_info(stream.as_fd())?;
        // Word offsets of linux/tcp.h: snd_mss, pmtu, rtt, rttvar, snd_cwnd in segments, total_retrans.
        let (segment_bytes, segments) = (words[4], words[20]);
        Ok(TcpInfo {
            retransmits: words[25],
            segment_bytes,
            window_bytes: u64::from(segments) * u64::from(segment_bytes),
            round_trip_us: words[17],
            deviation_us: words[18],
            path_mtu_bytes: words[15],
        })
    }
}

/// Send a flow of test frames into a stream, until its extent is reached or `cancel` is set; then end this half of
/// the connection.
///
/// # Errors
/// An invalid size of a test frame, or the socket's error before the first frame. A later error is in
/// [`Sent::failure`].
pub fn send(
    stream: &TcpStream,
    offer: &Offer,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<Sent> {
    let bytes = checked(offer.datagram_bytes)?;
    // This separates waiting for space from a pause of the host.
    stream.set_nonblocking(true)?;
    // With a pace each frame is sent when it is due, and does not wait for the next.
    stream.set_nodelay(offer.pace != Pace::Max)?;
    let frames = Frames::new(offer, bytes);
    let most = match offer.pace {
        Pace::Max => (SEND_BYTES / bytes).max(1),
        Pace::Interval { .. } | Pace::Strict { .. } => 1,
    };
    let mut buf = vec![0; most * bytes];
    let mut run = Progressing::watched(offer);
    let mut failure = None;
    let mut now = now_ns();
    while failure.is_none() && run.left() > 0 && !run.is_over(now) && !cancel.is_cancelled() {
        if offer.pace != Pace::Max {
            let Some(due) = run.due_ns() else { break };
            now = wait_until(due, cancel);
            if now < due {
                break;
            }
            run.start(now);
        }
        let count = most.min(usize::try_from(run.left()).unwrap_or(most));
        let first = run.sequences as u32;
        for (at, frame) in buf.chunks_exact_mut(bytes).take(count).enumerate() {
            let sequence = first.wrapping_add(at as u32);
            frames.write_content(frame, sequence);
            frames.write_header(frame, sequence, now);
        }
        let whole = &buf[..count * bytes];
        let over = |run: &mut Progressing| {
            let now = run.wait_for_room(&stream);
            cancel.is_cancelled() || run.is_over(now)
        };
        let (written, error) = write_frames(&mut &*stream, whole, bytes, || over(&mut run));
        failure = error;
        (0..written.div_ceil(bytes)).for_each(|_| run.frame(now));
        let cut = written % bytes != 0;
        // Its sequence is used, but it is not a frame: the receiver gets it truncated.
        run.report.refused_frames += u64::from(cut);
        live.tell(
            run.sequences - u64::from(cut),
            run.sequences * bytes as u64,
            now,
        );
        now = now_ns();
        run.tick(now);
    }
    let report = run.finish(now);
    // A connection that is already closed has ended.
    let _ = stream.shutdown(Shutdown::Write);
    Ok(Sent {
        report,
        segmented: false,
        captures: Vec::new(),
        failure,
    })
}

/// Write frames until all are written or `over` returns true during a wait for space, and then to the end of the
/// frame in progress; returns the bytes written, and the error that ended it.
fn write_frames(
    stream: &mut impl Write,
    frames: &[u8],
    bytes: usize,
    mut over: impl FnMut() -> bool,
) -> (usize, Option<io::Error>) {
    let (mut written, mut over_ns) = (0, None);
    while written < frames.len() {
        let end = match over_ns {
            Some(since) => {
                if written % bytes == 0 || now_ns().saturating_sub(since) > LAST_FRAME_NS {
                    break;
                }
                written.next_multiple_of(bytes)
            }
            None => frames.len(),
        };
        match stream.write(&frames[written..end]) {
            Ok(0) => return (written, Some(io::ErrorKind::WriteZero.into())),
            Ok(more) => written += more,
            Err(error) if is_not_yet(&error) => {
                if over() {
                    over_ns.get_or_insert(now_ns());
                }
            }
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}

/// Check a stream of test frames until the peer ends it, or `cancel` is set and nothing has arrived for 50 ms.
///
/// # Errors
/// An invalid size of a test frame, or the socket's error before the first byte. A later error is in
/// [`Reception::failure`].
pub fn receive(
    mut stream: &TcpStream,
    expect: &Expect,
    live: &FlowProgress,
    cancel: &Cancel,
) -> io::Result<Reception> {
    let bytes = checked(expect.datagram_bytes)?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut cutter = Cutter::new(expect.stream, bytes);
    let (mut ended_ns, mut last_ns, mut failure) = (None, 0, None);
    let mut watch = HoldWatch::start(HoldWatch::RECEIVER);
    let mut unread = 0;
    loop {
        let mut empty = false;
        let began = now_ns();
        watch.tick(began);
        let read = stream.read(cutter.room());
        let now = now_ns();
        // Its arrival time is unknown.
        watch.idle(began, now, PATIENCE);
        match read {
            Ok(0) => break,
            Ok(len) => {
                last_ns = now;
                cutter.take(len, last_ns);
                let frames = cutter.judge.received();
                live.tell(frames, frames * bytes as u64, last_ns);
            }
            Err(error) if is_not_yet(&error) => empty = true,
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
        if !cancel.is_cancelled() {
            continue;
        }
        let ended = *ended_ns.get_or_insert(now);
        // A receiver that was paused for longer than that may have much to read.
        if empty && now.saturating_sub(ended.max(last_ns)) >= QUIET_NS {
            break;
        }
        if now - ended >= LONGEST_TAIL_NS {
            // The unread rest may be all that is missing.
            unread = u64::MAX;
            break;
        }
    }
    let mut received = cutter.finish(failure);
    received.report.was_held(watch.finish());
    received.report.missed.at_most = unread;
    Ok(received)
}

/// Splits a stream into frames and judges them.
#[derive(Debug)]
struct Cutter {
    judge: Judge,
    stream: u8,
    bytes: usize,
    buf: Vec<u8>,
    /// Bytes of an incomplete frame, at the start of the buffer.
    begun: usize,
}

impl Cutter {
    fn new(stream: u8, bytes: usize) -> Cutter {
        Cutter {
            judge: Judge::new(None, 1),
            stream,
            bytes,
            buf: vec![0; bytes + RECEIVE_BYTES],
            begun: 0,
        }
    }

    /// Buffer for the next bytes of the stream.
    fn room(&mut self) -> &mut [u8] {
        &mut self.buf[self.begun..]
    }

    /// This many bytes arrived.
    fn take(&mut self, len: usize, now_ns: u64) {
        let there = self.begun + len;
        let whole = there / self.bytes * self.bytes;
        for frame in self.buf[..whole].chunks_exact(self.bytes) {
            judge(&mut self.judge, frame, self.stream, now_ns);
        }
        self.buf.copy_within(whole..there, 0);
        self.begun = there - whole;
    }

    fn finish(mut self, failure: Option<io::Error>) -> Reception {
        let begun = self.begun;
        if begun > 0 {
            let frame = &self.buf[..begun];
            judge(&mut self.judge, frame, self.stream, now_ns());
        }
        let mut report = self.judge.finish_apart();
        if begun > 0 {
            report.notes.push(format!(
                "the stream ended inside a frame, of which {begun} of {} bytes arrived",
                self.bytes
            ));
        }
        Reception {
            report,
            captures: Vec::new(),
            sent_back_frames: 0,
            by_card: false,
            failure,
        }
    }
}

/// The peer of a connection is known, so a damaged magic is a damaged header.
#[inline]
fn judge(judge: &mut Judge, frame: &[u8], stream: u8, now_ns: u64) {
    let verdict = classify_data(frame, Some(stream), true);
    judge.take(verdict, frame.len() as u64, Some(now_ns));
}

/// For fuzzing: split any bytes into frames, at once and in pieces. Both must count the same, and every frame once.
/// The first two bytes give the length of frames, the third that of pieces.
pub fn fuzz_stream(input: &[u8]) {
    let [high, low, piece, bytes @ ..] = input else {
        return;
    };
    let frame_bytes = u32::from(u16::from_be_bytes([*high, *low]));
    let length = frame_bytes.clamp(LEAST_BYTES, MOST_BYTES) as usize;
    let count = |piece: usize| {
        let mut cutter = Cutter::new(0, length);
        for part in bytes.chunks(piece) {
            cutter.room()[..part.len()].copy_from_slice(part);
            cutter.take(part.len(), 1);
        }
        cutter.finish(None).report.counts
    };
    let whole = count(RECEIVE_BYTES);
    assert_eq!(whole, count(usize::from(*piece) + 1));
    assert_eq!(
        whole.received_frames + whole.foreign_frames,
        bytes.len().div_ceil(length) as u64
    );
    let sent = whole.distinct_sequences;
    assert_eq!(whole.check_identity(sent), Ok(()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wirelab_trial::Extent;

    fn stream(bytes: usize, frames: u32) -> Vec<u8> {
        let offer = Offer {
            stream: 0,
            datagram_bytes: bytes as u32,
            pace: Pace::Max,
            extent: Extent::Frames { frames: 0 },
            with_time: false,
            node_clock: false,
        };
        let maker = Frames::new(&offer, bytes);
        let mut out = vec![0; bytes * frames as usize];
        for (sequence, frame) in out.chunks_exact_mut(bytes).enumerate() {
            maker.write_content(frame, sequence as u32);
            maker.write_header(frame, sequence as u32, 0);
        }
        out
    }

    #[test]
    fn what_a_peer_does_not_read_is_unacknowledged() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _peer = listener.accept().unwrap();
        assert_eq!(unacked_bytes(&stream).unwrap(), 0);
        stream.set_nonblocking(true).unwrap();
        while (&stream).write(&[0; 65536]).is_ok() {}
        assert!(unacked_bytes(&stream).unwrap() > 0);
    }

    #[test]
    fn what_the_system_knows_of_a_connection() {
        use nix::sys::socket::{getsockopt, sockopt};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        stream.write_all(&[0; 1000]).unwrap();
        peer.read_exact(&mut [0; 1000]).unwrap();
        let info = TcpInfo::of(&stream).unwrap();
        let mss = getsockopt(&stream, sockopt::TcpMaxSeg).unwrap();
        assert_eq!(info.segment_bytes, mss, "{info:?}");
        // Connections have the MTU of the loopback interface, up to the maximum of an IPv4 packet.
        let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        let mtu: u32 = mtu.trim().parse().unwrap();
        assert_eq!(info.path_mtu_bytes, mtu.min(65_535), "{info:?}");
        assert!(info.window_bytes >= u64::from(mss), "{info:?}");
        assert!(info.round_trip_us > 0 && info.deviation_us > 0, "{info:?}");
    }

    #[test]
    fn the_fuzz_corpus_is_replayed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/tcp_frames");
        let mut inputs = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            fuzz_stream(&std::fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "no corpus for tcp_frames");
    }

    #[test]
    fn what_is_over_while_a_frame_is_half_written_ends_behind_it() {
        // Takes seven bytes at a time, and returns `WouldBlock` in between.
        struct Slow(Vec<u8>, bool);
        impl Write for Slow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                let len = bytes.len().min(7);
                self.0.extend_from_slice(&bytes[..len]);
                Ok(len)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let frames = stream(20, 5);
        let mut slow = Slow(Vec::new(), false);
        let calls = std::cell::Cell::new(0);
        let over = || {
            calls.set(calls.get() + 1);
            calls.get() > 4
        };
        let (written, error) = write_frames(&mut slow, &frames, 20, over);
        assert!(error.is_none());
        assert_eq!((written, slow.0.len()), (40, 40));
        assert_eq!(slow.0, frames[..40]);
    }

    proptest! {
        #[test]
        fn hostile_streams_never_panic(input in proptest::collection::vec(any::<u8>(), 0..2000)) {
            fuzz_stream(&input);
        }

        #[test]
        fn damaged_streams_count_the_same_in_any_pieces(
            length in 18usize..300, frames in 1u32..40, piece: u8, at: prop::sample::Index, bit in 0u8..8,
        ) {
            let mut input = vec![(length >> 8) as u8, length as u8, piece];
            input.extend(stream(length, frames));
            let at = 3 + at.index(input.len() - 3);
            input[at] ^= 1 << bit;
            fuzz_stream(&input);
        }
    }
}
