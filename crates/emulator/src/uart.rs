//! UART0: a 16550 with FIFOs of 16 bytes (UM10360, chapter 14). Bytes take time on the line in both directions.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::bus::{BusFault, Device, Masters, Width};
use crate::syscon::{ClockOf, Clocks};

/// Depth of a FIFO.
const DEPTH: usize = 16;
/// Most bytes that are kept for the host in each direction: a program that only prints must not fill its memory.
pub const MOST_BYTES: usize = 1 << 20;
/// Character times without a read after which the FIFO's bytes are reported (UM10360, U0IIR: 3.5 to 4.5).
const TIMEOUT_CHARACTERS: u64 = 4;

/// Bits of LSR (UM10360, U0LSR).
mod lsr {
    pub const READY: u32 = 1;
    pub const OVERRUN: u32 = 1 << 1;
    pub const EMPTY: u32 = 1 << 5;
    pub const IDLE: u32 = 1 << 6;
}

/// UART0.
#[derive(Debug)]
pub struct Uart {
    clocks: Arc<Clocks>,
    enable: u32,
    fifo: u32,
    line: u32,
    divisor: [u32; 2],
    fraction: u32,
    transmit_enable: u32,
    scratch: u32,
    received: VecDeque<u8>,
    overrun: bool,
    timed_out: bool,
    timeout_at: Option<u64>,
    to_send: VecDeque<u8>,
    /// The byte in the shift register, and the end of its stop bit.
    shifting: Option<(u8, u64)>,
    /// The interrupt of an empty transmitter, until it is acknowledged.
    emptied: bool,
    /// Bytes from the host on their way, and when the first arrives.
    incoming: VecDeque<u8>,
    arrives_at: Option<u64>,
    printed: Vec<u8>,
}

impl Uart {
    /// The UART with its clock.
    pub fn new(clocks: &Arc<Clocks>) -> Uart {
        Uart {
            clocks: Arc::clone(clocks),
            enable: 0,
            fifo: 0,
            line: 0,
            divisor: [1, 0],
            fraction: 0x10,
            transmit_enable: 0x80,
            scratch: 0,
            received: VecDeque::new(),
            overrun: false,
            timed_out: false,
            timeout_at: None,
            to_send: VecDeque::new(),
            shifting: None,
            emptied: false,
            incoming: VecDeque::new(),
            arrives_at: None,
            printed: Vec::new(),
        }
    }

    /// Sends bytes to the UART, after those on their way, at the rate that the software set. Returns how many were
    /// accepted.
    pub fn send(&mut self, bytes: &[u8], now: u64) -> usize {
        let taken = bytes
            .len()
            .min(MOST_BYTES - self.incoming.len().min(MOST_BYTES));
        self.incoming.extend(&bytes[..taken]);
        if self.arrives_at.is_none() && !self.incoming.is_empty() {
            self.arrives_at = Some(now + self.character_cycles());
        }
        taken
    }

    /// Takes what the software printed since the last call.
    pub fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    /// Core cycles of a character (UM10360, U0FDR: PCLK / (16 · DL · (1 + DivAddVal / MulVal))).
    pub fn character_cycles(&self) -> u64 {
        let data = u64::from(self.line & 3) + 5;
        let stop = u64::from(self.line >> 2 & 1) + 1;
        let parity = u64::from(self.line >> 3 & 1);
        let bits = 1 + data + parity + stop;
        let divisor = u64::from((self.divisor[1] << 8) | self.divisor[0]).max(1);
        let (add, multiply) = (
            u64::from(self.fraction & 0xF),
            u64::from(self.fraction >> 4),
        );
        let clock = self.clocks.divider(ClockOf::UART0);
        bits * 16 * divisor * clock * (multiply.max(1) + add) / multiply.max(1)
    }

    fn depth(&self) -> usize {
        if self.fifo & 1 != 0 { DEPTH } else { 1 }
    }

    fn trigger(&self) -> usize {
        if self.fifo & 1 == 0 {
            return 1;
        }
        [1, 4, 8, 14][(self.fifo >> 6 & 3) as usize]
    }

    fn settle(&mut self, now: u64) {
        while let Some(at) = self.arrives_at.filter(|at| *at <= now) {
            self.arrive(at);
        }
        while let Some((byte, at)) = self.shifting.filter(|(_, at)| *at <= now) {
            self.shifting = None;
            if self.printed.len() < MOST_BYTES {
                self.printed.push(byte);
            }
            self.shift(at);
        }
        if self.timeout_at.is_some_and(|at| at <= now) {
            (self.timeout_at, self.timed_out) = (None, true);
        }
    }

