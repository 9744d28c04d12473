//! A spinner of known duty is found on the node's core, and one on the tester's core is not.
//!
//! Others may use the machine meanwhile. What their processes had of the core is taken out where the kernel counts it
//! (cpuacct of cgroups, in ns, by another way than idle time); elsewhere a quiet moment is waited for. Interrupts that
//! come to an idle core can only add to the figure: it is never below what processes had, and in some window not above.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{two_cores, while_spinning};
use wirelab_cores::{Cores, Meter};

/// How far a figure may be off, in points of the share.
const POINTS: f64 = 0.03;
/// Each window; a step of the counters is a point of it.
const WINDOW: Duration = Duration::from_secs(1);
/// How far the spinner itself may be off its duty.
const ROUGHLY: f64 = 0.15;
/// Windows to wait for a quiet machine.
const TRIES: usize = 90;

/// Each test alone: the spinner of one would be in the figure of the other.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one core did in a window, as shares of it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The figure under test.
    busy: f64,
    /// The spinner, by its own clock.
    own: f64,
    /// Other processes; 0 where the kernel does not count them.
    others: f64,
}

fn window(meter: &mut Meter, spent: &dyn Fn() -> u64) -> Seen {
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
    Seen {
        busy: busy.ratio(),
        own,
        others: all.map_or(0.0, |all| (all - own).max(0.0)),
    }
}

/// CPU time in ns that processes have had of a core, where the kernel counts it (Documentation/admin-guide/cgroup-v1).
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
                // Others may take some of what it is due: its own clock says what it had.
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
    // With and without in turn: others may come and go.
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

fn beside(tester: &Cores, meter: &mut Meter) -> Seen {
    while_spinning(tester, 80, |spent| {
        let before = spent();
        // The spinner runs elsewhere: none of its time is in the figure.
        let seen = window(meter, &|| 0);
        assert!(spent() > before, "the spinner did not run");
        seen
    })
}
