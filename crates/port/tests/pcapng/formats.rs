//! Captures that other tools write: byte orders, clocks, sections, older formats, FCS, snap length, link types.

use wirelab_port::pcapng::{CaptureReader, End, Resolution, VerifyOptions};

use crate::bytes::{Ng, Order, classic, frame, judge};

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn options() -> VerifyOptions {
    VerifyOptions {
        sent: Some(3),
        ..VerifyOptions::default()
    }
}

#[test]
fn both_byte_orders_of_pcapng() {
    for order in ORDERS {
        let mut ng = Ng::new(order);
        ng.interface(1, 0, &[(9, &[9]), (2, b"eth0")]);
        for sequence in 0..3 {
            ng.packet(0, 1_000 * u64::from(sequence), &frame(64, sequence), 60);
        }
        let report = judge(&ng.bytes, &options());
        assert!(report.is_clean(), "{order:?}: {report:?}");
        assert_eq!(
            (report.format, report.bytes),
            ("pcapng", ng.bytes.len() as u64)
        );
        // Section, interface and three packets.
        assert_eq!((report.blocks, report.frames), (5, 3));
        assert_eq!(report.flows[0].elapsed_ps, Some(3_000_000));
    }
}

#[test]
fn all_four_kinds_of_pcap() {
    let frames = [0, 1, 2].map(|sequence| frame(64, sequence));
    for order in ORDERS {
        for (magic, unit, name) in [
            (0xA1B2_C3D4, 1_000_000, "micro"),
            (0xA1B2_3C4D, 1_000, "nano"),
        ] {
            let records = [
                (1, 999_999, &frames[0][..], 60),
                (2, 0, &frames[1], 60),
                (2, 5, &frames[2], 60),
            ];
            let bytes = classic(order, magic, 1, &records);
            let report = judge(&bytes, &options());
            assert!(report.is_clean(), "{order:?} {name}: {report:?}");
            assert!(report.format.contains(name), "{}", report.format);
            let last = report.flows[0].last_time_ps.unwrap();
            assert_eq!(last, 2_000_000_000_000 + 5 * unit, "{order:?} {name}");
        }
    }
}

#[test]
fn interfaces_with_different_clocks_and_sections_of_different_byte_order() {
    let mut ng = Ng::new(Order::Little);
    ng.interface(1, 0, &[(9, &[9])]);
    ng.interface(1, 0, &[]);
    ng.interface(1, 0, &[(9, &[0x80 | 10]), (14, &Order::Little.u64(5))]);
    ng.packet(0, 7_000_000, &frame(64, 0), 60);
    ng.packet(1, 7_000, &frame(64, 0), 60);
    ng.packet(2, 512, &frame(64, 0), 60);
    ng.section(Order::Big);
    ng.interface(1, 0, &[(9, &[3]), (14, &Order::Big.u64(-1i64 as u64))]);
    ng.packet(0, 8_500, &frame(64, 0), 60);
    let mut reader = CaptureReader::new("memory", &ng.bytes[..]).unwrap();
    let mut times = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        times.push((frame.interface, frame.time_ps.unwrap()));
    }
    let expected = [
        (0, 7_000_000_000),
        (1, 7_000_000_000),
        (2, 5_500_000_000_000),
        (3, 7_500_000_000_000),
    ];
    assert_eq!(times, expected);
    assert_eq!(reader.end(), Some(&End::Whole));
    let last = &reader.interfaces()[3];
    assert_eq!(
        (last.section, last.id, last.resolution),
        (1, 0, Resolution(3))
    );
    assert_eq!(judge(&ng.bytes, &VerifyOptions::default()).flows.len(), 4);
}

#[test]
fn simple_and_obsolete_packets_and_unknown_blocks() {
    for order in ORDERS {
        let mut ng = Ng::new(order);
        ng.block(0x0BAD, &[1, 2, 3]);
        ng.interface(1, 0, &[]);
        ng.block(4, &[0; 4]);
        ng.simple(&frame(64, 0), 60);
        ng.block(0x8000_0001, &vec![9; 3_000_000]);
        ng.obsolete(0, 77, &frame(64, 1));
        ng.block(0x0BAD, &[]);
        ng.packet(0, 78, &frame(64, 2), 60);
        let report = judge(&ng.bytes, &options());
        assert!(report.is_clean(), "{order:?}: {report:?}");
        assert_eq!(report.blocks, 9);
        // The simple packet has no time.
        let flow = &report.flows[0];
        assert_eq!(flow.first_time_ps, Some(77_000_000));
        assert_eq!(flow.elapsed_ps, Some(2_000_000));
    }
}

