//! The reference node in simulation: the SoC of `rtl/reference` with any program, in clocks of 10 ns.
//!
//! One compiled model has all attachments of the MAC: [`Straps`] choose one, and the bus's wait states, at the start.
//! Frames enter and leave with their times, bytes cross a debug link, and the program reports its end.

mod count;
mod image;
mod line;
mod sys;

use std::collections::VecDeque;
use std::str::FromStr;

use thiserror::Error;

pub use count::{EchoCounts, Event, EventCounts};
pub use image::{ImageError, RAM_BYTES};
pub use line::{CLOCKS_PER_BYTE, TimedFrame};

use crate::port::GmiiSignals;
use crate::wire::{LineFrame, Sniffer};
use count::Counter;
use line::Feed;
use sys::{Inputs, Model, Outputs};
use wirelab_trial::nearest::unknown;

/// Register offsets and field positions, from `rtl/registers/reference_node.rdl`.
pub mod registers {
    pub use crate::registers::Field;

    include!(env!("WIRELAB_HDL_REFERENCE_NODE"));
}

/// Picoseconds of a clock at 100 MHz: the resolution of the capture unit.
pub const REFERENCE_CLOCK_PS: u64 = 10_000;

/// Clocks from the reply to a read until the CPU's next one, if it does nothing else: the distance of reads is their
/// duration plus this. The test `accesses_take_the_clocks_that_were_strapped` measures it.
pub const CPU_TURN_CLOCKS: u8 = 2;

/// Clocks of the reset before the program starts.
const RESET_CLOCKS: u32 = 8;
/// Most bytes and frames that are kept for the caller; older ones are dropped to limit memory.
const MOST_UART_BYTES: usize = 1 << 20;
const MOST_FRAMES: usize = 1 << 16;

/// How the node's MAC is attached to its CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attachment {
    /// Slot buffers with single accesses, over a bus that posts writes.
    #[default]
    LiteDevice,
    /// Slot buffers with single accesses, each answered before the CPU goes on.
    LiteOrdered,
    /// A ring of descriptors, and DMA.
    Dma,
}

/// A name that is not an attachment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", unknown("attachment of the reference node", .0, ["lite-device", "lite-ordered", "dma"]))]
pub struct NoAttachment(String);

impl FromStr for Attachment {
    type Err = NoAttachment;

    fn from_str(name: &str) -> Result<Self, NoAttachment> {
        match name {
            "lite-device" => Ok(Self::LiteDevice),
            "lite-ordered" => Ok(Self::LiteOrdered),
            "dma" => Ok(Self::Dma),
            _ => Err(NoAttachment(name.to_owned())),
        }
    }
}

/// The choices at the node's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Straps {
    /// How the MAC is attached.
    pub attachment: Attachment,
    /// Whether software passes frames of interest past the stack. The hardware only shows it this bit.
    pub fast_track: bool,
    /// Whether line 1 is joined to itself.
    pub loopback_1: bool,
    /// Clocks of a read of the slot MAC, at least 2.
    pub read_clocks: u8,
    /// Clocks of a write of the slot MAC, at least 2.
    pub write_clocks: u8,
}

impl Straps {
    /// An attachment with the bus timing that was measured on a Zynq, at the same clock (the document's section II:
    /// "the number of clocks between valid write responses reduces from 18 to 3 and between read transactions from 17
    /// to 5"). The registers of the ring MAC have no wait states.
    #[must_use]
    pub fn new(attachment: Attachment) -> Self {
        let (read_interval, write_clocks) = match attachment {
            Attachment::LiteOrdered => (17, 18),
            Attachment::LiteDevice | Attachment::Dma => (5, 3),
        };
        let read_clocks = read_interval - CPU_TURN_CLOCKS;
        Self {
            attachment,
            read_clocks,
            write_clocks,
            ..Self::default()
        }
    }
}

