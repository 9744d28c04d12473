//! The lab in the kernel: its parts, that it carries frames, and that it leaves nothing behind.

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::sys::RawSocket;
use crate::common::{lab, lab_of};
use wirelab_port::iface::{Interface, PortLock, PortName};
use wirelab_port::lab::{EphemeralLab, Lab, LabError, LabOwner, LabSpec, Side};
use wirelab_port::netns::NetNs;
use wirelab_port::netns::may_test;

/// Far longer than any step here takes; only a failure waits that long.
const PATIENCE: Duration = Duration::from_secs(30);

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(
            Instant::now() < deadline,
            "waited {PATIENCE:?}, but: {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_gone(name: &str) -> bool {
    let prefix = format!("{name}-");
    !NetNs::list()
        .unwrap()
        .iter()
        .any(|n| n.starts_with(&prefix))
        && !std::path::Path::new("/run/wirelab/labs")
            .join(name)
            .exists()
}

#[test]
fn interfaces_are_as_the_specification_says() {
    let mut spec = LabSpec::unique("wlt", 2);
    spec.mtu = 9000;
    spec.queues = 2;
    let Some(lab) = lab_of(spec) else { return };
    for side in Side::BOTH {
        for pair in 0..2 {
            let found = lab.interface(pair, side).unwrap();
            assert!(found.up && found.carrier && !found.loopback, "{found:?}");
            assert_eq!(found.driver.as_deref(), Some("veth"));
            assert_eq!(found.link_rate, None, "a veth pair has no link rate");
            assert_eq!(found.mtu, 9000);
            assert_eq!(found.mac, lab.mac(pair, side));
            assert_eq!((found.tx_queues, found.rx_queues), (Some(2), Some(2)));
            assert!(found.require_length(9014, false).is_ok());
            assert!(found.require_length(9015, false).is_err());
        }
    }
    let status = Lab::status()
        .unwrap()
        .into_iter()
        .find(|s| s.name == lab.name())
        .unwrap();
    let pid = std::process::id();
    assert_eq!(status.owner, LabOwner::Process { pid, alive: true });
    assert_eq!(status.interfaces.len(), 4);
    for found in &status.interfaces {
        assert!(found.is_up(), "{found:?}");
        assert_eq!(found.addresses, [lab.address(found.pair, found.side)]);
    }
}

#[test]
fn frames_cross_and_nothing_else_is_on_the_link() {
    let Some(lab) = lab(1) else { return };
    let node = RawSocket::open(&lab.port(0, Side::Node).unwrap(), 3);
    let tester = RawSocket::open(&lab.port(0, Side::Tester).unwrap(), 3);
    // Router solicitations and duplicate address detection would arrive within this time.
    assert_eq!(
        tester.receive(Duration::from_millis(1500)),
        None,
        "a frame that nobody sent"
    );
    assert_eq!(
        node.receive(Duration::ZERO),
        None,
        "a frame that nobody sent"
    );
    let frame = [[0xff; 6].as_slice(), &[2; 6], &[0x88, 0xb5], &[7; 46]].concat();
    node.send(&frame).unwrap();
    assert_eq!(tester.receive(PATIENCE), Some((frame, None)));
}

#[test]
fn a_lab_is_gone_after_drop_panic_and_down() {
    let Some(lab) = lab(1) else { return };
    let name = lab.name().to_owned();
    drop(lab);
    assert!(is_gone(&name));

    let spec = LabSpec::unique("wlt", 1);
    let panicked = std::panic::catch_unwind(|| {
        let _lab = EphemeralLab::up(&spec).unwrap();
        panic!("on purpose");
    });
    assert!(panicked.is_err() && is_gone(&spec.name));

    let lab = EphemeralLab::up(&LabSpec::unique("wlt", 1)).unwrap();
    let name = lab.name().to_owned();
    lab.down().unwrap();
    assert!(is_gone(&name));
}

#[test]
fn a_process_inside_does_not_keep_a_lab() {
    let Some(lab) = lab(1) else { return };
    let inside = lab.netns(Side::Node).unwrap();
    let mut child = inside.spawn(Command::new("sleep").arg("600")).unwrap();
    let name = lab.name().to_owned();
    drop(lab);
    assert!(is_gone(&name));
    assert!(
        child.wait().unwrap().signal().is_some(),
        "the process inside was ended"
    );
}