#[test]
fn an_fcs_is_taken_off_wherever_it_is_announced() {
    let with_fcs = |sequence| {
        let mut bytes = frame(64, sequence);
        bytes.extend([0xDE, 0xAD, 0xBE, 0xEF]);
        bytes
    };
    for value in [4, 32] {
        let mut ng = Ng::new(Order::Little);
        ng.interface(1, 0, &[(13, &[value])]);
        for sequence in 0..3 {
            ng.packet(0, 0, &with_fcs(sequence), 64);
        }
        let report = judge(&ng.bytes, &options());
        assert!(report.is_clean());
        assert_eq!(
            report.flows[0].lengths.distinct_bytes,
            [60],
            "if_fcslen {value}"
        );
    }
    let mut ng = Ng::new(Order::Big);
    ng.interface(1, 0, &[]);
    for sequence in 0..3 {
        ng.packet_with(
            0,
            0,
            &with_fcs(sequence),
            64,
            &[(2, &Order::Big.u32(4 << 5))],
        );
    }
    assert_eq!(
        judge(&ng.bytes, &options()).flows[0].lengths.distinct_bytes,
        [60]
    );
    let frames = [0, 1, 2].map(with_fcs);
    let records = frames.each_ref().map(|f| (0, 0, &f[..], 64));
    let bytes = classic(Order::Little, 0xA1B2_C3D4, 0x2400_0001, &records);
    let report = judge(&bytes, &options());
    assert_eq!(report.flows[0].lengths.distinct_bytes, [60]);
    assert_eq!(report.interfaces[0].fcs_bytes, 4);
}

#[test]
fn frames_cut_by_the_snap_length_are_counted_apart() {
    let mut ng = Ng::new(Order::Little);
    ng.interface(1, 96, &[]);
    for sequence in [0, 1, 2, 4] {
        ng.packet(0, 0, &frame(512, sequence)[..96], 508);
    }
    let mut bad = frame(512, 5);
    bad[90] ^= 1;
    ng.packet(0, 0, &bad[..96], 508);
    ng.packet(0, 0, &frame(64, 6), 60);
    ng.packet(0, 0, &frame(512, 7)[..20], 508);
    let report = judge(&ng.bytes, &VerifyOptions::default());
    let flow = &report.flows[0];
    assert_eq!(
        (flow.cut_by_snaplen_frames, flow.counts.truncated_frames),
        (4, 0)
    );
    assert_eq!(
        (flow.counts.good_frames, flow.counts.corrupted_frames),
        (1, 1)
    );
    assert_eq!(
        (flow.counts.lost_frames, flow.counts.distinct_sequences),
        (1, 6)
    );
    assert_eq!(report.cut_in_header_frames, 1);
    assert_eq!(
        flow.lengths.distinct_bytes,
        [60, 508],
        "lengths are those of the link"
    );
    assert!(!report.is_clean());
}

#[test]
fn the_snap_length_cuts_simple_packets_too() {
    let mut ng = Ng::new(Order::Big);
    ng.interface(1, 90, &[]);
    ng.simple(&frame(512, 0)[..90], 508);
    let report = judge(&ng.bytes, &VerifyOptions::default());
    assert_eq!(report.flows[0].cut_by_snaplen_frames, 1);
}

#[test]
fn another_link_type_is_not_judged_and_said_so() {
    let mut ng = Ng::new(Order::Little);
    ng.interface(276, 0, &[]);
    ng.interface(1, 0, &[]);
    ng.packet(0, 0, &frame(64, 0), 60);
    ng.packet(1, 0, &frame(64, 0), 60);
    let report = judge(&ng.bytes, &VerifyOptions::default());
    assert_eq!(
        (report.other_link_type_frames, report.test_frames()),
        (1, 1)
    );
    assert_eq!(report.interfaces[0].link_type, 276);
}

#[test]
fn drop_counts_of_packets_add_up() {
    let mut ng = Ng::new(Order::Big);
    ng.interface(1, 0, &[]);
    for drops in [3u64, 4] {
        ng.packet_with(0, 0, &frame(64, 0), 60, &[(4, &Order::Big.u64(drops))]);
    }
    assert_eq!(
        judge(&ng.bytes, &VerifyOptions::default()).dropped_by_capture(),
        7
    );
}
