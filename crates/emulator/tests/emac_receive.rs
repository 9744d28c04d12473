//! The EMAC's receive side on a memory of its own: filter, data and status words, errors, overrun, loopback.

use crate::common::{BASE, Memory, get, put, run};
use wirelab_emulator::Device;
use wirelab_emulator::emac::{Arrival, Emac};

const DESCRIPTORS: u32 = BASE;
const STATUSES: u32 = BASE + 0x100;
const DATA: u32 = BASE + 0x1000;
const BUFFER: u32 = 0x600;
const RX_PRODUCE: u32 = 0x114;
const RX_CONSUME: u32 = 0x118;
const RSV: u32 = 0x160;
const INT_STATUS: u32 = 0xFE0;
const RX_DONE: u32 = 1 << 3;
const RX_OVERRUN: u32 = 1;

const OWN: [u8; 6] = [0x02, 0, 0, 0, 0x17, 0x68];
/// After the PHY has its link.
const SOON_PS: u64 = 200_000_000;

/// The EMAC with a receive ring of `descriptors` buffers of `bytes`, at 100 Mbit/s, for its own address and broadcast.
fn emac(memory: &mut Memory, descriptors: u32, bytes: u32) -> Emac {
    let mut emac = Emac::default();
    put(&mut emac, 0x000, 1, 0);
    put(&mut emac, 0x004, 0x33, 0);
    put(&mut emac, 0x008, 0x15, 0);
    put(&mut emac, 0x018, 0x100, 0);
    put(&mut emac, 0x048, 0x0002, 0);
    put(&mut emac, 0x040, 0x6817, 0);
    for index in 0..descriptors {
        memory.set_word(DESCRIPTORS + 8 * index, DATA + BUFFER * index);
        memory.set_word(DESCRIPTORS + 8 * index + 4, (bytes - 1) | 1 << 31);
    }
    put(&mut emac, 0x108, DESCRIPTORS, 0);
    put(&mut emac, 0x10C, STATUSES, 0);
    put(&mut emac, 0x110, descriptors - 1, 0);
    put(&mut emac, 0x200, 0x22, 0);
    put(&mut emac, 0x100, 0x601, 0);
    emac
}

fn frame(to: [u8; 6], length: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|n| (n * 3) as u8).collect();
    frame[..6].copy_from_slice(&to);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    frame
}

/// The status word of a descriptor.
fn status(memory: &Memory, index: u32) -> u32 {
    memory.word(STATUSES + 8 * index)
}

/// Let one frame come in; gives the EMAC and memory afterwards.
fn receive(arrival: Arrival) -> (Emac, Memory) {
    let mut memory = Memory::new();
    let mut emac = emac(&mut memory, 4, BUFFER);
    emac.arrive(arrival).unwrap();
    run(&mut emac, &mut memory, u64::MAX);
    (emac, memory)
}

#[test]
fn a_good_frame_lies_in_memory_with_its_fcs_and_status() {
    let bytes = frame(OWN, 1514);
    let (mut emac, memory) = receive(Arrival::good(SOON_PS, &bytes));
    assert_eq!(memory.get(DATA, 1514), bytes);
    // RxSize counts from 0 and has the FCS in it; LastFlag; Range, since the type is not a length, and so Error.
    assert_eq!(status(&memory, 0), 1517 | 1 << 30 | 1 << 26 | 1 << 31);
    assert_eq!(get(&mut emac, RX_PRODUCE, 0), 1);
    assert_eq!(
        get(&mut emac, INT_STATUS, 0) & (RX_DONE | RX_OVERRUN),
        RX_DONE
    );
    assert_eq!(get(&mut emac, RSV, 0) & 0xFFFF, 1518);
    assert_ne!(get(&mut emac, RSV, 0) & 1 << 23, 0, "Receive OK");
    assert_eq!((emac.received().kept, emac.received().bad), (1, 0));
}

#[test]
fn data_are_written_as_they_come_and_the_status_after_the_last_byte() {
    let bytes = frame(OWN, 1514);
    let (_, memory) = receive(Arrival::good(SOON_PS, &bytes));
    let start = SOON_PS / 10_000;
    let end = start + 8 * (8 + 1518);
    for (_, address, done, write) in &memory.log {
        if *write && *address >= DATA {
            let byte = u64::from(address - DATA);
            assert!(*done > start + 8 * (8 + byte), "byte {byte} before it came");
        }
    }
    // The last burst of 14 bytes: three words, a halfword; then two words of status, two clocks each.
    let (_, address, done, _) = *memory.log.last().unwrap();
    assert_eq!((address, done), (STATUSES + 4, end + 2 * (4 + 2)));
}

#[test]
fn the_smallest_frame_without_a_length_error() {
    let (_, memory) = receive(Arrival::good(SOON_PS, &frame(OWN, 60)));
    assert_eq!(status(&memory, 0) & 0x7FF, 63);
    assert_eq!(status(&memory, 0) >> 23 & 1, 0, "no CRCError");
}