    fn arrive(&mut self, at: u64) {
        let next = at + self.character_cycles();
        if let Some(byte) = self.incoming.pop_front() {
            if self.received.len() < self.depth() {
                self.received.push_back(byte);
            } else {
                self.overrun = true;
            }
        }
        self.arrives_at = (!self.incoming.is_empty()).then_some(next);
        self.restart_timeout(at);
    }

    fn restart_timeout(&mut self, now: u64) {
        self.timed_out = false;
        let waits = self.fifo & 1 != 0 && !self.received.is_empty();
        self.timeout_at = waits.then(|| now + TIMEOUT_CHARACTERS * self.character_cycles());
    }

    /// Moves the next byte into the empty shift register.
    fn shift(&mut self, at: u64) {
        if self.shifting.is_some() || self.transmit_enable & 0x80 == 0 {
            return;
        }
        if let Some(byte) = self.to_send.pop_front() {
            self.shifting = Some((byte, at + self.character_cycles()));
            self.emptied |= self.to_send.is_empty();
        }
    }

    fn line_status(&self) -> u32 {
        let bit = |is: bool, bit: u32| if is { bit } else { 0 };
        let empty = self.to_send.is_empty();
        bit(!self.received.is_empty(), lsr::READY)
            | bit(self.overrun, lsr::OVERRUN)
            | bit(empty, lsr::EMPTY)
            | bit(empty && self.shifting.is_none(), lsr::IDLE)
    }

    /// IntId of the most urgent interrupt (UM10360, U0IIR), shifted as in IIR.
    fn interrupt(&self) -> Option<u32> {
        let enabled = |bit: u32| self.enable & bit != 0;
        if enabled(4) && self.overrun {
            Some(0b0110)
        } else if enabled(1) && self.received.len() >= self.trigger() {
            Some(0b0100)
        } else if enabled(1) && self.timed_out && !self.received.is_empty() {
            Some(0b1100)
        } else if enabled(2) && self.emptied {
            Some(0b0010)
        } else {
            None
        }
    }

    fn has_divisor(&self) -> bool {
        self.line & 0x80 != 0
    }

    fn take(&mut self, now: u64) -> u32 {
        let byte = self.received.pop_front().unwrap_or(0);
        self.restart_timeout(now);
        u32::from(byte)
    }

    fn put(&mut self, value: u32, now: u64) {
        // A byte that meets a full FIFO is lost, as on the chip.
        if self.to_send.len() < self.depth() {
            self.to_send.push_back(value as u8);
        }
        self.emptied = false;
        self.shift(now);
    }

    fn set_fifo(&mut self, value: u32) {
        self.fifo = value & 0xC9;
        if value & 2 != 0 {
            self.received.clear();
            (self.timeout_at, self.timed_out) = (None, false);
        }
        if value & 4 != 0 {
            self.to_send.clear();
        }
    }
}

impl Device for Uart {
    fn read(&mut self, offset: u32, _: Width, now: u64) -> Result<u32, BusFault> {
        self.settle(now);
        Ok(match offset {
            0x00 if self.has_divisor() => self.divisor[0],
            0x00 => self.take(now),
            0x04 if self.has_divisor() => self.divisor[1],
            0x04 => self.enable,
            0x08 => {
                let id = self.interrupt();
                // Reading it acknowledges the empty transmitter (UM10360, U0IIR).
                self.emptied &= id != Some(0b0010);
                id.unwrap_or(1) | ((self.fifo & 1) * 0xC0)
            }
            0x0C => self.line,
            0x14 => {
                let status = self.line_status();
                self.overrun = false;
                status
            }
            0x1C => self.scratch,
            0x20 | 0x24 => 0,
            0x28 => self.fraction,
            0x30 => self.transmit_enable,
            _ => return Err(BusFault::new("the UART has no such register")),
        })
    }

    fn write(&mut self, offset: u32, _: Width, value: u32, now: u64) -> Result<(), BusFault> {
        self.settle(now);
        match offset {
            0x00 if self.has_divisor() => self.divisor[0] = value & 0xFF,
            0x00 => self.put(value, now),
            0x04 if self.has_divisor() => self.divisor[1] = value & 0xFF,
            0x04 => {
                // If it is enabled while the transmitter is empty, the interrupt is immediate (16550).
                self.emptied |= value & 2 & !self.enable != 0 && self.to_send.is_empty();
                self.enable = value & 0x307;
            }
            0x08 => self.set_fifo(value),
            0x0C => self.line = value & 0xFF,
            0x1C => self.scratch = value & 0xFF,
            0x20 | 0x24 => {}
            0x28 => self.fraction = value & 0xFF,
            0x30 => {
                self.transmit_enable = value & 0x80;
                self.shift(now);
            }
            0x14 => return Err(BusFault::new("the register is read-only")),
            _ => return Err(BusFault::new("the UART has no such register")),
        }
        Ok(())
    }

