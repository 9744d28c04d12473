//! iperf3: the test that the options ask for, and the server.

use std::net::SocketAddr;

use serde_json::json;
use wirelab_iperf::v2::amount::{parse_bytes, parse_rate};
use wirelab_iperf::v2::{Protocol, Rate};
use wirelab_iperf::v3::parameters::MAX_SECONDS;
use wirelab_iperf::v3::table::{RULER, Table};
use wirelab_iperf::v3::{
    Client, DEFAULT_PORT, Outcome as Test, Parameters, Server, StreamOutcome, TestError, Told,
    report,
};
use wirelab_report::format;
use wirelab_trial::Cancel;

use super::place::Place;
use super::sockets::{listen, options, zerocopy};
use super::{format, fragments, interval, protocol, resolve, sending, wrong};
use crate::args::IperfArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, say};

/// The line that iperf3 draws around where it listens.
const LINE: &str = "-----------------------------------------------------------";
/// A datagram of which the packet fits an MTU of 1500 over IPv6.
const DATAGRAM_IPV6: u32 = 1440;

type Asked<T> = std::result::Result<T, Failure>;

/// What iperf3 does not know, and what to write.
fn check(args: &IperfArgs) -> Asked<()> {
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
        (
            zerocopy(args),
            "-Z without an algorithm (zerocopy)",
            "leave it out",
        ),
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
    ];
    match cases.iter().find(|(given, ..)| *given) {
        Some((_, option, way)) => Err(wrong(
            option,
            format_args!("is not of iperf3; {way}, or leave --iperf3 out"),
        )),
        None => Ok(()),
    }
}

/// Bytes as iperf3 reads them: small letters are powers of 1024 too.
fn bytes(option: &str, text: &str) -> Asked<u64> {
    parse_bytes(&text.to_uppercase()).map_err(|_| {
        let way = "write a number with K, M or G (powers of 1024), such as 8K";
        wrong(option, format_args!("takes no '{text}'; {way}"))
    })
}

/// A rate as iperf3 reads it: K, M and G are powers of 1000.
fn rate(text: &str) -> Asked<u64> {
    match parse_rate(&text.to_lowercase()) {
        Ok(Rate::BitsPerS(bits)) => Ok(bits),
        Ok(Rate::Max) => Ok(0),
        Ok(Rate::PacketsPerS(_)) | Err(_) => {
            let way = "write bit/s with K, M or G (powers of 1000), such as 5M";
            Err(wrong(
                "--bandwidth",
                format_args!("takes no '{text}'; {way}"),
            ))
        }
    }
}

fn whole_seconds(option: &str, value: f64) -> Asked<u64> {
    let most = MAX_SECONDS as f64;
    if value.fract() == 0.0 && (1.0..=most).contains(&value) {
        return Ok(value as u64);
    }
    Err(wrong(
        option,
        format_args!("of iperf3 takes whole seconds from 1 to {MAX_SECONDS}, not {value}"),
    ))
}

fn parameters(args: &IperfArgs, server: SocketAddr) -> Asked<Parameters> {
    let test = &args.test;
    let udp = protocol(args) == Protocol::Udp;
    let mut asked = match udp {
        true => Parameters::udp(),
        false => Parameters::default(),
    };
    if udp && server.is_ipv6() {
        asked.length_bytes = DATAGRAM_IPV6;
    }
    let narrow = |option, text: &String| {
        let given = bytes(option, text)?;
        u32::try_from(given).map_err(|_| wrong(option, format_args!("{given} is too much")))
    };
    if let Some(text) = &test.len {
        asked.length_bytes = narrow("--len", text)?;
    }
    if let Some(text) = &args.window {
        asked.window_bytes = narrow("--window", text)?;
    }
    if let Some(text) = &test.bandwidth {
        asked.rate_bit_s = rate(text)?;
    }
    if let Some(text) = &test.num {
        asked.bytes = bytes("--num", text)?;
    }
    if let Some(text) = &test.blockcount {
        asked.blocks = bytes("--blockcount", text)?;
    }
    asked.seconds = match test.time {
        Some(time) => whole_seconds("--time", time)?,
        None if asked.bytes > 0 || asked.blocks > 0 => 0,
        None => asked.seconds,
    };
    asked.omit_seconds = test.omit.unwrap_or(0);
    asked.streams = test.parallel;
    asked.reverse = test.reverse;
    asked.bidirectional = test.bidir;
    asked.check().map_err(Failure::usage)?;
    Ok(asked)
}

/// The lines of one test while it runs.
struct Printer<'a> {
    args: &'a IperfArgs,
    client: bool,
    table: Option<Table>,
    headed: bool,
}

