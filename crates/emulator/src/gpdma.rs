//! The general purpose DMA controller: an ARM PL080 with eight channels (UM10360, chapter 31; ARM DDI 0196).
//!
//! Only transfers from memory to memory are emulated. A channel moves as much as its FIFO of four words holds: it
//! reads, then writes, by words, halfwords or bytes as SWidth and DWidth say. INCR4 is the longest burst of words that
//! the FIFO allows (ARM knowledge base, KA11898). Each access takes the time that the matrix gives: two clocks without
//! contention (UM10237, 9.23.3: "the raw AHB bandwidth can be approximated as 4 bytes per two system clocks").
//!
//! Between bursts the bus is released for [`IDLE_CYCLES`]: the low-priority channel "relinquishes control of the bus
//! for a bus cycle after four transfers" (UM10237, chapter on the DMA). Assumption: UM10360 does not say which of the
//! eight channels of the LPC1768 do so; here all do, because all transfers are memory to memory. No other delay is
//! counted between the write of the enable bit and the first read.

use std::any::Any;

use crate::bus::{BusFault, Device, Master, Masters, Width};

/// Channels.
pub const CHANNELS: usize = 8;
/// Bytes of a channel's FIFO: four words.
pub const FIFO_BYTES: u32 = 16;
/// Cycles for which the bus is released after four transfers.
pub const IDLE_CYCLES: u64 = 1;
/// Transfers after which the bus is released.
const TRANSFERS: u32 = 4;
/// Most items without a transfer in a chain: a ring of empty items would never end.
const MOST_EMPTY_ITEMS: u32 = 4096;

/// Bits of DMACCxControl (UM10360, chapter 31).
mod control {
    pub const SIZE: u32 = 0xFFF;
    pub const SOURCE_INCREMENT: u32 = 1 << 26;
    pub const DESTINATION_INCREMENT: u32 = 1 << 27;
    pub const INTERRUPT: u32 = 1 << 31;
}

/// Bits of DMACCxConfig.
mod config {
    pub const ENABLE: u32 = 1;
    pub const TYPE: u32 = 7 << 11;
    pub const ERROR_INTERRUPT: u32 = 1 << 14;
    pub const COUNT_INTERRUPT: u32 = 1 << 15;
    pub const ACTIVE: u32 = 1 << 17;
    pub const HALT: u32 = 1 << 18;
    pub const KEPT: u32 = 0x7_FFFF & !ACTIVE;
}

/// A channel's registers.
#[derive(Clone, Debug, Default)]
struct Channel {
    source: u32,
    destination: u32,
    next_item: u32,
    control: u32,
    config: u32,
    /// The cycle of its next step, while it is active.
    at: Option<u64>,
    empty_items: u32,
}

/// The result of a channel's step.
enum ChannelStep {
    More(u64),
    Item(u64),
    Done,
}

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct Gpdma {
    channels: [Channel; CHANNELS],
    enabled: bool,
    counted: u32,
    failed: u32,
    count_mask: u32,
    error_mask: u32,
}

fn width(code: u32) -> Option<Width> {
    match code & 7 {
        0 => Some(Width::Byte),
        1 => Some(Width::Half),
        2 => Some(Width::Word),
        _ => None,
    }
}

impl Channel {
    fn is_running(&self) -> bool {
        self.config & config::ENABLE != 0 && self.config & config::HALT == 0
    }

