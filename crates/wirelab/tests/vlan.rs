//! VLAN tags at the command line: what is sent, in which order, and which orders are taken, as spec/test-frame.md says.

use std::path::Path;

use crate::common::{refused, scratch, stderr, stdout, wirelab};

/// The frames in a pcapng file, by its enhanced packet blocks.
fn frames(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if word(at) == 6 {
            found.push(bytes[at + 28..at + 28 + word(at + 20)].to_vec());
        }
        at += word(at + 4);
    }
    found
}

/// Frames as a classic capture file.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (second, frame) in (1_u32..).zip(frames) {
        let length = u32::try_from(frame.len()).unwrap();
        for word in [second, 0, length, length] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(frame);
    }
    bytes
}

/// The TPIDs of a frame, outer first.
fn tags(frame: &[u8]) -> Vec<u16> {
    let words = frame[12..].chunks_exact(4);
    let types = words.map(|tag| u16::from_be_bytes([tag[0], tag[1]]));
    types
        .take_while(|tpid| [0x8100, 0x88a8, 0x9100].contains(tpid))
        .collect()
}

/// The same frame with these tags in place of its own.
fn tagged(frame: &[u8], tpids: &[u16]) -> Vec<u8> {
    let rest = 12 + 4 * tags(frame).len();
    let mut bytes = frame[..12].to_vec();
    for tpid in tpids {
        bytes.extend(tpid.to_be_bytes());
        bytes.extend([0, 100]);
    }
    bytes.extend(&frame[rest..]);
    bytes
}

/// Test frames of `send --to-file` with so many tags.
fn sent(layer: &str, vlan: &str) -> Vec<Vec<u8>> {
    let file = scratch(&format!("sent-{layer}-{vlan}.pcapng"));
    let name = file.to_str().unwrap();
    let made = wirelab(&[
        "send",
        "wire",
        "--to-file",
        name,
        "--frames",
        "5",
        "--layer",
        layer,
        "--vlan",
        vlan,
        "--length",
        "200",
    ]);
    assert!(made.status.success(), "{}", stderr(&made));
    let judged = wirelab(&["verify", name, "--sent", "5"]);
    assert!(judged.status.success(), "{}", stdout(&judged));
    frames(&file)
}

#[test]
fn a_sender_writes_the_tags_that_the_specification_says() {
    for layer in ["ethernet", "udp4", "udp6"] {
        for (vlan, tpids) in [("0", &[][..]), ("1", &[0x8100]), ("2", &[0x88a8, 0x8100])] {
            let all = sent(layer, vlan);
            assert_eq!(all.len(), 5);
            for frame in all {
                assert_eq!(tags(&frame), tpids, "{layer}, {vlan} tags");
                assert_eq!(frame.len(), 200);
            }
        }
    }
}

#[test]
fn more_than_two_tags_and_words_are_refused_everywhere() {
    for tags in ["3", "-1", "8100", "88a8,8100", "1,2"] {
        let vlan = format!("--vlan={tags}");
        for command in [
            &["send", "wire", "--to-file", "never.pcapng", "--frames", "1"][..],
            &["measure", "lab:1", "--frame", "128"],
            &["measure", "lpc1768", "--length", "128"],
            &["limits"],
            &["hdl", "tap0"],
        ] {
            refused(&[command, &[&vlan]].concat(), "--vlan <TAGS>");
        }
    }
    let plan = scratch("vlan.toml");
    std::fs::write(&plan, "[[matrix]]\npayload = 100\nvlan = 3\n").unwrap();
    let plan = plan.to_str().unwrap();
    refused(&["measure", "lpc1768", "--plan", plan], "matrix.vlan");
}

#[test]
fn every_order_that_the_specification_lists_is_taken_and_no_other() {
    let specification = include_str!("../../../spec/test-frame.md");
    assert!(specification.contains("0x8100, 0x88A8, and all four orders of two"));
    let listed: &[&[u16]] = &[
        &[],
        &[0x8100],
        &[0x88a8],
        &[0x8100, 0x8100],
        &[0x8100, 0x88a8],
        &[0x88a8, 0x8100],
        &[0x88a8, 0x88a8],
    ];
    let others: &[&[u16]] = &[
        &[0x9100],
        &[0x9100, 0x8100],
        &[0x88a8, 0x9100],
        &[0x8100, 0x8100, 0x8100],
        &[0x88a8, 0x88a8, 0x8100],
    ];
    for layer in ["ethernet", "udp4"] {
        let plain = sent(layer, "0");
        for (tpids, taken) in listed
            .iter()
            .map(|tpids| (tpids, true))
            .chain(others.iter().map(|tpids| (tpids, false)))
        {
            let all: Vec<_> = plain.iter().map(|frame| tagged(frame, tpids)).collect();
            let file = scratch("orders.pcap");
            std::fs::write(&file, pcap(&all)).unwrap();
            let judged = wirelab(&["verify", file.to_str().unwrap(), "--json"]);
            let said = stdout(&judged);
            assert_eq!(judged.status.success(), taken, "{tpids:x?}: {said}");
            let report: serde_json::Value = serde_json::from_str(&said).unwrap();
            let foreign = &report["foreign_frames"];
            assert_eq!(
                foreign,
                if taken { 0 } else { 5 },
                "{layer} {tpids:x?}: {said}"
            );
        }
    }
}

#[test]
fn a_lab_carries_each_number_of_tags_on_both_paths() {
    if !wirelab_port::netns::may_test() {
        return;
    }
    for path in ["xdp", "packet"] {
        for (vlan, tpids) in [("0", &[][..]), ("1", &[0x8100]), ("2", &[0x88a8, 0x8100])] {
            let file = scratch(&format!("lab-{path}-{vlan}.pcapng"));
            let name = file.to_str().unwrap();
            let output = wirelab(&[
                "measure",
                "lab:1",
                "--frame",
                "256",
                "--frames",
                "500",
                "--vlan",
                vlan,
                "--path",
                path,
                "--no-ceiling",
                "--capture",
                name,
            ]);
            assert!(output.status.success(), "{}", stdout(&output));
            let all = frames(&file);
            assert_eq!(all.len(), 500, "{path}, {vlan} tags");
            for frame in all {
                assert_eq!(tags(&frame), tpids, "{path}, {vlan} tags");
            }
        }
    }
}
