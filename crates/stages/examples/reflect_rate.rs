//! The echo rate of a node with its reflector in XDP, and with an echo in an application over a UDP socket: what
//! `make bench` measures.
//!
//! ```text
//! reflect_rate xdp     [--length N] [--seconds S]
//! reflect_rate udp     [--length N] [--seconds S] [--load FRAMES_PER_S]
//! reflect_rate compare [--length N] [--seconds S] [--rounds N]
//! ```
//! Each run makes its own lab and removes it. The tester is the generator on core 0, with the checker on the same
//! port, which compares every returned byte; the rate is that of returned frames. The application that echoes the UDP
//! socket has core 1 to itself. It is measured at its best: without `--load`, the load with the highest rate is
//! searched first, asleep and spinning, because an overloaded socket spends its time on frames that it drops.
//! `compare` runs both in turn. The output is one line of JSON. On a machine with other work, run it at the highest
//! priority (`nice -n -20`), as the bench does.

use std::error::Error;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use wirelab_port::iface::PortName;
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::xdp::{Checker, CheckerOptions, Generator, GeneratorOptions};
use wirelab_socket::{FlowProgress, echo};
use wirelab_stages::{NodeOptions, NodeXdp, Reflect, Reflector, Xdp};
use wirelab_trial::{Cancel, Extent, Ratio, Size, SizeUnit, Wait};
use wirelab_wire::rule::FixedList;
use wirelab_wire::{Flow, FrameSpec, Transport};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: reflect_rate xdp|udp|compare [--length N] [--seconds S] [--rounds N] [--load FRAMES_PER_S]";
const TESTER_CORE: usize = 0;
const NODE_CORE: usize = 1;
/// UDP ports of the tester and of the node.
const PORTS: [u16; 2] = [5004, 5003];
/// The loads of the search for a UDP echo, in frames/s.
const FIRST_LOAD: f64 = 100_000.0;
const MOST_LOAD: f64 = 1_000_000.0;
const STEP: f64 = 1.25;
/// Seconds of one measurement of the search.
const LOOK: f64 = 0.4;

struct Options {
    mode: String,
    length: u32,
    seconds: f64,
    rounds: usize,
    load: Option<f64>,
}

fn parse() -> Result<Options> {
    let mut words = std::env::args().skip(1);
    let mut given = Options {
        mode: words.next().ok_or(USAGE)?,
        length: 64,
        seconds: 2.0,
        rounds: 7,
        load: None,
    };
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--length" => given.length = value.parse()?,
            "--seconds" => given.seconds = value.parse()?,
            "--rounds" => given.rounds = value.parse()?,
            "--load" => given.load = Some(value.parse()?),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(given)
}

fn main() -> Result<()> {
    let given = parse()?;
    let bench = Bench::up(given.length)?;
    match given.mode.as_str() {
        "xdp" => println!("{}", bench.by_xdp(given.seconds)?.json("xdp")),
        "udp" => {
            let best = match given.load {
                Some(load) => (load, Wait::Spin),
                None => bench.best_load()?,
            };
            println!("{}", bench.by_udp_around(best, given.seconds)?.json("udp"));
        }
        "compare" => compare(&bench, &given)?,
        _ => return Err(USAGE.into()),
    }
    bench.lab.down()?;
    Ok(())
}

fn compare(bench: &Bench, given: &Options) -> Result<()> {
    let best = bench.best_load()?;
    let (mut pairs, mut findings) = (Vec::new(), 0);
    for round in 0..given.rounds {
        let (xdp, udp) = if round % 2 == 0 {
            let xdp = bench.by_xdp(given.seconds)?;
            (xdp, bench.by_udp_around(best, given.seconds)?)
        } else {
            let udp = bench.by_udp_around(best, given.seconds)?;
            (bench.by_xdp(given.seconds)?, udp)
        };
        eprintln!("{}  {}", xdp.json("xdp"), udp.json("udp"));
        findings += xdp.findings + udp.findings;
        pairs.push((xdp.echoes_per_s, udp.echoes_per_s));
    }
    let ratio = Ratio::of_medians(&pairs, 0.95, 1).ok_or("a run without an echo")?;
    let list = |figure: fn(&(f64, f64)) -> f64| {
        let figures: Vec<_> = pairs.iter().map(|p| format!("{:.0}", figure(p))).collect();
        format!("[{}]", figures.join(","))
    };
    println!(
        r#"{{"mode":"compare","length":{},"ratio":{:.3},"low":{:.3},"high":{:.3},"findings":{findings},"best_load_per_s":{:.0},"wait":"{}","xdp_per_s":{},"udp_per_s":{}}}"#,
        given.length,
        ratio.ratio,
        ratio.interval.low,
        ratio.interval.high,
        best.0,
        best.1,
        list(|p| p.0),
        list(|p| p.1),
    );
    Ok(())
}

/// The result of one run.
#[derive(Clone, Copy)]
struct Run {
    echoes_per_s: f64,
    sent_per_s: f64,
    sent_frames: u64,
    good_frames: u64,
    /// Frames that did not return complete and exactly once.
    findings: u64,
    wait: Option<Wait>,
}

impl Run {
    fn json(&self, mode: &str) -> String {
        let wait = self.wait.map_or("none".to_owned(), |w| w.to_string());
        format!(
            r#"{{"mode":"{mode}","wait":"{wait}","frames_per_s":{:.0},"sent_per_s":{:.0},"sent_frames":{},"good_frames":{},"findings":{}}}"#,
            self.echoes_per_s, self.sent_per_s, self.sent_frames, self.good_frames, self.findings
        )
    }
}

struct Bench {
    lab: EphemeralLab,
    node: PortName,
    tester: PortName,
    frame: FrameSpec,
    length: u32,
}

