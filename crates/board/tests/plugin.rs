//! The plugin on both versions of QEMU's plugin interface, without QEMU: a host offers what each version has.

use std::path::Path;
use std::process::{Command, Output};

use wirelab_board::machine::ring::{Event, IdleRule, Ring, RingRecord, Spotted, flag};
use wirelab_board::machine::running::PLUGIN;

const FUNCTIONS: [(u64, u64); 2] = [(0x1000, 0x1010), (0x1100, 0x1110)];

/// Builds the host of a version, to run with the plugin and an argument.
fn command(folder: &Path, version: u32, argument: &str) -> Command {
    let (program, plugin) = (
        folder.join(format!("host{version}")),
        folder.join("wirelab.so"),
    );
    std::fs::write(&plugin, PLUGIN).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugin_host.c");
    let built = Command::new("cc")
        .args([
            "-std=gnu11",
            "-rdynamic",
            &format!("-DVERSION={version}"),
            source,
            "-ldl",
            "-o",
        ])
        .arg(&program)
        .status();
    assert!(built.unwrap().success());
    let mut command = Command::new(program);
    command.arg(plugin).arg(argument);
    command
}

fn host(folder: &Path, version: u32, argument: &str) -> Output {
    command(folder, version, argument).output().unwrap()
}

fn records(ring: &mut Ring) -> Vec<RingRecord> {
    std::iter::from_fn(|| ring.take()).collect()
}

#[test]
fn one_plugin_serves_both_versions_of_the_interface() {
    let folder = tempfile::tempdir().unwrap();
    for version in [1, 2] {
        let file = folder.path().join(format!("ring{version}"));
        let spot = |at, number, flags| Spotted { at, number, flags };
        let points = [spot(0x1004, 0, flag::BEGINS), spot(0x1008, 1, flag::ENDS)];
        let mut ring = Ring::make(&file, &points, &FUNCTIONS, false).unwrap();
        ring.arm();
        let output = host(folder.path(), version, &format!("shm={}", file.display()));
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!((ring.interface(), ring.vcpus()), (Some(version), 2));
        assert_eq!((ring.lost(), ring.is_overrun()), (0, false));
        let all = records(&mut ring);
        assert_eq!(
            (all[0].count, all[0].vcpu, all[0].event),
            (0, 1, Event::Point(1))
        );
        // Version 1 has one counter for all: the other processor's instruction is in it.
        let base = u64::from(version == 1);
        let seen: Vec<_> = all[1..]
            .iter()
            .map(|r| (r.count - base, r.vcpu, r.event))
            .collect();
        let step = |at, from| Event::Step { at, from };
        let once = [
            (1, 0, Event::Point(0)),
            (2, 0, step(0x1100, 0x1008)),
            (5, 0, step(0x1008, 0x110C)),
            (5, 0, Event::Point(1)),
        ];
        let twice: Vec<_> = once
            .iter()
            .copied()
            .chain(once.map(|(count, vcpu, event)| (count + 6, vcpu, event)))
            .collect();
        assert_eq!(seen, twice, "version {version}");
    }
}

#[test]
fn what_is_not_armed_is_not_recorded_and_other_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ring");
    let mut ring = Ring::make(&file, &[], &FUNCTIONS, false).unwrap();
    assert!(
        host(folder.path(), 1, &format!("shm={}", file.display()))
            .status
            .success()
    );
    assert_eq!(
        (records(&mut ring), ring.control().now()),
        (Vec::new(), 13 - 1)
    );
    let other = folder.path().join("other");
    std::fs::write(&other, vec![0xFF; 4096]).unwrap();
    for argument in [
        format!("shm={}", other.display()),
        "shm=/nonexistent".to_owned(),
        "x".to_owned(),
    ] {
        let refused = host(folder.path(), 2, &argument);
        assert_eq!(refused.status.code(), Some(3));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("no memory to share; fix:"), "{said}");
    }
}

/// The instructions that have run at each stop, up to the block that stands, and whether it came to the requested
/// rest. All stops wait for a device, or none does.
fn stops(points: &[Spotted], rest: Option<IdleRule>) -> (Vec<u64>, bool) {
    let waits = points.iter().any(|point| point.flags & flag::KICKS != 0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ring");
    let ring = Ring::make(&file, points, &FUNCTIONS, false).unwrap();
    let control = ring.control();
    match rest {
        Some(rest) => control.ask_for_rest(rest),
        None => control.stop_at_points(),
    }
    let mut host = command(folder.path(), 2, &format!("shm={}", file.display()));
    let mut host = host.spawn().unwrap();
    let mut stops = Vec::new();
    loop {
        let is_over = host.try_wait().unwrap().is_some();
        if control.stands() {
            stops.push(control.now());
            assert_eq!(control.waits_for_device(), waits);
            control.release();
        } else if is_over {
            return (stops, control.has_rested());
        }
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

#[test]
fn a_machine_stands_at_points_and_once_it_rests() {
    let spot = |at, flags| Spotted {
        at,
        number: 9,
        flags,
    };
    // The other processor comes to the point first; then each turn has six instructions, of which five are before it.
    let at_point = stops(&[spot(0x1008, flag::STANDS)], None);
    assert_eq!(at_point.0, [0, 5, 11]);
    for more in [0, flag::KICKS] {
        let behind = stops(&[spot(0x1100, flag::STANDS_BEHIND | more)], None);
        assert_eq!(behind.0, [5, 11]);
    }
    let asleep = [spot(0x1100, flag::SLEEPS)];
    let rest = |sleeps, idle| Some(IdleRule { sleeps, idle });
    // What counts as rest begins with the second block.
    assert_eq!(stops(&asleep, rest(2, 1000)), (vec![8], true));
    assert_eq!(stops(&asleep, rest(3, 1000)), (vec![], false));
    assert_eq!(stops(&asleep, rest(3, 5)), (vec![8], true));
    // Points stop it only on request.
    let points = [spot(0x1008, flag::STANDS), spot(0x1100, flag::SLEEPS)];
    assert_eq!(stops(&points, rest(1, 1000)), (vec![2], true));
}
