//! What the tests of iperf3 share.

use std::net::SocketAddr;
use std::time::Duration;

use wirelab_iperf::v3::{Client, Parameters, TestError, TestOutcome};
use wirelab_trial::Cancel;

pub mod real;

/// Run one test with our client.
pub fn ask(server: SocketAddr, parameters: Parameters) -> Result<TestOutcome, TestError> {
    let interval = Duration::from_millis(500);
    Client {
        interval,
        ..Client::new(server, parameters)
    }
    .run(&Cancel::new())
}

/// All bytes that our end counted.
pub fn bytes(outcome: &TestOutcome) -> u64 {
    outcome
        .streams
        .iter()
        .map(|stream| stream.counted.bytes)
        .sum()
}

/// All bytes that the peer reported, for a test that ended normally.
pub fn told_bytes(outcome: &TestOutcome) -> u64 {
    assert_eq!(outcome.failure, None);
    let told = outcome
        .peer_results
        .as_ref()
        .expect("the peer reported its results");
    told.streams.iter().map(|stream| stream.bytes).sum()
}

/// A second of TCP.
pub fn tcp() -> Parameters {
    Parameters {
        seconds: 1,
        ..Parameters::default()
    }
}

/// A second of UDP, 500 datagrams in it.
pub fn udp() -> Parameters {
    Parameters {
        seconds: 1,
        length_bytes: 500,
        rate_bit_s: 2_000_000,
        ..Parameters::udp()
    }
}

/// Bytes that our end sent.
pub fn sent_bytes(outcome: &TestOutcome) -> u64 {
    let streams = outcome.streams.iter().filter(|s| s.ends.sender);
    streams.map(|s| s.counted.bytes).sum()
}
