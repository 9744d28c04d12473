//! iperf 2: the test of the options, and the server.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use wirelab_iperf::v2::amount::{parse_bytes, parse_rate};
use wirelab_iperf::v2::csv::Ends;
use wirelab_iperf::v2::outcome::Trouble;
use wirelab_iperf::v2::server::ServerEvent;
use wirelab_iperf::v2::table::{Id, Row};
use wirelab_iperf::v2::{
    Amount, ClientConfig, ClientEvent, DEFAULT_PORT, Generation, Mode, Protocol, Server,
    ServerConfig, json,
};
use wirelab_socket::access::Access;

use super::output::ServerOutput;
use super::report2::{Printer, RULER};
use super::sockets::{listen, options};
use super::{interval, protocol, resolve, routed, seconds, sending, wrong};
use crate::args::IperfArgs;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::refusals::Refusals;
use crate::terminal::{cancel_on_signal, complain, say, show_json};

/// Default datagram of iperf 2 over IPv6.
const DATAGRAM_IPV6: u32 = 1450;
/// With `--one` the server ends when nothing has begun for this long after the end of a leg.
const LINGER: Duration = Duration::from_millis(500);
/// Lines of `-i` that JSON keeps of one leg: a day of seconds.
const MAX_ROWS: usize = 86_400;

fn window(args: &IperfArgs) -> Fallible<Option<u32>> {
    let parse = |text: &String| bytes("--window", text, u32::MAX >> 1);
    args.window.as_ref().map(parse).transpose()
}

fn bytes(option: &str, text: &str, most: u32) -> Fallible<u32> {
    let bytes = parse_bytes(text).map_err(|error| wrong(option, error))?;
    match u32::try_from(bytes) {
        Ok(bytes) if (1..=most).contains(&bytes) => Ok(bytes),
        _ => Err(wrong(
            option,
            format_args!("invalid value {bytes}; fix: give 1 to {most} bytes"),
        )),
    }
}

fn mode(args: &IperfArgs) -> Mode {
    let test = &args.test;
    if test.tradeoff {
        Mode::Tradeoff
    } else if test.dualtest {
        Mode::Dual
    } else if test.reverse {
        Mode::Reverse
    } else if test.full_duplex {
        Mode::FullDuplex
    } else {
        Mode::Forward
    }
}

fn time(args: &IperfArgs) -> Fallible<Option<Duration>> {
    let given = args.test.time.map(|s| seconds("--time", s, 0.01));
    given.transpose()
}

fn config(args: &IperfArgs, server: SocketAddr) -> Fallible<ClientConfig> {
    let test = &args.test;
    let udp = protocol(args) == Protocol::Udp;
    let most_length = if udp { 65_507 } else { 1 << 30 };
    let default_length = (udp && server.is_ipv6()).then_some(DATAGRAM_IPV6);
    let mut config = ClientConfig::new(server, protocol(args));
    config.mode = mode(args);
    config.sending = sending(args);
    config.length_bytes = match &test.len {
        Some(text) => Some(bytes("--len", text, most_length)?),
        None => default_length,
    };
    if let Some(text) = &test.bandwidth {
        config.rate = parse_rate(text).map_err(|error| wrong("--bandwidth", error))?;
    }
    if let Some(time) = time(args)? {
        config.amount = Amount::time(time);
    }
    if let Some(text) = &test.num {
        let bytes = parse_bytes(text).map_err(|error| wrong("--num", error))?;
        if bytes == 0 {
            return Err(wrong(
                "--num",
                "0 sends nothing; fix: give a number of bytes",
            ));
        }
        config.amount = Amount::Bytes(bytes);
    }
    config.own_amount = test.back_only.then_some(Amount::Bytes(1));
    config.listen_port = test.listenport.unwrap_or(0);
    config.window_bytes = window(args)?;
    config.options = options(args)?;
    config.interval = interval(args, 0.0)?;
    config.streams = test.parallel.unwrap_or(1);
    config.trip_times = test.trip_times;
    if test.compatibility.is_some() {
        config.generation = Generation::Bare;
    }
    Ok(config)
}

/// Runs a test as a client.
pub fn test(args: &IperfArgs, host: &str) -> Result {
    let config = config(args, resolve(args, host, DEFAULT_PORT)?)?;
    routed::warn(config.server, config.bits_per_s());
    let printer = Printer::new(args)?;
    let cancel = cancel_on_signal();
    if !args.json {
        printer.greeting(&config);
    }
    // Traffic that only starts the test is not a result.
    let tells = |id: Id| !args.test.back_only || matches!(id, Id::Back(_) | Id::SumBack);
    let tell = |event: ClientEvent| match event {
        _ if args.json => {}
        ClientEvent::Began { local, peer, id } if tells(id) => {
            let ends = Ends { local, peer };
            printer.began(id, ends, config.streams, Some(&config));
        }
        ClientEvent::Row(row) if tells(row.id) => printer.row(&row),
        _ => {}
    };
    let mut outcome = config.run_telling(cancel.flag(), &tell);
    if args.test.back_only {
        outcome.legs.retain(|(_, leg)| !leg.is_sent());
    }
    let interrupted = cancel.is_cancelled();
    if args.json {
        let value = json::test(&config, &outcome, interrupted);
        show_json(&value)?;
    } else {
        printer.test(&outcome);
    }
    for (id, leg) in &outcome.legs {
        printer.notes(*id, leg);
    }
    let unheard = outcome.legs.iter().any(|(_, leg)| leg.is_unheard());
    if interrupted {
        complain(format_args!(
            "interrupted: the figures are those until then"
        ));
    }
    match outcome.trouble {
        Some(trouble) => Err(failure(trouble)),
        None => Ok(Outcome::of(
            !interrupted && (!unheard || args.test.compatibility.is_some()),
        )),
    }
}

fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Bind { .. } | Trouble::Refused(_) | Trouble::Unsupported(_) => {
            Failure::usage(trouble)
        }
        _ => Failure::failed(trouble),
    }
}

/// Refuses what the server of iperf 2 gives a meaning that this server does not have.
fn refuse_of_client(args: &IperfArgs) -> Fallible<()> {
    let test = &args.test;
    let (option, why) = match () {
        () if test.len.is_some() => (
            "--len with --server",
            "this server takes blocks and datagrams of any length; fix: leave it out, or give it to the client",
        ),
        () if test.parallel.is_some() => (
            "--parallel with --server",
            "this server takes any number of streams; fix: leave it out; to end after one test, give -1",
        ),
        () => return Ok(()),
    };
    Err(wrong(option, why))
}

/// Serves until Ctrl-C, until the time is over, or one test.
pub fn serve(args: &IperfArgs, output: ServerOutput) -> Result {
    refuse_of_client(args)?;
    let printer = Printer::new(args)?;
    let config = ServerConfig {
        back: !args.serve.receive_only,
        access: Arc::new(Access::on_link(args.serve.allow_reverse.clone())),
        sending: sending(args),
        interval: interval(args, 0.0)?,
        window_bytes: window(args)?,
        options: options(args)?,
        ..ServerConfig::default()
    };
    let most = time(args)?;
    let cancel = cancel_on_signal();
    let (tell, events) = mpsc::channel();
    let handler = Arc::new(move |event| {
        // After the end there is no receiver, and none is needed.
        let _ = tell.send(event);
    });
    let server = Server::start(listen(args, DEFAULT_PORT)?, config, handler).map_err(failure)?;
    let (tcp, udp) = (server.tcp_address(), server.udp_address());
    let mut log = Log::new(args, &printer);
    if args.json {
        say!("{}", json::listening(tcp, udp));
    } else if !printer.is_csv() {
        say!(
            "{RULER}\nServer listening on TCP port {}\nServer listening on UDP port {}\nat {}, iperf 2\n{RULER}",
            tcp.port(),
            udp.port(),
            tcp.ip()
        );
    }
    output.serves(&format!(
        "Server listening on TCP {tcp} and UDP {udp}, iperf 2"
    ));
    let begun = Instant::now();
    while !cancel.is_cancelled() && most.is_none_or(|most| begun.elapsed() < most) {
        if let Ok(event) = events.recv_timeout(Duration::from_millis(50)) {
            log.take(event);
        } else if args.serve.one && log.is_over() {
            break;
        }
    }
    drop(server);
    events.try_iter().for_each(|event| log.take(event));
    Ok(Outcome::of(!args.serve.one || !log.troubled))
}

/// The legs of a server's tests, and the number of running ones.
struct Log<'a> {
    printer: &'a Printer,
    json: bool,
    open: usize,
    ended: Option<Instant>,
    rows: Vec<Row>,
    troubled: bool,
    refusals: Refusals,
}

impl Log<'_> {
    fn new<'a>(args: &IperfArgs, printer: &'a Printer) -> Log<'a> {
        Log {
            printer,
            json: args.json,
            open: 0,
            ended: None,
            rows: Vec::new(),
            troubled: false,
            refusals: Refusals::default(),
        }
    }

    /// Whether a test was run, and all of it has ended.
    fn is_over(&self) -> bool {
        self.open == 0 && self.ended.is_some_and(|at| at.elapsed() > LINGER)
    }

    fn take(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::Began {
                local,
                peer,
                id,
                streams,
            } => {
                self.open += 1;
                if !self.json {
                    let ends = Ends { local, peer };
                    self.printer.began(id, ends, streams, None);
                }
            }
            ServerEvent::Row(row) if self.json => {
                if self.rows.len() < MAX_ROWS {
                    self.rows.push(row);
                }
            }
            ServerEvent::Row(row) => self.printer.row(&row),
            ServerEvent::Leg {
                peer,
                id,
                leg,
                trouble,
            } => {
                self.open = self.open.saturating_sub(1);
                self.ended = Some(Instant::now());
                self.troubled |= trouble.is_some();
                if self.json {
                    let (own, others) = self.rows.drain(..).partition(|row| row.id == id);
                    self.rows = others;
                    say!("{}", json::served(peer, id, &leg, &own, trouble.as_ref()));
                } else {
                    self.printer.leg(id, &leg);
                }
                self.printer.notes(id, &leg);
                if let Some(trouble) = trouble {
                    complain(format_args!("{id} {trouble}"));
                }
            }
            ServerEvent::Refused { peer, why } => {
                self.refusals.tell(peer.ip(), why);
            }
        }
    }
}
