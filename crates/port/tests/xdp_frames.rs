//! The eBPF programs' verdicts on the vectors, and the generator's frames, byte by byte.

use std::time::Duration;

use crate::common::sys::RawSocket;
use crate::common::{lab, lab_of};
use crate::fast;
use crate::fast::{FAULTS, rates, verdict, with_faults};
use crate::rig;
use crate::rig::{Rig, job, sizes};
use serde_json::Value;
use wirelab_port::inject::{ChangedEmission, Mutation, Schedule};
use wirelab_port::job::{CheckJob, SendJob, SendReport};
use wirelab_port::lab::{LabSpec, Side};
use wirelab_port::netns::may_test;
use wirelab_port::xdp::{
    Checker, CheckerOptions, Generator, GeneratorOptions, MAX_LENGTH, XdpError,
};
use wirelab_trial::{Cancel, Counts};
use wirelab_wire::{Flags, Flow, FrameSpec, Header, Transport, header, lfsr};

const DESTINATION: [u8; 6] = [0x02, 0x57, 0x4c, 0, 0, 2];
const SOURCE: [u8; 6] = [0x02, 0x57, 0x4c, 0, 0, 1];
const PATIENCE: Duration = Duration::from_secs(10);
/// Frames of one direction that a veth pair holds (VETH_RING_SIZE, drivers/net/veth.c).
const RING: u64 = 256;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

fn document() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../spec/vectors/test-frame.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn checker_of(source: Option<[u8; 6]>) -> Checker {
    let flow = Flow {
        source,
        ..Flow::default()
    };
    let job = CheckJob {
        flow,
        slots: None,
        time_every: 1,
    };
    Checker::load(job, CheckerOptions::default()).unwrap()
}

#[test]
fn the_checker_judges_the_vectors_as_they_say() {
    if !may_test() {
        return;
    }
    let checker = checker_of(Some(SOURCE));
    let (mut counts, mut shown, mut too_long) = (Counts::default(), 0, 0);
    for vector in document()["vectors"].as_array().unwrap() {
        let part = &vector["lfsr"];
        let data = match part["hex"].as_str() {
            Some(hex) => bytes(hex),
            None => {
                let sequence = vector["header"]["sequence"].as_u64().unwrap() as u32;
                lfsr::payload(sequence, part["bytes"].as_u64().unwrap() as usize).to_vec()
            }
        };
        let head = bytes(vector["header_hex"].as_str().unwrap());
        let ethertype = header::ETHERTYPE.to_be_bytes();
        let frame = [&DESTINATION[..], &SOURCE, &ethertype, &head, &data].concat();
        if frame.len() > MAX_LENGTH as usize {
            too_long += 1;
            continue;
        }
        let said = vector["verdict"].as_str().unwrap();
        assert_eq!(
            verdict(&checker, &mut counts, &frame),
            said,
            "{}",
            vector["name"]
        );
        shown += 1;
    }
    assert_eq!(
        (shown, too_long),
        (58, 5),
        "five vectors of 8,982 bytes are for other paths"
    );
    let unknown = checker_of(None);
    let mut counts = Counts::default();
    let document = document();
    let frames = document["frames"].as_array().unwrap();
    for vector in frames {
        let frame = bytes(vector["hex"].as_str().unwrap());
        assert_eq!(
            verdict(&unknown, &mut counts, &frame),
            "good",
            "{}",
            vector["name"]
        );
    }
    assert_eq!(counts.good_frames, 7);
}

fn udp4(spec: FrameSpec, host: u8) -> FrameSpec {
    FrameSpec {
        transport: Transport::UdpIpv4 {
            addresses: [[198, 18, host, 1].into(), [198, 18, host, 200].into()],
            ports: [40_000 + u16::from(host), header::UDP_PORT],
        },
        ..spec
    }
}

fn udp6(spec: FrameSpec) -> FrameSpec {
    let address = |n| [0x2001, 2, 0, 0xFFFF, 0, 0, 7, n].into();
    FrameSpec {
        transport: Transport::UdpIpv6 {
            addresses: [address(1), address(2)],
            ports: [65_535, header::UDP_PORT],
        },
        ..spec
    }
}

fn tagged(spec: FrameSpec, vlans: [Option<u16>; 2]) -> FrameSpec {
    FrameSpec { vlans, ..spec }
}

