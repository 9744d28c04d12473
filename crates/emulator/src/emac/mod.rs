//! The Ethernet MAC of the LPC1768 with its DMA (UM10360, chapter 10), bit-exact in its registers.
//!
//! Not emulated: half duplex (there are no collisions), Wake-on-LAN, sending of pause frames. Received pause frames are
//! obeyed where RX FLOW CONTROL is on.

mod descriptors;
mod filter;
mod miim;
mod receive;
pub mod regs;
mod transmit;
mod wire;

use std::any::Any;

pub use receive::EmacReceived;
pub use transmit::{BURST_BYTES, FIFO_BYTES, MOST_SENT, START_BYTES};
pub use wire::{
    Arrival, ArrivalError, CYCLE_PS, MOST_ARRIVALS, MOST_FRAME_BYTES, SentFrame, WirePace,
};

use crate::bus::{BusFault, Device, Masters, Width};
use crate::phy::Phy;
use filter::Filter;
use miim::Miim;
use receive::Receive;
use regs::{command, int, mac1, mac2, supp};
use transmit::Transmit;
use wire::Incoming;

/// Registers that only store a value.
#[derive(Clone, Debug)]
struct Plain {
    mac1: u32,
    mac2: u32,
    ipgt: u32,
    ipgr: u32,
    clrt: u32,
    maxf: u32,
    supp: u32,
    test: u32,
    command: u32,
    flow: u32,
    int_status: u32,
    int_enable: u32,
    power_down: u32,
}

impl Plain {
    /// Values after a reset (UM10360, chapter 10).
    const RESET: Plain = Plain {
        mac1: mac1::SOFT_RESET,
        mac2: 0,
        ipgt: 0,
        ipgr: 0,
        clrt: 0x370F,
        maxf: 0x0600,
        supp: 0,
        test: 0,
        command: 0,
        flow: 0,
        int_status: 0,
        int_enable: 0,
        power_down: 0,
    };
}

/// The EMAC.
#[derive(Clone, Debug)]
pub struct Emac {
    plain: Plain,
    filter: Filter,
    miim: Miim,
    transmit: Transmit,
    receive: Receive,
    incoming: Incoming,
    /// Number of sent frames that were looped back.
    looped: usize,
}

impl Default for Emac {
    fn default() -> Emac {
        Emac {
            plain: Plain::RESET,
            filter: Filter::default(),
            miim: Miim::default(),
            transmit: Transmit::default(),
            receive: Receive::default(),
            incoming: Incoming::default(),
            looped: 0,
        }
    }
}

impl Emac {
    /// Takes the frames sent since the last call, at most [`MOST_SENT`]. The last may still be on its way: see its end.
    pub fn take_sent(&mut self) -> Vec<SentFrame> {
        self.looped = 0;
        std::mem::take(&mut self.transmit.sent)
    }

    /// Puts a frame on the wire to the MAC, after those already there.
    ///
    /// # Errors
    /// [`ArrivalError`]
    pub fn arrive(&mut self, frame: Arrival) -> Result<(), ArrivalError> {
        self.incoming.push(frame, self.pace())
    }

    /// When the wire to the MAC becomes free, in ps: the end of the last frame, without a gap.
    pub const fn wire_free_ps(&self) -> u64 {
        self.incoming.free_ps()
    }

    /// Counts of received frames.
    pub const fn received(&self) -> EmacReceived {
        self.receive.counts
    }

    /// The station address that the software set.
    pub fn address(&self) -> [u8; 6] {
        self.filter.address()
    }

    /// The PHY.
    pub const fn phy(&mut self) -> &mut Phy {
        &mut self.miim.phy
    }

    /// The speed of the wire; the RMII logic uses SUPP.SPEED.
    fn pace(&self) -> WirePace {
        if self.plain.supp & supp::SPEED != 0 {
            WirePace::FAST
        } else {
            WirePace::SLOW
        }
    }

    fn loops_back(&self) -> bool {
        self.plain.mac1 & mac1::LOOPBACK != 0 || self.miim.phy.loops_back()
    }

    fn sending(&self) -> transmit::Settings {
        transmit::Settings {
            mac2: self.plain.mac2,
            maxf: self.plain.maxf & 0xFFFF,
            pace: self.pace(),
            // "The register value should be the desired period in nibble times minus 3" in full duplex (UM10360, IPGT).
            gap_nibbles: u64::from(self.plain.ipgt & 0x7F) + 3,
        }
    }