#[test]
fn a_lab_that_stays_is_opened_used_and_taken_down_by_name() {
    if !may_test() {
        return;
    }
    let spec = LabSpec::unique("wlt", 1);
    let lab = Lab::up(&spec).unwrap();
    let again = Lab::up(&spec).unwrap_err().to_string();
    let opened = Lab::open(&spec.name);
    let exec = |words: &[&str]| {
        let argv: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        Lab::exec(&spec.name, Side::Tester, &argv)
    };
    let code = exec(&["sh", "-c", "test -e /sys/class/net/t0 && exit 7"]);
    let killed = exec(&["sh", "-c", "kill -9 $$"]);
    let missing = exec(&["no-such-program-here"]).unwrap_err().to_string();
    let nothing = exec(&[]).unwrap_err().to_string();
    Lab::down(&spec.name).unwrap();
    assert!(is_gone(&spec.name));

    assert!(again.contains("wirelab lab down"), "{again}");
    assert_eq!(opened.unwrap(), lab);
    assert_eq!(code.unwrap(), 7);
    assert_eq!(killed.unwrap(), 128 + 9);
    assert!(missing.contains("no-such-program-here"), "{missing}");
    assert!(nothing.contains("command"), "{nothing}");
    let text = Lab::down(&spec.name).unwrap_err().to_string();
    assert!(text.contains("no lab"), "{text}");
}

#[test]
fn a_namespace_of_another_program_is_left_alone() {
    if !may_test() {
        return;
    }
    let spec = LabSpec::unique("wlt", 1);
    let foreign = spec.namespace(Side::Tester);
    NetNs::create(&foreign).unwrap();
    let error = EphemeralLab::up(&spec).unwrap_err();
    let still_there = NetNs::list().unwrap().contains(&foreign);
    NetNs::delete(&foreign).unwrap();
    assert!(matches!(error, LabError::NamespaceTaken { .. }), "{error}");
    assert!(still_there && is_gone(&spec.name));
}

/// Starts this test again as a separate process, which makes a lab and waits to be killed.
fn owner_of(spec: &LabSpec) -> std::process::Child {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "lab::a_lab_goes_with_its_process_however_it_ends",
        ])
        .env("WIRELAB_TEST_LAB", &spec.name)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the other process's lab", || {
        let all = Lab::status().unwrap();
        let found = all.iter().find(|s| s.name == spec.name);
        found.is_some_and(|s| s.interfaces.iter().all(|i| i.is_up()))
    });
    child
}

#[test]
fn a_lab_goes_with_its_process_however_it_ends() {
    if let Ok(name) = std::env::var("WIRELAB_TEST_LAB") {
        let _lab = EphemeralLab::up(&LabSpec::new(name, 2)).unwrap();
        std::thread::sleep(2 * PATIENCE);
        return;
    }
    if !may_test() {
        return;
    }
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let spec = LabSpec::unique("wlt", 2);
        let mut owner = owner_of(&spec);
        let refused = Lab::down(&spec.name).unwrap_err().to_string();
        assert!(refused.contains(&owner.id().to_string()), "{refused}");
        end(owner.id(), signal);
        owner.wait().unwrap();
        until("the watchdog", || is_gone(&spec.name));
    }
}

#[test]
fn without_its_watchdog_a_lab_is_found_and_removed_by_the_next_operation() {
    if !may_test() {
        return;
    }
    let spec = LabSpec::unique("wlt", 1);
    let mut owner = owner_of(&spec);
    end(watchdog_of(&spec.name), libc::SIGKILL);
    end(owner.id(), libc::SIGKILL);
    owner.wait().unwrap();
    // Other tests sweep as well, so only the result is certain: the lab is gone.
    Lab::sweep().unwrap();
    assert!(is_gone(&spec.name));
}

fn end(pid: u32, signal: i32) {
    let signal = nix::sys::signal::Signal::try_from(signal).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), signal).unwrap();
}

fn watchdog_of(name: &str) -> u32 {
    let wanted = format!("/run/wirelab/labs/{name}\0");
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.contains("wirelab-watchdog") && line.contains(&wanted))
        })
        .expect("the watchdog of the lab")
}

