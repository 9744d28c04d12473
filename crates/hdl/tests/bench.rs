//! Ports of hardware driven through their registers: frames of one are good at the other, at the line's limit.

use wirelab_hdl::registers as reg;
use wirelab_hdl::{Bench, BenchError, BusError};
use wirelab_wire::{Flow, Verdict, classify};

const SOURCE: u64 = 0x02_00_5E_10_00_01;
const DESTINATION: u64 = 0x02_00_5E_10_00_02;

fn set_address(bench: &mut Bench, port: usize, register: u16, address: u64) {
    bench.write(port, register, address as u32).unwrap();
    bench
        .write(port, register + 4, (address >> 32) as u32)
        .unwrap();
}

/// Sets up a port to send `frames` of `payload` bytes on stream 3, and to check received ones.
fn prepare(bench: &mut Bench, port: usize, payload: u32, frames: u32) {
    set_address(bench, port, reg::GENERATOR_DESTINATION, DESTINATION);
    set_address(bench, port, reg::GENERATOR_SOURCE, SOURCE);
    set_address(bench, port, reg::CHECKER_SOURCE, SOURCE);
    let flow = reg::CHECKER_FLOW_UDP_PORT.of(5003) | reg::CHECKER_FLOW_STREAM.of(3);
    let known = reg::CHECKER_CONTROL_ENABLE.of(1)
        | reg::CHECKER_CONTROL_SOURCE_KNOWN.of(1)
        | reg::CHECKER_CONTROL_STREAM_KNOWN.of(1);
    for (register, value) in [
        (reg::GENERATOR_PAYLOAD_BYTES, payload),
        (reg::GENERATOR_FRAME_COUNT, frames),
        (reg::GENERATOR_FLOW, reg::GENERATOR_FLOW_STREAM.of(3)),
        (reg::MAC_MAX_FRAME, 9018),
        (reg::CHECKER_FLOW, flow),
        (reg::CHECKER_CONTROL, known),
    ] {
        bench.write(port, register, value).unwrap();
    }
    // The start words are computed after a reset.
    while reg::CHECKER_STATUS_CHECKING.from(bench.read(port, reg::CHECKER_STATUS).unwrap()) == 0 {
        assert!(bench.clocks() < 100_000, "the checker never gets ready");
    }
}

fn start(bench: &mut Bench, port: usize) {
    let go = reg::GENERATOR_CONTROL_ENABLE.of(1);
    bench.write(port, reg::GENERATOR_CONTROL, go).unwrap();
}

/// Waits until a port has sent everything and its last frame has arrived.
fn finish(bench: &mut Bench, port: usize) {
    let begin = bench.clocks();
    while reg::GENERATOR_STATUS_FINISHED.from(bench.read(port, reg::GENERATOR_STATUS).unwrap()) == 0
    {
        assert!(
            bench.clocks() < begin + 3_000_000,
            "port {port} does not finish"
        );
    }
    bench.run(10_000);
}

#[test]
fn each_register_block_answers_and_what_is_not_there_refuses() {
    let mut bench = Bench::new(1, &[]).unwrap();
    let id = bench.read(0, reg::ID).unwrap();
    assert_eq!(
        (reg::ID_MAGIC.from(id), reg::ID_VERSION.from(id)),
        (0x574C, 1)
    );
    assert_eq!(bench.read(0, reg::MAC_GAP).unwrap(), 12);
    bench
        .write(0, reg::GENERATOR_FRAME_COUNT, 0xDEAD_BEEF)
        .unwrap();
    assert_eq!(
        bench.read(0, reg::GENERATOR_FRAME_COUNT).unwrap(),
        0xDEAD_BEEF
    );
    let refused = |address| BenchError::Bus {
        port: 0,
        error: BusError::Refused(address),
    };
    assert_eq!(bench.read(0, 0x7F0).unwrap_err(), refused(0x7F0));
    assert_eq!(
        bench.write(0, reg::MAC_SENT, 1).unwrap_err(),
        refused(reg::MAC_SENT)
    );
    // A refused access leaves the bus unchanged.
    assert_eq!(bench.read(0, reg::MAC_GAP).unwrap(), 12);
}

