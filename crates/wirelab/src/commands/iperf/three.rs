//! iperf3: the test of the options, and the server.

use std::net::SocketAddr;
use std::time::Duration;

use wirelab_iperf::v2::amount::{parse_bytes, parse_rate};
use wirelab_iperf::v2::{Protocol, Rate};
use wirelab_iperf::v3::parameters::MAX_SECONDS;
use wirelab_iperf::v3::{CONNECT_TIMEOUT, Client, DEFAULT_PORT, Parameters, Server, TestError};
use wirelab_trial::Cancel;

use super::output::ServerOutput;
use super::sockets::{listen, options, zerocopy};
use super::{format, fragments, interval, protocol, resolve, routed, sending, wrong};
use crate::args::IperfArgs;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain};

mod printer;
mod users;

use printer::Printer;
use users::{authorizer, credentials};

/// The separator lines of iperf3 around its address.
const LINE: &str = "-----------------------------------------------------------";
/// The fix for an option that the client of a test chooses.
const CLIENTS: &str = "give it to the client, which chooses";
/// Default datagram over IPv6, whose packet fits an MTU of 1500.
const DATAGRAM_IPV6: u32 = 1440;

/// Refuses options that iperf3 does not have, with the fix.
fn check(args: &IperfArgs) -> Fallible<()> {
    let test = &args.test;
    let cases = [
        (test.dualtest, "--dualtest", "write --bidir"),
        (test.full_duplex, "--full-duplex", "write --bidir"),
        (
            test.tradeoff,
            "--tradeoff",
            "run the test once without and once with -R",
        ),
        (test.listenport.is_some(), "--listenport", "leave it out"),
        (args.reportstyle.is_some(), "--reportstyle", "write -J"),
        (args.sum_only, "--sum-only", "leave it out"),
        (test.trip_times, "--trip-times", "leave it out"),
        (args.serve.receive_only, "--receive-only", "leave it out"),
        (
            !args.serve.allow_reverse.is_empty(),
            "--allow-reverse",
            "leave it out",
        ),
        (
            args.server && test.time.is_some(),
            "--time with --server",
            "end it with Ctrl-C, or after one test with -1",
        ),
        (args.server && test.udp, "--udp with --server", CLIENTS),
        (
            args.server && test.len.is_some(),
            "--len with --server",
            CLIENTS,
        ),
        (
            args.server && args.window.is_some(),
            "--window with --server",
            CLIENTS,
        ),
        (
            args.server && test.parallel.is_some(),
            "--parallel with --server",
            CLIENTS,
        ),
    ];
    match cases.iter().find(|(given, ..)| *given) {
        Some((_, option, fix)) => Err(wrong(
            option,
            format_args!("iperf3 has no such option; fix: {fix}, or leave --iperf3 out"),
        )),
        None => Ok(()),
    }
}

/// Bytes in the syntax of iperf3: small letters are powers of 1024 too.
fn bytes(option: &str, text: &str) -> Fallible<u64> {
    parse_bytes(&text.to_uppercase()).map_err(|_| {
        let fix = "write a number with K, M or G (powers of 1024), such as 8K";
        wrong(option, format_args!("invalid value '{text}'; fix: {fix}"))
    })
}

/// A rate in the syntax of iperf3: K, M and G are powers of 1000.
fn rate(text: &str) -> Fallible<u64> {
    match parse_rate(&text.to_lowercase()) {
        Ok(Rate::BitsPerS(bits)) => Ok(bits),
        Ok(Rate::Max) => Ok(0),
        Ok(Rate::PacketsPerS(_)) | Err(_) => {
            let fix = "write bit/s with K, M or G (powers of 1000), such as 5M";
            Err(wrong(
                "--bandwidth",
                format_args!("invalid value '{text}'; fix: {fix}"),
            ))
        }
    }
}

fn whole_seconds(option: &str, value: f64) -> Fallible<u64> {
    let most = MAX_SECONDS as f64;
    if value.fract() == 0.0 && (1.0..=most).contains(&value) {
        return Ok(value as u64);
    }
    Err(wrong(
        option,
        format_args!(
            "invalid value {value} for iperf3; fix: give whole seconds from 1 to {MAX_SECONDS}"
        ),
    ))
}