/// The next frame from `source`, with the tag restored that the kernel removed.
fn captured(socket: &RawSocket, spec: &FrameSpec) -> Vec<u8> {
    loop {
        let (mut frame, tag) = socket
            .receive(PATIENCE)
            .expect("the checker passes frames on");
        if frame[6..12] != spec.source {
            continue;
        }
        if let Some(tag) = tag {
            let tpid: u16 = if spec.vlans[1].is_some() {
                0x88A8
            } else {
                0x8100
            };
            let field = [tpid.to_be_bytes(), tag.to_be_bytes()].concat();
            frame.splice(12..12, field);
        }
        return frame;
    }
}

/// The frame that `job` must have sent for `sequence`, with the time that `frame` carries.
fn expected(job: &SendJob, sequence: u32, mutation: Mutation, frame: &[u8]) -> Vec<u8> {
    let at = job.frame.header_offset();
    let mut head: [u8; header::LEN] = frame[at..at + header::LEN].try_into().unwrap();
    if let Mutation::HeaderBit(bit) = mutation {
        head[usize::from(bit / 8)] ^= 0x80 >> (bit % 8);
    }
    let time_ns = Header::parse(&head).unwrap().time_ns;
    assert!(time_ns > 0);
    let header = Header {
        flags: Flags::TIME_VALID,
        stream: job.stream,
        sequence,
        time_ns,
        lfsr_len: 0,
    };
    let mut out = vec![0xEE; job.sizes.length as usize];
    job.frame.build(&job.sizes, &header, &mut out);
    let length = mutation.apply(&mut out, at);
    out.truncate(length);
    out
}

/// Send a job of at most as many frames as the ring of a veth pair holds. The other end may read them late, because
/// kernels before 6.5 leave receive work to a thread that waits for its turn. The link would drop further frames.
fn at_once(rig: &Rig, job: &SendJob) -> SendReport {
    let sent = fast::send(rig, job);
    assert!(sent.emitted_frames <= RING, "{}", sent.emitted_frames);
    sent
}

fn passing(rig: &Rig) -> Checker {
    let options = CheckerOptions {
        pass: true,
        ..CheckerOptions::default()
    };
    Checker::attach(&rig.tester, rig.check(), options).unwrap()
}

#[test]
fn the_generator_sends_what_build_builds() {
    let mut spec = LabSpec::unique("wlx", 1);
    spec.mtu = 3400;
    let Some(lab) = lab_of(spec) else { return };
    let rig = Rig::new(&lab);
    let socket = RawSocket::open(&rig.tester, 3);
    let checker = passing(&rig);
    let one = [Some(0x6FFE), None];
    let two = [Some(0x2005), Some(0x0006)];
    let specs = [
        (rig.spec, vec![64, 65, 67, 128, 1518, 3372]),
        (tagged(rig.spec, one), vec![64, 65, 1522]),
        (tagged(rig.spec, two), vec![68, 69, 1526]),
        (udp4(rig.spec, 1), vec![64, 65, 67, 128, 1517, 1518, 3372]),
        (tagged(udp4(rig.spec, 2), one), vec![68, 75, 1522]),
        (udp6(rig.spec), vec![84, 85, 127, 1518, 3371]),
        (tagged(udp6(rig.spec), two), vec![92, 93, 1526]),
    ];
    let mut total = 0;
    for (spec, frames) in specs {
        for frame in frames {
            let job = SendJob {
                frame: spec,
                sizes: sizes(&spec, frame),
                ..job(rig.spec, 64, 70)
            };
            fast::send(&rig, &job);
            for sequence in 0..70 {
                let frame = captured(&socket, &spec);
                let right = expected(&job, sequence, Mutation::None, &frame);
                assert_eq!(frame, right, "{spec:?}, sequence {sequence}");
            }
            total += 70;
        }
    }
    let counts = checker.report().counts;
    assert_eq!((counts.good_frames, counts.received_frames), (total, total));
}

#[test]
fn every_short_length_is_sent_as_build_builds_it() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let socket = RawSocket::open(&rig.tester, 3);
    let checker = passing(&rig);
    let spec = udp4(rig.spec, 5);
    for frame in 64..=134 {
        let job = SendJob {
            frame: spec,
            sizes: sizes(&spec, frame),
            ..job(rig.spec, 64, 5)
        };
        fast::send(&rig, &job);
        for sequence in 0..5 {
            let frame = captured(&socket, &spec);
            let right = expected(&job, sequence, Mutation::None, &frame);
            assert_eq!(frame, right, "{} bytes", job.sizes.lfsr_len());
        }
    }
    assert_eq!(checker.report().counts.good_frames, 71 * 5);
}