    /// Moves what the FIFO holds.
    fn burst(&mut self, at: u64, bus: &mut dyn Masters) -> Result<ChannelStep, BusFault> {
        let unknown = BusFault::new("SWidth and DWidth are 0, 1 or 2");
        let from = width(self.control >> 18).ok_or(unknown)?;
        let to = width(self.control >> 21).ok_or(unknown)?;
        let left = self.control & control::SIZE;
        let items = left.min(FIFO_BYTES / from.bytes());
        // Where the last burst does not fill a whole item of the destination, the rest stays in the FIFO (ARM DDI 0196,
        // 3.3.4: the sizes must match).
        let bytes = items * from.bytes();
        let (mut fifo, mut done) = ([0u8; FIFO_BYTES as usize], at);
        for item in 0..items {
            let (value, there) = bus.read(Master::Gpdma, self.source, from, done)?;
            let place = (item * from.bytes()) as usize;
            let size = from.bytes() as usize;
            fifo[place..place + size].copy_from_slice(&value.to_le_bytes()[..size]);
            if self.control & control::SOURCE_INCREMENT != 0 {
                self.source = self.source.wrapping_add(from.bytes());
            }
            done = there + pause(item);
        }
        for item in 0..bytes / to.bytes() {
            let place = (item * to.bytes()) as usize;
            let mut word = [0; 4];
            let size = to.bytes() as usize;
            word[..size].copy_from_slice(&fifo[place..place + size]);
            let value = u32::from_le_bytes(word);
            let there = bus.write(Master::Gpdma, self.destination, to, value, done)?;
            if self.control & control::DESTINATION_INCREMENT != 0 {
                self.destination = self.destination.wrapping_add(to.bytes());
            }
            done = there + pause(item);
        }
        self.control -= items;
        if items > 0 {
            self.empty_items = 0;
        }
        if left > items {
            return Ok(ChannelStep::More(done));
        }
        if self.next_item & !3 == 0 {
            return Ok(ChannelStep::Done);
        }
        self.empty_items += u32::from(items == 0);
        if self.empty_items > MOST_EMPTY_ITEMS {
            return Err(BusFault::new("a chain of items that move nothing"));
        }
        Ok(ChannelStep::Item(done))
    }

    /// Reads the next item of the chain: four words.
    fn follow(&mut self, at: u64, bus: &mut dyn Masters) -> Result<u64, BusFault> {
        let (item, mut done, mut words) = (self.next_item & !3, at, [0; 4]);
        for (n, word) in words.iter_mut().enumerate() {
            let address = item.wrapping_add(4 * n as u32);
            (*word, done) = bus.read32(Master::Gpdma, address, done)?;
        }
        [self.source, self.destination, self.next_item, self.control] = words;
        Ok(done)
    }
}

/// Cycles for which the bus is released after transfer `item`, counted from 0.
const fn pause(item: u32) -> u64 {
    if item % TRANSFERS == TRANSFERS - 1 {
        IDLE_CYCLES
    } else {
        0
    }
}

impl Gpdma {
    fn run_channel(&mut self, index: usize, at: u64, bus: &mut dyn Masters) {
        let channel = &mut self.channels[index];
        let bit = 1 << index;
        let wants_count = channel.control & control::INTERRUPT != 0;
        let step = match channel.burst(at, bus) {
            Ok(ChannelStep::Item(done)) => {
                self.counted |= if wants_count { bit } else { 0 };
                channel.follow(done, bus).map(ChannelStep::More)
            }
            other => other,
        };
        match step {
            Ok(ChannelStep::More(at) | ChannelStep::Item(at)) => channel.at = Some(at),
            Ok(ChannelStep::Done) => {
                self.counted |= if wants_count { bit } else { 0 };
                self.stop(index);
            }
            Err(_) => {
                self.failed |= bit;
                self.stop(index);
            }
        }
    }

    fn stop(&mut self, index: usize) {
        let channel = &mut self.channels[index];
        channel.config &= !config::ENABLE;
        channel.at = None;
    }

    /// Unmasked interrupts: terminal count and error.
    fn interrupts(&self) -> (u32, u32) {
        (
            self.counted & self.count_mask,
            self.failed & self.error_mask,
        )
    }

    fn enabled_channels(&self) -> u32 {
        let on = |index: &usize| self.channels[*index].config & config::ENABLE != 0;
        (0..CHANNELS).filter(on).map(|index| 1 << index).sum()
    }

