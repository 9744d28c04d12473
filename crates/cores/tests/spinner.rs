//! A spinner of known duty shows in the load of the node's core, and one on the tester's core does not.
//!
//! Other processes may use the machine meanwhile. Their CPU time is subtracted if the kernel counts it (cpuacct of
//! cgroups, in ns, independent of idle time); otherwise the test waits for a quiet moment. Interrupts of an idle core
//! can only raise the figure: it is never below the processes' time, and in some window not above.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::common::{two_cores, while_spinning};
use wirelab_cores::{Cores, Meter};

/// Tolerance of a figure, in points of the share.
const POINTS: f64 = 0.03;
/// Length of each window; a step of the counters is a point of it.
const WINDOW: Duration = Duration::from_secs(1);
/// Tolerance of the spinner's own duty.
const ROUGHLY: f64 = 0.15;
/// Windows to wait for a quiet machine.
const TRIES: usize = 90;

/// Tests run one at a time, because each spinner would be in the other's figure.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time of one core in a window, as shares of it.
#[derive(Clone, Copy, Debug)]
struct CoreShares {
    /// The figure under test.
    busy: f64,
    /// The spinner's time, by its own clock.
    own: f64,
    /// Other processes' time; 0 if the kernel does not count it.
    others: f64,
}

fn window(meter: &mut Meter, spent: &dyn Fn() -> u64) -> CoreShares {
    let core = meter.cores().numbers()[0];
    let (first, own_first, all_first) = (meter.sample().unwrap(), spent(), processes_ns(core));
    std::thread::sleep(WINDOW);
    let (last, own_last, all_last) = (meter.sample().unwrap(), spent(), processes_ns(core));
    let busy = meter.between(&first, &last).unwrap()[0];
    let share = |ns: u64| ns as f64 / busy.window_ns as f64;
    let own = share(own_last - own_first);
    let all = all_first
        .zip(all_last)
        .map(|(first, last)| share(last - first));
    CoreShares {
        busy: busy.ratio(),
        own,
        others: all.map_or(0.0, |all| (all - own).max(0.0)),
    }
}

/// CPU time in ns of all processes on a core, if the kernel counts it (Documentation/admin-guide/cgroup-v1).
fn processes_ns(core: usize) -> Option<u64> {
    let folders = ["cpuacct", "cpu,cpuacct"]
        .map(|name| format!("/sys/fs/cgroup/{name}/cpuacct.usage_percpu"));
    let text = folders
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok())?;
    text.split_whitespace().nth(core)?.parse().ok()
}

#[test]
fn a_spinner_of_known_duty_is_found_within_three_points() {
    let Some((_, node)) = two_cores() else { return };
    let _alone = alone();
    let mut meter = Meter::new(&node).unwrap();
    for duty in [20, 50, 80] {
        let mut all = Vec::new();
        let found = while_spinning(&node, duty, |spent| {
            (0..TRIES).any(|_| {
                let seen = window(&mut meter, spent);
                assert!(
                    seen.busy > (seen.own + seen.others).min(1.0) - POINTS,
                    "the core was busy for less than its processes had: {seen:.3?}"
                );
                all.push(seen);
                // Others may take some of its time; its own clock shows what it got.
                let as_asked = (seen.own - duty as f64 / 100.0).abs() < ROUGHLY;
                as_asked && (seen.busy - seen.others - seen.own).abs() <= POINTS
            })
        });
        assert!(
            found,
            "core {node} was never quiet enough in {TRIES} windows to find a spinner of {duty} %: \
             end what else runs there, and try again; seen were {all:.3?}"
        );
    }
}

#[test]
fn a_spinner_on_the_other_core_moves_the_figure_by_less_than_three_points() {
    let Some((tester, node)) = two_cores() else {
        return;
    };
    let _alone = alone();
    let mut meter = Meter::new(&node).unwrap();
    let nothing = || 0;
    let mut all = Vec::new();
    // With and without in turn, because other load may come and go.
    let found = (0..TRIES).any(|_| {
        let without = window(&mut meter, &nothing);
        let with = beside(&tester, &mut meter);
        all.push((without, with));
        let moved = (with.busy - with.others) - (without.busy - without.others);
        moved.abs() < POINTS
    });
    assert!(
        found,
        "a spinner on core {tester} moved the figure of core {node} in {TRIES} windows: \
         end what else runs there, and try again; (without, with) were {all:.3?}"
    );
}

fn beside(tester: &Cores, meter: &mut Meter) -> CoreShares {
    while_spinning(tester, 80, |spent| {
        let before = spent();
        // The spinner runs elsewhere, so its time is not in the figure.
        let seen = window(meter, &|| 0);
        assert!(spent() > before, "the spinner did not run");
        seen
    })
}

#[test]
fn a_test_that_fails_beside_a_spinner_ends() {
    let _alone = alone();
    let Some((first, _)) = two_cores() else {
        return;
    };
    let failing = || while_spinning(&first, 10, |_| panic!("a test that fails"));
    // Without the guard this waits forever.
    assert!(std::panic::catch_unwind(failing).is_err());
}
