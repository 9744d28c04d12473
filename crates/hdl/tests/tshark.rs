//! What tshark, which shares no line with this project, says of the frames of the hardware: FCS, checksums, tags, nothing
//! malformed. It is shown a spoilt capture too, so that its word means something.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use wirelab_hdl::{HdlNode, HdlOptions};
use wirelab_port::pcapng::{CaptureWriter, VerifyOptions, WriterOptions, verify};
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, Node, Size, SizeUnit, Status, Trial,
};

const FRAMES: u64 = 12;
/// What is asked of each frame: the status of a checksum is 1 where it is right, 0 where it is wrong, 3 where there is none, as
/// in the datagrams of the generator (0, RFC 768).
const FIELDS: [&str; 7] = [
    "frame.len",
    "eth.fcs.status",
    "ip.checksum.status",
    "udp.checksum.status",
    "vlan.id",
    "_ws.malformed",
    "_ws.expert.severity",
];

/// Whether tshark is there, or a word for the test runner.
fn has_tshark() -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        // Directly, because the test harness swallows what is printed otherwise.
        let text = "WIRELAB-SKIP tshark: there is no tshark: run scripts/setup.sh test";
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    there
}

/// The fields of each frame of a capture, as tshark has them.
fn judged(capture: &Path) -> Vec<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(capture).args(["-T", "fields"]);
    for preference in ["eth.check_fcs", "ip.check_checksum", "udp.check_checksum"] {
        tshark.args(["-o", &format!("{preference}:TRUE")]);
    }
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let done = tshark.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let lines = String::from_utf8(done.stdout).unwrap();
    let lines = lines
        .lines()
        .map(|line| line.split('\t').map(str::to_owned));
    lines.map(Iterator::collect).collect()
}

/// A capture of two ports that send each other frames.
fn captured(path: &Path, framing: Framing, payload: u32) {
    let mut node = HdlNode::start("hdl:2", HdlOptions::parse("2").unwrap()).unwrap();
    let interfaces = node.capture_interfaces();
    let writer = CaptureWriter::create(path, &interfaces, &WriterOptions::default()).unwrap();
    let shared = Arc::new(Mutex::new(writer));
    node.capture_into(Arc::clone(&shared));
    let trial = Trial {
        ports: 2,
        ..Trial::new(
            framing,
            Direction::Both,
            Size::new(SizeUnit::Payload, payload),
            Load::Max,
            Extent::Frames { frames: FRAMES },
        )
    };
    let came = node.run(&trial, &(), &Cancel::new()).unwrap();
    assert_eq!(came.status, Status::Complete);
    node.end_capture();
    let writer = Arc::into_inner(shared).unwrap().into_inner().unwrap();
    assert_eq!(writer.finish().unwrap().frames, 2 * FRAMES);
}

#[test]
fn every_frame_is_right_to_tshark_and_to_the_checker_of_this_project() {
    if !has_tshark() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for layer in [Layer::Ethernet, Layer::UdpIpv4] {
        for (vlan_tags, payload) in [(0, 50), (1, 438), (0, 1500), (1, 1500)] {
            let framing = Framing { layer, vlan_tags };
            let name = format!(
                "{vlan_tags} tags, {payload} B, udp {}.pcapng",
                layer.is_udp()
            );
            let path = folder.path().join(name);
            captured(&path, framing, payload);
            let tag = 4 * u32::from(vlan_tags);
            let frame_bytes = (payload.max(46) + 14 + tag + 4).max(64).to_string();
            let (ip, udp) = match layer.is_udp() {
                true => ("1", "3"),
                false => ("", ""),
            };
            let tagged = if vlan_tags == 1 { "100" } else { "" };
            let frames = judged(&path);
            assert_eq!(frames.len() as u64, 2 * FRAMES);
            for frame in frames {
                assert_eq!(
                    frame,
                    [&frame_bytes, "1", ip, udp, tagged, "", ""],
                    "{framing:?}, {payload} B: {FIELDS:?}"
                );
            }
            let own = verify(&path, &VerifyOptions::default()).unwrap();
            assert_eq!((own.flows.len(), own.foreign_frames), (2, 0));
            assert!(
                own.flows.iter().all(|flow| flow.counts.is_clean()),
                "{own:?}"
            );
        }
    }
}

#[test]
fn a_spoilt_byte_is_found_by_tshark() {
    if !has_tshark() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spoilt.pcapng");
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    captured(&path, framing, 438);
    let mut bytes = std::fs::read(&path).unwrap();
    // The last bytes are the statistics of two interfaces; this is in the payload of the last frame.
    let at = bytes.len() - 400;
    bytes[at] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let frames = judged(&path);
    let wrong: Vec<_> = frames.iter().filter(|frame| frame[1] == "0").collect();
    assert_eq!(wrong.len(), 1, "{frames:?}");
}
