//! Who waits for whom: fetch and data on one SRAM, DMA masters, the flash accelerator.

use crate::code::{CODE, DATA, Setup};
use std::any::Any;
use wirelab_emulator::{BusFault, Device, Machine, Master, Masters, Width};

const LOCAL_DATA: u32 = CODE + 0x4000;
const SECOND_BANK: u32 = 0x2008_0000;
const FLASHCFG: u32 = 0x400f_c000;
/// ldr r0,[r1], sixteen times.
const LOADS: &[u16] = &[0x6808; 16];
/// str r0,[r1]; b.n . + 2; nop
const STORE_BRANCH: &[u16] = &[0x6008, 0xe7ff, 0xbf00];

/// The cycles of code at `code` whose r1 points to `data`.
fn cycles(at: u32, data: u32, code: &[u16]) -> u64 {
    let mut setup = Setup::new(at);
    setup.registers(&[(0, 5), (1, data)]);
    setup.cycles(code)
}

#[test]
fn a_branch_waits_for_a_store_to_the_sram_that_it_is_fetched_from() {
    assert_eq!(cycles(CODE, DATA, STORE_BRANCH), 4);
    assert_eq!(
        cycles(CODE, LOCAL_DATA, STORE_BRANCH),
        5,
        "the target's fetch and the store's data share a cycle"
    );
}

#[test]
fn loads_from_the_sram_of_the_code_slow_it_once_the_prefetched_words_are_used_up() {
    assert_eq!(cycles(CODE, DATA, LOADS), 17);
    // Eight words of code, three of them prefetched: five fetches cost a cycle of the data each.
    let took = cycles(CODE, LOCAL_DATA, LOADS);
    assert!((17 + 4..=17 + 8).contains(&took), "{took}");
}

/// A DMA master that reads from one address without pause.
struct Hog {
    address: u32,
    next: u64,
}

