//! Frames/s of the fast path on a veth pair of its own: `xdp_rate [FRAME] [SECONDS] [THREADED]`.
//!
//! Every frame carries header, time and LFSR payload; every byte is checked on the other end.

use wirelab_port::iface::Interface;
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
use wirelab_port::xdp::{Checker, CheckerOptions, Generator, GeneratorOptions};
use wirelab_trial::{Cancel, Extent, Size, SizeUnit};
use wirelab_wire::{Flow, FrameSpec, Transport};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let frame: u32 = args.next().map_or(Ok(64), |a| a.parse())?;
    let seconds: u64 = args.next().map_or(Ok(3), |a| a.parse())?;
    let threaded = args.next().is_some();
    let lab = EphemeralLab::up(&LabSpec::unique("rate", 1))?;
    let (from, to) = (lab.port(0, Side::Node)?, lab.port(0, Side::Tester)?);
    if threaded {
        lab.set_threaded_napi(0, Side::Tester, true)?;
        lab.pin_napi_threads(0, Side::Tester, 1)?;
    }
    let source = Interface::query(&from)?.mac.0;
    let destination = Interface::query(&to)?.mac.0;
    let spec = FrameSpec {
        destination,
        source,
        vlans: [None, None],
        transport: Transport::Ethernet,
    };
    let job = SendJob {
        frame: spec,
        sizes: Size::new(SizeUnit::Frame, frame).resolve_test(spec.framing())?,
        stream: 0,
        with_time: true,
        pace: Pace::Max,
        extent: Extent::Time {
            time_ps: seconds * 1_000_000_000_000,
        },
        faults: Default::default(),
        buffers: None,
    };
    let flow = Flow {
        source: Some(source),
        stream: Some(0),
        udp_port: 0,
    };
    let check = CheckJob {
        flow,
        slots: None,
        time_every: 16,
    };
    let checker = Checker::attach(&to, check, CheckerOptions::default())?;
    let generator = Generator::load(
        &[(from, job.clone())],
        GeneratorOptions {
            cpu: Some(0),
            batch: 0,
        },
    )?;
    let sent = generator.run(&Cancel::new())?.remove(0);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let seen = checker.report().with_sent(sent.sequences);
    println!(
        "sent {} in {} ms, {:?}",
        sent.emitted_frames,
        sent.call_ns / 1_000_000,
        seen.counts
    );
    let rate = seen.frames_per_s().unwrap_or(0.0);
    println!(
        "{:.3} Mframes/s, {:.2} Gbit/s payload",
        rate / 1e6,
        rate * f64::from(job.sizes.payload) * 8e-9
    );
    println!("{:?}", seen.notes);
    Ok(())
}