    fn receiving(&self) -> receive::Settings {
        let on = |register: u32, bit: u32| register & bit != 0;
        let plain = &self.plain;
        let reset = mac1::SOFT_RESET | mac1::RESETS;
        receive::Settings {
            pace: self.pace(),
            on: on(plain.mac1, mac1::RECEIVE_ENABLE)
                && plain.mac1 & reset == 0
                && on(plain.command, command::RX_ENABLE),
            pass_runts: on(plain.command, command::PASS_RUNT),
            pass_filter: on(plain.command, command::PASS_FILTER),
            pass_control: on(plain.mac1, mac1::PASS_ALL),
            check_length: on(plain.mac2, mac2::LENGTH_CHECK),
            longest: (!on(plain.mac2, mac2::HUGE)).then_some((plain.maxf & 0xFFFF) as usize),
        }
    }

    fn set_command(&mut self, value: u32, now: u64) {
        if value & command::REG_RESET != 0 {
            let reset = Plain::RESET;
            (self.plain.command, self.plain.flow) = (reset.command, reset.flow);
            (self.plain.int_status, self.plain.int_enable) = (0, 0);
            self.filter.control = 0;
        }
        if value & (command::TX_RESET | command::REG_RESET) != 0 {
            self.transmit.reset();
        }
        if value & (command::RX_RESET | command::REG_RESET) != 0 {
            self.receive.reset();
        }
        self.plain.command = value & command::KEPT;
        let raised = self.transmit.enable(value & command::TX_ENABLE != 0, now);
        self.plain.int_status |= raised;
    }

    fn status(&self) -> u32 {
        let bit = |is: bool, bit: u32| if is { bit } else { 0 };
        let receives = self.plain.command & command::RX_ENABLE != 0 || self.receive.is_busy();
        bit(receives, command::RX_ENABLE) | bit(self.transmit.is_active(), command::TX_ENABLE)
    }

    /// Returns sent frames to the receiver while a loopback is on. The receiver gets a frame after its last byte was
    /// sent, so it is later than byte by byte, by up to the time of the frame.
    fn loop_back(&mut self) {
        let frames = self.transmit.sent[self.looped..].to_vec();
        self.transmit.sent.truncate(self.looped);
        for frame in frames {
            let arrival = Arrival {
                start_ps: frame.end_ps.max(self.incoming.free_ps()),
                bytes: frame.bytes,
                ..Arrival::default()
            };
            // If the queue is full, the software does not read its ring, and the frame is lost.
            let _ = self.arrive(arrival);
        }
    }

    /// The cycle in which the receiver decides on the next frame.
    fn decision(&self) -> Option<u64> {
        if self.receive.is_busy() {
            return None;
        }
        let start = self.incoming.next_start()?;
        let bytes = self.incoming.next_bytes()?;
        Some(Receive::decides_at(start, bytes, self.pace()))
    }

    fn begin_receiving(&mut self, at: u64) {
        let Some(start) = self.incoming.next_start() else {
            return;
        };
        let Some(frame) = self.incoming.pop() else {
            return;
        };
        let linked = self.miim.phy.has_link(start) || self.loops_back();
        let mut set = self.receiving();
        set.on &= linked;
        let destination = frame.bytes.first_chunk::<6>();
        let passes = destination.is_some_and(|to| self.filter.passes(*to));
        self.obey_pause(&frame, start);
        let raised = self.receive.take(frame, start, at, &set, passes);
        self.plain.int_status |= raised;
    }

    /// A pause frame (IEEE 802.3, annex 31B) stops the transmitter from its end on, for a number of times of 512 bits.
    fn obey_pause(&mut self, frame: &Arrival, start: u64) {
        let bytes = &frame.bytes;
        let Some(&[0x88, 0x08, 0, 1, high, low]) = bytes.get(12..18) else {
            return;
        };
        if self.plain.mac1 & mac1::RX_FLOW != 0 && crate::fcs::is_right(bytes) {
            let quanta = u64::from(u16::from_be_bytes([high, low]));
            let pace = self.pace();
            let end = start + pace.bytes(wire::PREAMBLE_BYTES + bytes.len() as u64);
            self.transmit.hold(end + quanta * pace.bytes(512 / 8));
        }
    }
}

/// The registers are behind an AHB interface of 32 bits.
const WORDS_ONLY: &str = "registers of the EMAC need 32-bit accesses";