#[test]
fn cables_that_cannot_be_are_named() {
    let error = |ports, cables: &[_]| Bench::new(ports, cables).err().unwrap();
    assert_eq!(
        error(2, &[(0, 2)]),
        BenchError::NoPort { port: 2, ports: 2 }
    );
    assert_eq!(error(3, &[(0, 1), (1, 2)]), BenchError::TwoCables(1));
    assert_eq!(error(2, &[(0, 1), (0, 0)]), BenchError::TwoCables(0));
    let message = Bench::new(2, &[]).unwrap().read(5, 0).unwrap_err();
    assert_eq!(message, BenchError::NoPort { port: 5, ports: 2 });
}

#[test]
fn both_directions_at_once_reach_the_limit_of_the_line_and_every_frame_is_good() {
    for payload in [66_u32, 438, 1498] {
        let frames = 40;
        let mut bench = Bench::new(2, &[(0, 1)]).unwrap();
        for port in 0..2 {
            prepare(&mut bench, port, payload, frames);
            // The line itself: from frame to frame, preamble, FCS and gap included.
            let meter = reg::RATE_CONTROL_ENABLE.of(1) | reg::RATE_CONTROL_PROBE.of(1);
            bench.write(port, reg::RATE_CONTROL, meter).unwrap();
        }
        start(&mut bench, 0);
        start(&mut bench, 1);
        finish(&mut bench, 0);
        finish(&mut bench, 1);
        for port in 0..2 {
            let mut count = |register| bench.read(port, register).unwrap();
            assert_eq!(count(reg::GENERATOR_SENT_FRAMES), frames);
            assert_eq!(count(reg::MAC_SENT), frames);
            assert_eq!(count(reg::MAC_RECEIVED), frames);
            assert_eq!(
                count(reg::CHECKER_GOOD),
                frames,
                "payload {payload}, port {port}"
            );
            assert_eq!(count(reg::CHECKER_DISTINCT), frames);
            for bad in [
                reg::CHECKER_LOST,
                reg::CHECKER_CORRUPTED,
                reg::CHECKER_FOREIGN,
                reg::CHECKER_BAD_FCS,
                reg::MAC_UNDERRUNS,
                reg::MAC_OVERFLOW,
            ] {
                assert_eq!(count(bad), 0, "register 0x{bad:03X}");
            }
            // RFC 1242's limit: payload, 14 header, 4 FCS, 8 preamble and 12 gap, one byte for each clock.
            assert_eq!(count(reg::RATE_PERIODS), frames - 1);
            assert_eq!(count(reg::RATE_SHORTEST), payload + 38);
            assert_eq!(count(reg::RATE_LONGEST), payload + 38);
        }
        let first = bench.read_wide(1, reg::CHECKER_FIRST_TIME).unwrap();
        let last = bench.read_wide(1, reg::CHECKER_LAST_TIME).unwrap();
        assert_eq!(last - first, u64::from((frames - 1) * (payload + 38) * 8));
    }
}

#[test]
fn a_frame_on_the_line_is_what_the_test_frame_says() {
    let mut bench = Bench::new(1, &[(0, 0)]).unwrap();
    prepare(&mut bench, 0, 100, 2);
    start(&mut bench, 0);
    let mut frames: Vec<Vec<u8>> = Vec::new();
    let mut before = false;
    for _ in 0..2_000 {
        let line = bench.line(0);
        if line.enable {
            if !before {
                frames.push(Vec::new());
            }
            frames.last_mut().unwrap().push(line.data);
        }
        before = line.enable;
        bench.clock();
    }
    assert_eq!(frames.len(), 2);
    let flow = Flow {
        source: Some(SOURCE.to_be_bytes()[2..].try_into().unwrap()),
        udp_port: 5003,
        stream: Some(3),
        dscp: None,
    };
    for (number, bytes) in frames.iter().enumerate() {
        assert_eq!(bytes.len(), 8 + 14 + 100 + 4);
        assert_eq!(bytes[..8], [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5]);
        let (frame, fcs) = bytes[8..].split_at(114);
        assert_eq!(fcs, crc32(frame).to_le_bytes());
        assert_eq!(frame[..6], DESTINATION.to_be_bytes()[2..]);
        let Verdict::Good(header) = classify(frame, &flow) else {
            panic!("frame {number}: {:?}", classify(frame, &flow));
        };
        assert_eq!((header.sequence, header.lfsr_len), (number as u32, 82));
    }
}

