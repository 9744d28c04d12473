//! Simulated clocks of the reference node per second: idle, and with echoes of frames. `cargo run --release -p
//! wirelab-hdl --example reference_speed`

use std::time::Instant;

use wirelab_hdl::reference::{Attachment, Reference, Straps};
use wirelab_wire::fcs;

#[path = "../tests/smoke/mod.rs"]
mod smoke;

const CLOCKS: u64 = 5_000_000;
fn main() {
    let Some(program) = smoke::program() else {
        std::process::exit(1);
    };
    // A broadcast frame, which the program echoes.
    let mut frame = [[0xFF; 6].as_slice(), &[0; 54]].concat();
    frame.extend(fcs::fcs(&frame));
    for (name, busy) in [("idle", false), ("echoing", true)] {
        let mut node = Reference::new(Straps::new(Attachment::LiteDevice));
        node.load(&program).expect("the program is one");
        let begin = Instant::now();
        let mut echoes = 0;
        while node.clocks() < CLOCKS {
            if busy && node.is_line_free() {
                node.send(&frame);
            }
            node.run(1000);
            echoes += std::iter::from_fn(|| node.take_sent()).count();
        }
        let rate = node.clocks() as f64 / begin.elapsed().as_secs_f64();
        println!(
            "{name}: {:.2} million clocks/s, {echoes} echoes",
            rate / 1e6
        );
    }
}