impl Device for Emac {
    fn read(&mut self, offset: u32, width: Width, now: u64) -> Result<u32, BusFault> {
        width.only_word(WORDS_ONLY)?;
        let plain = &self.plain;
        Ok(match offset {
            0x000 => plain.mac1,
            0x004 => plain.mac2,
            0x008 => plain.ipgt,
            0x00C => plain.ipgr,
            0x010 => plain.clrt,
            0x014 => plain.maxf,
            0x018 => plain.supp,
            0x01C => plain.test,
            0x020 => self.miim.config,
            0x024 => self.miim.command,
            0x028 => self.miim.address,
            0x030 => self.miim.read_data(now),
            0x034 => self.miim.indicators(now),
            0x040 | 0x044 | 0x048 => self.filter.station[(offset as usize - 0x40) / 4],
            0x100 => plain.command,
            0x104 => self.status(),
            0x108 => self.receive.ring.descriptor,
            0x10C => self.receive.ring.status,
            0x110 => self.receive.ring.number,
            0x114 => self.receive.ring.produce,
            0x118 => self.receive.ring.consume,
            0x11C => self.transmit.ring.descriptor,
            0x120 => self.transmit.ring.status,
            0x124 => self.transmit.ring.number,
            0x128 => self.transmit.ring.produce,
            0x12C => self.transmit.ring.consume,
            0x158 => self.transmit.vectors[0],
            0x15C => self.transmit.vectors[1],
            0x160 => self.receive.vector,
            0x170 => plain.flow,
            0x200 => self.filter.control,
            0x210 | 0x214 => self.filter.hash[(offset as usize - 0x210) / 4],
            0xFE0 => plain.int_status,
            0xFE4 => plain.int_enable,
            0xFF4 => plain.power_down,
            // FlowControlStatus and RxFilterWoLStatus: these features are not emulated.
            0x174 | 0x204 => 0,
            0x02C | 0x208 | 0xFE8 | 0xFEC => {
                return Err(BusFault::new("the register is write-only"));
            }
            _ => return Err(BusFault::new("the EMAC has no such register")),
        })
    }

    fn write(&mut self, offset: u32, width: Width, value: u32, now: u64) -> Result<(), BusFault> {
        width.only_word(WORDS_ONLY)?;
        let plain = &mut self.plain;
        match offset {
            0x000 => plain.mac1 = value & 0xCF1F,
            0x004 => plain.mac2 = value & 0x73FF,
            0x008 => plain.ipgt = value & 0x7F,
            0x00C => plain.ipgr = value & 0x7F7F,
            0x010 => plain.clrt = value & 0x3F0F,
            0x014 => plain.maxf = value & 0xFFFF,
            0x018 => plain.supp = value & (supp::SPEED | supp::RESET_RMII),
            0x01C => plain.test = value & 7,
            0x020 => self.miim.config = value & 0x803F,
            0x024 => self.miim.set_command(value, now),
            0x028 => self.miim.address = value & 0x1F1F,
            0x02C => self.miim.write_data(value, now),
            0x040 | 0x044 | 0x048 => {
                self.filter.station[(offset as usize - 0x40) / 4] = value & 0xFFFF
            }
            0x100 => self.set_command(value, now),
            0x108 => self.receive.ring.descriptor = value & !3,
            0x10C => self.receive.ring.status = value & !7,
            0x110 => self.receive.ring.number = value & 0xFFFF,
            0x118 => self.receive.ring.consume = value & 0xFFFF,
            0x11C => self.transmit.ring.descriptor = value & !3,
            0x120 => self.transmit.ring.status = value & !3,
            0x124 => self.transmit.ring.number = value & 0xFFFF,
            0x128 => self.transmit.produce(value, now),
            0x170 => plain.flow = value,
            0x200 => self.filter.control = value & 0x303F,
            0x208 => {}
            0x210 | 0x214 => self.filter.hash[(offset as usize - 0x210) / 4] = value,
            0xFE4 => plain.int_enable = value & int::ALL,
            0xFE8 => plain.int_status &= !value,
            0xFEC => plain.int_status |= value & int::ALL,
            0xFF4 => plain.power_down = value & 1 << 31,
            0x030 | 0x034 | 0x104 | 0x114 | 0x12C | 0x158..=0x160 | 0x174 | 0x204 | 0xFE0 => {
                return Err(BusFault::new("the register is read-only"));
            }
            _ => return Err(BusFault::new("the EMAC has no such register")),
        }
        Ok(())
    }

    fn next_event(&self) -> Option<u64> {
        let due = [
            self.transmit.next_event(),
            self.receive.next_event(),
            self.decision(),
        ];
        due.into_iter().flatten().min()
    }

    fn run(&mut self, now: u64, bus: &mut dyn Masters) {
        let (sending, receiving) = (self.sending(), self.receiving());
        self.plain.int_status |= self.transmit.run(now, &sending, bus);
        if self.loops_back() {
            self.loop_back();
        } else {
            self.looped = self.transmit.sent.len();
        }
        self.plain.int_status |= self.receive.run(now, &receiving, bus);
        while let Some(at) = self.decision().filter(|at| *at <= now) {
            self.begin_receiving(at);
            self.plain.int_status |= self.receive.run(now, &receiving, bus);
        }
    }

    fn irq(&self) -> bool {
        self.plain.int_status & self.plain.int_enable != 0
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
