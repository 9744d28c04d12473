//! How fast the simulation is: `events [--seconds S]` plays a two-stage pipeline and prints JSON for `make bench`.
//!
//! Two stages with a resource each and a buffer of four frames between them. The costs are those of 1 us and 1.2 us;
//! neither the frames' times nor the firings are kept.

use std::time::Instant;

use wirelab_sim::net::{Chain, Net, Place, Resource, Stage};
use wirelab_sim::sim::{SimRequest, simulate};

/// Frames of a run, which lasts a good part of a second.
const FRAMES: u64 = 2_000_000;

fn pipeline() -> Net {
    let stage = |name: &str, resource, cost_ps| Stage {
        resource: Some(resource),
        ..Stage::new(name, cost_ps)
    };
    let resource = |name: &str| Resource { name: name.into() };
    Net {
        resources: vec![resource("cpu"), resource("wire")],
        stages: vec![stage("copy", 0, 1_000_000), stage("wire", 1, 1_200_000)],
        places: vec![Place::frames(0, 1), Place::room("buffers", 1, 0, 4)],
        chains: vec![Chain {
            name: "transmit".into(),
            stages: vec![0, 1],
        }],
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(1.0),
        ["--seconds", seconds] => seconds.parse::<f64>().ok().filter(|seconds| *seconds > 0.0),
        _ => None,
    };
    let Some(seconds) = seconds else {
        eprintln!("usage: events [--seconds S]");
        std::process::exit(2);
    };
    let net = pipeline();
    let (begun, mut frames, mut events) = (Instant::now(), 0, 0);
    while begun.elapsed().as_secs_f64() < seconds {
        let run = simulate(&net, &SimRequest::frames(&net, FRAMES)).expect("the pipeline runs");
        assert_eq!(run.end_ps, 1_000_000 + FRAMES * 1_200_000);
        frames += run.chains[0].done;
        events += run.events;
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "{{\"frames_per_s\": {:.0}, \"events_per_s\": {:.0}}}",
        frames as f64 / took,
        events as f64 / took
    );
}
