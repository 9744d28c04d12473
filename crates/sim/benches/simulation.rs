//! How many events the simulation plays in a second: `cargo bench -p wirelab-sim`.

use criterion::{Criterion, Throughput, criterion_main};
use wirelab_sim::net::{Arrivals, Chain, Net, OnMissing, Place, Resource, Stage, Trigger};
use wirelab_sim::sim::{SimRequest, simulate};
use wirelab_sim::steady::steady_state;

const FRAMES: u64 = 100_000;

fn net(stages: Vec<Stage>, room: Place) -> Net {
    let way: Vec<usize> = (0..stages.len()).collect();
    Net {
        resources: ["cpu", "wire"]
            .map(|name| Resource { name: name.into() })
            .to_vec(),
        places: way
            .windows(2)
            .map(|two| Place::frames(two[0], two[1]))
            .chain([room])
            .collect(),
        chains: vec![Chain {
            name: "frames".into(),
            stages: way,
        }],
        stages,
    }
}

fn on(resource: usize, name: &str, cost_ps: u64) -> Stage {
    Stage {
        resource: Some(resource),
        ..Stage::new(name, cost_ps)
    }
}

/// Two stages with a buffer of four frames between them.
fn pipeline() -> Net {
    net(
        vec![on(0, "copy", 1_000_000), on(1, "wire", 1_200_000)],
        Place::room("buffers", 1, 0, 4),
    )
}

/// Frames that arrive faster than the CPU takes them out of a ring.
fn overflow() -> Net {
    let arrivals = Arrivals {
        frames_per_s: 1e6,
        burst: 1,
        lost_before_ratio: 0.0,
    };
    let wire = Stage {
        trigger: Trigger::Arrivals(arrivals),
        ..on(1, "wire", 900_000)
    };
    let dma = Stage {
        on_missing: OnMissing::Drop,
        ..Stage::new("dma", 200_000)
    };
    net(
        vec![wire, dma, on(0, "stack", 1_500_000)],
        Place::room("ring", 2, 1, 8),
    )
}

fn simulation(c: &mut Criterion) {
    let mut group = c.benchmark_group("events");
    for (name, net) in [("pipeline", pipeline()), ("overflow", overflow())] {
        let ask = SimRequest::frames(&net, FRAMES);
        let events = simulate(&net, &ask).expect("the net runs").events;
        group.throughput(Throughput::Elements(events));
        group.bench_function(name, |b| b.iter(|| simulate(&net, &ask)));
    }
    group.finish();
    let net = pipeline();
    c.bench_function("steady state", |b| b.iter(|| steady_state(&net)));
}

mod group {
    //! What criterion's macro makes cannot be documented.
    #![allow(missing_docs)]
    criterion::criterion_group!(benches, super::simulation);
}
criterion_main!(group::benches);
