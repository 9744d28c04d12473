//! Failures of XDP on a node: what is refused and with which message, the alternatives, and what remains when its
//! process is killed.

use std::process::{Command, Stdio};

use crate::common::rig::{Rig, ip};
use crate::common::{lab, lab_of, until};
use wirelab_port::ebpf::{Mode, program_on};
use wirelab_port::iface::PortName;
use wirelab_port::lab::LabSpec;
use wirelab_port::xdp::XdpError;
use wirelab_stages::{
    FastTrack, FastTrackOptions, NodeOptions, NodeXdp, Reflect, Reflector, StagesError, Xdp,
};
use wirelab_trial::Wait;
use wirelab_wire::rule::Rules;

fn rules() -> Rules {
    "port=1026".parse().unwrap()
}

fn open(port: &PortName, xdp: Xdp) -> Result<FastTrack, StagesError> {
    let options = FastTrackOptions {
        xdp,
        frames: 64,
        ..FastTrackOptions::default()
    };
    FastTrack::open(port, &rules(), &options, None)
}

fn on(port: &PortName, interface: &str) -> PortName {
    PortName::new(port.namespace.as_deref(), interface).unwrap()
}

#[test]
fn the_program_of_another_program_is_named_and_stays() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let _somebody = NodeXdp::attach(&rig.node, &NodeOptions::default(), None).unwrap();
    let there = program_on(&rig.node).unwrap();
    assert_eq!(there.as_ref().unwrap().0, "node");
    let echo = Reflect {
        ethernet: true,
        ..Reflect::default()
    };
    for xdp in [Xdp::Auto, Xdp::Native, Xdp::Generic] {
        let refused = [
            open(&rig.node, xdp).err().unwrap(),
            Reflector::attach(&rig.node, &echo, xdp, None)
                .err()
                .unwrap(),
        ];
        for error in refused {
            assert!(
                matches!(&error, StagesError::Xdp(XdpError::Occupied { .. })),
                "{error}"
            );
            let said = error.to_string();
            assert!(
                said.contains("(node, id") && said.contains("n0 xdp off"),
                "{said}"
            );
        }
    }
    assert_eq!(program_on(&rig.node).unwrap(), there, "never replaced");
}

#[test]
fn a_driver_without_xdp_is_refused_natively_and_offered_generic_marked_as_such() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    ip(&rig.node, &["link", "set", "dev", "lo", "up"]);
    let mut without = vec!["lo"];
    // Some kernels lack it.
    if ip(&rig.node, &["link", "add", "d0", "type", "dummy"]) {
        ip(&rig.node, &["link", "set", "dev", "d0", "up"]);
        without.push("d0");
    }
    for name in without {
        let port = on(&rig.node, name);
        let said = open(&port, Xdp::Native).err().unwrap().to_string();
        assert!(said.contains(name) && said.contains("native"), "{said}");
        assert!(said.contains("choose auto or generic"), "{said}");
        assert_eq!(program_on(&port).unwrap(), None);
        let track = open(&port, Xdp::Auto).unwrap();
        assert_eq!(track.node().mode(), Some(Mode::Generic));
        let remark = track.node().remark().unwrap();
        assert!(
            remark.contains("generic XDP") && remark.contains(name),
            "{remark}"
        );
        drop(track);
        let asked = open(&port, Xdp::Generic).unwrap();
        assert_eq!(
            (asked.node().mode(), asked.node().remark()),
            (Some(Mode::Generic), None)
        );
    }
}

#[test]
fn generic_xdp_does_what_native_does() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let mut track = open(&rig.node, Xdp::Generic).unwrap();
    assert!(!track.is_zero_copy());
    let (socket, stack) = (rig.tester_socket(1026), rig.node_socket(1027));
    let other = rig.tester_socket(1027);
    for _ in 0..20 {
        socket.send(b"for the fast track").unwrap();
        other.send(b"for the stack").unwrap();
        assert_eq!(stack.recv(&mut [0; 64]).unwrap(), 13);
        let mut came = 0;
        while came == 0 {
            came = track
                .receive(Wait::Sleep, |f| assert!(f.ends_with(b"fast track")))
                .unwrap();
        }
    }
    let counters = track.counters().unwrap();
    assert_eq!(
        (counters.node.matched[0], counters.received_frames),
        (20, 20)
    );
}

