//! The EMAC's transmit side on a memory of its own: times of the wire, descriptors, statuses, indices and interrupts.

use crate::common::{BASE, Memory, get, put, run};
use wirelab_emulator::Device;
use wirelab_emulator::emac::{Emac, FIFO_BYTES, SentFrame};

const MAC1: u32 = 0x000;
const MAC2: u32 = 0x004;
const IPGT: u32 = 0x008;
const SUPP: u32 = 0x018;
const COMMAND: u32 = 0x100;
const TX_DESCRIPTOR: u32 = 0x11C;
const TX_STATUS: u32 = 0x120;
const TX_NUMBER: u32 = 0x124;
const TX_PRODUCE: u32 = 0x128;
const TX_CONSUME: u32 = 0x12C;
const TSV0: u32 = 0x158;
const INT_STATUS: u32 = 0xFE0;
const INT_ENABLE: u32 = 0xFE4;
const INT_CLEAR: u32 = 0xFE8;

const DESCRIPTORS: u32 = BASE;
const STATUSES: u32 = BASE + 0x100;
const DATA: u32 = BASE + 0x1000;
const LAST: u32 = 1 << 30;
const INTERRUPT: u32 = 1 << 31;
const TX_DONE: u32 = 1 << 7;
const TX_FINISHED: u32 = 1 << 6;
/// ps of a byte at 100 Mbit/s.
const BYTE_PS: u64 = 80_000;

/// The EMAC as the driver of the MCB1700 sets it up, with `descriptors` in its ring.
fn emac(descriptors: u32) -> Emac {
    let mut emac = Emac::default();
    put(&mut emac, MAC1, 0, 0);
    // Full duplex, CRC, pad; gap of 96 bit times; 100 Mbit/s.
    put(&mut emac, MAC2, 0x31, 0);
    put(&mut emac, IPGT, 0x15, 0);
    put(&mut emac, SUPP, 0x100, 0);
    put(&mut emac, TX_DESCRIPTOR, DESCRIPTORS, 0);
    put(&mut emac, TX_STATUS, STATUSES, 0);
    put(&mut emac, TX_NUMBER, descriptors - 1, 0);
    // Full duplex, RMII, TxEnable.
    put(&mut emac, COMMAND, 0x602, 0);
    put(&mut emac, INT_CLEAR, TX_FINISHED, 0);
    emac
}

fn describe(memory: &mut Memory, index: u32, address: u32, bytes: u32, control: u32) {
    memory.set_word(DESCRIPTORS + 8 * index, address);
    memory.set_word(DESCRIPTORS + 8 * index + 4, (bytes - 1) | control);
}

/// Send frames of these lengths; gives them and the EMAC.
fn send(lengths: &[u32]) -> (Vec<SentFrame>, Emac, Memory) {
    let mut memory = Memory::new();
    let mut emac = emac(lengths.len() as u32 + 1);
    let data: Vec<u8> = (0..2048u32).map(|n| (n * 7) as u8).collect();
    memory.set(DATA, &data);
    for (index, length) in lengths.iter().enumerate() {
        describe(&mut memory, index as u32, DATA, *length, LAST | INTERRUPT);
    }
    put(&mut emac, TX_PRODUCE, lengths.len() as u32, 1000);
    run(&mut emac, &mut memory, u64::MAX);
    (emac.take_sent(), emac, memory)
}

#[test]
fn a_frame_takes_its_bytes_preamble_and_fcs_on_the_wire() {
    let (sent, mut emac, memory) = send(&[1514]);
    let frame = &sent[0];
    assert_eq!(frame.bytes.len(), 1518);
    assert!(frame.fcs_is_right());
    assert_eq!(frame.without_fcs(), memory.get(DATA, 1514));
    assert_eq!(frame.end_ps - frame.start_ps, (8 + 1514 + 4) * BYTE_PS);
    assert_eq!(frame.start_ps % 40_000, 0, "an edge of the nibble clock");
    // The status comes when the frame has left, then the index moves.
    assert_eq!(get(&mut emac, TX_CONSUME, 0), 1);
    assert_eq!(memory.word(STATUSES), 0);
    let (_, address, done, _) = *memory.log.last().unwrap();
    assert_eq!(
        (address, done),
        (STATUSES, frame.end_ps / 10_000 + memory.clocks)
    );
    assert_eq!(get(&mut emac, INT_STATUS, 0), TX_DONE | TX_FINISHED);
    assert_eq!(
        get(&mut emac, TSV0, 0) >> 12 & 0xFFFF,
        1518,
        "total bytes of the vector"
    );
}

