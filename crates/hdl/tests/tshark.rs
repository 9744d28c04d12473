//! Judges the hardware's frames by tshark, which shares no code with this project: FCS, checksums, tags, no malformed
//! frame. It also gets a damaged capture, which must fail.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::firmware::{Bench, test_frame};
use wirelab_hdl::reference::{Attachment, Straps};
use wirelab_hdl::{HdlNode, HdlOptions};
use wirelab_port::pcapng::{CaptureWriter, InterfaceSpec, VerifyOptions, WriterOptions, verify};
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, Node, Size, SizeUnit, Status, Trial,
};

const FRAMES: u64 = 12;
/// Lengths of the frames that lwIP sends back: the shortest and the longest, and one that needs padding for a
/// checksum's last word.
const ECHOED: [u32; 4] = [64, 77, 1024, 1514];
/// Clocks in which a frame returns, and in which the program settles after it.
const ANSWER_CLOCKS: u64 = 200_000;
const REST_CLOCKS: u64 = 15_000;
/// The requested fields of each frame. The status of a checksum is 1 if it is right, 0 if it is wrong, 3 if there is
/// none, as in the generator's datagrams (0, RFC 768).
const FIELDS: [&str; 7] = [
    "frame.len",
    "eth.fcs.status",
    "ip.checksum.status",
    "udp.checksum.status",
    "vlan.id",
    "_ws.malformed",
    "_ws.expert.severity",
];

/// Whether tshark is installed; otherwise prints a skip line for the test runner.
fn has_tshark() -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        // Written directly, because the test harness hides printed lines.
        let text = "WIRELAB-SKIP tshark: there is no tshark: run scripts/setup.sh test";
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    there
}

/// tshark's fields of each frame of a capture.
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
    node.end_capture().unwrap();
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

/// A capture of the echoes of a program with lwIP on the reference node, with the FCS that its MAC computed; `None`
/// without a program.
fn echoed(path: &Path, attachment: Attachment) -> Option<()> {
    let mut bench = Bench::start(Straps::new(attachment))?;
    bench.resolve();
    let frames = ECHOED.len() as u32;
    let trial = bench.trial(Direction::Echo, frames, |_| ()).trial;
    let interface = InterfaceSpec {
        fcs_bytes: 4,
        ..InterfaceSpec::named("line 0")
    };
    let options = WriterOptions::default();
    let mut writer = CaptureWriter::create(path, &[interface], &options).unwrap();
    for (sequence, length) in (0..).zip(ECHOED) {
        bench.node().run(REST_CLOCKS);
        bench.send(&test_frame(length, sequence, 9));
        let node = bench.node();
        node.run_until(ANSWER_CLOCKS, |node| node.sent_frames() > 0);
        let back = node.take_sent().expect("the frame comes back");
        let time_ns = back.start_ps / 1000;
        writer.write_frame(0, time_ns, &back.bytes).unwrap();
    }
    bench.ended(trial);
    assert_eq!(writer.finish().unwrap().frames, ECHOED.len() as u64);
    Some(())
}

#[test]
fn frames_of_lwip_on_the_reference_node_are_right_to_tshark() {
    if !has_tshark() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for attachment in [Attachment::LiteDevice, Attachment::Dma] {
        let path = folder.path().join(format!("{attachment:?}.pcapng"));
        let Some(()) = echoed(&path, attachment) else {
            return;
        };
        let frames = judged(&path);
        assert_eq!(frames.len(), ECHOED.len());
        for (frame, length) in frames.iter().zip(ECHOED) {
            // lwIP computes both checksums, without hardware.
            let bytes = (length + 4).to_string();
            let right = [&bytes, "1", "1", "1", "", "", ""];
            assert_eq!(frame, &right, "{attachment:?}: {FIELDS:?}");
        }
    }
}

#[test]
fn a_spoilt_byte_of_lwip_is_found_by_tshark() {
    if !has_tshark() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spoilt.pcapng");
    let Some(()) = echoed(&path, Attachment::LiteDevice) else {
        return;
    };
    let mut bytes = std::fs::read(&path).unwrap();
    // In the datagram of the last frame: its FCS and the statistics of the interface follow, less than 200 bytes.
    let at = bytes.len() - 800;
    bytes[at] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let frames = judged(&path);
    let (spoilt, whole) = frames.split_last().unwrap();
    // FCS and UDP checksum are wrong, the IP header is unchanged.
    assert_eq!(spoilt[1..4], ["0", "1", "0"], "{frames:?}");
    let is_right = |frame: &Vec<String>| frame[1..4] == ["1", "1", "1"];
    assert!(whole.iter().all(is_right), "{frames:?}");
}
