//! `--bounceback`: the client sends blocks over TCP, and each returns with the times of its arrival and return.
//!
//! ```text
//!  0  flags        12  flags of the test     28  server, arrival: s, µs     44  hold, µs
//!  4  block size   14  type of service       36  server, return: s, µs
//!  8  number       16  run time, 10 ms
//! ```
//! All other bytes are the client's and return unchanged.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use wirelab_trial::slices::Slices;

use crate::sending::is_wait;
use crate::v2::bytes::{be32, put_words};
use crate::v2::enhanced::Reads;
use crate::v2::flags::base;
use crate::v2::intervals::Span;
use crate::v2::io::Env;
use crate::v2::outcome::Leg;

/// Smallest block in bytes: up to the hold time.
const LEAST_BLOCK: usize = 48;
/// Largest block in bytes that the server buffers.
const MOST_BLOCK: usize = 1 << 20;
/// Longest hold of a block.
const MOST_HOLD: Duration = Duration::from_secs(1);
/// Offset of the server's two times.
const TIMES_AT: usize = 28;
const HOLD_AT: usize = 44;

/// The size of the blocks, where the first words of a connection request bounceback; an error where it is out of range.
pub(in crate::v2) fn requested_block(start: &[u8]) -> Option<Result<usize, &'static str>> {
    if be32(start, 0)? & base::BOUNCEBACK == 0 {
        return None;
    }
    let bytes = be32(start, 4)? as usize;
    Some(match (LEAST_BLOCK..=MOST_BLOCK).contains(&bytes) {
        true => Ok(bytes),
        false => Err("bounceback: blocks have 48 to 1048576 bytes"),
    })
}

/// Returns blocks until the client closes, or is idle for too long. `start` are the bytes already read.
pub(super) fn serve(
    stream: &mut TcpStream,
    start: &[u8],
    block_bytes: usize,
    quiet: Duration,
    env: &Env<'_>,
    heard: &dyn Fn(u64),
) -> (Leg, io::Result<()>) {
    let mut block = vec![0; block_bytes];
    block[..start.len()].copy_from_slice(start);
    let (start_ns, mut filled, mut bytes) = (env.now_ns(), start.len(), 0);
    let (mut reads, mut end_ns) = (Reads::default(), start_ns);
    let mut work = || -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut last = Instant::now();
        while !env.stopped() {
            match stream.read(&mut block[filled..]) {
                Ok(0) => return Ok(()),
                Ok(more) => {
                    filled += more;
                    reads.add(more, block_bytes);
                    last = Instant::now();
                }
                Err(error) if is_wait(&error) && last.elapsed() <= quiet => {}
                Err(error) if is_wait(&error) => return Err(ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            }
            if filled == block_bytes {
                end_ns = env.now_ns();
                heard(end_ns);
                answer(stream, &mut block, env)?;
                bytes += block_bytes as u64;
                filled = 0;
            }
        }
        Ok(())
    };
    let result = work();
    let span = Span { start_ns, end_ns };
    let leg = Leg::TcpReceived {
        span,
        bytes,
        reads,
        transit: None,
        held_up_ns: None,
        slices: Slices::default(),
    };
    (leg, result)
}

fn answer(stream: &mut TcpStream, block: &mut [u8], env: &Env<'_>) -> io::Result<()> {
    let arrived = env.wall(env.now_ns());
    let hold = Duration::from_micros(u64::from(be32(block, HOLD_AT).unwrap_or(0)));
    if !hold.is_zero() {
        std::thread::sleep(hold.min(MOST_HOLD));
    }
    let returned = env.wall(env.now_ns());
    put_words(
        block,
        TIMES_AT,
        &[arrived.0, arrived.1, returned.0, returned.1],
    );
    stream.write_all(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words() {
        // As iperf 2.1.8 sends it: --bounceback, blocks of 100 bytes.
        let captured = [0, 0x80, 0, 0, 0, 0, 0, 100];
        assert_eq!(requested_block(&captured), Some(Ok(100)));
        assert_eq!(requested_block(&captured[..4]), None);
        assert_eq!(requested_block(&[0x40, 1, 0, 0x78, 0, 0, 0, 1]), None);
        for size in [0, 47, (1 << 20) + 1, u32::MAX] {
            let mut start = captured;
            start[4..].copy_from_slice(&size.to_be_bytes());
            assert!(matches!(requested_block(&start), Some(Err(_))), "{size}");
        }
    }
}
