//! Checks that an iperf 2 server is there before it gets a load: a plain sink accepts every byte too, but answers
//! nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{CONNECT, ClientConfig, Protocol};
use crate::sending::is_wait;
use crate::v2::amount::Amount;
use crate::v2::client_header::Mode;
use crate::v2::datagram::Generation;
use crate::v2::io::TICK;
use crate::v2::outcome::{Leg, Trouble};
use crate::v2::progress::FirstReply;
use crate::v2::sockets::connect_tcp;

/// How long a server may take to answer a header over TCP: iperf 2.1 does so at once.
const ANSWER: Duration = Duration::from_millis(500);

impl ClientConfig {
    /// Makes sure that an iperf 2 server answers, with one datagram or a few bytes. Over UDP its report shows its
    /// generation. Over TCP, servers since 2.1 answer each header; older ones and those of lwIP are asked for a byte on
    /// a connection back (`-r`).
    ///
    /// # Errors
    /// [`Trouble::Silent`] where it answers nothing, or the trouble of another program there.
    pub fn make_sure_of_iperf(&self, stop: &AtomicBool) -> Result<Option<Generation>, Trouble> {
        let little = ClientConfig {
            mode: Mode::Forward,
            amount: Amount::Bytes(1),
            own_amount: None,
            interval: Duration::ZERO,
            streams: 1,
            ..*self
        };
        match self.protocol {
            Protocol::Udp => little.reports(stop),
            Protocol::Tcp => little.answers(stop).map(|()| None),
        }
    }

    fn reports(&self, stop: &AtomicBool) -> Result<Option<Generation>, Trouble> {
        let outcome = self.run_once(stop, &|_| {});
        let has_report = |leg: &Leg| matches!(leg, Leg::UdpSent(sent) if sent.report.is_some());
        let reported = outcome.legs.iter().any(|(_, leg)| has_report(leg));
        let server = outcome.server();
        match outcome.trouble {
            Some(trouble) => Err(trouble),
            None if reported || server.is_some() || stop.load(Ordering::Relaxed) => Ok(server),
            None => Err(Trouble::Silent(self.server)),
        }
    }

    fn answers(&self, stop: &AtomicBool) -> Result<(), Trouble> {
        match self.said_to_header(stop)? {
            Some(FirstReply::Answer) => return Ok(()),
            Some(FirstReply::Iperf3) => return Err(Trouble::IsIperf3(self.server)),
            Some(FirstReply::Strange) => return Err(Trouble::NotIperf(self.server)),
            None => {}
        }
        let back = ClientConfig {
            mode: Mode::Tradeoff,
            ..*self
        };
        let outcome = back.run_once(stop, &|_| {});
        let has_received = |leg: &Leg| matches!(leg, Leg::TcpReceived { bytes, .. } if *bytes > 0);
        match outcome.trouble {
            _ if outcome.legs.iter().any(|(_, leg)| has_received(leg)) => Ok(()),
            _ if stop.load(Ordering::Relaxed) => Ok(()),
            Some(trouble) if !matches!(trouble, Trouble::NothingBack { .. }) => Err(trouble),
            _ => Err(Trouble::Silent(self.server)),
        }
    }

    /// The server's first words after a header, if it says any.
    fn said_to_header(&self, stop: &AtomicBool) -> Result<Option<FirstReply>, Trouble> {
        let connect = |source| Trouble::Connect {
            peer: self.server,
            source,
        };
        let mut stream = connect_tcp(self.server, 0, self.wanted(), CONNECT)?;
        let header = self.header(self.server.port(), (0, 0)).to_vec();
        self.gone(stream.write_all(&header))?;
        stream.set_read_timeout(Some(TICK)).map_err(connect)?;
        let begun = Instant::now();
        let mut words = [0; 4];
        while begun.elapsed() < ANSWER && !stop.load(Ordering::Relaxed) {
            match stream.read(&mut words) {
                Ok(0) => break,
                Ok(len) => {
                    let _ = stream.shutdown(Shutdown::Write);
                    return Ok(Some(FirstReply::of(&words[..len])));
                }
                Err(error) if is_wait(&error) || error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        Ok(None)
    }
}