#[test]
fn the_first_bits_leave_as_soon_as_descriptor_and_first_burst_are_there() {
    let (sent, ..) = send(&[1514]);
    // Two words of descriptor and four of data, two clocks each: 12 clocks after cycle 1000, on an edge of 40 ns.
    assert_eq!(sent[0].start_ps, 1012 * 10_000);
}

#[test]
fn frames_follow_with_the_gap_and_the_time_to_fetch() {
    let (sent, ..) = send(&[1514, 1514, 60]);
    for pair in sent.windows(2) {
        let gap_ps = pair[1].start_ps - pair[0].end_ps;
        // 96 bit times: the fetch of status, descriptor and data (14 clocks of 10 ns) is hidden in them.
        assert_eq!(gap_ps, 960_000);
    }
    // So 50 frames of 1,514 bytes cannot take less than 50 · 123.04 µs.
    assert_eq!(sent[1].start_ps - sent[0].start_ps, 123_040_000);
}

#[test]
fn the_gap_is_three_nibbles_more_than_its_register() {
    let mut memory = Memory::new();
    let mut emac = emac(3);
    put(&mut emac, IPGT, 0x30, 0);
    for index in 0..2 {
        describe(&mut memory, index, DATA, 60, LAST);
    }
    put(&mut emac, TX_PRODUCE, 2, 0);
    run(&mut emac, &mut memory, u64::MAX);
    let sent = emac.take_sent();
    assert_eq!(sent[1].start_ps - sent[0].end_ps, (0x30 + 3) * 40_000);
}

#[test]
fn short_frames_are_padded_to_64_bytes() {
    let (sent, ..) = send(&[14, 60, 61]);
    let lengths: Vec<usize> = sent.iter().map(|frame| frame.bytes.len()).collect();
    assert_eq!(lengths, [64, 64, 65]);
    assert!(sent.iter().all(SentFrame::fcs_is_right));
    assert_eq!(sent[0].bytes[14..60], [0; 46]);
}

#[test]
fn without_pad_and_crc_a_frame_leaves_as_it_lies() {
    let mut memory = Memory::new();
    let mut emac = emac(2);
    put(&mut emac, MAC2, 1, 0);
    describe(&mut memory, 0, DATA, 20, LAST);
    put(&mut emac, TX_PRODUCE, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    assert_eq!(emac.take_sent()[0].bytes.len(), 20);
    // Override, Pad and CRC of the descriptor stand for those of MAC2.
    describe(&mut memory, 1, DATA, 20, LAST | 1 << 26 | 1 << 28 | 1 << 29);
    put(&mut emac, TX_PRODUCE, 0, 0);
    run(&mut emac, &mut memory, u64::MAX);
    let sent = emac.take_sent();
    assert_eq!(sent[0].bytes.len(), 64);
    assert!(sent[0].fcs_is_right());
}

#[test]
fn fragments_make_one_frame_wherever_they_begin() {
    let mut memory = Memory::new();
    let mut emac = emac(4);
    let data: Vec<u8> = (0..200).collect();
    memory.set(DATA, &data);
    describe(&mut memory, 0, DATA, 13, 0);
    describe(&mut memory, 1, DATA + 13, 50, 0);
    describe(&mut memory, 2, DATA + 63, 37, LAST | INTERRUPT);
    put(&mut emac, TX_PRODUCE, 3, 0);
    run(&mut emac, &mut memory, 40);
    assert!(
        get(&mut emac, TX_CONSUME, 0) >= 1,
        "a fragment is done when its data are in the FIFO"
    );
    run(&mut emac, &mut memory, u64::MAX);
    let sent = emac.take_sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].without_fcs(), &data[..100]);
    assert_eq!(get(&mut emac, TX_CONSUME, 0), 3);
}