#[test]
fn sequences_beyond_the_window_start_over_in_the_stream() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let socket = RawSocket::open(&rig.tester, 3);
    let _checker = passing(&rig);
    let spec = udp4(rig.spec, 3);
    let left_out = ChangedEmission {
        emission: 50,
        sequence: 4000,
        mutation: Mutation::None,
        offset_after: 3950,
    };
    let job = SendJob {
        frame: spec,
        sizes: sizes(&spec, 129),
        faults: Schedule {
            steps: vec![left_out],
        },
        ..job(rig.spec, 64, 4200)
    };
    assert_eq!(at_once(&rig, &job).sequences, 4200);
    for sequence in (0..50).chain(4000..4200) {
        let frame = captured(&socket, &spec);
        assert_eq!(frame, expected(&job, sequence, Mutation::None, &frame));
    }
}

#[test]
fn faults_on_the_wire_are_those_of_the_schedule() {
    let Some(lab) = lab(1) else { return };
    let rig = Rig::new(&lab);
    let socket = RawSocket::open(&rig.tester, 3);
    let _checker = passing(&rig);
    let specs = [(rig.spec, 131), (udp4(rig.spec, 4), 200)];
    for ((spec, frame), seed) in specs.into_iter().flat_map(|s| [5, 6, 7].map(|n| (s, n))) {
        let plain = SendJob {
            frame: spec,
            sizes: sizes(&spec, frame),
            ..job(rig.spec, 64, 200)
        };
        let job = with_faults(plain, &rates(&FAULTS, 0.1, seed), 200);
        let sent = at_once(&rig, &job);
        assert_eq!(
            (sent.sequences, sent.emitted_frames),
            (200, job.faults.emissions(200))
        );
        let mut cursor = job.faults.cursor();
        for emission in 0..sent.emitted_frames {
            let (sequence, mutation) = cursor.next();
            let frame = captured(&socket, &spec);
            let right = expected(&job, sequence, mutation, &frame);
            assert_eq!(
                frame, right,
                "{spec:?}, emission {emission}: {sequence}, {mutation:?}"
            );
        }
    }
}

#[test]
fn one_generator_keeps_the_addresses_of_its_ports_apart() {
    let Some(lab) = lab(3) else { return };
    let port_job = |pair: u8| {
        let rig_spec = rig::spec(lab.mac(pair, Side::Tester).0, lab.mac(pair, Side::Node).0);
        let spec = udp4(rig_spec, 10 + pair);
        SendJob {
            frame: spec,
            sizes: sizes(&spec, 77),
            stream: 40 + pair,
            ..job(rig_spec, 64, 50)
        }
    };
    let jobs: Vec<_> = (0..3)
        .map(|pair| (lab.port(pair, Side::Node).unwrap(), port_job(pair)))
        .collect();
    let ends: Vec<_> = (0..3)
        .map(|pair| {
            let port = lab.port(pair, Side::Tester).unwrap();
            let check = CheckJob {
                flow: Flow {
                    stream: Some(40 + pair),
                    ..Flow::default()
                },
                slots: None,
                time_every: 1,
            };
            let options = CheckerOptions {
                pass: true,
                ..CheckerOptions::default()
            };
            (
                RawSocket::open(&port, 3),
                Checker::attach(&port, check, options).unwrap(),
            )
        })
        .collect();
    let generator = Generator::load(&jobs, GeneratorOptions::default()).unwrap();
    let reports = generator.run(&Cancel::new()).unwrap();
    for ((report, (_, job)), (socket, checker)) in reports.iter().zip(&jobs).zip(&ends) {
        assert_eq!((report.emitted_frames, report.sequences), (50, 50));
        for sequence in 0..50 {
            let frame = captured(socket, &job.frame);
            assert_eq!(frame, expected(job, sequence, Mutation::None, &frame));
        }
        assert_eq!(checker.report().counts.good_frames, 50);
    }
    let mut mixed = jobs.clone();
    mixed[2].1.sizes = sizes(&mixed[2].1.frame, 78);
    let error = Generator::load(&mixed, GeneratorOptions::default())
        .err()
        .unwrap();
    assert!(matches!(&error, XdpError::BadJob(text) if text.contains("another pace, size")));
}