#[test]
fn an_mtu_too_large_for_xdp_is_said_and_generic_offered() {
    let mut spec = LabSpec::unique("wlf", 1);
    spec.mtu = 9000;
    let Some(lab) = lab_of(&spec) else { return };
    let rig = Rig::new(&lab);
    let said = open(&rig.node, Xdp::Native).err().unwrap().to_string();
    assert!(
        said.contains("9000") && said.contains("too large for XDP"),
        "{said}"
    );
    let track = open(&rig.node, Xdp::Auto).unwrap();
    assert_eq!(track.node().mode(), Some(Mode::Generic));
    let remark = track.node().remark().unwrap();
    assert!(remark.contains("9000"), "{remark}");
}

#[test]
fn options_out_of_range_are_refused_in_words() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let with = |change: &dyn Fn(&mut FastTrackOptions)| {
        let mut options = FastTrackOptions::default();
        change(&mut options);
        let opened = FastTrack::open(&rig.node, &rules(), &options, None);
        opened.err().unwrap().to_string()
    };
    for frames in [0, 100, 4, 1 << 20] {
        let said = with(&|o| o.frames = frames);
        assert!(said.contains("power of two"), "{said}");
    }
    assert!(with(&|o| o.queues = Some(0)).contains("needs a queue"));
    assert!(with(&|o| o.xdp = Xdp::Off).contains("XDP is off"));
    let none = FastTrack::open(
        &rig.node,
        &Rules::default(),
        &FastTrackOptions::default(),
        None,
    );
    assert!(none.err().unwrap().to_string().contains("needs a rule"));
    assert_eq!(program_on(&rig.node).unwrap(), None);
    let nowhere = on(&rig.node, "nosuch0");
    let said = open(&nowhere, Xdp::Auto).err().unwrap().to_string();
    assert!(said.contains("nosuch0"), "{said}");
}

#[test]
fn a_queue_is_available_again_at_once_when_its_owner_has_gone() {
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    for _ in 0..8 {
        let track = open(&rig.node, Xdp::Native).unwrap();
        drop(track);
        assert_eq!(program_on(&rig.node).unwrap(), None);
    }
}

const CHILD: &str = "WIRELAB_TEST_TRACK_CHILD";

fn this_test_again(name: &str, lab: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--nocapture", "--exact", &format!("trouble::{name}")]);
    command.env(CHILD, lab).stdout(Stdio::null());
    command
}

#[test]
fn a_killed_process_leaves_nothing_on_the_port() {
    if let Ok(lab) = std::env::var(CHILD) {
        let node = PortName::new(Some(&format!("{lab}-node")), "n0").unwrap();
        let mut track = open(&node, Xdp::Native).unwrap();
        loop {
            track.receive(Wait::Sleep, |_| ()).unwrap();
        }
    }
    let Some(lab) = lab() else { return };
    let rig = Rig::new(&lab);
    let (sender, receiver) = (rig.tester_socket(1026), rig.node_socket(1026));
    let mut child = this_test_again("a_killed_process_leaves_nothing_on_the_port", lab.name())
        .spawn()
        .unwrap();
    until("the child's program", || {
        program_on(&rig.node).unwrap().is_some()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    until("its program to go", || {
        program_on(&rig.node).unwrap().is_none()
    });
    sender.send(b"hello").unwrap();
    assert_eq!(
        receiver.recv(&mut [0; 8]).unwrap(),
        5,
        "the stack has the port again"
    );
    let _next = open(&rig.node, Xdp::Native).unwrap();
}

/// Root without capabilities, as in many containers. The test restarts itself like that.
#[test]
fn without_capabilities_the_error_names_them_and_the_fix() {
    if std::env::var(CHILD).is_ok() {
        let here = PortName::new(None, "lo").unwrap();
        let said = open(&here, Xdp::Auto).err().unwrap().to_string();
        assert!(
            said.contains("CAP_BPF") && said.contains("setcap"),
            "{said}"
        );
        return;
    }
    let Some(lab) = lab() else { return };
    let again = this_test_again(
        "without_capabilities_the_error_names_them_and_the_fix",
        lab.name(),
    );
    let status = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .arg(again.get_program())
        .args(again.get_args())
        .env(CHILD, lab.name())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}