#[test]
fn the_fifo_is_read_ahead_by_its_depth_and_no_more() {
    let mut memory = Memory::new();
    let mut emac = emac(2);
    describe(&mut memory, 0, DATA, 1514, LAST);
    put(&mut emac, TX_PRODUCE, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    let start = emac.take_sent()[0].start_ps / 10_000;
    let data = memory
        .log
        .iter()
        .filter(|(_, address, ..)| *address >= DATA);
    for (_, address, done, _) in data.clone() {
        let byte = u64::from(address - DATA);
        let leaves = start + 8 * (8 + byte);
        assert!(*done <= leaves, "byte {byte} is there at {done}");
        let ahead = (*done - memory.clocks).saturating_sub(start) / 8 + FIFO_BYTES;
        assert!(byte + 4 <= ahead + 8, "byte {byte} was read too early");
    }
    assert_eq!(data.count(), 379);
}

#[test]
fn a_bus_that_is_too_slow_runs_the_fifo_dry() {
    let mut memory = Memory::new();
    // 40 clocks for four bytes, which leave within 32.
    memory.clocks = 40;
    let mut emac = emac(3);
    describe(&mut memory, 0, DATA, 1514, LAST);
    describe(&mut memory, 1, DATA, 60, LAST);
    put(&mut emac, TX_PRODUCE, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    let sent = emac.take_sent();
    assert!(sent[0].bytes.len() < 1518 && !sent[0].fcs_is_right());
    let status = memory.word(STATUSES);
    assert_eq!(status >> 29, 0b101, "Error and Underrun");
    assert_ne!(get(&mut emac, INT_STATUS, 0) & 1 << 4, 0, "TxUnderrun");
    memory.clocks = 2;
    put(&mut emac, TX_PRODUCE, 2, 1_000_000);
    run(&mut emac, &mut memory, u64::MAX);
    assert!(emac.take_sent()[0].fcs_is_right());
}

#[test]
fn a_frame_without_a_last_fragment_ends_as_an_error() {
    let mut memory = Memory::new();
    let mut emac = emac(3);
    describe(&mut memory, 0, DATA, 100, 0);
    put(&mut emac, TX_PRODUCE, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    assert!(!emac.take_sent()[0].fcs_is_right());
    assert_eq!(memory.word(STATUSES) >> 30, 0b11, "Error and NoDescriptor");
    assert_eq!(get(&mut emac, TX_CONSUME, 0), 1);
}

#[test]
fn memory_that_is_not_there_ends_in_an_error_status() {
    let mut memory = Memory::new();
    let mut emac = emac(3);
    describe(&mut memory, 0, 0x3000_0000, 100, LAST);
    put(&mut emac, TX_PRODUCE, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    assert!(emac.take_sent().is_empty());
    assert_eq!(memory.word(STATUSES) >> 31, 1);
    assert_eq!(get(&mut emac, TX_CONSUME, 0), 1);
}

#[test]
fn the_line_follows_the_enabled_interrupts() {
    let mut memory = Memory::new();
    let mut emac = emac(3);
    put(&mut emac, INT_ENABLE, TX_DONE, 0);
    describe(&mut memory, 0, DATA, 60, LAST);
    describe(&mut memory, 1, DATA, 60, LAST | INTERRUPT);
    put(&mut emac, TX_PRODUCE, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    assert!(!emac.irq(), "the first frame asks for no interrupt");
    put(&mut emac, TX_PRODUCE, 2, 100_000);
    run(&mut emac, &mut memory, u64::MAX);
    assert!(emac.irq());
    put(&mut emac, INT_CLEAR, TX_DONE, 200_000);
    assert!(!emac.irq());
}

#[test]
fn at_10_mbit_per_s_everything_takes_ten_times_as_long() {
    let mut memory = Memory::new();
    let mut emac = emac(2);
    put(&mut emac, SUPP, 0, 0);
    describe(&mut memory, 0, DATA, 60, LAST);
    put(&mut emac, TX_PRODUCE, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    let frame = &emac.take_sent()[0];
    assert_eq!(frame.end_ps - frame.start_ps, 10 * 72 * BYTE_PS);
}

#[test]
fn enabled_with_nothing_to_send_the_transmitter_is_finished() {
    let mut emac = Emac::default();
    put(&mut emac, COMMAND, 0x602, 0);
    assert_eq!(get(&mut emac, INT_STATUS, 0), TX_FINISHED);
    assert_eq!(get(&mut emac, 0x104, 0), 2, "Status: the channel is active");
}
