//! `wirelab iperf`: iperf 2 and iperf3 with their own flags, server and client.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use wirelab_cores::prefer_this_session;
use wirelab_iperf::SendOptions;
use wirelab_iperf::v2::Protocol;
use wirelab_iperf::v2::table::Format;

use crate::args::IperfArgs;
use crate::exit::{Failure, Result};

mod fragments;
mod output;
mod report2;
mod routed;
mod sockets;
mod three;
mod two;

/// Shortest interval of the table, as in iperf.
const LEAST_INTERVAL_S: f64 = 0.01;
/// Longest time of an option: the limit of an iperf 2 header.
const MOST_SECONDS: f64 = 21_474_836.0;

pub fn run(args: &IperfArgs) -> Result {
    if args.serve.daemon && !output::is_background() {
        return output::start_background();
    }
    let output = output::enter(args)?;
    // A server in the background leaves this session.
    let _preferred = (!output::is_background()).then(prefer_this_session);
    match (args.iperf3, &args.client) {
        (false, Some(host)) => two::test(args, host),
        (false, None) => two::serve(args, output),
        (true, Some(host)) => three::test(args, host),
        (true, None) => three::serve(args, output),
    }
}

/// The error for an invalid option value, with its fix.
fn wrong(option: &str, why: impl std::fmt::Display) -> Failure {
    Failure::usage(format_args!("{}: {why}", option.trim_end_matches(':')))
}

fn format(args: &IperfArgs) -> std::result::Result<Format, Failure> {
    let letter = args.format;
    Format::from_letter(letter).ok_or_else(|| {
        let fix = "write a, k, m or g for bits, A, K, M or G for bytes";
        wrong(
            "--format",
            format_args!("unknown unit '{letter}'; fix: {fix}"),
        )
    })
}

/// The seconds of an option as a time.
fn seconds(option: &str, value: f64, least: f64) -> std::result::Result<Duration, Failure> {
    if (least..=MOST_SECONDS).contains(&value) {
        return Ok(Duration::from_secs_f64(value));
    }
    let range = format_args!("invalid value {value}; fix: give {least} to {MOST_SECONDS} seconds");
    Err(wrong(option, range))
}

/// The interval of table lines, by default `usual_s` seconds; zero for no lines.
fn interval(args: &IperfArgs, usual_s: f64) -> std::result::Result<Duration, Failure> {
    match args.interval.unwrap_or(usual_s) {
        0.0 => Ok(Duration::ZERO),
        s => seconds("--interval", s, LEAST_INTERVAL_S),
    }
}

/// The server's address; for a name the first of the requested IP version.
fn resolve(args: &IperfArgs, host: &str, port: u16) -> std::result::Result<SocketAddr, Failure> {
    let (bare, _) = sockets::host_and_device(host);
    let bare = bare.trim_start_matches('[').trim_end_matches(']');
    let port = args.port.unwrap_or(port);
    if port == 0 {
        return Err(wrong(
            "--port",
            "0 is not a port to connect to; fix: give 1 to 65535",
        ));
    }
    let found = (bare, port).to_socket_addrs().map_err(|error| {
        let fix = "give an address, or a name that this machine knows";
        wrong("--client", format_args!("{host}: {error}; fix: {fix}"))
    })?;
    let found: Vec<SocketAddr> = found.collect();
    let wanted = |address: &&SocketAddr| address.is_ipv6() == args.ipv6;
    // An address shows its IP version; for a name -V selects it.
    let literal = !args.ipv4 && (bare.parse::<IpAddr>().is_ok() || bare.contains('%'));
    let chosen = found
        .iter()
        .find(wanted)
        .or(found.first().filter(|_| literal));
    chosen.copied().ok_or_else(|| {
        let (kind, fix) = match args.ipv6 {
            true => ("IPv6", "leave -V out"),
            false if args.ipv4 => ("IPv4", "leave -4 out, or write -V for IPv6"),
            false => ("IPv4", "add -V for IPv6"),
        };
        wrong(
            "--client",
            format_args!("{host} has no {kind} address; fix: {fix}"),
        )
    })
}

/// How this side sends.
fn sending(args: &IperfArgs) -> SendOptions {
    SendOptions {
        segmentation: !args.no_segmentation,
        strict_gaps: args.strict_gaps,
    }
}

fn protocol(args: &IperfArgs) -> Protocol {
    match args.test.udp {
        true => Protocol::Udp,
        false => Protocol::Tcp,
    }
}
