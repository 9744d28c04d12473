//! The vectors of `spec/vectors/test-frame.json`, written by an implementation in Python, against this one.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use wirelab_wire::{
    Flags, Flow, FrameSpec, Framing, Header, Layer, Size, SizeUnit, Transport, Verdict, classify,
    header, lfsr,
};

const DESTINATION: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 2];
const SOURCE: [u8; 6] = [2, 0x57, 0x4C, 0, 0, 1];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors")
}

fn document() -> Value {
    let text = std::fs::read_to_string(folder().join("test-frame.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    assert_eq!(hex.len() % 2, 0, "{hex}");
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

/// CRC-32 of IEEE 802.3, bit by bit.
fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

fn header_of(fields: &Value) -> Header {
    Header {
        flags: Flags::from_bits(number(fields, "flags") as u8),
        stream: number(fields, "stream") as u8,
        sequence: number(fields, "sequence") as u32,
        time_ns: number(fields, "time_ns"),
        lfsr_len: number(fields, "lfsr_len") as u16,
    }
}

/// The LFSR part of a vector: as in the file, or computed if only its ends and its CRC are given.
fn part_of(vector: &Value, header: &Header) -> Vec<u8> {
    let part = &vector["lfsr"];
    let len = number(part, "bytes") as usize;
    let data = match part["hex"].as_str() {
        Some(hex) => bytes(hex),
        None => {
            let ours = lfsr::payload(header.sequence, len).to_vec();
            assert_eq!(ours[..16], bytes(text(part, "first_hex")), "{vector}");
            assert_eq!(ours[len - 16..], bytes(text(part, "last_hex")), "{vector}");
            ours
        }
    };
    assert_eq!(data.len(), len, "{vector}");
    assert_eq!(
        format!("{:08x}", crc32(&data)),
        text(part, "crc32"),
        "{vector}"
    );
    data
}

#[test]
fn headers_content_and_verdicts() {
    let document = document();
    let flow = Flow {
        source: Some(SOURCE),
        ..Flow::default()
    };
    let mut seen = std::collections::BTreeMap::<&str, u32>::new();
    for vector in document["vectors"].as_array().unwrap() {
        let name = text(vector, "name");
        let header = header_of(&vector["header"]);
        let head = bytes(text(vector, "header_hex"));
        let data = part_of(vector, &header);
        let mut frame = [&DESTINATION[..], &SOURCE, &header::ETHERTYPE.to_be_bytes()].concat();
        frame.extend_from_slice(&head);
        frame.extend_from_slice(&data);
        let verdict = classify(&frame, &flow);
        let expected = text(vector, "verdict");
        *seen.entry(expected).or_default() += 1;
        match (expected, verdict) {
            ("good", Verdict::Good(found)) => {
                assert_eq!(found, header, "{name}");
                assert_eq!(data, lfsr::payload(header.sequence, data.len()), "{name}");
            }
            ("truncated", Verdict::Truncated(found)) | ("corrupted", Verdict::Corrupted(found)) => {
                assert_eq!(found, header, "{name}");
            }
            (
                "stale",
                Verdict::Stale {
                    header: found,
                    start_word,
                },
            ) => {
                assert_eq!(found, header, "{name}");
                assert_eq!(
                    u64::from(start_word),
                    number(vector, "start_word"),
                    "{name}"
                );
            }
            ("header_corrupt", Verdict::HeaderCorrupt) => continue,
            _ => panic!("{name}: {verdict:?} is not {expected}"),
        }
        let mut built = [0; header::LEN];
        header.emit(&mut built);
        assert_eq!(built, head[..], "{name}");
    }
    let kinds: Vec<_> = seen.into_iter().collect();
    assert_eq!(
        kinds,
        [
            ("corrupted", 3),
            ("good", 47),
            ("header_corrupt", 8),
            ("stale", 3),
            ("truncated", 2)
        ]
    );
}

#[test]
fn whole_frames() {
    let document = document();
    let frames = document["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 7);
    for vector in frames {
        let name = text(vector, "name");
        let (layer, transport) = match text(vector, "layer") {
            "ethernet" => (Layer::Ethernet, Transport::Ethernet),
            "udp_ipv4" => (
                Layer::UdpIpv4,
                Transport::UdpIpv4 {
                    addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
                    ports: [5003, 5003],
                },
            ),
            _ => (
                Layer::UdpIpv6,
                Transport::UdpIpv6 {
                    addresses: [1, 2].map(|n| [0xFD57, 0x4C, 0, 0, 0, 0, 0, n].into()),
                    ports: [5003, 5003],
                },
            ),
        };
        let tags = vector["vlan_tags"].as_array().unwrap();
        let tag = |i: usize| tags.get(i).map(|t| t.as_u64().unwrap() as u16);
        let spec = FrameSpec {
            destination: DESTINATION,
            source: SOURCE,
            vlans: [tag(0), tag(1)],
            transport,
            dscp: 0,
        };
        let framing = Framing {
            layer,
            vlan_tags: tags.len() as u8,
        };
        assert_eq!(spec.framing(), framing);
        let sizes = Size::new(SizeUnit::Frame, number(vector, "frame_bytes") as u32)
            .resolve_test(framing)
            .unwrap();
        let header = header_of(&vector["header"]);
        let mut frame = vec![0xEE; sizes.length as usize];
        assert_eq!(spec.build(&sizes, &header, &mut frame), frame.len());
        assert_eq!(frame, bytes(text(vector, "hex")), "{name}");
        assert_eq!(
            classify(&frame, &Flow::default()),
            Verdict::Good(header),
            "{name}"
        );
    }
}

#[test]
fn the_file_is_what_its_generator_writes() {
    let python = Command::new("python3")
        .arg(folder().join("generate.py"))
        .output()
        .expect("python3 runs (make test needs it too)");
    assert!(
        python.status.success(),
        "{}",
        String::from_utf8_lossy(&python.stderr)
    );
    let file = std::fs::read(folder().join("test-frame.json")).unwrap();
    assert!(
        python.stdout == file,
        "spec/vectors/test-frame.json differs: run spec/vectors/generate.py --write"
    );
}