#[test]
fn a_length_that_is_not_the_frames_is_an_error() {
    let mut bytes = frame(OWN, 200);
    bytes[12..14].copy_from_slice(&186u16.to_be_bytes());
    let (_, memory) = receive(Arrival::good(SOON_PS, &bytes));
    assert_eq!(
        status(&memory, 0),
        203 | 1 << 30,
        "a right length is not an error at all"
    );
    bytes[13] -= 1;
    let (_, memory) = receive(Arrival::good(SOON_PS, &bytes));
    assert_eq!(status(&memory, 0), 203 | 1 << 30 | 1 << 25 | 1 << 31);
}

#[test]
fn a_bad_fcs_is_kept_and_marked() {
    let mut arrival = Arrival::good(SOON_PS, &frame(OWN, 100));
    arrival.bytes[50] ^= 1;
    let (mut emac, memory) = receive(arrival);
    assert_ne!(status(&memory, 0) & 1 << 23, 0);
    assert_ne!(status(&memory, 0) & 1 << 31, 0);
    assert_ne!(get(&mut emac, INT_STATUS, 0) & 1 << 1, 0, "RxError");
    assert_eq!(
        get(&mut emac, RSV, 0) >> 20 & 0b1001,
        1,
        "CRC error, not OK"
    );
    assert_eq!((emac.received().kept, emac.received().bad), (1, 1));
}

#[test]
fn symbol_errors_and_half_bytes_are_marked() {
    let arrival = Arrival {
        symbol_error: true,
        dribble: true,
        ..Arrival::good(SOON_PS, &frame(OWN, 100))
    };
    let (_, memory) = receive(arrival);
    assert_eq!(
        status(&memory, 0) >> 24 & 0b1001,
        0b1001,
        "Symbol and Alignment"
    );
}

#[test]
fn runts_are_dropped_unless_they_are_asked_for() {
    let runt = || Arrival {
        start_ps: SOON_PS,
        bytes: wirelab_emulator::fcs::with_fcs(&frame(OWN, 40)),
        ..Arrival::default()
    };
    let (emac_after, _) = receive(runt());
    assert_eq!(
        (emac_after.received().runts, emac_after.received().kept),
        (1, 0)
    );
    let mut memory = Memory::new();
    let mut emac = emac(&mut memory, 4, BUFFER);
    put(&mut emac, 0x100, 0x641, 0);
    emac.arrive(runt()).unwrap();
    run(&mut emac, &mut memory, u64::MAX);
    assert_eq!(status(&memory, 0) & 0x7FF, 43);
}

#[test]
fn an_oversize_frame_is_cut_at_maxf_and_marked() {
    let (_, memory) = receive(Arrival::good(SOON_PS, &frame(OWN, 1600)));
    // MAXF is 0x600 after a reset: the buffers have just as many bytes.
    assert_eq!(status(&memory, 0) & 0x7FF, 0x5FF);
    assert_ne!(status(&memory, 0) & 1 << 23, 0);
}

#[test]
fn what_is_for_others_leaves_no_trace() {
    let (mut emac, memory) = receive(Arrival::good(SOON_PS, &frame([2, 0, 0, 0, 0, 9], 100)));
    assert_eq!(emac.received().filtered, 1);
    assert!(memory.log.is_empty());
    assert_eq!(get(&mut emac, RX_PRODUCE, 0), 0);
    let (_, memory) = receive(Arrival::good(SOON_PS, &frame([0xFF; 6], 100)));
    assert_ne!(status(&memory, 0) & 1 << 22, 0, "Broadcast");
}

#[test]
fn a_full_ring_is_an_overrun_until_the_driver_moves_on() {
    let mut memory = Memory::new();
    let mut emac = emac(&mut memory, 4, BUFFER);
    let mut start_ps = SOON_PS;
    for _ in 0..5 {
        emac.arrive(Arrival::good(start_ps, &frame(OWN, 60)))
            .unwrap();
        start_ps = emac.wire_free_ps() + 960_000;
    }
    run(&mut emac, &mut memory, u64::MAX);
    assert_eq!(
        get(&mut emac, RX_PRODUCE, 0),
        3,
        "one descriptor of four stays free"
    );
    assert_eq!((emac.received().kept, emac.received().overruns), (3, 2));
    assert_ne!(get(&mut emac, INT_STATUS, 0) & RX_OVERRUN, 0);
    put(&mut emac, RX_CONSUME, 3, start_ps / 10_000);
    emac.arrive(Arrival::good(start_ps, &frame(OWN, 60)))
        .unwrap();
    run(&mut emac, &mut memory, u64::MAX);
    assert_eq!(get(&mut emac, RX_PRODUCE, 0), 0);
    assert_eq!(emac.received().kept, 4);
}

