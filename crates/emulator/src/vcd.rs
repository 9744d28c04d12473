//! Writes the levels of a pin as a value change dump (IEEE 1364, clause 18), for waveform viewers.

use std::fmt::Write;

use crate::emac::CYCLE_PS;
use crate::gpio::Edge;

/// The dump of one pin, in ps; it is low before its first edge. The comment states, as sigrok writes it, how often the pin
/// may change: once a cycle.
pub fn dump(pin: &str, edges: &[Edge]) -> String {
    let hz = 1_000_000_000_000 / CYCLE_PS;
    let mut out = format!(
        "$comment\n  Acquisition with 1/1 channels at {hz} Hz\n$end\n$timescale 1 ps $end\n$scope module lpc1768 $end\n$var wire 1 ! {pin} $end\n$upscope $end\n\
         $enddefinitions $end\n#0\n$dumpvars\n0!\n$end\n"
    );
    for edge in edges {
        let (time_ps, level) = (
            u128::from(edge.cycle) * u128::from(CYCLE_PS),
            u8::from(edge.high),
        );
        // Writing to a string cannot fail.
        let _ = write!(out, "#{time_ps}\n{level}!\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_stand_at_their_picosecond() {
        let edge = |cycle, high| Edge { cycle, high };
        let text = dump("P0.0", &[edge(7, true), edge(625_007, false)]);
        assert!(text.contains("$var wire 1 ! P0.0 $end\n"), "{text}");
        assert!(text.ends_with("#70000\n1!\n#6250070000\n0!\n"), "{text}");
    }
}