#[test]
fn labs_can_be_made_at_the_same_time() {
    if !may_test() {
        return;
    }
    let specs: Vec<LabSpec> = (0..4).map(|_| LabSpec::unique("wlt", 1)).collect();
    std::thread::scope(|scope| {
        for spec in &specs {
            scope.spawn(|| {
                let lab = EphemeralLab::up(spec).unwrap();
                let socket = |side| RawSocket::open(&lab.port(0, side).unwrap(), 3);
                let (node, tester) = (socket(Side::Node), socket(Side::Tester));
                // An interface whose queues have not started yet would drop the first frame silently.
                node.send(&[9; 60]).unwrap();
                assert_eq!(tester.receive(PATIENCE), Some((vec![9; 60], None)));
            });
        }
    });
    assert!(specs.iter().all(|spec| is_gone(&spec.name)));
}

#[test]
fn one_run_a_port_and_the_same_number_elsewhere_is_another_port() {
    let (Some(one), Some(two)) = (lab(1), lab(1)) else {
        return;
    };
    let port = one.port(0, Side::Node).unwrap();
    let twin = two.port(0, Side::Node).unwrap();
    let lock = PortLock::acquire(&port).unwrap();
    let _other = PortLock::acquire(&twin).unwrap();
    let text = PortLock::acquire(&port).unwrap_err().to_string();
    assert!(text.contains(&port.to_string()), "{text}");
    assert!(
        text.contains(&format!("process {}", std::process::id())),
        "{text}"
    );
    drop(lock);
    // A process that another test starts has a copy of the lock until exec, which may wait for a core.
    until("the port is free", || PortLock::acquire(&port).is_ok());
}

#[test]
fn an_interface_that_is_down_says_how_to_bring_it_up() {
    let Some(lab) = lab(1) else { return };
    let port = lab.port(0, Side::Node).unwrap();
    let argv = ["ip", "link", "set", "dev", "t0", "down"].map(str::to_owned);
    assert_eq!(Lab::exec(lab.name(), Side::Tester, &argv).unwrap(), 0);
    let text = Interface::query(&port)
        .unwrap()
        .require_carrier()
        .unwrap_err()
        .to_string();
    assert!(text.contains("no carrier"), "{text}");
    let other: PortName = lab.port(0, Side::Tester).unwrap();
    let text = Interface::query(&other)
        .unwrap()
        .require_up()
        .unwrap_err()
        .to_string();
    assert!(
        text.contains(&format!(
            "sudo ip -n {}-tester link set dev t0 up",
            lab.name()
        )),
        "{text}"
    );
}

/// A shaper may be late but never early, so the time of a flood has a lower bound on any host. The frames are small:
/// without preamble, FCS and gap they would need less than three quarters of it.
#[test]
fn a_shaped_link_carries_its_rate_in_link_bits() {
    let Some(lab) = lab(1) else { return };
    const RATE: u64 = 10_000_000;
    const FRAMES: u64 = 4000;
    lab.set_link_rates(Some(RATE)).unwrap();
    let show = |side| {
        let argv = [
            "sh",
            "-c",
            "tc -d qdisc show | grep -q 'tbf.*rate 10Mbit.*mpu 84b.*overhead 24'",
        ];
        Lab::exec(lab.name(), side, &argv.map(str::to_owned)).unwrap()
    };
    assert_eq!((show(Side::Node), show(Side::Tester)), (0, 0));
    let node = RawSocket::open(&lab.port(0, Side::Node).unwrap(), 3);
    let tester = RawSocket::open(&lab.port(0, Side::Tester).unwrap(), 3);
    let frame = [[0xff; 6].as_slice(), &[2; 6], &[0x88, 0xb5], &[7; 46]].concat();
    let begin = Instant::now();
    for _ in 0..FRAMES {
        node.send(&frame).unwrap();
    }
    for n in 0..FRAMES {
        assert!(
            tester.receive(PATIENCE).is_some(),
            "frame {n} was lost in the shaper"
        );
    }
    let passed = begin.elapsed();
    let burst = wirelab_port::lab::Shape::new(RATE, 1500).burst_bytes;
    let least = Duration::from_secs_f64((FRAMES * 84 - burst) as f64 * 8.0 / RATE as f64);
    assert!(
        passed >= least,
        "{passed:?} is faster than the link, {least:?}"
    );

    lab.set_link_rates(None).unwrap();
    assert_eq!((show(Side::Node), show(Side::Tester)), (1, 1));
}

