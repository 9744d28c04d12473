//! Echo on the command line: a reflector, a ping-pong and an open-loop probe, for the comparison with sockperf
//! (`docs/latency.md`).
//!
//! Build it with `cargo build --release -p wirelab-socket --example echo`. Run the two tools in turn in a lab with
//! one pair, each sleeping and then spinning, tester on core 0 and node on core 1:
//!
//! ```text
//! wirelab lab up sp
//! # ours, sleeping (with --spin on both: spinning)
//! wirelab lab exec --name sp node taskset -c 1 target/release/examples/echo server 198.18.0.1:5003 --seconds 8 &
//! wirelab lab exec --name sp tester taskset -c 0 target/release/examples/echo ping-pong 198.18.0.1:5003 --bytes 64 --seconds 5
//! # sockperf, sleeping (spinning: add --nonblocked on both)
//! wirelab lab exec --name sp node taskset -c 1 sockperf server -i 198.18.0.1 -p 5004 &
//! wirelab lab exec --name sp tester taskset -c 0 sockperf ping-pong -i 198.18.0.1 -p 5004 -m 64 -t 5
//! wirelab lab down sp
//! ```
//!
//! Compare `half_median_ns` of the JSON line here with `percentile 50.000` there (in µs, already half a round trip).
//! Half a round trip is used because sockperf prints only that; it is not a one-way latency.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use wirelab_socket::echo::{self, PERCENTILES, Wait};
use wirelab_socket::{FlowProgress, Offer, udp};
use wirelab_trial::job::Pace;
use wirelab_trial::{Cancel, Extent, Series};

const USAGE: &str = "usage: echo server|ping-pong|probe ADDRESS:PORT [--spin] [--bytes N] [--seconds N] [--rate FRAMES_PER_S]";

struct Options {
    mode: String,
    address: SocketAddr,
    wait: Wait,
    bytes: u32,
    seconds: u64,
    rate: Option<f64>,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().ok_or(USAGE);
    let mut options = Options {
        mode: next()?,
        address: next()?.parse()?,
        wait: Wait::Sleep,
        bytes: 64,
        seconds: 5,
        rate: None,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(USAGE);
        match word.as_str() {
            "--spin" => options.wait = Wait::Spin,
            "--bytes" => options.bytes = value()?.parse()?,
            "--seconds" => options.seconds = value()?.parse()?,
            "--rate" => options.rate = Some(value()?.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    match options.mode.as_str() {
        "server" => server(&options),
        "ping-pong" => ping_pong(&options),
        "probe" => probe(&options),
        _ => Err(USAGE.into()),
    }
}

fn server(options: &Options) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(options.address)?;
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let seconds = Duration::from_secs(options.seconds);
    std::thread::spawn(move || {
        std::thread::sleep(seconds);
        stop.cancel();
    });
    // It serves the first host that sends, as a node does in a trial, and knows its address.
    socket.set_read_timeout(Some(seconds))?;
    let (_, peer) = socket.peek_from(&mut [0; 1])?;
    socket.connect(peer)?;
    let seen = echo::reflect(
        &socket,
        None,
        None,
        options.wait,
        &FlowProgress::default(),
        &cancel,
    )?;
    let counts = seen.report.counts;
    println!(
        r#"{{"mode":"server","received_frames":{},"good_frames":{},"foreign_frames":{}}}"#,
        counts.received_frames, counts.good_frames, counts.foreign_frames
    );
    Ok(())
}

fn connected(options: &Options) -> Result<(UdpSocket, Offer), Box<dyn Error>> {
    let any: SocketAddr = match options.address {
        SocketAddr::V4(_) => ([0; 4], 0).into(),
        SocketAddr::V6(_) => ([0; 16], 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(options.address)?;
    let offer = Offer {
        stream: 0,
        datagram_bytes: options.bytes,
        pace: Pace::of(options.rate),
        extent: Extent::Time {
            time_ps: options.seconds.saturating_mul(1_000_000_000_000),
        },
        with_time: true,
        node_clock: false,
    };
    Ok((socket, offer))
}

fn ping_pong(options: &Options) -> Result<(), Box<dyn Error>> {
    let (socket, offer) = connected(options)?;
    let done = echo::ping_pong(&socket, &offer, options.wait, &Cancel::new())?;
    let median = done.round_trip.percentile(50.0).unwrap_or(0);
    println!(
        r#"{{"mode":"ping-pong","wait":"{:?}","datagram_bytes":{},"echoes":{},"lost_frames":{},"half_median_ns":{},"round_trip_ns":{}}}"#,
        options.wait,
        options.bytes,
        done.round_trip.histogram.count,
        done.received.counts.lost_frames,
        median / 2,
        percentiles(&done.round_trip),
    );
    Ok(())
}

fn probe(options: &Options) -> Result<(), Box<dyn Error>> {
    let (socket, mut offer) = connected(options)?;
    offer.pace = Pace::of(Some(options.rate.unwrap_or(1_000.0)));
    udp::prepare(&socket);
    let report = echo::probe(&socket, &offer, options.wait, &Cancel::new())?;
    let floor = match report.floor.value() {
        Some(floor) => percentiles(floor),
        None => "null".to_owned(),
    };
    println!(
        r#"{{"mode":"probe","wait":"{:?}","sent_frames":{},"lost_frames":{},"slips":{},"arrivals":"{}","stamps":"{}","jitter_ns":{},"round_trip_ns":{},"from_sending_ns":{},"floor_ns":{floor}}}"#,
        options.wait,
        report.sent.sequences,
        report.received.counts.lost_frames,
        report.sent.slips,
        report.arrivals.name(),
        report.stamps.name(),
        report.received.jitter_ns.unwrap_or(0),
        percentiles(&report.round_trip),
        percentiles(&report.from_sending),
    );
    report.failure.map_or(Ok(()), |error| Err(error.into()))
}

/// Percentiles as an object of JSON.
fn percentiles(series: &Series) -> String {
    let figures: Vec<_> = PERCENTILES
        .iter()
        .filter_map(|p| Some(format!(r#""{p}":{}"#, series.percentile(*p)?)))
        .collect();
    format!("{{{}}}", figures.join(","))
}
