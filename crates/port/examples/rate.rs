//! The rate of one sender and one checker on a private veth pair, and of another generator on the same pair: what
//! `make bench` measures.
//!
//! ```text
//! rate fast     --length N --seconds S [--cpu N] [--check-cpu N] [--no-time]
//! rate portable --length N --seconds S [--cpu N] [--check-cpu N] [--no-time] [--buffers KIND]
//! rate peer     --seconds S [--sink FILE.o | --ring CPU] -- COMMAND {port} {source} {destination} …
//! rate capture  --length N --bytes N FILE
//! rate verify   FILE
//! ```
//! Each run makes its own lab and removes it. `fast` and `portable` count frames at the checker, which compares every
//! byte. `peer` counts them by the receiving interface's counter, without a receiver, with an XDP program, or with
//! the portable path's receive ring. The output is one line of JSON.

use std::error::Error;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use wirelab_port::iface::{Interface, PortName};
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, CheckReport, Pace, SendJob, SendReport};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::netns::NetNs;
use wirelab_port::packet::{self, PREFILLED_SLOTS};
use wirelab_port::pcapng::{GenerateSpec, VerifyOptions, WriterOptions, generate, verify};
use wirelab_port::xdp;
use wirelab_trial::{Buffers, Cancel, Extent, Size, SizeUnit};
use wirelab_wire::{Flow, FrameSpec, LineRate, Mac, Transport};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long a peer runs before its frames are counted.
const PEER_WARM_UP: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Options {
    plain: Vec<String>,
    command: Vec<String>,
    length: Option<u32>,
    seconds: f64,
    bytes: u64,
    cpu: Option<usize>,
    check_cpu: Option<usize>,
    no_time: bool,
    buffers: Option<Buffers>,
    sink: Option<PathBuf>,
    ring: Option<usize>,
}

impl Options {
    fn parse() -> Result<Options> {
        let mut given = Options {
            seconds: 3.0,
            ..Options::default()
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or(format!("{argument} needs a value after it"))
            };
            match argument.as_str() {
                "--length" => given.length = Some(value()?.parse()?),
                "--seconds" => given.seconds = value()?.parse()?,
                "--bytes" => given.bytes = value()?.parse()?,
                "--cpu" => given.cpu = Some(value()?.parse()?),
                "--check-cpu" => given.check_cpu = Some(value()?.parse()?),
                "--no-time" => given.no_time = true,
                "--buffers" => given.buffers = Some(value()?.parse()?),
                "--ring" => given.ring = Some(value()?.parse()?),
                "--sink" => given.sink = Some(value()?.into()),
                "--" => given.command.extend(arguments.by_ref()),
                word if word.starts_with("--") => {
                    return Err(format!("unknown option {word}").into());
                }
                _ => given.plain.push(argument),
            }
        }
        Ok(given)
    }

    fn length(&self) -> Result<u32> {
        Ok(self.length.ok_or("--length is missing")?)
    }
}

/// A lab with one pair, and the frames that are sent over it.
struct Bench {
    lab: EphemeralLab,
    from: PortName,
    to: PortName,
    frame: FrameSpec,
}

impl Bench {
    fn up() -> Result<Bench> {
        let lab = EphemeralLab::up(&LabSpec::unique("rate", 1))?;
        let (from, to) = (lab.port(0, Side::Node)?, lab.port(0, Side::Tester)?);
        let frame = FrameSpec {
            destination: Interface::query(&to)?.mac.0,
            source: Interface::query(&from)?.mac.0,
            vlans: [None, None],
            transport: Transport::Ethernet,
            dscp: 0,
        };
        Ok(Bench {
            lab,
            from,
            to,
            frame,
        })
    }

    fn send_job(&self, given: &Options) -> Result<SendJob> {
        Ok(SendJob {
            frame: self.frame,
            sizes: Size::new(SizeUnit::Length, given.length()?)
                .resolve_test(self.frame.framing())?,
            stream: 0,
            with_time: !given.no_time,
            pace: Pace::Max,
            extent: Extent::Time {
                time_ps: (given.seconds * 1e12) as u64,
            },
            faults: Schedule::default(),
            buffers: given.buffers,
        })
    }

