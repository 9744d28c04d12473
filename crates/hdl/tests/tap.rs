//! A simulated port joined to a Linux port: frames of one side are good at the other, byte by byte.

use std::io::Write;
use std::time::Duration;

use wirelab_hdl::registers as reg;
use wirelab_hdl::{Bench, TapCable};
use wirelab_port::iface::{Mac, PortName};
use wirelab_port::inject::Schedule;
use wirelab_port::job::{CheckJob, Pace, SendJob};
use wirelab_port::netns::{NetNs, may_test};
use wirelab_port::packet::{CheckOptions, Checker, SendOptions, send};
use wirelab_port::tap::{TapPort, TapSpec};
use wirelab_trial::{Cancel, Extent};
use wirelab_wire::{Flow, FrameSpec, Size, SizeUnit, Transport};

const FRAMES: u32 = 300;
const PORT: u64 = 0x02_57_4C_00_01_00;
const HOST: u64 = 0x02_57_4C_00_00_07;
/// Simulated clocks after which the test has failed: 4 s, of which 300 frames need a thousandth.
const PATIENCE_CLOCKS: u64 = 500_000_000;

fn bytes(address: u64) -> [u8; 6] {
    address.to_be_bytes()[2..].try_into().unwrap()
}

/// A namespace that is deleted at the end of the test.
struct Namespace(String);

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = NetNs::delete(&self.0);
    }
}

/// A bench of one port, and the cable to a TAP device with a queue of this many frames; `None` if TAP is not
/// available.
fn joined(name: &str, queue_frames: u32) -> Option<(Namespace, PortName, Bench, TapCable)> {
    if !may_test() {
        return None;
    }
    if !std::path::Path::new("/dev/net/tun").exists() {
        let _ = writeln!(
            std::io::stderr(),
            "WIRELAB-SKIP tun: /dev/net/tun is missing"
        );
        return None;
    }
    let name = format!("wlh-{name}-{}", std::process::id());
    NetNs::create(&name).unwrap();
    let port = PortName::new(Some(&name), "tap0").unwrap();
    let tap = TapPort::create(&TapSpec {
        mac: Some(Mac(bytes(HOST))),
        queue_frames: Some(queue_frames),
        ..TapSpec::new(port.clone())
    });
    let cable = TapCable::new(0, tap.unwrap());
    Some((Namespace(name), port, Bench::new(1, &[]).unwrap(), cable))
}

fn write_address(bench: &mut Bench, register: u16, address: u64) {
    bench.write(0, register, address as u32).unwrap();
    bench
        .write(0, register + 4, (address >> 32) as u32)
        .unwrap();
}

#[test]
fn frames_of_the_hardware_are_good_to_the_checker_of_the_host() {
    let Some((_gone, port, mut bench, mut cable)) = joined("out", 4 * FRAMES) else {
        return;
    };
    let check = CheckJob {
        flow: Flow {
            source: Some(bytes(PORT)),
            stream: Some(5),
            ..Flow::default()
        },
        slots: None,
        time_every: 1,
    };
    let checker = Checker::start(&port, &check, CheckOptions::default()).unwrap();
    write_address(&mut bench, reg::GENERATOR_DESTINATION, HOST);
    write_address(&mut bench, reg::GENERATOR_SOURCE, PORT);
    for (register, word) in [
        (reg::GENERATOR_PAYLOAD_BYTES, 1000),
        (reg::GENERATOR_FRAME_COUNT, FRAMES),
        (reg::GENERATOR_FLOW, reg::GENERATOR_FLOW_STREAM.of(5)),
        (reg::GENERATOR_CONTROL, reg::GENERATOR_CONTROL_ENABLE.of(1)),
    ] {
        bench.write(0, register, word).unwrap();
    }
    while cable.to_host_frames() < u64::from(FRAMES) {
        cable.clock(&mut bench).unwrap();
        assert!(bench.clocks() < PATIENCE_CLOCKS, "{cable:?}");
    }
    let seen = checker.finish(Duration::from_millis(200)).unwrap();
    let counts = seen.with_sent(FRAMES.into()).counts;
    assert!(counts.is_clean(), "{counts:?}");
    assert_eq!(counts.good_frames, u64::from(FRAMES));
    assert_eq!(counts.verified_payload_bytes, u64::from(FRAMES) * 1000);
    assert_eq!(cable.damaged_frames(), 0);
}

/// Sets the checker to the host's frames, and waits until it is ready.
fn check(bench: &mut Bench) {
    write_address(bench, reg::CHECKER_SOURCE, HOST);
    let flow = reg::CHECKER_FLOW_UDP_PORT.of(5003) | reg::CHECKER_FLOW_STREAM.of(9);
    let control = reg::CHECKER_CONTROL_ENABLE.of(1)
        | reg::CHECKER_CONTROL_SOURCE_KNOWN.of(1)
        | reg::CHECKER_CONTROL_STREAM_KNOWN.of(1);
    for (register, word) in [(reg::CHECKER_FLOW, flow), (reg::CHECKER_CONTROL, control)] {
        bench.write(0, register, word).unwrap();
    }
    while reg::CHECKER_STATUS_CHECKING.from(bench.read(0, reg::CHECKER_STATUS).unwrap()) == 0 {
        assert!(bench.clocks() < 100_000, "the checker never gets ready");
    }
}