impl Bench {
    fn up(length: u32) -> Result<Bench> {
        let lab = EphemeralLab::up(&LabSpec::unique("echo", 1))?;
        let (node, tester) = (lab.port(0, Side::Node)?, lab.port(0, Side::Tester)?);
        let frame = FrameSpec {
            destination: lab.mac(0, Side::Node).0,
            source: lab.mac(0, Side::Tester).0,
            vlans: [None, None],
            transport: Transport::UdpIpv4 {
                addresses: [lab.address(0, Side::Tester), lab.address(0, Side::Node)],
                ports: PORTS,
            },
            dscp: 0,
        };
        Ok(Bench {
            lab,
            node,
            tester,
            frame,
            length,
        })
    }

    fn by_xdp(&self, seconds: f64) -> Result<Run> {
        let reflect = Reflect {
            udp_ports: FixedList::of(&PORTS[1..]).unwrap_or_default(),
            ..Reflect::default()
        };
        let _reflector = Reflector::attach(&self.node, &reflect, Xdp::Native, None)?;
        self.run(None, seconds)
    }

    /// The load in frames/s and the wait mode at which the UDP socket sends the most frames back.
    fn best_load(&self) -> Result<(f64, Wait)> {
        let (mut best, mut most) = ((FIRST_LOAD, Wait::Spin), 0.0);
        for wait in [Wait::Spin, Wait::Sleep] {
            let mut load = FIRST_LOAD;
            while load < MOST_LOAD {
                let run = self.by_udp(load, wait, LOOK)?;
                if run.echoes_per_s > most {
                    (best, most) = ((load, wait), run.echoes_per_s);
                }
                load *= STEP;
            }
        }
        eprintln!(
            "best load of the UDP echo: {:.0} frames/s, {}",
            best.0, best.1
        );
        Ok(best)
    }

    /// The best of three runs at the load and slightly beside it.
    fn by_udp_around(&self, (load, wait): (f64, Wait), seconds: f64) -> Result<Run> {
        let mut best = self.by_udp(load, wait, seconds)?;
        for beside in [load / 1.1, load * 1.1] {
            let run = self.by_udp(beside, wait, seconds)?;
            if run.echoes_per_s > best.echoes_per_s {
                best = run;
            }
        }
        Ok(best)
    }

    fn by_udp(&self, load: f64, wait: Wait, seconds: f64) -> Result<Run> {
        // A port without an XDP program drops the generator's frames; this program passes them all on.
        let _open = NodeXdp::attach(&self.node, &NodeOptions::default(), None)?;
        let [here, there] = [Side::Node, Side::Tester].map(|side| self.lab.address(0, side));
        let socket = self
            .node
            .netns()?
            .run_in(|| UdpSocket::bind((here, PORTS[1])))??;
        socket.connect((there, PORTS[0]))?;
        let over = Cancel::new();
        std::thread::scope(|scope| {
            let (socket, stop) = (&socket, &over);
            scope.spawn(move || {
                pin(NODE_CORE);
                echo::reflect(socket, None, None, wait, &FlowProgress::default(), stop)
            });
            let run = self.run(Some(load), seconds);
            over.cancel();
            Ok(Run {
                wait: Some(wait),
                ..run?
            })
        })
    }

    /// Send from the tester, and count what returns meanwhile.
    fn run(&self, load: Option<f64>, seconds: f64) -> Result<Run> {
        let check = CheckJob {
            flow: Flow {
                source: Some(self.frame.destination),
                udp_port: PORTS[0],
                stream: None,
                dscp: None,
            },
            slots: None,
            time_every: 16,
        };
        let checker = Checker::attach(&self.tester, check, CheckerOptions::default())?;
        let job = SendJob {
            frame: self.frame,
            sizes: Size::new(SizeUnit::Length, self.length).resolve_test(self.frame.framing())?,
            stream: 0,
            with_time: false,
            pace: Pace::of(load),
            extent: Extent::Time {
                time_ps: (seconds * 1e12) as u64,
            },
            faults: Schedule::default(),
            buffers: None,
        };
        let options = GeneratorOptions {
            cpu: Some(TESTER_CORE),
            ..GeneratorOptions::default()
        };
        let generator = Generator::load(&[(self.tester.clone(), job)], options)?;
        // A separate thread, because it pins itself.
        let sent = std::thread::scope(|scope| {
            let sending = scope.spawn(|| generator.run(&Cancel::new()));
            sending.join().map_err(|_| "the generator panicked")
        })??;
        let sent = sent.first().ok_or("nothing was sent")?;
        settle(&checker);
        let seen = checker.report();
        // From the first sent frame to the last returned one: a socket's queue empties after the last was sent.
        let end_ns = sent.last_ns.max(seen.last.map_or(0, |(ns, _)| ns));
        let elapsed_s = (end_ns - sent.first_ns).max(1) as f64 / 1e9;
        let counts = &seen.counts;
        Ok(Run {
            echoes_per_s: counts.good_frames as f64 / elapsed_s,
            sent_per_s: sent.emitted_frames as f64
                / ((sent.last_ns - sent.first_ns).max(1) as f64 / 1e9),
            sent_frames: sent.emitted_frames,
            good_frames: counts.good_frames,
            findings: counts.received_frames - counts.good_frames + counts.duplicated_frames,
            wait: None,
        })
    }
}

/// Waits until no frame has arrived for a while.
fn settle(checker: &Checker) {
    let (mut last, mut since) = (checker.received(), Instant::now());
    while since.elapsed() < Duration::from_millis(50) {
        std::thread::sleep(Duration::from_millis(2));
        let now = checker.received();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
}

/// Pins the calling thread to a core, if the machine has that core.
fn pin(core: usize) {
    let mut set = CpuSet::new();
    if set.set(core).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}
