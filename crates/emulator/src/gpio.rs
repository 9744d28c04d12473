//! The GPIO ports (UM10360, chapter 9), and the oscilloscope at P0.0.

use std::any::Any;

use crate::bus::{BusFault, Device, Width};

/// Ports.
pub const PORTS: usize = 5;
/// Most edges that are kept until they are taken: a program that only toggles a pin must not fill the host's memory.
pub const MOST_EDGES: usize = 1 << 20;

/// An edge of the watched pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its cycle.
    pub cycle: u64,
    /// The level after it.
    pub high: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Port {
    direction: u32,
    mask: u32,
    latch: u32,
}

impl Port {
    /// Levels of the pins: driven ones, and pull-ups elsewhere (UM10360, PINMODE: pull-ups after a reset).
    const fn levels(self) -> u32 {
        self.latch & self.direction | !self.direction
    }
}

/// The ports.
#[derive(Clone, Debug)]
pub struct Gpio {
    ports: [Port; PORTS],
    edges: Vec<Edge>,
    /// The level at the oscilloscope; an input counts as low, because its pull-up makes no pulse.
    high: bool,
}

impl Default for Gpio {
    fn default() -> Gpio {
        Gpio {
            ports: [Port::default(); PORTS],
            edges: Vec::new(),
            high: false,
        }
    }
}

impl Gpio {
    /// Takes the edges of P0.0 since the last call.
    pub fn take_edges(&mut self) -> Vec<Edge> {
        std::mem::take(&mut self.edges)
    }

    fn watch(&mut self, now: u64) {
        let port = self.ports[0];
        let high = port.latch & port.direction & 1 != 0;
        if high == self.high {
            return;
        }
        self.high = high;
        if self.edges.len() < MOST_EDGES {
            self.edges.push(Edge { cycle: now, high });
        }
    }
}

/// The port, its register and the bits of an access.
fn place(offset: u32, width: Width) -> Result<(usize, u32, u32), BusFault> {
    let (port, register) = ((offset / 0x20) as usize, offset & 0x1C);
    let lane = 8 * (offset & 3);
    if port >= PORTS || lane + 8 * width.bytes() > 32 {
        return Err(BusFault::new("the GPIO has no such register"));
    }
    Ok((port, register, lane))
}

impl Device for Gpio {
    fn read(&mut self, offset: u32, width: Width, _: u64) -> Result<u32, BusFault> {
        let (port, register, lane) = place(offset, width)?;
        let port = self.ports[port];
        let word = match register {
            0x00 => port.direction,
            0x10 => port.mask,
            0x14 => port.levels() & !port.mask,
            0x18 => port.latch & !port.mask,
            0x1C => 0,
            _ => return Err(BusFault::new("the GPIO has no such register")),
        };
        Ok(word >> lane & width.mask())
    }

    fn write(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), BusFault> {
        let (index, register, lane) = place(offset, width)?;
        let port = &mut self.ports[index];
        let touched = width.mask() << lane;
        let value = (value & width.mask()) << lane;
        let open = touched & !port.mask;
        match register {
            0x00 => port.direction = port.direction & !touched | value,
            0x10 => port.mask = port.mask & !touched | value,
            0x14 => port.latch = port.latch & !open | value & open,
            0x18 => port.latch |= value & open,
            0x1C => port.latch &= !(value & open),
            _ => return Err(BusFault::new("the GPIO has no such register")),
        }
        if index == 0 {
            self.watch(now);
        }
        Ok(())
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_that_is_no_output_shows_no_edge() {
        let mut gpio = Gpio::default();
        gpio.write(0x18, Width::Word, 1, 10).unwrap();
        assert!(gpio.take_edges().is_empty());
        gpio.write(0x00, Width::Word, 1, 20).unwrap();
        gpio.write(0x1C, Width::Word, 1, 30).unwrap();
        gpio.write(0x1C, Width::Word, 1, 40).unwrap();
        let edge = |cycle, high| Edge { cycle, high };
        assert_eq!(gpio.take_edges(), [edge(20, true), edge(30, false)]);
    }

    #[test]
    fn the_mask_hides_pins_from_set_clear_and_pin() {
        let mut gpio = Gpio::default();
        gpio.write(0x20, Width::Word, 0xFF, 0).unwrap();
        gpio.write(0x30, Width::Word, 0x0F, 0).unwrap();
        gpio.write(0x38, Width::Word, 0xFF, 0).unwrap();
        assert_eq!(gpio.read(0x34, Width::Byte, 0), Ok(0xF0));
        gpio.write(0x30, Width::Word, 0, 0).unwrap();
        assert_eq!(gpio.read(0x34, Width::Byte, 0), Ok(0xF0));
        assert_eq!(
            gpio.read(0x35, Width::Byte, 0),
            Ok(0xFF),
            "inputs are pulled up"
        );
    }

    #[test]
    fn bytes_and_halfwords_of_a_register_can_be_used_alone() {
        let mut gpio = Gpio::default();
        gpio.write(0x00, Width::Word, u32::MAX, 0).unwrap();
        gpio.write(0x19, Width::Byte, 0x81, 0).unwrap();
        gpio.write(0x1A, Width::Half, 0x4002, 0).unwrap();
        assert_eq!(gpio.read(0x14, Width::Word, 0), Ok(0x4002_8100));
        assert!(gpio.read(0x17, Width::Half, 0).is_err());
        assert!(gpio.read(0xA0, Width::Word, 0).is_err());
    }
}