/// The reference node with a program.
pub struct Reference {
    model: Model,
    straps: Straps,
    /// The inputs between two bytes of the line.
    inputs: Inputs,
    outputs: Outputs,
    clocks: u64,
    feed: Feed,
    incoming: Sniffer,
    outgoing: Sniffer,
    received: VecDeque<TimedFrame>,
    sent: VecDeque<TimedFrame>,
    uart_in: VecDeque<u8>,
    uart_out: VecDeque<u8>,
    counter: Option<Box<Counter>>,
}

impl Reference {
    /// A node in reset, with an empty memory.
    #[must_use]
    pub fn new(straps: Straps) -> Self {
        let inputs = Inputs {
            rst: 1,
            attachment: straps.attachment as u8,
            fast_track: u8::from(straps.fast_track),
            loopback_1: u8::from(straps.loopback_1),
            reading: straps.read_clocks,
            writing: straps.write_clocks,
            ..Inputs::default()
        };
        Self {
            model: Model::new(),
            straps,
            inputs,
            outputs: Outputs::default(),
            clocks: 0,
            feed: Feed::default(),
            incoming: Sniffer::default(),
            outgoing: Sniffer::default(),
            received: VecDeque::new(),
            sent: VecDeque::new(),
            uart_in: VecDeque::new(),
            uart_out: VecDeque::new(),
            counter: None,
        }
    }

    /// Starts or stops counting the CPU's work for each frame that is sent back. The program's capture units must
    /// record all points.
    pub fn count(&mut self, counts: bool) {
        let posted = self.straps.attachment != Attachment::LiteOrdered;
        self.counter = counts.then(|| Box::new(Counter::new(posted)));
    }

    /// The counts since the last call, one for each frame.
    pub fn take_counted(&mut self) -> Vec<EchoCounts> {
        let counter = self.counter.as_mut();
        counter.map(|counter| counter.take()).unwrap_or_default()
    }

    /// Resets the node, loads a program (an ELF file) into its memory and starts it; time begins at 0. Memory outside
    /// the program keeps its content.
    ///
    /// # Errors
    /// If the file is not a program for the node, which is then unchanged.
    pub fn load(&mut self, elf: &[u8]) -> Result<(), ImageError> {
        let words = image::words(elf)?;
        *self = Self {
            model: std::mem::replace(&mut self.model, Model::new()),
            ..Self::new(self.straps)
        };
        for _ in 0..RESET_CLOCKS {
            self.model.clock(&self.inputs);
        }
        self.inputs.load_enable = 1;
        for (address, word) in (0..).zip(words) {
            self.inputs.load_address = address;
            self.inputs.load_data = word;
            self.model.clock(&self.inputs);
        }
        self.inputs.load_enable = 0;
        self.outputs = self.model.clock(&self.inputs);
        self.inputs.rst = 0;
        Ok(())
    }

    /// The straps with which it was built.
    #[must_use]
    pub fn straps(&self) -> Straps {
        self.straps
    }

    /// One clock of 10 ns.
    pub fn clock(&mut self) {
        // The received byte of the line is read at the end of this clock, when the next sent one appears.
        let byte_ends = self.outputs.line_ce != 0;
        if byte_ends {
            let line = self.feed.next(self.clocks);
            self.inputs.rxd = line.data;
            self.inputs.rx_dv = u8::from(line.enable);
            self.inputs.rx_er = u8::from(line.error);
            let frame = self.incoming.take(self.clocks, line);
            keep(&mut self.received, frame, self.clocks);
        }
        let waiting = self.uart_in.front();
        self.inputs.uart_valid = u8::from(waiting.is_some());
        self.inputs.uart_data = waiting.copied().unwrap_or_default();
        let uart_taken = waiting.is_some() && self.outputs.uart_ready != 0;
        self.outputs = self.model.clock(&self.inputs);
        self.clocks += 1;
        if let Some(counter) = &mut self.counter {
            let (rx_dv, tx_en) = (self.inputs.rx_dv, self.outputs.tx_en);
            counter.clock(self.model.trace(), rx_dv != 0, tx_en != 0);
        }
        if uart_taken {
            self.uart_in.pop_front();
        }
        if self.outputs.uart_valid != 0 {
            if self.uart_out.len() == MOST_UART_BYTES {
                self.uart_out.pop_front();
            }
            self.uart_out.push_back(self.outputs.uart_data);
        }
        if byte_ends {
            let frame = self.outgoing.take(self.clocks, self.line());
            keep(&mut self.sent, frame, self.clocks);
        }
    }