/// The frame check sequence, bit by bit as in IEEE 802.3 (3.2.9).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 * (crc & 1))
        })
    })
}

#[test]
fn a_fault_is_injected_into_every_fourth_frame_and_found_as_what_it_is() {
    // Numbers of fault_kind in rtl/src/ethernet_pkg.vhd, and the receiver's counter of each.
    for (kind, counts) in [
        (
            1,
            [(reg::CHECKER_CORRUPTED, 5), (reg::CHECKER_DISTINCT, 20)],
        ),
        // The last of the five is the last frame: a receiver alone cannot see that it is missing.
        (2, [(reg::CHECKER_LOST, 4), (reg::CHECKER_DISTINCT, 15)]),
        (
            3,
            [(reg::CHECKER_DUPLICATED, 5), (reg::CHECKER_DISTINCT, 20)],
        ),
        (5, [(reg::MAC_BAD_FCS, 5), (reg::CHECKER_BAD_FCS, 5)]),
        (6, [(reg::CHECKER_STALE, 5), (reg::CHECKER_DISTINCT, 20)]),
        (
            7,
            [(reg::CHECKER_TRUNCATED, 5), (reg::CHECKER_DISTINCT, 20)],
        ),
    ] {
        let mut bench = Bench::new(2, &[(0, 1)]).unwrap();
        for port in 0..2 {
            prepare(&mut bench, port, 200, 20);
        }
        bench.write(0, reg::GENERATOR_FAULT_EVERY, 4).unwrap();
        bench
            .write(0, reg::GENERATOR_FAULT_POSITION, 40 * 8)
            .unwrap();
        bench.write(0, reg::GENERATOR_FAULT_CUT, 20).unwrap();
        let go = reg::GENERATOR_CONTROL_ENABLE.of(1) | reg::GENERATOR_CONTROL_FAULT_KIND.of(kind);
        bench.write(0, reg::GENERATOR_CONTROL, go).unwrap();
        finish(&mut bench, 0);
        assert_eq!(
            bench.read(0, reg::GENERATOR_INJECTED_FAULTS).unwrap(),
            5,
            "kind {kind}"
        );
        for (register, expected) in counts {
            let seen = bench.read(1, register).unwrap();
            assert_eq!(seen, expected, "kind {kind}, register 0x{register:03X}");
        }
    }
}

#[test]
fn the_capture_unit_counts_the_clocks_from_one_end_of_a_cable_to_the_other() {
    let mut bench = Bench::new(1, &[(0, 0)]).unwrap();
    prepare(&mut bench, 0, 46, 10);
    let control = reg::CAPTURE_CONTROL_ENABLE.of(1)
        | reg::CAPTURE_CONTROL_START.of(3)
        | reg::CAPTURE_CONTROL_STOP.of(2);
    bench.write(0, reg::CAPTURE_CONTROL, control).unwrap();
    start(&mut bench, 0);
    finish(&mut bench, 0);
    let status = bench.read(0, reg::CAPTURE_STATUS).unwrap();
    assert_eq!(reg::CAPTURE_STATUS_WAITING.from(status), 10);
    for _ in 0..10 {
        // From the rise of the transmit enable to the fall of the receive enable, through a cable of no length: 8
        // bytes of preamble and a frame of 64.
        assert_eq!(bench.read(0, reg::CAPTURE_OLDEST).unwrap(), 72);
    }
    let status = bench.read(0, reg::CAPTURE_STATUS).unwrap();
    assert_eq!(reg::CAPTURE_STATUS_WAITING.from(status), 0);
}