    fn next_event(&self) -> Option<u64> {
        let shifted = self.shifting.map(|(_, at)| at);
        let due = [self.arrives_at, shifted, self.timeout_at];
        due.into_iter().flatten().min()
    }

    fn run(&mut self, now: u64, _: &mut dyn Masters) {
        self.settle(now);
    }

    fn irq(&self) -> bool {
        self.interrupt().is_some()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8N1, PCLK of a quarter of the core clock, divisor 1: 10 bits of 64 cycles.
    fn uart() -> Uart {
        let mut uart = Uart::new(&Arc::new(Clocks::default()));
        write(&mut uart, 0x0C, 0x03, 0);
        write(&mut uart, 0x08, 0x07, 0);
        uart
    }

    fn write(uart: &mut Uart, offset: u32, value: u32, now: u64) {
        uart.write(offset, Width::Byte, value, now).unwrap();
    }

    fn read(uart: &mut Uart, offset: u32, now: u64) -> u32 {
        uart.read(offset, Width::Byte, now).unwrap()
    }

    #[test]
    fn the_baud_rate_is_that_of_the_manuals_formula() {
        let mut uart = uart();
        assert_eq!(uart.character_cycles(), 640);
        write(&mut uart, 0x0C, 0x83, 0);
        // The manual's example for 115,200 baud: DLM 0, DLL 4, DivAddVal 5, MulVal 8 at 12 MHz.
        write(&mut uart, 0x00, 4, 0);
        write(&mut uart, 0x28, 0x85, 0);
        // 10 bits · 16 · 4 · (1 + 5/8) cycles of PCLK.
        assert_eq!(uart.character_cycles(), 4 * 1040);
    }

    #[test]
    fn bytes_arrive_one_after_another_and_the_trigger_raises_the_line() {
        let mut uart = uart();
        write(&mut uart, 0x08, 0x41, 0);
        write(&mut uart, 0x04, 1, 0);
        assert_eq!(uart.send(b"hello", 0), 5);
        assert_eq!(uart.next_event(), Some(640));
        assert_eq!(read(&mut uart, 0x14, 639) & lsr::READY, 0);
        assert_eq!(read(&mut uart, 0x14, 640) & lsr::READY, 1);
        assert!(!uart.irq());
        uart.settle(4 * 640);
        assert!(uart.irq());
        assert_eq!(read(&mut uart, 0x08, 4 * 640), 0xC4);
        for byte in b"hello" {
            assert_eq!(read(&mut uart, 0x00, 5 * 640), u32::from(*byte));
        }
        assert!(!uart.irq());
    }

    #[test]
    fn fewer_bytes_than_the_trigger_are_reported_after_a_while() {
        let mut uart = uart();
        write(&mut uart, 0x08, 0xC1, 0);
        write(&mut uart, 0x04, 1, 0);
        uart.send(b"ab", 0);
        uart.settle(1280 + 4 * 640 - 1);
        assert!(!uart.irq());
        uart.settle(1280 + 4 * 640);
        assert_eq!(read(&mut uart, 0x08, 4000), 0xCC);
    }

    #[test]
    fn a_full_fifo_overruns_and_says_so_once() {
        let mut uart = uart();
        write(&mut uart, 0x08, 0x01, 0);
        uart.send(&[7; 17], 0);
        let now = 17 * 640;
        assert_eq!(read(&mut uart, 0x14, now) & lsr::OVERRUN, lsr::OVERRUN);
        assert_eq!(read(&mut uart, 0x14, now) & lsr::OVERRUN, 0);
        assert_eq!(uart.received.len(), 16);
    }

    #[test]
    fn what_is_printed_comes_out_at_the_line_rate() {
        let mut uart = uart();
        write(&mut uart, 0x04, 2, 0);
        assert_eq!(read(&mut uart, 0x08, 0), 0xC2);
        assert!(!uart.irq(), "reading IIR has taken note");
        for byte in *b"ok" {
            write(&mut uart, 0x00, u32::from(byte), 0);
        }
        assert!(uart.printed.is_empty());
        assert_eq!(read(&mut uart, 0x14, 0) & (lsr::EMPTY | lsr::IDLE), 0);
        uart.settle(640);
        assert!(uart.irq(), "the FIFO is empty again");
        assert_eq!(
            read(&mut uart, 0x14, 640) & (lsr::EMPTY | lsr::IDLE),
            lsr::EMPTY
        );
        uart.settle(1280);
        assert_eq!(uart.take_printed(), b"ok");
        assert_eq!(read(&mut uart, 0x14, 1280) & lsr::IDLE, lsr::IDLE);
    }
}