    fn check_job(&self, given: &Options, time_every: u32) -> CheckJob {
        CheckJob {
            flow: Flow {
                source: Some(self.frame.source),
                stream: Some(0),
                udp_port: 0,
                dscp: None,
            },
            slots: (given.buffers == Some(Buffers::Prefilled)).then_some(PREFILLED_SLOTS),
            time_every,
        }
    }
}

fn fast(given: &Options) -> Result<Value> {
    let bench = Bench::up()?;
    let job = bench.send_job(given)?;
    if let Some(cpu) = given.check_cpu {
        bench.lab.set_threaded_napi(0, Side::Tester, true)?;
        bench.lab.pin_napi_threads(0, Side::Tester, cpu)?;
    }
    let options = xdp::CheckerOptions::default();
    let checker = xdp::Checker::attach(&bench.to, bench.check_job(given, 16), options)?;
    let options = xdp::GeneratorOptions {
        cpu: given.cpu,
        ..xdp::GeneratorOptions::default()
    };
    let generator = xdp::Generator::load(&[(bench.from.clone(), job.clone())], options)?;
    let sent = generator.run(&Cancel::new())?.remove(0);
    std::thread::sleep(Duration::from_millis(50));
    let seen = checker.report().with_sent(sent.sequences);
    bench.lab.down()?;
    figures("fast", &job, &sent, &seen)
}

fn portable(given: &Options) -> Result<Value> {
    let bench = Bench::up()?;
    let job = bench.send_job(given)?;
    let options = packet::CheckOptions {
        cpu: given.check_cpu,
        ..packet::CheckOptions::default()
    };
    let checker = packet::Checker::start(&bench.to, &bench.check_job(given, 1), options)?;
    let options = packet::SendOptions { cpu: given.cpu };
    let sent = packet::send(&bench.from, &job, &options, &Cancel::new())?;
    let seen = checker
        .finish(Duration::from_millis(200))?
        .with_sent(sent.sequences);
    bench.lab.down()?;
    figures("portable", &job, &sent, &seen)
}

fn figures(path: &str, job: &SendJob, sent: &SendReport, seen: &CheckReport) -> Result<Value> {
    let counts = &seen.counts;
    let rate = seen
        .frames_per_s()
        .ok_or("the checker saw too few frames for a rate")?;
    // Frames that the checker's queue could not hold were not verified, so no rate counts them. They are not an error
    // of the link either.
    let findings = counts.header_corrupt_frames
        + counts.truncated_frames
        + counts.stale_frames
        + counts.corrupted_frames
        + counts.duplicated_frames
        + counts.reordered_frames
        + counts.too_late_frames
        + counts.lost_frames;
    Ok(json!({
        "path": path,
        "length": job.sizes.length,
        "frames_per_s": rate,
        "payload_gbit_per_s": rate * f64::from(job.sizes.payload) * 8e-9,
        "sent_frames_per_s": sent.emitted_frames as f64 * 1e9 / sent.call_ns as f64,
        "sent_frames": sent.emitted_frames,
        "verified_frames": counts.good_frames,
        "missed_frames": seen.missed.at_least,
        "findings": findings,
        "sender_time": job.with_time,
        "notes": seen.notes,
    }))
}

