//! The loops of TCP flows: one that writes, and one that reads.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use wirelab_socket::TcpInfo;
use wirelab_trial::HoldWatch;

use super::{Blocks, Bursts, Env, TICK};
use crate::sending::{Sending, is_wait, write_at_once};
use crate::v2::enhanced::EnhancedColumns;
use crate::v2::outcome::Leg;
use crate::v2::progress::Progress;
use crate::v2::stream::{Meter, StreamSender, StreamStep, WRITE_BYTES};
use crate::v2::table::Id;

/// Retransmitted segments that were already reported.
#[derive(Default)]
struct ReportedRetransmits(u64);

/// Retransmitted segments of a connection so far; `None` where the system does not report them.
pub(in crate::v2) fn retransmits(stream: &TcpStream) -> Option<u64> {
    let info = TcpInfo::of(stream).ok()?;
    Some(info.retransmits.into())
}

impl ReportedRetransmits {
    /// Writes and retransmissions since the last line.
    fn writes(&mut self, stream: &TcpStream, meter: &mut Meter) -> EnhancedColumns {
        let added = retransmits(stream).map(|all| {
            let before = std::mem::replace(&mut self.0, all);
            all.saturating_sub(before)
        });
        EnhancedColumns::Writes {
            writes: meter.calls_of_interval().count,
            retransmits: added,
        }
    }
}

fn reads(meter: &mut Meter, bursts: &mut Option<Bursts>) -> EnhancedColumns {
    let reads = meter.calls_of_interval();
    match bursts {
        Some(bursts) => EnhancedColumns::Bursts(reads, bursts.of_interval()),
        None => EnhancedColumns::Reads(reads),
    }
}

/// Runs the sending end of a TCP flow; the header is first and counts, as in iperf.
pub(in crate::v2) fn send_stream(
    stream: &mut TcpStream,
    header: &[u8],
    mut sender: StreamSender,
    blocks: &mut Blocks,
    env: &Env<'_>,
    id: Id,
) -> (Leg, Progress, io::Result<()>) {
    let mut meter = Meter::new(env.now_ns(), env.every_ns);
    let mut progress = Progress::start(env.now_ns());
    let mut sending = Sending::start(sender.is_paced());
    let mut again = ReportedRetransmits::default();
    let mut work = || -> io::Result<()> {
        stream.set_write_timeout(Some(TICK))?;
        if !header.is_empty() {
            stream.write_all(header)?;
            sender.wrote(header.len());
            progress.wrote(header.len());
            meter.add(header.len(), env.now_ns());
        }
        while !env.stopped() {
            env.tell(id, &mut meter, |meter| again.writes(stream, meter));
            let now_ns = env.now_ns();
            sending.tick(now_ns);
            progress.tick(stream, now_ns);
            match sender.step(now_ns) {
                StreamStep::Write(most) => {
                    let offset = sender.offset();
                    if offset == 0 {
                        blocks.begin(env.wall(now_ns));
                    }
                    match write_at_once(stream, blocks.part(offset, most)) {
                        Ok(0) => return Err(ErrorKind::WriteZero.into()),
                        Ok(len) => {
                            sender.wrote(len);
                            progress.wrote(len);
                            meter.add(len, env.now_ns());
                        }
                        Err(error) if is_wait(&error) => {
                            sender.was_blocked(sending.wait_for_room(stream));
                        }
                        Err(error) => return Err(error),
                    }
                }
                StreamStep::Wait { until_ns } => env.wait_until(until_ns),
                StreamStep::Done => break,
            }
        }
        stream.shutdown(Shutdown::Write)
    };
    let result = work();
    // Paced writes count in the interval after them, and a peer that reads nothing takes time.
    let now_ns = env.now_ns();
    meter.until(now_ns);
    if result.is_ok() {
        progress.ended();
    }
    progress.look(stream, now_ns);
    let holds = sending.finish();
    env.tell_rest(id, &mut meter, |meter| again.writes(stream, meter));
    let (span, bytes) = meter.total();
    let writes = meter.calls().count;
    (
        Leg::TcpSent {
            span,
            bytes,
            writes,
            retransmits: retransmits(stream),
            read_ns: None,
            stall: progress.stall(),
            pace: sender.pace(),
            holds,
        },
        progress,
        result,
    )
}

/// Options for reading a TCP flow.
pub(in crate::v2) struct Reading {
    /// Bytes that were read already.
    pub(in crate::v2) first: usize,
    /// The flow is over after this time without data.
    pub(in crate::v2) quiet: Duration,
    /// The flow is over at this time, in ns.
    pub(in crate::v2) until_ns: u64,
    /// The flow is over when more bytes than this arrived.
    pub(in crate::v2) most: u64,
    /// The one-way times of its writes, where it has them.
    pub(in crate::v2) bursts: Option<Bursts>,
}

/// Reads a TCP flow to its end. `heard` is called with the time of each read and its bytes.
pub(in crate::v2) fn receive_stream(
    stream: &mut TcpStream,
    reading: Reading,
    env: &Env<'_>,
    id: Id,
    heard: &dyn Fn(u64, &[u8]),
) -> (Leg, io::Result<()>) {
    let Reading {
        first,
        quiet,
        until_ns,
        most,
        mut bursts,
    } = reading;
    let mut meter = Meter::new(env.now_ns(), env.every_ns);
    if first > 0 {
        meter.add(first, env.now_ns());
    }
    let mut buf = vec![0; WRITE_BYTES as usize];
    let mut watch = HoldWatch::start(HoldWatch::RECEIVER);
    let mut work = || -> io::Result<()> {
        stream.set_read_timeout(Some(TICK))?;
        let mut last = Instant::now();
        while !env.stopped() {
            env.tell(id, &mut meter, |meter| reads(meter, &mut bursts));
            let began_ns = env.now_ns();
            watch.tick(began_ns);
            let read = stream.read(&mut buf);
            let now_ns = env.now_ns();
            // The arrival time is unknown.
            watch.idle(began_ns, now_ns, TICK);
            match read {
                Ok(0) => {
                    meter.until(now_ns);
                    return Ok(());
                }
                Ok(len) => {
                    meter.add(len, now_ns);
                    if let Some(bursts) = &mut bursts {
                        bursts.take(&buf[..len], env.wall_us(now_ns));
                    }
                    heard(now_ns, &buf[..len]);
                    last = Instant::now();
                    if meter.total().1 > most {
                        return Ok(());
                    }
                }
                Err(error) if is_wait(&error) => {
                    if last.elapsed() > quiet {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
            if now_ns > until_ns {
                return Err(ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    };
    let result = work();
    env.tell_rest(id, &mut meter, |meter| reads(meter, &mut bursts));
    let (span, bytes) = meter.total();
    let leg = Leg::TcpReceived {
        span,
        bytes,
        reads: meter.calls(),
        transit: bursts.and_then(|bursts| bursts.all()),
        held_up_ns: Some(watch.finish().held_ns),
        slices: meter.slices(),
    };
    (leg, result)
}