fn parameters(args: &IperfArgs, server: SocketAddr) -> Fallible<Parameters> {
    let test = &args.test;
    let udp = protocol(args) == Protocol::Udp;
    let mut parameters = match udp {
        true => Parameters::udp(),
        false => Parameters::default(),
    };
    if udp && server.is_ipv6() {
        parameters.length_bytes = DATAGRAM_IPV6;
    }
    let narrow = |option, text: &String| {
        let given = bytes(option, text)?;
        u32::try_from(given).map_err(|_| {
            wrong(
                option,
                format_args!("{given} is too much; fix: give less than 4G"),
            )
        })
    };
    if let Some(text) = &test.len {
        parameters.length_bytes = narrow("--len", text)?;
    }
    if let Some(text) = &args.window {
        parameters.window_bytes = narrow("--window", text)?;
    }
    if let Some(text) = &test.bandwidth {
        parameters.rate_bit_s = rate(text)?;
    }
    if let Some(text) = &test.num {
        parameters.bytes = bytes("--num", text)?;
    }
    if let Some(text) = &test.blockcount {
        parameters.blocks = bytes("--blockcount", text)?;
    }
    let three = &args.three;
    parameters.title.clone_from(&three.title);
    parameters.extra_data.clone_from(&three.extra_data);
    parameters.server_output = three.get_server_output;
    parameters.counters_64 = three.udp_counters_64bit;
    parameters.repeating_payload = three.repeating_payload;
    parameters.zerocopy = zerocopy(args) && !udp;
    parameters.seconds = match test.time {
        Some(time) => whole_seconds("--time", time)?,
        None if parameters.bytes > 0 || parameters.blocks > 0 => 0,
        None => parameters.seconds,
    };
    parameters.omit_seconds = test.omit.unwrap_or(0);
    parameters.streams = test.parallel.unwrap_or(1);
    parameters.reverse = test.reverse;
    parameters.bidirectional = test.bidir;
    let checked = parameters.check();
    checked.map_err(|why| Failure::usage(format!("{why}; fix: correct that option")))?;
    Ok(parameters)
}

fn failure(error: TestError) -> Failure {
    match error {
        TestError::Unsupported(_) | TestError::Refused(_) | TestError::Credentials(_) => {
            Failure::usage(error)
        }
        _ => Failure::failed(error),
    }
}

/// Runs a test as a client.
pub fn test(args: &IperfArgs, host: &str) -> Result {
    check(args)?;
    format(args)?;
    let server = resolve(args, host, DEFAULT_PORT)?;
    let client = Client {
        server,
        parameters: parameters(args, server)?,
        interval: interval(args, 1.0)?,
        sending: sending(args),
        options: options(args)?,
        connect_timeout: args
            .three
            .connect_timeout
            .map_or(CONNECT_TIMEOUT, Duration::from_millis),
        credentials: credentials(&args.three)?,
    };
    if protocol(args) == Protocol::Udp {
        fragments::warn(server, client.parameters.length_bytes);
    }
    let parameters = &client.parameters;
    let each = (parameters.rate_bit_s > 0).then_some(parameters.rate_bit_s);
    let total = each.map(|bits| bits.saturating_mul(parameters.streams.into()));
    routed::warn(server, total);
    let mut printer = Printer::new(args)?;
    let cancel = cancel_on_signal();
    printer.line(&format!(
        "Connecting to host {host}, port {}",
        server.port()
    ));
    let test = match client.run_telling(&cancel, &mut |event| printer.show(event)) {
        Ok(test) => test,
        Err(error) => {
            printer.no_test(&error.to_string());
            return Err(failure(error));
        }
    };
    printer.end(&test)?;
    if cancel.is_cancelled() {
        complain(format_args!(
            "interrupted: the figures are those until then"
        ));
        return Ok(Outcome::Missed);
    }
    printer.line("\niperf Done.");
    Ok(Outcome::Done)
}

/// Serves until Ctrl-C, or one test.
pub fn serve(args: &IperfArgs, output: ServerOutput) -> Result {
    check(args)?;
    format(args)?;
    let mut server = Server::bind(listen(args, DEFAULT_PORT)?).map_err(Failure::usage)?;
    server.set_interval(interval(args, 1.0)?);
    server.set_sending(sending(args));
    server.set_options(options(args)?).map_err(failure)?;
    if let Some(authorizer) = authorizer(&args.three)? {
        server.set_authorizer(authorizer);
    }
    let cancel = cancel_on_signal();
    output.serves(&format!(
        "Server listening on {}, iperf3",
        server.local_addr()
    ));
    for number in 1.. {
        let local = server.local_addr();
        Printer::new(args)?.line(&format!(
            "{LINE}\nServer listening on {} (test #{number})\nat {}, iperf3\n{LINE}",
            local.port(),
            local.ip()
        ));
        match serve_one(args, &mut server, &cancel) {
            Ok(()) => {}
            Err(_) if cancel.is_cancelled() => break,
            Err(failure) if args.serve.one => return Err(failure),
            Err(failure) => complain(format_args!("wirelab: {failure}")),
        }
        if args.serve.one {
            break;
        }
    }
    Ok(Outcome::Done)
}

fn serve_one(args: &IperfArgs, server: &mut Server, cancel: &Cancel) -> Fallible<()> {
    let mut printer = Printer::new(args)?;
    let test = server
        .serve_one_telling(cancel, &mut |event| printer.show(event))
        .map_err(failure)?;
    printer.end(&test)
}