#[test]
fn a_frame_lies_in_as_many_buffers_as_it_needs() {
    let mut memory = Memory::new();
    let mut emac = emac(&mut memory, 4, 64);
    let bytes = frame(OWN, 140);
    emac.arrive(Arrival::good(SOON_PS, &bytes)).unwrap();
    run(&mut emac, &mut memory, u64::MAX);
    assert_eq!(get(&mut emac, RX_PRODUCE, 0), 3);
    let sizes: Vec<u32> = (0..3).map(|n| status(&memory, n) & 0x7FF).collect();
    assert_eq!(sizes, [63, 63, 15]);
    let last: Vec<u32> = (0..3).map(|n| status(&memory, n) >> 30 & 1).collect();
    assert_eq!(last, [0, 0, 1]);
    let lies = [memory.get(DATA, 64), memory.get(DATA + BUFFER, 64)].concat();
    assert_eq!(lies, bytes[..128]);
}

#[test]
fn a_frame_that_outgrows_the_ring_ends_with_no_descriptor() {
    let mut memory = Memory::new();
    let mut emac = emac(&mut memory, 3, 64);
    emac.arrive(Arrival::good(SOON_PS, &frame(OWN, 500)))
        .unwrap();
    run(&mut emac, &mut memory, u64::MAX);
    let produce = get(&mut emac, RX_PRODUCE, 0);
    assert_ne!(status(&memory, produce - 1) & 1 << 29, 0, "NoDescriptor");
    assert_ne!(get(&mut emac, INT_STATUS, 0) & RX_OVERRUN, 0);
}

#[test]
fn without_link_or_enable_nothing_is_heard() {
    let mut memory = Memory::new();
    let mut quiet = emac(&mut memory, 4, BUFFER);
    quiet.phy().set_cable(false, 0);
    quiet
        .arrive(Arrival::good(SOON_PS, &frame(OWN, 60)))
        .unwrap();
    run(&mut quiet, &mut memory, u64::MAX);
    assert_eq!(quiet.received().deaf, 1);
    let mut off = emac(&mut memory, 4, BUFFER);
    put(&mut off, 0x100, 0x600, 0);
    off.arrive(Arrival::good(SOON_PS, &frame(OWN, 60))).unwrap();
    run(&mut off, &mut memory, u64::MAX);
    assert_eq!(off.received().deaf, 1);
}

#[test]
fn control_frames_stay_in_the_mac_and_a_pause_holds_the_transmitter() {
    let mut memory = Memory::new();
    let mut emac = emac(&mut memory, 4, BUFFER);
    // Receive, obey pauses; then a pause of 10 quanta.
    put(&mut emac, 0x000, 0b101, 0);
    let mut pause = frame([1, 0x80, 0xC2, 0, 0, 1], 60);
    pause[12..18].copy_from_slice(&[0x88, 0x08, 0, 1, 0, 10]);
    emac.arrive(Arrival::good(SOON_PS, &pause)).unwrap();
    run(&mut emac, &mut memory, u64::MAX);
    assert_eq!(emac.received().control, 1);
    let ring = BASE + 0x800;
    memory.set_word(ring, DATA);
    memory.set_word(ring + 4, 59 | 1 << 30);
    put(&mut emac, 0x11C, ring, 0);
    put(&mut emac, 0x120, ring + 0x100, 0);
    put(&mut emac, 0x124, 1, 0);
    put(&mut emac, 0x100, 0x603, 0);
    put(&mut emac, 0x128, 1, SOON_PS / 10_000);
    run(&mut emac, &mut memory, u64::MAX);
    let end_ps = SOON_PS + 72 * 80_000;
    assert_eq!(emac.take_sent()[0].start_ps, end_ps + 10 * 512 * 10_000);
}

#[test]
fn a_loopback_brings_back_what_is_sent_and_nothing_leaves() {
    let mut memory = Memory::new();
    let mut emac = emac(&mut memory, 4, BUFFER);
    put(&mut emac, 0x000, 0x11, 0);
    let bytes = frame(OWN, 300);
    let (ring, data) = (BASE + 0x800, BASE + 0x3000);
    memory.set(data, &bytes);
    memory.set_word(ring, data);
    memory.set_word(ring + 4, 299 | 1 << 30);
    put(&mut emac, 0x11C, ring, 0);
    put(&mut emac, 0x120, ring + 0x100, 0);
    put(&mut emac, 0x124, 1, 0);
    put(&mut emac, 0x100, 0x603, 0);
    put(&mut emac, 0x128, 1, 0);
    run(&mut emac, &mut memory, u64::MAX);
    assert!(emac.take_sent().is_empty());
    assert_eq!(memory.get(DATA, 300), bytes);
    assert_eq!(emac.received().kept, 1);
}

#[test]
fn registers_refuse_what_they_are_not() {
    let mut emac = Emac::default();
    use wirelab_emulator::Width;
    assert!(emac.write(0x114, Width::Word, 1, 0).is_err());
    assert!(emac.read(0xFE8, Width::Word, 0).is_err());
    assert!(emac.read(0x000, Width::Byte, 0).is_err());
    assert!(emac.read(0x300, Width::Word, 0).is_err());
    assert_eq!(get(&mut emac, 0x000, 0), 0x8000, "SOFT RESET");
    assert_eq!(get(&mut emac, 0x010, 0), 0x370F);
    assert_eq!(get(&mut emac, 0x014, 0), 0x0600);
}
