//! `wirelab stages here:IFACE`: the node alone. Test frames that somebody else sends are timed on their way through this
//! host, to a receiver of our own or to another program.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wirelab_port::ebpf::Mode;
use wirelab_port::host;
use wirelab_port::iface::{Interface, PortName};
use wirelab_socket::flow::Live;
use wirelab_socket::serve::{self, Served, UdpInlet, Watching};
use wirelab_stages::{Choice, FlowFilter, Point, StagesError, Tracer, TracerOptions};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::measuring::Measuring;
use wirelab_trial::results::{FORMAT, VERSION};
use wirelab_trial::{Cancel, Direction, Part, Progress, ResultsFile, Status, Wait, WarningCode};

use super::alone::{self, Seen};
use super::{show, split};
use crate::args::StagesArgs;
use crate::ask;
use crate::exit::{Failure, Fallible, Result};
use crate::terminal::{Bar, cancel_on_signal};

/// How often to look whether all have come.
const LOOK: Duration = Duration::from_millis(10);
/// Most frames.
const MOST: u64 = 65_536;
/// Most records of a point for each frame: copies of frames take some.
const RECORDS: u64 = 2;
/// How long frames that are under way may take to their last point.
const TAIL: Duration = Duration::from_millis(50);

pub fn run(args: &StagesArgs, port: &str) -> Result {
    let (results, pages) = split(&args.output);
    let port = ask::port(port)?;
    Interface::query(&port).map_err(Failure::usage)?;
    let asked = Watch::of(args, port)?;
    let cancel = cancel_on_signal();
    let started_unix_ns = unix_ns();
    let seen = asked.watch(&cancel)?;
    let observation = alone::observation(args, &seen, started_unix_ns)?;
    let notes = observation
        .warnings
        .iter()
        .filter(|w| w.is(WarningCode::NODE));
    let notes = notes.map(|w| w.text.clone()).collect();
    let file = ResultsFile {
        format: FORMAT.to_owned(),
        version: VERSION,
        wirelab_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args().collect(),
        created_unix_ns: started_unix_ns,
        environment: host::environment(),
        interrupted: cancel.is_cancelled(),
        observations: vec![observation],
        // A part of its own: appended to another file it is another run.
        parts: vec![Part {
            name: "stages".to_owned(),
            first: 0,
            observations: 1,
            found: None,
            refused: None,
        }],
        measuring: Some(Measuring {
            notes,
            ..Measuring::default()
        }),
    };
    for path in &results {
        wirelab_bench::save(&file, path).map_err(Failure::failed)?;
    }
    let shown = show(args, &file, None, &pages)?;
    match &file.observations[0].status {
        Status::Complete => Ok(shown),
        Status::Partial { why } | Status::Void { why } => Err(Failure::failed(format!(
            "{why}; more come with a longer --time, or ask for fewer with --count"
        ))),
    }
}

/// What to watch.
struct Watch {
    port: PortName,
    frames: u64,
    time: Option<Duration>,
    /// The UDP port of our own receiver, and how it waits; `None` where another program reads.
    receive: Option<Wait>,
    options: TracerOptions,
}

impl Watch {
    fn of(args: &StagesArgs, port: PortName) -> Fallible<Watch> {
        let frames = args.count.unwrap_or(super::FRAMES);
        if !(1..=MOST).contains(&frames) {
            return Err(Failure::usage(format!(
                "--count {frames}: the times of 1 to {MOST} frames are kept"
            )));
        }
        let wait = match args.wait.as_deref() {
            None => Wait::Sleep,
            Some(word) => word.parse().map_err(|_| {
                Failure::usage(format!(
                    "--wait {word}: write sleep or spin with here:IFACE"
                ))
            })?,
        };
        let choice: Choice = args.probes.parse().map_err(Failure::usage)?;
        let time = args.time.as_deref();
        let time = time.map(|t| ask::time_ps("--time", t)).transpose()?;
        Ok(Watch {
            frames,
            time: time.map(|ps| Duration::from_nanos(ps / 1000)),
            receive: (!args.watch).then_some(wait),
            options: TracerOptions {
                port: port.clone(),
                filter: FlowFilter {
                    udp_ports: vec![args.port],
                    ethernet: false,
                    stream_in: Some(args.stream),
                    stream_out: Some(args.stream),
                    one_clock: false,
                },
                capacity: (RECORDS * frames) as u32,
                choice,
                xdp: args
                    .xdp
                    .parse()
                    .map_err(|e| Failure::usage(format!("--xdp {e}")))?,
                btf: None,
            },
            port,
        })
    }

