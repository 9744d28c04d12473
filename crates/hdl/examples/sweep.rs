//! Time that this host needs for the sweep of the Ethernet FMC: `cargo run --release -p wirelab-hdl --example sweep
//! [FRAMES]`.
//!
//! Four ports send and receive at the limit of the line, FRAMES (2,000) for each port and payload. Prints the host's
//! time and the simulated clocks of all ports per second.

use std::time::Instant;

use wirelab_hdl::{HdlNode, HdlOptions};
use wirelab_trial::{Cancel, Direction, Extent, Framing, Load, Node, Size, SizeUnit, Trial};

const PORTS: u32 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frames = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 2000,
    };
    let mut node = HdlNode::start("hdl:4", HdlOptions::parse("4")?)?;
    let (mut all_s, mut all_clocks) = (0.0, 0);
    for payload in [66, 438, 810, 1182, 1498] {
        let trial = Trial {
            ports: PORTS,
            ..Trial::new(
                Framing::default(),
                Direction::Both,
                Size::new(SizeUnit::Payload, payload),
                Load::Max,
                Extent::Frames { frames },
            )
        };
        let begun = Instant::now();
        let came = node.run(&trial, &(), &Cancel::new())?;
        let wall_s = begun.elapsed().as_secs_f64();
        if !came.passed() {
            return Err(
                format!("payload {payload}: {:?}, {:?}", came.status, came.warnings).into(),
            );
        }
        let clocks = came.counters["simulated_clocks"]
            .value()
            .copied()
            .unwrap_or(0);
        let port_clocks = u64::from(PORTS) * clocks;
        println!(
            "payload {payload:4}: {wall_s:6.2} s, {:.2} million port clocks a second",
            port_clocks as f64 / wall_s / 1e6
        );
        all_s += wall_s;
        all_clocks += port_clocks;
    }
    println!(
        "all five:     {all_s:6.2} s, {:.2} million port clocks a second",
        all_clocks as f64 / all_s / 1e6
    );
    Ok(())
}