impl Printer<'_> {
    fn told(&mut self, told: Told<'_>) {
        if self.args.json {
            return;
        }
        match told {
            Told::Began {
                peer,
                parameters,
                streams,
            } => {
                if !self.client {
                    say!(
                        "Accepted connection from {}, port {}",
                        peer.ip(),
                        peer.port()
                    );
                } else if parameters.reverse {
                    say!("Reverse mode, remote host {} is sending", peer.ip());
                }
                for ends in streams {
                    let (local, remote) = (ends.local, ends.remote);
                    say!(
                        "[{:3}] local {} port {} connected to {} port {}",
                        ends.id,
                        local.ip(),
                        local.port(),
                        remote.ip(),
                        remote.port()
                    );
                }
                // The letter was checked before anything began.
                let letter = format(self.args).unwrap_or_default();
                let table = Table::new(letter, self.client, parameters.clone(), streams.to_vec());
                self.table = Some(table);
            }
            Told::Interval(interval) => {
                if let Some(table) = &self.table {
                    if !std::mem::replace(&mut self.headed, true) {
                        say!("{}", table.heading());
                    }
                    for line in table.interval(interval) {
                        say!("{line}");
                    }
                }
            }
        }
    }

    /// What a test came to; whether it came to its own end.
    fn end(&self, test: &Test) -> Asked<()> {
        if self.args.json {
            let value = report::to_json(test);
            let text = serde_json::to_string_pretty(&value).map_err(Failure::failed)?;
            say!("{text}");
        } else if let Some(table) = &self.table {
            if self.headed {
                say!("{RULER}");
            }
            for line in table.total(test) {
                say!("{line}");
            }
        }
        notes(test);
        match &test.failure {
            Some(failure) => Err(Failure::failed(format_args!(
                "{failure}; the figures are those until then"
            ))),
            None => Ok(()),
        }
    }
}

/// What iperf3 does not say.
fn notes(test: &Test) {
    for note in test.notes() {
        complain(format_args!("note: {note}"));
    }
    for stream in &test.streams {
        let id = stream.ends.id;
        let seen = stream.counted.received;
        if seen.duplicated > 0 {
            complain(format_args!(
                "[{id:3}] note: {} lost and {} duplicates: iperf3 counts a duplicate as out of order and takes it from the losses",
                seen.lost, seen.duplicated
            ));
        }
        if let Some(note) = seen.missed_note() {
            complain(format_args!("[{id:3}] note: {note}"));
        }
        if stream.segmented {
            complain(format_args!(
                "[{id:3}] note: segmented: the system got many datagrams in one piece, each with its own number, to be cut late; --no-segmentation hands them over one by one"
            ));
        }
        if test.parameters.rate_bit_s > 0 {
            pace(stream);
        }
    }
}

/// How well a sender kept the rate that was asked.
fn pace(stream: &StreamOutcome) {
    let id = stream.ends.id;
    let time = |ns: u64| format::time(ns.saturating_mul(1000));
    let percentile = |percent| {
        stream
            .gaps
            .as_ref()
            .and_then(|gaps| gaps.percentile(percent))
    };
    let longest = stream.gaps.as_ref().map(|gaps| gaps.max_ticks);
    let (Some(half), Some(most), Some(longest)) = (percentile(50.0), percentile(99.0), longest)
    else {
        return;
    };
    let kept = match stream.slips {
        0 => "the rate was kept",
        _ => "the rate was not kept",
    };
    complain(format_args!(
        "[{id:3}] gaps between writes: median {}, 99 % {}, longest {}; {kept}",
        time(half),
        time(most),
        time(longest)
    ));
    if stream.slips > 0 {
        complain(format_args!(
            "[{id:3}] note: the sender did not keep the rate: {} pauses are not made up for; free the processors or ask for less",
            stream.slips
        ));
    }
}

fn failure(error: TestError) -> Failure {
    match error {
        TestError::Unsupported(_) | TestError::Refused(_) => Failure::usage(error),
        _ => Failure::failed(error),
    }
}

/// Run a test as a client.
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
    };
    if protocol(args) == Protocol::Udp {
        fragments::warn(server, client.parameters.length_bytes);
    }
    let mut printer = Printer {
        args,
        client: true,
        table: None,
        headed: false,
    };
    let cancel = cancel_on_signal();
    if !args.json {
        say!("Connecting to host {host}, port {}", server.port());
    }
    let test = match client.run_telling(&cancel, &mut |told| printer.told(told)) {
        Ok(test) => test,
        Err(error) => {
            if args.json {
                say!("{:#}", json!({ "error": error.to_string() }));
            }
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
    if !args.json {
        say!("\niperf Done.");
    }
    Ok(Outcome::Done)
}

/// Serve until Ctrl-C, or one test.
pub fn serve(args: &IperfArgs, place: Place) -> Result {
    check(args)?;
    format(args)?;
    let mut server = Server::bind(listen(args, DEFAULT_PORT)?).map_err(Failure::usage)?;
    server.set_interval(interval(args, 1.0)?);
    server.set_sending(sending(args));
    server.set_options(options(args)?).map_err(failure)?;
    let cancel = cancel_on_signal();
    place.serves(&format!(
        "Server listening on {}, iperf3",
        server.local_addr()
    ));
    for number in 1.. {
        if !args.json {
            let local = server.local_addr();
            say!(
                "{LINE}\nServer listening on {} (test #{number})\nat {}, iperf3\n{LINE}",
                local.port(),
                local.ip()
            );
        }
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

fn serve_one(args: &IperfArgs, server: &mut Server, cancel: &Cancel) -> Asked<()> {
    let mut printer = Printer {
        args,
        client: false,
        table: None,
        headed: false,
    };
    let test = server
        .serve_one_telling(cancel, &mut |told| printer.told(told))
        .map_err(failure)?;
    printer.end(&test)
}