    fn write_channel(
        &mut self,
        index: usize,
        register: u32,
        value: u32,
        now: u64,
    ) -> Result<(), BusFault> {
        let channel = &mut self.channels[index];
        match register {
            0x00 => channel.source = value,
            0x04 => channel.destination = value,
            0x08 => channel.next_item = value,
            0x0C => channel.control = value,
            0x10 => {
                channel.config = value & config::KEPT;
                let mask = |on: bool, all: u32| {
                    if on {
                        all | 1 << index
                    } else {
                        all & !(1 << index)
                    }
                };
                self.count_mask = mask(value & config::COUNT_INTERRUPT != 0, self.count_mask);
                self.error_mask = mask(value & config::ERROR_INTERRUPT != 0, self.error_mask);
                self.start(index, now)?;
            }
            _ => return Err(BusFault::new("a DMA channel has no such register")),
        }
        Ok(())
    }

    fn start(&mut self, index: usize, now: u64) -> Result<(), BusFault> {
        let enabled = self.enabled;
        let channel = &mut self.channels[index];
        let runs = enabled && channel.is_running();
        if runs && channel.config & config::TYPE != 0 {
            return Err(BusFault::new(
                "the emulated DMA moves only from memory to memory",
            ));
        }
        channel.at = runs.then(|| channel.at.unwrap_or(now));
        Ok(())
    }
}

/// Why an access of another size is refused.
const WORDS_ONLY: &str = "registers of the DMA controller need 32-bit accesses";

impl Device for Gpdma {
    fn read(&mut self, offset: u32, width: Width, _: u64) -> Result<u32, BusFault> {
        width.only_word(WORDS_ONLY)?;
        let (counted, failed) = self.interrupts();
        Ok(match offset {
            0x000 => counted | failed,
            0x004 => counted,
            0x00C => failed,
            0x014 => self.counted,
            0x018 => self.failed,
            0x01C => self.enabled_channels(),
            // Requests by software, and Sync: no peripheral uses them.
            0x020..=0x02C | 0x034 => 0,
            0x030 => u32::from(self.enabled),
            0x100..0x200 => {
                let channel = &self.channels[(offset as usize - 0x100) / 0x20];
                match offset & 0x1F {
                    0x00 => channel.source,
                    0x04 => channel.destination,
                    0x08 => channel.next_item,
                    0x0C => channel.control,
                    0x10 if channel.at.is_some() => channel.config | config::ACTIVE,
                    0x10 => channel.config,
                    _ => return Err(BusFault::new("a DMA channel has no such register")),
                }
            }
            _ => return Err(BusFault::new("the DMA controller has no such register")),
        })
    }

    fn write(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), BusFault> {
        width.only_word(WORDS_ONLY)?;
        match offset {
            0x008 => self.counted &= !value,
            0x010 => self.failed &= !value,
            0x020..=0x02C | 0x034 => {}
            0x030 => {
                self.enabled = value & 1 != 0;
                for index in 0..CHANNELS {
                    self.start(index, now)?;
                }
            }
            0x100..0x200 => {
                let index = (offset as usize - 0x100) / 0x20;
                return self.write_channel(index, offset & 0x1F, value, now);
            }
            0x000 | 0x004 | 0x00C | 0x014..=0x01C => {
                return Err(BusFault::new("the register is read-only"));
            }
            _ => return Err(BusFault::new("the DMA controller has no such register")),
        }
        Ok(())
    }

    fn next_event(&self) -> Option<u64> {
        self.channels.iter().filter_map(|channel| channel.at).min()
    }

    fn run(&mut self, now: u64, bus: &mut dyn Masters) {
        // Channel 0 has the highest priority, and holds the bus for its burst.
        loop {
            let due = |channel: &Channel| channel.at.is_some_and(|at| at <= now);
            let Some(index) = self.channels.iter().position(due) else {
                return;
            };
            let at = self.channels[index].at.unwrap_or(now);
            self.run_channel(index, at, bus);
        }
    }

    fn irq(&self) -> bool {
        self.interrupts() != (0, 0)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