    /// Runs for this many clocks.
    pub fn run(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.clock();
        }
    }

    /// Runs until `holds` returns true, at most this many clocks; returns whether it did.
    pub fn run_until(&mut self, most_clocks: u64, mut holds: impl FnMut(&Self) -> bool) -> bool {
        for _ in 0..most_clocks {
            if holds(self) {
                return true;
            }
            self.clock();
        }
        holds(self)
    }

    /// Clocks since the program was started.
    #[must_use]
    pub fn clocks(&self) -> u64 {
        self.clocks
    }

    /// Simulated time since the program was started, in ps.
    #[must_use]
    pub fn now_ps(&self) -> u64 {
        self.clocks * REFERENCE_CLOCK_PS
    }

    /// Line 0 from the node now.
    #[must_use]
    pub fn line(&self) -> GmiiSignals {
        GmiiSignals {
            data: self.outputs.txd,
            enable: self.outputs.tx_en != 0,
            error: self.outputs.tx_er != 0,
        }
    }

    /// Sends a frame (destination address to FCS) on line 0 as soon as it is free, with preamble and gap.
    pub fn send(&mut self, frame: &[u8]) {
        self.feed.frame(self.clocks, frame);
    }

    /// Sends any bytes on line 0 as soon as it is free, one byte time each, for damage of all types.
    pub fn send_raw(&mut self, line: Vec<GmiiSignals>) {
        self.feed.raw(self.clocks, line);
    }

    /// Whether line 0 towards the node is free and its queue empty.
    #[must_use]
    pub fn is_line_free(&self) -> bool {
        self.feed.is_empty()
    }

    /// The oldest frame from the node on line 0 that was not taken yet.
    pub fn take_sent(&mut self) -> Option<TimedFrame> {
        self.sent.pop_front()
    }

    /// The oldest frame to the node on line 0 that was not taken yet, with its times.
    pub fn take_received(&mut self) -> Option<TimedFrame> {
        self.received.pop_front()
    }

    /// Frames from the node that can be taken.
    #[must_use]
    pub fn sent_frames(&self) -> usize {
        self.sent.len()
    }

    /// Sends bytes to the node over the debug link.
    pub fn uart_write(&mut self, bytes: &[u8]) {
        self.uart_in.extend(bytes);
    }

    /// The node's output on the debug link since the last call.
    pub fn uart_read(&mut self) -> Vec<u8> {
        self.uart_out.drain(..).collect()
    }

    /// The output that can be read.
    #[must_use]
    pub fn uart_waiting(&self) -> &VecDeque<u8> {
        &self.uart_out
    }

    /// The status with which the program ended, if it has.
    #[must_use]
    pub fn exit_status(&self) -> Option<u32> {
        (self.outputs.exited != 0).then_some(self.outputs.exit_status)
    }

    /// Whether the CPU has fetched instructions outside its memory since the start.
    #[must_use]
    pub fn has_strayed(&self) -> bool {
        self.outputs.trap != 0
    }
}

fn keep(frames: &mut VecDeque<TimedFrame>, frame: Option<LineFrame>, end_clock: u64) {
    if let Some(frame) = frame {
        if frames.len() == MOST_FRAMES {
            frames.pop_front();
        }
        frames.push_back(TimedFrame::new(frame, end_clock));
    }
}
