//! Failures of the tracer: what it refuses and with which message, what it counts, and what it leaves behind.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::rig;
use crate::rig::{Echo, PORT, accounted, info, lab, node, options, ping_pong, said, socket, until};
use libbpf_rs::query::LinkInfoIter;
use wirelab_port::ebpf::program_name;
use wirelab_port::iface::PortName;
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_stages::{
    Choice, FlowFilter, Point, ProbeSet, StagesError, Tracer, TracerOptions, Xdp,
};

/// Set for a test that starts itself again: the port to trace.
const CHILD: &str = "WIRELAB_STAGES_CHILD";

/// The port to trace, in a child of a test.
fn child_port() -> Option<PortName> {
    Some(std::env::var(CHILD).ok()?.parse().unwrap())
}

/// This test again, started by a tool that first removes a privilege.
fn again(tool: &[&str], test: &str, port: &PortName) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut command = match tool {
        [] => Command::new(&own),
        [tool, arguments @ ..] => {
            let mut command = Command::new(tool);
            command.args(arguments).arg(&own);
            command
        }
    };
    command
        .args(["--exact", &format!("tracer_trouble::{test}"), "--nocapture"])
        .env(CHILD, port.to_string());
    command
}

/// The error of a child without the privilege to trace.
fn complaint(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// In a child: try, and print the error.
fn complain(port: &PortName) {
    let tried = Tracer::attach(&options(port));
    println!(
        "said: {}",
        tried.err().map_or("nothing".to_owned(), |e| e.to_string())
    );
}

#[test]
fn without_the_kernels_types_the_file_is_named() {
    let Some(lab) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, content: Option<&[u8]>| {
        let path = folder.path().join(name);
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        let text = said(Tracer::attach(&TracerOptions {
            btf: Some(path.clone()),
            ..options(&node(&lab))
        }));
        assert!(
            text.contains(&path.display().to_string()) && text.contains("CONFIG_DEBUG_INFO_BTF"),
            "{text}"
        );
        text
    };
    assert!(with("missing", None).contains("No such file"));
    assert!(with("short", Some(b"x")).contains("fill"));
    assert!(with("text", Some(b"no types at all")).contains("this is not BTF"));
    let mut garbage = vec![0x9F, 0xEB, 1, 0];
    garbage.extend((0..4000u32).map(|i| (i * 31) as u8));
    assert!(with("garbage", Some(&garbage)).contains("do not fit it"));
}

#[test]
fn what_the_host_refuses_is_said_and_the_other_set_taken() {
    let Some(lab) = lab() else { return };
    let with = |choice| {
        Tracer::attach(&TracerOptions {
            choice,
            ..options(&node(&lab))
        })
    };
    let refused = match with(Choice::Fentry) {
        Ok(tracer) => {
            assert_eq!(tracer.set(), ProbeSet::Fentry);
            false
        }
        Err(error @ StagesError::Refused { .. }) => {
            let text = error.to_string();
            assert!(
                text.contains("fentry") && text.contains("--probes raw"),
                "{text}"
            );
            true
        }
        Err(other) => panic!("{other}"),
    };
    let tracer = with(Choice::Auto).unwrap();
    let told = tracer
        .notes()
        .iter()
        .any(|n| n.contains("raw tracepoints in place"));
    assert_eq!((tracer.set() == ProbeSet::Raw, told), (refused, refused));
    assert_eq!("fentry".parse::<Choice>().unwrap(), Choice::Fentry);
    assert!("kprobe".parse::<Choice>().is_err());
}

#[test]
fn a_missing_capability_is_named() {
    if let Some(port) = child_port() {
        return complain(&port);
    }
    let Some(lab) = lab() else { return };
    let without = ["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin"];
    let text = complaint(&mut again(
        &without,
        "a_missing_capability_is_named",
        &node(&lab),
    ));
    assert!(
        text.contains("CAP_BPF") && text.contains("setcap"),
        "{text}"
    );
}

#[test]
fn a_clock_of_its_own_is_refused() {
    if let Some(port) = child_port() {
        return complain(&port);
    }
    let Some(lab) = lab() else { return };
    let shifted = ["unshare", "--time", "--fork", "--monotonic=1000"];
    if !Command::new("unshare")
        .args(["--time", "--fork", "true"])
        .status()
        .unwrap()
        .success()
    {
        let _ = writeln!(
            std::io::stderr(),
            "WIRELAB-SKIP time-namespace: the kernel has none"
        );
        return;
    }
    let text = complaint(&mut again(
        &shifted,
        "a_clock_of_its_own_is_refused",
        &node(&lab),
    ));
    assert!(
        text.contains("time namespace") && text.contains("timens_offsets"),
        "{text}"
    );
    let offset = text.split_once("this process is ").unwrap().1;
    let offset: i64 = offset.split_once(' ').unwrap().0.parse().unwrap();
    // 1,000 s, read within one.
    assert!(
        (999_000_000_000..1_001_000_000_000).contains(&offset),
        "{offset}"
    );
}

#[test]
fn frames_beyond_the_store_are_counted() {
    let Some(lab) = lab() else { return };
    let app = Echo::start(socket(&lab, Side::Node, PORT), false);
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&TracerOptions {
        capacity: 8,
        ..options(&node(&lab))
    })
    .unwrap();
    ping_pong(&lab, &tester, 20, 64);
    app.stop();
    for point in [Point::InDriver, Point::InStack, Point::InCall] {
        let info = info(&tracer, point);
        assert_eq!(
            (info.counts.taken, info.counts.missed),
            (20, 12),
            "{point:?}"
        );
        assert_eq!(
            rig::sequences(&tracer, point.name(), 0),
            (0..8).collect::<Vec<u32>>()
        );
    }
    assert!(
        tracer
            .notes()
            .iter()
            .any(|n| n.contains("stack: 12 frames"))
    );
}

