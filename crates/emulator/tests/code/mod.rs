//! A machine with a few lines of code, for the tests.

pub mod random;

use wirelab_emulator::{Machine, Stop};

/// Start of the local SRAM.
pub const CODE: u32 = 0x1000_0000;
/// Start of the AHB SRAM.
pub const DATA: u32 = 0x2007_c000;

/// A machine that runs code from one place.
pub struct Setup {
    pub machine: Machine,
    code: u32,
    registers: Vec<(u8, u32)>,
}

impl Setup {
    pub fn new(code: u32) -> Self {
        Self {
            machine: Machine::new(),
            code,
            registers: Vec::new(),
        }
    }

    pub fn register(&mut self, register: u8, value: u32) {
        self.registers.push((register, value));
    }

    /// The same machine for code at another place.
    pub fn at(self, code: u32) -> Self {
        Self { code, ..self }
    }

    pub fn registers(&mut self, values: &[(u8, u32)]) {
        self.registers = values.to_vec();
    }

    pub fn word(&mut self, address: u32, value: u32) {
        assert!(self.machine.write_memory(address, &value.to_le_bytes()));
    }

    /// Puts code at `address`.
    pub fn place(&mut self, address: u32, code: &[u16]) {
        let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
        assert!(self.machine.write_memory(address, &bytes));
    }

    /// Runs `code` behind eight NOPs up to its BKPT; the cycles from the machine's start to there.
    pub fn run(&mut self, code: &[u16]) -> u64 {
        let mut whole = vec![0xbf00; 8];
        whole.extend_from_slice(code);
        whole.push(0xbe00);
        self.place(self.code, &whole);
        let before = self.machine.cycle();
        self.machine.start(self.code + 1, DATA + 0x500);
        for (register, value) in &self.registers {
            self.machine.set_register(*register, *value);
        }
        match self.machine.run_until(before + 1_000_000) {
            Stop::Breakpoint(0) => self.machine.cycle() - before,
            other => panic!("stopped by {other:?}, not at the end"),
        }
    }

    /// The cycles that `code` adds to what is run without it.
    pub fn cycles(&mut self, code: &[u16]) -> u64 {
        let start = self.machine.cycle();
        assert_eq!(start, 0, "what is compared starts alike");
        let without = Setup::new(self.code).run(&[]);
        self.run(code) - without
    }
}