/// Sends the host's frames to the port, as fast as possible.
fn send_from_host(port: &PortName) {
    let frame = FrameSpec {
        destination: bytes(PORT),
        source: bytes(HOST),
        vlans: [None, None],
        transport: Transport::UdpIpv4 {
            addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
            ports: [5003; 2],
        },
        dscp: 0,
    };
    let job = SendJob {
        frame,
        sizes: Size::new(SizeUnit::Datagram, 700)
            .resolve_test(frame.framing())
            .unwrap(),
        stream: 9,
        with_time: true,
        pace: Pace::Max,
        extent: Extent::Frames {
            frames: FRAMES.into(),
        },
        faults: Schedule::default(),
        buffers: None,
    };
    let sent = send(port, &job, &SendOptions::default(), &Cancel::new()).unwrap();
    assert_eq!(sent.emitted_frames, u64::from(FRAMES));
}

fn assert_registers(bench: &mut Bench, expected: &[(u16, u32)]) {
    for &(register, expected) in expected {
        let word = bench.read(0, register).unwrap();
        assert_eq!(word, expected, "register 0x{register:03X}");
    }
}

#[test]
fn frames_of_the_host_are_good_to_the_checker_in_hardware() {
    let Some((_gone, port, mut bench, mut cable)) = joined("in", 4 * FRAMES) else {
        return;
    };
    check(&mut bench);
    send_from_host(&port);
    // The kernel may send its own frames, which are foreign.
    let mut good = 0;
    while good < FRAMES {
        for _ in 0..10_000 {
            cable.clock(&mut bench).unwrap();
        }
        assert!(bench.clocks() < PATIENCE_CLOCKS, "{good} good, {cable:?}");
        good = read_meanwhile(&mut bench, &mut cable, reg::CHECKER_GOOD);
    }
    assert!(cable.to_port_frames() >= u64::from(FRAMES));
    let expected = [
        (reg::CHECKER_GOOD, FRAMES),
        (reg::CHECKER_DISTINCT, FRAMES),
        (reg::CHECKER_LOST, 0),
        (reg::CHECKER_CORRUPTED, 0),
        (reg::CHECKER_REORDERED, 0),
        (reg::CHECKER_BAD_FCS, 0),
    ];
    assert_registers(&mut bench, &expected);
}

#[test]
fn what_finds_the_queue_full_is_lost_and_nothing_else_is_harmed() {
    let Some((_gone, port, mut bench, mut cable)) = joined("full", 32) else {
        return;
    };
    check(&mut bench);
    // The simulation stands still while they are sent, twice.
    send_from_host(&port);
    let came = take_all(&mut bench, &mut cable);
    assert!((16..FRAMES / 2).contains(&came), "{came} came");
    send_from_host(&port);
    let more = take_all(&mut bench, &mut cable) - came;
    assert!((16..FRAMES / 2).contains(&more), "{more} came");
    // The second time the same sequences arrive, up to where those of the first time ended.
    let next = bench.read(0, reg::CHECKER_NEXT_SEQUENCE).unwrap();
    let distinct = bench.read(0, reg::CHECKER_DISTINCT).unwrap();
    assert!(next >= distinct && next < FRAMES, "{next}, {distinct}");
    let expected = [
        (reg::CHECKER_DUPLICATED, came + more - distinct),
        (reg::CHECKER_LOST, next - distinct),
        (reg::CHECKER_CORRUPTED, 0),
        (reg::CHECKER_TRUNCATED, 0),
        (reg::CHECKER_BAD_FCS, 0),
    ];
    assert_registers(&mut bench, &expected);
    assert_eq!(cable.damaged_frames(), 0);
}

/// Carries frames until none waits; returns the good ones since the checker began.
fn take_all(bench: &mut Bench, cable: &mut TapCable) -> u32 {
    let mut taken = None;
    while taken != Some(cable.to_port_frames()) {
        taken = Some(cable.to_port_frames());
        // The time of ten frames.
        for _ in 0..100_000 {
            cable.clock(bench).unwrap();
        }
    }
    read_meanwhile(bench, cable, reg::CHECKER_GOOD)
}

/// Reads a register while the cable keeps carrying frames.
fn read_meanwhile(bench: &mut Bench, cable: &mut TapCable, register: u16) -> u32 {
    bench.begin_read(0, register).unwrap();
    loop {
        cable.clock(bench).unwrap();
        if let Some(word) = bench.answer(0).unwrap() {
            return word;
        }
    }
}