#[test]
fn what_contradicts_itself_is_refused() {
    let Some(lab) = lab() else { return };
    let with = |filter, capacity| {
        said(Tracer::attach(&TracerOptions {
            filter,
            capacity,
            ..options(&node(&lab))
        }))
    };
    assert!(with(FlowFilter::default(), 1).contains("nothing to trace"));
    let many = FlowFilter {
        udp_ports: (1..10).collect(),
        ..FlowFilter::default()
    };
    assert!(with(many, 1).contains("9 UDP ports"));
    assert!(with(options(&node(&lab)).filter, 0).contains("0 records"));
    let nowhere = PortName::new(node(&lab).namespace.as_deref(), "nosuch0").unwrap();
    assert!(said(Tracer::attach(&options(&nowhere))).contains("nosuch0"));
}

#[test]
fn two_tracers_see_the_same_frames() {
    let Some(lab) = lab() else { return };
    let app = Echo::start(socket(&lab, Side::Node, PORT), false);
    let tester = socket(&lab, Side::Tester, 4000);
    let first = Tracer::attach(&options(&node(&lab))).unwrap();
    let second = Tracer::attach(&options(&node(&lab))).unwrap();
    assert!(
        first.node().is_some() && second.node().is_none(),
        "one XDP program a port"
    );
    assert!(second.notes().iter().any(|n| n.contains("no point driver")));
    let insisting = Tracer::attach(&TracerOptions {
        xdp: Xdp::Native,
        ..options(&node(&lab))
    });
    assert!(said(insisting).contains("XDP program"));
    ping_pong(&lab, &tester, 100, 64);
    app.stop();
    for tracer in [&first, &second] {
        for point in [
            Point::InStack,
            Point::InSocket,
            Point::InCall,
            Point::OutDriver,
        ] {
            assert_eq!(accounted(tracer, point), 100, "{point:?}");
        }
    }
}

/// Ids of all objects of one kind that a process holds, e.g. `prog_id`.
fn held(child: &Child, kind: &str) -> Vec<u32> {
    let folder = format!("/proc/{}/fdinfo", child.id());
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let texts = entries.filter_map(|e| fs::read_to_string(e.ok()?.path()).ok());
    let id = |text: String| {
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix(kind)?.strip_prefix(':'));
        line?.trim().parse().ok()
    };
    texts.filter_map(id).collect()
}

fn start_child(lab: &EphemeralLab, test: &str) -> Child {
    let mut command = again(&[], test, &node(lab));
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_killed_tracer_leaves_nothing_attached() {
    if let Some(port) = child_port() {
        let tracer = Tracer::attach(&options(&port)).unwrap();
        // Until the parent ends, unless it kills this first.
        let _ = std::io::stdin().read_line(&mut String::new());
        return drop(tracer);
    }
    let Some(lab) = lab() else { return };
    let mut child = start_child(&lab, "a_killed_tracer_leaves_nothing_attached");
    until("the child's programs", || {
        held(&child, "link_id").len() >= 12
    });
    let (programs, links) = (held(&child, "prog_id"), held(&child, "link_id"));
    let names: Vec<_> = programs.iter().filter_map(|id| program_name(*id)).collect();
    assert!(names.iter().any(|n| n.ends_with("_stack")), "{names:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    until("the kernel to let go", || {
        let linked = LinkInfoIter::default().any(|link| links.contains(&link.id));
        !linked && programs.iter().all(|id| program_name(*id).is_none())
    });
    // The next one starts normally.
    let app = Echo::start(socket(&lab, Side::Node, PORT), false);
    let tester = socket(&lab, Side::Tester, 4000);
    let tracer = Tracer::attach(&options(&node(&lab))).unwrap();
    assert!(tracer.node().is_some());
    ping_pong(&lab, &tester, 10, 64);
    app.stop();
    assert_eq!(info(&tracer, Point::InDriver).counts.taken, 10);
}