#[test]
fn receive_threads_are_told_apart_between_labs_and_bound() {
    let threaded = || {
        let mut spec = LabSpec::unique("wlt", 1);
        spec.threaded = true;
        lab_of(spec)
    };
    let (Some(one), Some(two)) = (threaded(), threaded()) else {
        return;
    };
    let first = one.pin_napi_threads(0, Side::Tester, 0).unwrap();
    let second = two.pin_napi_threads(0, Side::Tester, 0).unwrap();
    assert_eq!((first.len(), second.len()), (1, 1));
    let all: HashSet<i32> = first.iter().chain(&second).copied().collect();
    assert_eq!(all.len(), 2, "a thread of the other lab was bound");
    let status = std::fs::read_to_string(format!("/proc/{}/status", first[0])).unwrap();
    assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    let error = one
        .pin_napi_threads(0, Side::Tester, 1000)
        .unwrap_err()
        .to_string();
    assert!(error.contains("no CPU 1000"), "{error}");
    one.set_threaded_napi(0, Side::Tester, false).unwrap();
    until("the thread's end", || {
        one.pin_napi_threads(0, Side::Tester, 0).is_err()
    });
}

#[test]
fn the_caller_stays_in_its_own_namespace() {
    let Some(lab) = lab(1) else { return };
    let before = NetNs::current().unwrap().id().unwrap();
    let inside = lab.netns(Side::Node).unwrap();
    let seen = inside
        .run_in(|| NetNs::current().unwrap().id().unwrap())
        .unwrap();
    assert_eq!(seen, inside.id().unwrap());
    assert_ne!(seen, before);
    assert_eq!(NetNs::current().unwrap().id().unwrap(), before);
}

#[test]
fn a_lab_that_was_taken_apart_is_shown_so_and_still_taken_down() {
    if !may_test() {
        return;
    }
    let spec = LabSpec::unique("wlt", 1);
    Lab::up(&spec).unwrap();
    NetNs::delete(&spec.namespace(Side::Node)).unwrap();
    let status = Lab::status()
        .unwrap()
        .into_iter()
        .find(|s| s.name == spec.name);
    Lab::down(&spec.name).unwrap();
    assert!(is_gone(&spec.name));
    let status = status.unwrap();
    assert_eq!(status.owner, LabOwner::Nobody);
    let node = &status.interfaces[0];
    let reason = node.interface.as_ref().unwrap_err();
    assert!(
        !node.is_up() && reason.contains(&spec.namespace(Side::Node)),
        "{reason}"
    );
}

/// Root without capabilities, as in many containers. The test restarts itself like that.
#[test]
fn without_capabilities_each_error_names_them_and_the_fix() {
    if let Ok(lab) = std::env::var("WIRELAB_TEST_WITHOUT_CAPABILITIES") {
        let enter = NetNs::open(&format!("{lab}-node"))
            .unwrap()
            .run_in(|| ())
            .unwrap_err();
        let text = enter.to_string();
        assert!(
            text.contains("CAP_SYS_ADMIN") && text.contains("sudo setcap"),
            "{text}"
        );
        let spec = LabSpec::new(format!("{lab}-more"), 1);
        let text = EphemeralLab::up(&spec).unwrap_err().to_string();
        assert!(
            text.contains("CAP_NET_ADMIN") && text.contains("sudo wirelab"),
            "{text}"
        );
        assert!(is_gone(&spec.name));
        return;
    }
    let Some(lab) = lab(1) else { return };
    let runtime = tempfile::tempdir().unwrap();
    let status = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all"])
        .env("XDG_RUNTIME_DIR", runtime.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact"])
        .arg("lab::without_capabilities_each_error_names_them_and_the_fix")
        .stdout(Stdio::null())
        .env("WIRELAB_TEST_WITHOUT_CAPABILITIES", lab.name())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    assert!(
        lab.interface(0, Side::Node).unwrap().carrier,
        "the lab is untouched"
    );
}
