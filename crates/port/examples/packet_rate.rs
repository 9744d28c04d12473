//! Frames/s of the portable path, to be compared with another generator on the same port and CPU:
//!
//! ```text
//! packet_rate [NS/]IFACE FRAME FRAMES [--cpu N] [--buffers KIND] [--interval-ns N] [--check [NS/]IFACE [--check-cpu N]]
//! ip netns exec NS trafgen -o IFACE -i CONF -P 1 -n FRAMES
//! ```
//! Prints one line: frames/s by the sender's own times, and with `--check` what the checker found.

use std::error::Error;
use std::time::Duration;

use wirelab_port::iface::{Interface, PortName};
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_port::packet::{CheckOptions, Checker, PREFILLED_SLOTS, SendOptions, send};
use wirelab_trial::{Buffers, Cancel, Extent};
use wirelab_wire::{Flow, FrameSpec, Size, SizeUnit, Transport};

const USAGE: &str = "usage: packet_rate [NS/]IFACE FRAME FRAMES [--cpu N] [--buffers KIND] [--interval-ns N] [--check [NS/]IFACE [--check-cpu N]]";

#[derive(Default)]
struct Asked {
    plain: Vec<String>,
    cpu: Option<usize>,
    check_cpu: Option<usize>,
    buffers: Option<Buffers>,
    check: Option<PortName>,
    interval_ns: Option<u64>,
}

fn asked() -> Result<Asked, Box<dyn Error>> {
    let mut asked = Asked::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match argument.as_str() {
            "--cpu" => asked.cpu = Some(value()?.parse()?),
            "--check-cpu" => asked.check_cpu = Some(value()?.parse()?),
            "--buffers" => asked.buffers = Some(value()?.parse()?),
            "--interval-ns" => asked.interval_ns = Some(value()?.parse()?),
            "--check" => asked.check = Some(value()?.parse()?),
            _ => asked.plain.push(argument),
        }
    }
    Ok(asked)
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = asked()?;
    let [port, frame, frames] = asked.plain.as_slice() else {
        return Err(USAGE.into());
    };
    let port: PortName = port.parse()?;
    let spec = FrameSpec {
        destination: [2, 0, 0, 0, 0, 2],
        source: Interface::query(&port)?.mac.0,
        vlans: [None, None],
        transport: Transport::Ethernet,
    };
    let job = SendJob {
        frame: spec,
        sizes: Size::new(SizeUnit::Frame, frame.parse()?).resolve_test(spec.framing())?,
        stream: 0,
        with_time: true,
        pace: asked
            .interval_ns
            .map_or(Pace::Max, |ns| Pace::Interval { ps: ns * 1000 }),
        extent: Extent::Frames {
            frames: frames.parse()?,
        },
        faults: Schedule::default(),
        buffers: asked.buffers,
    };
    let check = CheckJob {
        flow: Flow {
            source: Some(spec.source),
            ..Flow::default()
        },
        slots: (asked.buffers == Some(Buffers::Prefilled)).then_some(PREFILLED_SLOTS),
        time_every: 1,
    };
    let checker = match &asked.check {
        Some(at) => {
            let options = CheckOptions {
                cpu: asked.check_cpu,
                ..CheckOptions::default()
            };
            Some(Checker::start(at, &check, options)?)
        }
        None => None,
    };
    let sent = send(&port, &job, &SendOptions { cpu: asked.cpu }, &Cancel::new())?;
    let rate = sent.emitted_frames as f64 * 1e9 / sent.call_ns as f64;
    print!("{rate:.0} frames/s sent");
    if asked.interval_ns.is_some() {
        let gap = |percent| sent.gap.percentile(percent).unwrap_or(0);
        print!(
            ", gap {} {} {} {} ns (1, 50, 99, 99.9 %), {} slips of {} ns",
            gap(1.0),
            gap(50.0),
            gap(99.0),
            gap(99.9),
            sent.slips,
            sent.slipped_ns
        );
    }
    if let Some(checker) = checker {
        let seen = checker
            .finish(Duration::from_millis(200))?
            .with_sent(sent.sequences);
        print!(
            ", {:.0} frames/s seen, {} good of {}, {} missed, latency median {:?} ns {}",
            seen.frames_per_s().unwrap_or(0.0),
            seen.counts.good_frames,
            sent.sequences,
            seen.missed_frames,
            seen.series.first().and_then(|s| s.percentile(50.0)),
            seen.notes.join("; "),
        );
    }
    println!();
    Ok(())
}