    /// Until all frames have come, the time is over, or the user wants the end.
    fn watch(&self, cancel: &Cancel) -> Fallible<Seen> {
        let tracer = Tracer::attach(&self.options).map_err(failure)?;
        let inlet = self.receive.map(|wait| self.open(wait, &tracer));
        let inlet = inlet.transpose()?;
        // Frames that came before every point was there, or that found no receiver, are nobody's.
        tracer.clear();
        let live = Live::default();
        let served = match self.receive.zip(inlet) {
            None => {
                self.wait(&tracer, None, cancel);
                tail(&tracer);
                None
            }
            Some((wait, inlet)) => Some(self.receive(wait, inlet, &tracer, &live, cancel)?),
        };
        let xdp = tracer.node().and_then(|node| node.mode());
        let xdp = match xdp {
            Some(Mode::Native) => "native",
            Some(Mode::Generic) => "generic",
            None => "none",
        };
        let xdp = xdp.to_owned();
        let notes = tracer.notes();
        Ok(Seen {
            port: self.port.clone(),
            frames: self.frames,
            wait: self.receive,
            tracer,
            xdp,
            served,
            bytes: live.bytes.load(Ordering::Relaxed),
            notes,
            cancelled: cancel.is_cancelled(),
        })
    }

    /// Our own receiver's socket, in the port's namespace; the tracer knows it.
    fn open(&self, wait: Wait, tracer: &Tracer) -> Fallible<UdpInlet> {
        let filter = &self.options.filter;
        let udp = filter.udp_ports[0];
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), udp);
        let namespace = self.port.netns().map_err(Failure::usage)?;
        let socket = namespace
            .run_in(|| UdpSocket::bind(any))
            .map_err(Failure::usage)?;
        let failed = |e: std::io::Error| {
            Failure::usage(format!(
                "UDP port {udp} is not available here ({e}): choose another with --port, or --watch where another program \
                 receives the frames"
            ))
        };
        let socket = Arc::new(socket.map_err(failed)?);
        tracer
            .store()
            .set_socket(socket.as_fd())
            .map_err(Failure::failed)?;
        UdpInlet::new(socket, None, filter.stream_in, wait, true).map_err(failed)
    }

    /// Receive the frames, on a thread of its own.
    fn receive(
        &self,
        wait: Wait,
        mut inlet: UdpInlet,
        tracer: &Tracer,
        live: &Live,
        cancel: &Cancel,
    ) -> Fallible<Served> {
        let over = Cancel::new();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let mut watching = Watching::new(self.options.capacity, live);
                let ended = serve::run(&mut inlet, wait, None, &mut watching, &over);
                watching.finish(ended)
            });
            self.wait(tracer, Some(live), cancel);
            // The receiver ends after the tracer, which would see frames dropped that nobody takes.
            tail(tracer);
            over.cancel();
            let mut served = receiver
                .join()
                .unwrap_or_else(|p| std::panic::resume_unwind(p));
            match served.failure.take() {
                Some(error) => Err(Failure::failed(format!("receiving the frames: {error}"))),
                None => Ok(served),
            }
        })
    }

    fn wait(&self, tracer: &Tracer, live: Option<&Live>, cancel: &Cancel) {
        let (bar, begun) = (Bar::new(), Instant::now());
        let late = |since: Instant| self.time.is_some_and(|time| since.elapsed() >= time);
        while !cancel.is_cancelled() && !late(begun) {
            let mut done = match live {
                Some(live) => live.frames.load(Ordering::Relaxed),
                None => passed(tracer),
            };
            if done >= self.frames {
                // A copy of a frame is not one more; frames that no point saw are waited for no longer.
                done = Some(distinct(tracer)).filter(|n| *n > 0).unwrap_or(done);
            }
            bar.report(done, self.frames, "frames have come");
            if done >= self.frames {
                break;
            }
            std::thread::sleep(LOOK);
        }
        bar.clear();
    }
}

/// Frames that went all the way, in or out.
fn passed(tracer: &Tracer) -> u64 {
    let taken = |point: Point| tracer.store().counts(point).taken;
    let ended = [Point::InCall, Point::OutDriver];
    ended.into_iter().map(taken).max().unwrap_or(0)
}

/// Let frames that are under way come to their last point, and look no longer.
fn tail(tracer: &Tracer) {
    std::thread::sleep(TAIL);
    tracer.pause();
}

/// Different frames that the point saw which saw most.
fn distinct(tracer: &Tracer) -> u64 {
    let each = tracer.times().into_iter().map(|point| {
        let frames: BTreeSet<u32> = point.times.iter().map(|(sequence, _)| *sequence).collect();
        frames.len() as u64
    });
    each.max().unwrap_or(0)
}

/// What an error of the tracer means for the command.
fn failure(error: StagesError) -> Failure {
    match error {
        StagesError::Privilege { .. } => Failure::Privilege(error.to_string()),
        StagesError::Kernel { .. } => Failure::failed(error),
        other => Failure::usage(other),
    }
}

/// Directions whose frames are timed.
pub const WAYS: [Direction; 2] = [Direction::Receive, Direction::Transmit];