/// Frames that an interface has received, by its counter.
fn received_frames(port: &PortName, namespace: &NetNs) -> Result<u64> {
    let text = namespace.run_in(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
    let line = text
        .lines()
        .find_map(|l| l.trim_start().strip_prefix(&format!("{}:", port.interface)))
        .ok_or(format!("{port} is not in /proc/net/dev"))?;
    Ok(line
        .split_whitespace()
        .nth(1)
        .ok_or("/proc/net/dev has no second column")?
        .parse()?)
}

fn peer(given: &Options) -> Result<Value> {
    let bench = Bench::up()?;
    let (near, far) = (bench.from.netns()?, bench.to.netns()?);
    if let Some(sink) = &given.sink {
        attach_sink(&bench.to, &far, sink)?;
    }
    let taker = match given.ring {
        Some(cpu) => {
            let options = packet::CheckOptions {
                cpu: Some(cpu),
                ..packet::CheckOptions::default()
            };
            let job = bench.check_job(given, 1);
            Some(packet::Checker::start(&bench.to, &job, options)?)
        }
        None => None,
    };
    let mac = |bytes: [u8; 6]| Mac(bytes).to_string();
    let fill = |word: &String| {
        word.replace("{port}", &bench.from.interface)
            .replace("{source}", &mac(bench.frame.source))
            .replace("{destination}", &mac(bench.frame.destination))
    };
    let words: Vec<String> = given.command.iter().map(fill).collect();
    let (program, rest) = words.split_first().ok_or("no command after --")?;
    let output = tempfile::NamedTempFile::new()?;
    let mut child = near.spawn(
        Command::new(program)
            .args(rest)
            .stdin(Stdio::null())
            .stdout(output.reopen()?)
            .stderr(output.reopen()?)
            .process_group(0),
    )?;
    let group = Pid::from_raw(child.id() as i32);
    std::thread::sleep(PEER_WARM_UP);
    let (begun, before) = (Instant::now(), received_frames(&bench.to, &far)?);
    std::thread::sleep(Duration::from_secs_f64(given.seconds));
    let (took, after) = (begun.elapsed(), received_frames(&bench.to, &far)?);
    let ended_early = child.try_wait()?;
    // The group of a peer that has already ended does not exist any more; that is expected.
    let _ = killpg(group, Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(100));
    let _ = killpg(group, Signal::SIGKILL);
    child.wait()?;
    drop(taker);
    bench.lab.down()?;
    if ended_early.is_some() || after == before {
        let said = fs::read_to_string(output.path())?;
        let last = said.trim().lines().last().unwrap_or("nothing").to_owned();
        return Ok(json!({ "path": "peer", "failed": format!("sent nothing; it said: {last}") }));
    }
    Ok(json!({
        "path": "peer",
        "frames_per_s": (after - before) as f64 / took.as_secs_f64(),
    }))
}

/// Frames that XDP redirects into a veth are dropped unless its other end has a program.
fn attach_sink(port: &PortName, namespace: &NetNs, sink: &Path) -> Result<()> {
    let status = namespace
        .spawn(
            Command::new("ip")
                .args(["link", "set", "dev", &port.interface, "xdpdrv", "obj"])
                .arg(sink)
                .args(["sec", "xdp"]),
        )?
        .wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("ip could not attach {} to {port}", sink.display()).into())
    }
}

fn file(given: &Options) -> Result<&Path> {
    Ok(Path::new(given.plain.get(1).ok_or("no FILE")?))
}

fn capture(given: &Options) -> Result<Value> {
    let frame = FrameSpec {
        destination: [2, 0x57, 0x4C, 0, 0, 2],
        source: [2, 0x57, 0x4C, 0, 0, 1],
        vlans: [None, None],
        transport: Transport::Ethernet,
        dscp: 0,
    };
    let length = given.length()?;
    let spec = GenerateSpec {
        interface: "bench".to_owned(),
        frame,
        sizes: vec![Size::new(SizeUnit::Length, length).resolve_test(frame.framing())?],
        stream: 0,
        sequences: given.bytes / u64::from(length + 32),
        link: LineRate::new(10_000_000_000).ok_or("no such link rate")?,
        start_ns: 1_700_000_000_000_000_000,
        with_time: true,
        slots: None,
        faults: Schedule::default(),
    };
    let made = generate(file(given)?, &spec, &WriterOptions::default())?;
    Ok(json!({ "path": "capture", "bytes": made.file.bytes }))
}

fn verify_file(given: &Options) -> Result<Value> {
    let report = verify(file(given)?, &VerifyOptions::default())?;
    if report.is_clean() {
        Ok(json!({ "path": "verify", "clean": true }))
    } else {
        Err("the capture has findings".into())
    }
}

fn main() -> Result<()> {
    let given = Options::parse()?;
    let result = match given.plain.first().map(String::as_str) {
        Some("fast") => fast(&given)?,
        Some("portable") => portable(&given)?,
        Some("peer") => peer(&given)?,
        Some("capture") => capture(&given)?,
        Some("verify") => verify_file(&given)?,
        _ => return Err("say fast, portable, peer, capture or verify".into()),
    };
    println!("{result}");
    Ok(())
}
