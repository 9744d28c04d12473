//! The LPC1768 on its board: the machine with all its devices, the wire at the EMAC, the oscilloscope at P0.0 and the
//! serial line.

use std::sync::Arc;

use crate::emac::{Arrival, ArrivalError, CYCLE_PS, Emac, EmacReceived, SentFrame};
use crate::gpdma::Gpdma;
use crate::gpio::{Edge, Gpio};
use crate::machine::{Machine, Stop};
use crate::syscon::{ClockOf, Clocks, Powered, StoredRegisters, SystemControl, power};
use crate::timer::Timer;
use crate::uart::Uart;
use crate::{Crash, ElfError, map};

/// Bytes of address space of a peripheral on the APB (UM10360, chapter 2).
const APB_BYTES: u32 = 0x4000;
const TIMERS: [(u32, u32); 4] = [
    (0x4000_4000, power::TIMER0),
    (0x4000_8000, power::TIMER1),
    (0x4009_0000, power::TIMER2),
    (0x4009_4000, power::TIMER3),
];
const UART0: u32 = 0x4000_C000;
const WATCHDOG: u32 = 0x4000_0000;
const GPIO_INTERRUPTS: u32 = 0x4002_8000;
const PIN_CONNECT: u32 = 0x4002_C000;
const SYSTEM_CONTROL: u32 = 0x400F_C000;
/// Interrupt lines (UM10360, chapter 6).
mod line {
    pub const TIMER0: u8 = 1;
    pub const UART0: u8 = 5;
    pub const DMA: u8 = 26;
    pub const ENET: u8 = 28;
}

/// Why the board does not continue.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Halt {
    /// The program failed.
    #[error("the firmware failed: {0}")]
    Crash(Box<Crash>),
    /// A breakpoint instruction, with its number.
    #[error("the firmware stopped at BKPT {0}: it expects a debugger there")]
    Breakpoint(u8),
}

/// The board.
pub struct Lpc1768 {
    machine: Machine,
    clocks: Arc<Clocks>,
    emac: usize,
    gpio: usize,
    uart: usize,
    resets: u64,
}

impl Default for Lpc1768 {
    fn default() -> Lpc1768 {
        Lpc1768::new()
    }
}

impl Lpc1768 {
    /// The board with empty memories.
    pub fn new() -> Lpc1768 {
        let mut machine = Machine::new();
        let clocks = Arc::new(Clocks::default());
        for (index, (base, bit)) in TIMERS.into_iter().enumerate() {
            let timer = Timer::new(ClockOf::TIMERS[index], &clocks);
            let timer = Powered::new(timer, bit, &clocks);
            let line = line::TIMER0 + index as u8;
            machine.attach(base, APB_BYTES, Some(line), Box::new(timer));
        }
        for base in [WATCHDOG, GPIO_INTERRUPTS, PIN_CONNECT] {
            machine.attach(base, APB_BYTES, None, Box::new(StoredRegisters::new(0x100)));
        }
        let control = SystemControl::new(&clocks);
        machine.attach(SYSTEM_CONTROL, APB_BYTES, None, Box::new(control));
        let uart = Powered::new(Uart::new(&clocks), power::UART0, &clocks);
        let uart = machine.attach(UART0, APB_BYTES, Some(line::UART0), Box::new(uart));
        let gpio = Powered::new(Gpio::default(), power::GPIO, &clocks);
        let gpio = machine.attach(map::GPIO, 0x4000, None, Box::new(gpio));
        let dma = Powered::new(Gpdma::default(), power::GPDMA, &clocks);
        machine.attach(map::GPDMA, 0x4000, Some(line::DMA), Box::new(dma));
        let emac = Powered::new(Emac::default(), power::EMAC, &clocks);
        let emac = machine.attach(map::EMAC, 0x4000, Some(line::ENET), Box::new(emac));
        Lpc1768 {
            machine,
            clocks,
            emac,
            gpio,
            uart,
            resets: 0,
        }
    }

    /// Loads firmware and starts it at its reset vector.
    ///
    /// # Errors
    /// [`ElfError`] where the file is not a program for this memory.
    pub fn load(&mut self, elf: &[u8]) -> Result<(), ElfError> {
        self.machine.load_elf(elf)
    }

    /// Runs until `cycle`; the last instruction may end a few cycles after it. A reset by the software restarts it.
    ///
    /// # Errors
    /// [`Halt`] where the firmware cannot continue.
    pub fn run_until(&mut self, cycle: u64) -> Result<(), Halt> {
        loop {
            match self.machine.run_until(cycle) {
                Stop::Reached => return Ok(()),
                Stop::Breakpoint(number) => return Err(Halt::Breakpoint(number)),
                Stop::Crash(crash) => return Err(Halt::Crash(crash)),
                Stop::Reset => {
                    self.resets += 1;
                    self.machine.reset();
                }
            }
        }
    }

    /// The next cycle.
    pub const fn cycle(&self) -> u64 {
        self.machine.cycle()
    }

    /// Simulated time since power-on in ps.
    pub const fn time_ps(&self) -> u64 {
        self.machine.cycle().saturating_mul(CYCLE_PS)
    }

    /// Instructions executed.
    pub const fn instructions(&self) -> u64 {
        self.machine.instructions()
    }

    /// Number of resets by the software.
    pub const fn resets(&self) -> u64 {
        self.resets
    }

    /// The core clock that the software set, in Hz. The machine always runs at 100 MHz.
    pub fn core_hz(&self) -> Option<u64> {
        self.clocks.core_hz()
    }

    /// The machine, for everything without a method here.
    pub const fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Calls `act` with the EMAC.
    pub fn emac<R>(&mut self, act: impl FnOnce(&mut Emac) -> R) -> R {
        let done = self.machine.device(self.emac, act);
        done.expect("the EMAC was attached by `new`")
    }

    fn uart<R>(&mut self, act: impl FnOnce(&mut Uart) -> R) -> R {
        let done = self.machine.device(self.uart, act);
        done.expect("the UART was attached by `new`")
    }

    fn gpio<R>(&mut self, act: impl FnOnce(&mut Gpio) -> R) -> R {
        let done = self.machine.device(self.gpio, act);
        done.expect("the GPIO was attached by `new`")
    }

    /// Takes the frames sent since the last call; the last may end later than now.
    pub fn take_sent(&mut self) -> Vec<SentFrame> {
        self.emac(Emac::take_sent)
    }

    /// Puts a frame on the wire to the board, after those already there.
    ///
    /// # Errors
    /// [`ArrivalError`]
    pub fn arrive(&mut self, frame: Arrival) -> Result<(), ArrivalError> {
        self.emac(|emac| emac.arrive(frame))
    }

    /// Counts of received frames.
    pub fn received(&mut self) -> EmacReceived {
        self.emac(|emac| emac.received())
    }

    /// Takes the edges of P0.0 since the last call.
    pub fn take_edges(&mut self) -> Vec<Edge> {
        self.gpio(Gpio::take_edges)
    }

    /// Sends bytes over the serial line; returns how many were accepted.
    pub fn send_serial(&mut self, bytes: &[u8]) -> usize {
        let now = self.machine.cycle();
        self.uart(|uart| uart.send(bytes, now))
    }

    /// Takes the bytes that the serial line received since the last call.
    pub fn take_serial(&mut self) -> Vec<u8> {
        self.uart(Uart::take_printed)
    }
}