impl Device for Hog {
    fn read(&mut self, _: u32, _: Width, _: u64) -> Result<u32, BusFault> {
        Err(BusFault::new("no registers"))
    }
    fn write(&mut self, _: u32, _: Width, _: u32, _: u64) -> Result<(), BusFault> {
        Err(BusFault::new("no registers"))
    }
    fn next_event(&self) -> Option<u64> {
        Some(self.next)
    }
    fn run(&mut self, now: u64, bus: &mut dyn Masters) {
        let (_, done) = bus
            .read32(Master::Gpdma, self.address, now)
            .expect("memory is there");
        assert!(done >= now + 2, "an access takes two clocks");
        self.next = done;
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[test]
fn the_core_and_a_dma_master_wait_for_each_other_at_one_memory_only() {
    let with_dma = |address| {
        let mut setup = Setup::new(CODE);
        setup.machine.attach(
            0x5000_0000,
            0x1000,
            None,
            Box::new(Hog { address, next: 0 }),
        );
        setup.registers(&[(0, 5), (1, DATA)]);
        setup.cycles(LOADS)
    };
    assert_eq!(with_dma(SECOND_BANK), 17, "another bank is another slave");
    let took = with_dma(DATA);
    assert!(
        took >= 17 + 14,
        "each load waits for an access of two clocks: {took}"
    );
}

/// A device that is due all the time.
struct Restless(u64);

impl Device for Restless {
    fn read(&mut self, _: u32, _: Width, _: u64) -> Result<u32, BusFault> {
        Ok(1)
    }
    fn write(&mut self, _: u32, _: Width, _: u32, _: u64) -> Result<(), BusFault> {
        Ok(())
    }
    fn next_event(&self) -> Option<u64> {
        Some(0)
    }
    fn run(&mut self, _: u64, _: &mut dyn Masters) {
        self.0 += 1;
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

#[test]
fn a_device_that_is_always_due_holds_nobody_up() {
    let mut setup = Setup::new(CODE);
    let number = setup
        .machine
        .attach(0x5000_0000, 0x1000, None, Box::new(Restless(0)));
    setup.registers(&[(0, 5), (1, 0x5000_0000)]);
    setup.run(LOADS);
    let runs = setup
        .machine
        .device(number, |device: &mut Restless| device.0)
        .expect("it is there");
    assert!((10..100).contains(&runs), "{runs}");
}

#[test]
fn dma_takes_two_clocks_an_access() {
    let mut machine = Machine::new();
    assert!(machine.write_memory(DATA, &[1, 2, 3, 4]));
    let number = machine.attach(
        0x5000_0000,
        0x1000,
        None,
        Box::new(Hog {
            address: DATA,
            next: 100,
        }),
    );
    // b.n .
    assert!(machine.write_memory(CODE, &[0xfe, 0xe7]));
    machine.start(CODE + 1, DATA);
    machine.run_until(1100);
    let next = machine
        .device(number, |hog: &mut Hog| hog.next)
        .expect("it is there");
    assert!((1100..=1104).contains(&next), "{next}");
    assert_eq!(next % 2, 0, "no other master, no gap");
}

/// The cycles of code in flash whose accesses take `clocks`.
fn in_flash(clocks: u32, code: &[u16]) -> u64 {
    let run = |code: &[u16]| {
        let mut setup = Setup::new(CODE);
        // str r0,[r1]: FLASHTIM
        setup.registers(&[(0, (clocks - 1) << 12 | 0x3a), (1, FLASHCFG)]);
        setup.run(&[0x6008]);
        let mut flash = setup.at(0x100);
        flash.registers(&[(0, 10), (1, 0x140)]);
        flash.run(code)
    };
    run(code) - run(&[])
}

#[test]
fn flash_keeps_up_with_16_bit_code_and_not_quite_with_32_bit_code() {
    let narrow = [0xbf00; 64];
    assert_eq!(in_flash(1, &narrow), 64);
    assert_eq!(
        in_flash(5, &narrow),
        64,
        "eight instructions a line, five clocks ahead"
    );
    let wide: Vec<u16> = [0xf3af, 0x8000].repeat(32);
    assert_eq!(in_flash(1, &wide), 32);
    let took = in_flash(5, &wide);
    assert!(
        (32 + 6..=32 + 9).contains(&took),
        "four instructions a line, one clock short of each: {took}"
    );
}

#[test]
fn a_loop_in_flash_runs_out_of_the_buffers() {
    // subs r0,#1; bne.n . - 2: ten times
    let code: &[u16] = &[0x3801, 0xd1fd];
    assert_eq!(in_flash(1, code), 10 * 3 - 1);
    assert_eq!(in_flash(5, code), 10 * 3 - 1);
}

#[test]
fn bits_have_addresses() {
    let mut setup = Setup::new(CODE);
    setup.word(DATA, 0x0000_0f00);
    // str r0,[r1]; ldr r2,[r1]; ldr r3,[r4]: bit 2 of the first byte
    let alias = 0x2200_0000 + (DATA - 0x2000_0000) * 32 + 2 * 4;
    setup.registers(&[(0, 1), (1, alias), (4, DATA)]);
    setup.run(&[0x6008, 0x680a, 0x6823]);
    let registers = setup.machine.registers();
    assert_eq!((registers[2], registers[3]), (1, 0x0000_0f04));
}

#[test]
fn a_loop_tells_what_each_of_its_instructions_took() {
    // movs r4,#3 on an odd halfword, then the copy loop that gcc makes: its head is across two words
    let code: &[u16] = &[0x2403, 0xf831, 0x3b02, 0x428a, 0xf820, 0x3f02, 0xd8f9];
    let mut setup = Setup::new(CODE);
    let start = CODE + 18;
    setup.machine.watch(start, 12);
    setup.registers(&[
        (0, DATA + 0x100),
        (1, DATA + 0x4000),
        (2, DATA + 0x4000 + 20),
    ]);
    setup.run(code);
    let spent = setup.machine.spent();
    let figures: Vec<_> = spent
        .iter()
        .map(|of| (of.address - start, of.count, of.cycles))
        .collect();
    // LDRH 2, CMP 1, STRH 1, BHI 1 and a refill of 2; the last BHI is not taken.
    assert_eq!(
        figures,
        [(0, 10, 20), (4, 10, 10), (6, 10, 10), (10, 10, 28)]
    );
    let branch = (spent[3], format!("bhi {start:#x}"));
    assert_eq!(setup.machine.listing()[3], branch);
}
