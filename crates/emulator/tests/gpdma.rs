//! The DMA controller on a memory of its own: what it moves, and how long it takes.

use crate::common::{BASE, Memory, get, put, run};
use wirelab_emulator::Device;
use wirelab_emulator::gpdma::Gpdma;

const SOURCE: u32 = BASE + 0x1000;
const DESTINATION: u32 = BASE + 0x3000;
const CHANNEL_0: u32 = 0x100;
/// Words read and written, both addresses count up, an interrupt at the end.
const WORDS: u32 = 2 << 18 | 2 << 21 | 3 << 26 | 1 << 31;
const ENABLE: u32 = 1 | 1 << 14 | 1 << 15;

fn start(dma: &mut Gpdma, channel: u32, control: u32, now: u64) {
    let base = 0x100 + 0x20 * channel;
    put(dma, 0x030, 1, now);
    put(dma, base, SOURCE, now);
    put(dma, base + 4, DESTINATION, now);
    put(dma, base + 0xC, control, now);
    put(dma, base + 0x10, ENABLE, now);
}

fn filled() -> Memory {
    let mut memory = Memory::new();
    let data: Vec<u8> = (0..4096u32).map(|n| (n * 13 + n / 256) as u8).collect();
    memory.set(SOURCE, &data);
    memory
}

#[test]
fn a_word_costs_two_clocks_in_each_direction_and_the_bus_is_released_after_four() {
    for (words, cycles) in [
        (4, 4 * 4 + 2),
        (8, 2 * 18),
        // A frame of 1,514 bytes: 94 bursts of four words, and three words: 17.04 µs at 100 MHz.
        (379, 94 * 18 + 3 * 4),
    ] {
        let mut memory = filled();
        let mut dma = Gpdma::default();
        start(&mut dma, 0, WORDS | words, 1000);
        run(&mut dma, &mut memory, u64::MAX);
        let (_, _, done, _) = *memory.log.last().unwrap();
        let trailing = u64::from(words % 4 == 0);
        assert_eq!(done - 1000 + trailing, cycles, "{words} words");
        let bytes = words as usize * 4;
        assert_eq!(memory.get(DESTINATION, bytes), memory.get(SOURCE, bytes));
    }
}

#[test]
fn the_end_clears_the_channel_and_raises_the_line_until_it_is_cleared() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    start(&mut dma, 3, WORDS | 9, 0);
    assert_eq!(get(&mut dma, 0x01C, 0), 1 << 3);
    assert_ne!(get(&mut dma, 0x170, 0) & 1 << 17, 0, "Active");
    run(&mut dma, &mut memory, u64::MAX);
    assert_eq!(get(&mut dma, 0x01C, 0), 0);
    assert_eq!(
        get(&mut dma, 0x16C, 0) & 0xFFF,
        0,
        "TransferSize has run out"
    );
    assert!(dma.irq());
    assert_eq!(get(&mut dma, 0x004, 0), 1 << 3);
    put(&mut dma, 0x008, 1 << 3, 0);
    assert!(!dma.irq());
}

#[test]
fn a_masked_interrupt_is_still_seen_raw() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    start(&mut dma, 0, WORDS | 4, 0);
    put(&mut dma, CHANNEL_0 + 0x10, 1, 0);
    run(&mut dma, &mut memory, u64::MAX);
    assert!(!dma.irq());
    assert_eq!((get(&mut dma, 0x014, 0), get(&mut dma, 0x000, 0)), (1, 0));
}

#[test]
fn bytes_and_halfwords_fill_the_fifo_as_words_do() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    // 64 bytes in, words out: bursts of 16 reads and 4 writes.
    start(&mut dma, 0, 2 << 21 | 3 << 26 | 64, 0);
    run(&mut dma, &mut memory, u64::MAX);
    assert_eq!(memory.get(DESTINATION, 64), memory.get(SOURCE, 64));
    let writes = memory.log.iter().filter(|(.., write)| *write).count();
    assert_eq!((memory.log.len(), writes), (64 + 16, 16));
}

#[test]
fn a_chain_of_items_goes_on_where_the_first_ends() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    let item = BASE + 0x100;
    for (n, word) in [SOURCE + 64, DESTINATION + 64, 0, WORDS | 16]
        .iter()
        .enumerate()
    {
        memory.set_word(item + 4 * n as u32, *word);
    }
    put(&mut dma, CHANNEL_0 + 8, item, 0);
    start(&mut dma, 0, WORDS | 16, 0);
    run(&mut dma, &mut memory, u64::MAX);
    assert_eq!(memory.get(DESTINATION, 128), memory.get(SOURCE, 128));
}

#[test]
fn a_ring_of_empty_items_ends_as_an_error() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    let item = BASE + 0x100;
    for (n, word) in [SOURCE, DESTINATION, item, WORDS].iter().enumerate() {
        memory.set_word(item + 4 * n as u32, *word);
    }
    put(&mut dma, CHANNEL_0 + 8, item, 0);
    start(&mut dma, 0, WORDS, 0);
    run(&mut dma, &mut memory, u64::MAX);
    assert_eq!(get(&mut dma, 0x018, 0), 1);
}

#[test]
fn an_address_without_memory_is_an_error_of_the_channel() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    start(&mut dma, 0, WORDS | 4, 0);
    put(&mut dma, CHANNEL_0, 0x1234_5678, 0);
    run(&mut dma, &mut memory, u64::MAX);
    assert!(dma.irq());
    assert_eq!((get(&mut dma, 0x00C, 0), get(&mut dma, 0x01C, 0)), (1, 0));
}

#[test]
fn the_first_channel_goes_first() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    start(&mut dma, 1, WORDS | 8, 0);
    start(&mut dma, 0, WORDS | 8, 0);
    put(&mut dma, 0x120 + 4, DESTINATION + 0x100, 0);
    run(&mut dma, &mut memory, u64::MAX);
    let last_of = |base: u32| {
        let place = base..base + 0x40;
        let of = memory.log.iter().filter(|(_, a, ..)| place.contains(a));
        of.map(|(_, _, done, _)| *done).max().unwrap()
    };
    assert!(last_of(DESTINATION) < last_of(DESTINATION + 0x100));
}

#[test]
fn a_halted_channel_goes_on_when_it_is_let() {
    let mut memory = filled();
    let mut dma = Gpdma::default();
    start(&mut dma, 0, WORDS | 40, 0);
    run(&mut dma, &mut memory, 50);
    put(&mut dma, CHANNEL_0 + 0x10, ENABLE | 1 << 18, 50);
    assert_eq!(dma.next_event(), None);
    put(&mut dma, CHANNEL_0 + 0x10, ENABLE, 500);
    run(&mut dma, &mut memory, u64::MAX);
    assert_eq!(memory.get(DESTINATION, 160), memory.get(SOURCE, 160));
}

#[test]
fn moves_to_peripherals_are_refused() {
    let mut dma = Gpdma::default();
    put(&mut dma, 0x030, 1, 0);
    let config = 1 | 1 << 11;
    let refused = dma.write(0x110, wirelab_emulator::Width::Word, config, 0);
    assert!(refused.unwrap_err().reason.contains("memory to memory"));
}
