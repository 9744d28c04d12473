//! A client of `--bounceback`: sends blocks over TCP on a schedule that does not wait for their return.

use std::net::SocketAddr;

use wirelab_socket::Offer;
use wirelab_socket::echo::{Blocks, EchoReport, stream_probe};
use wirelab_trial::Cancel;

use super::CONNECT;
use crate::v2::bytes::put_words;
use crate::v2::flags::{base, fill_digits};
use crate::v2::outcome::Trouble;
use crate::v2::sockets::{SocketNeeds, connect_tcp};

/// Bytes of the header in the longest layout (2.2): the smallest block.
pub const LEAST_BLOCK: u32 = 64;
/// Where the server writes the arrival and return times of the block.
const TIMES: std::ops::Range<usize> = 28..44;
/// Where clients of 2.2 request the size of the reply; older ones write filling here.
const REPLY_AT: usize = 60;

/// Sends blocks of `offer.datagram_bytes` to a server that returns them. Round trips are measured by this end's clock;
/// every byte except the server's times must return unchanged.
///
/// # Errors
/// [`Trouble`] where nothing was measured. The report says what ended a running test.
pub fn bounceback(
    server: SocketAddr,
    offer: &Offer,
    cancel: &Cancel,
) -> Result<EchoReport, Trouble> {
    let stream = connect_tcp(server, 0, SocketNeeds::DEFAULT, CONNECT)?;
    let report = stream_probe(&stream, offer, &Bounced(offer.datagram_bytes), cancel);
    let report = report.map_err(|source| Trouble::Gone {
        peer: server,
        source,
    })?;
    if report.received.counts.received_frames == 0 && !cancel.is_cancelled() {
        return Err(Trouble::Unsupported(
            "the server returns no blocks: iperf 2.1.8 does (iperf -s), older ones and iperf3 do not; fix: for an echo, run 'wirelab node serve' there and measure node:HOST",
        ));
    }
    Ok(report)
}

/// Blocks of this many bytes.
struct Bounced(u32);

impl Blocks for Bounced {
    fn write(&self, block: &mut [u8], number: u64) {
        fill_digits(block, 0);
        block[..LEAST_BLOCK as usize].fill(0);
        put_words(block, 0, &[base::BOUNCEBACK, self.0, number as u32]);
        put_words(block, REPLY_AT, &[self.0]);
    }

    fn is_answer(&self, block: &[u8], number: u64) -> bool {
        let mut sent = vec![0; block.len()];
        self.write(&mut sent, number);
        sent[TIMES].copy_from_slice(&block[TIMES]);
        sent == block
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wirelab_trial::Extent;
    use wirelab_trial::job::Pace;

    use super::*;
    use crate::v2::{Server, ServerConfig};

    #[test]
    fn our_own_server_returns_what_was_sent() {
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::start(here, ServerConfig::default(), Arc::new(|_| {})).unwrap();
        let offer = Offer {
            stream: 0,
            datagram_bytes: 100,
            pace: Pace::Interval { ps: 2_000_000_000 },
            extent: Extent::Frames { frames: 40 },
            with_time: true,
            node_clock: false,
        };
        let report = bounceback(server.tcp_address(), &offer, &Cancel::new()).unwrap();
        assert!(report.failure.is_none(), "{:?}", report.failure);
        assert_eq!(report.round_trip.histogram.count, 40);
        assert_eq!(report.received.counts.lost_frames, 0);
    }

    #[test]
    fn an_answer_is_the_block_with_the_servers_times() {
        let blocks = Bounced(100);
        let mut block = vec![0; 100];
        blocks.write(&mut block, 7);
        assert_eq!(block[..12], [0, 0x80, 0, 0, 0, 0, 0, 100, 0, 0, 0, 7]);
        block[TIMES].fill(9);
        assert!(blocks.is_answer(&block, 7) && !blocks.is_answer(&block, 8));
        block[99] ^= 1;
        assert!(!blocks.is_answer(&block, 7), "a damaged byte");
    }
}
