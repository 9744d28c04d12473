//! A spinner of known duty is found on the node's core, and one on the tester's core is not.
//!
//! Others may use the machine meanwhile. What they do on the core can only add to the figure: it is never below what
//! the spinner had by its own clock, and in some window in which nobody else had work it is not above either.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{two_cores, while_spinning};
use wirelab_cores::{Cores, Meter};

/// How far a figure may be off, in points of the share.
const POINTS: f64 = 0.03;
/// Each window; a step of the counters is a point of it.
const WINDOW: Duration = Duration::from_secs(1);
/// Share of a core that others may have where a movement is looked for.
const QUIET: f64 = 0.5;
/// Windows to wait for a quiet machine.
const TRIES: usize = 90;

/// Each test alone: the spinner of one would be in the figure of the other.
fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The busy share of one core over a window, and what `spent` grew by as a share of it.
fn window(meter: &mut Meter, spent: &dyn Fn() -> u64) -> (f64, f64) {
    let (first, before) = (meter.sample().unwrap(), spent());
    std::thread::sleep(WINDOW);
    let (last, after) = (meter.sample().unwrap(), spent());
    let busy = meter.between(&first, &last).unwrap()[0];
    (
        busy.ratio(),
        (after - before) as f64 / busy.window_ns as f64,
    )
}

#[test]
fn a_spinner_of_known_duty_is_found_within_three_points() {
    let Some((_, node)) = two_cores() else { return };
    let _alone = alone();
    let mut meter = Meter::new(&node).unwrap();
    for duty in [20, 50, 80] {
        let mut seen = Vec::new();
        let found = while_spinning(&node, duty, |spent| {
            (0..TRIES).any(|_| {
                let (busy, own) = window(&mut meter, spent);
                assert!(
                    busy > own - POINTS,
                    "the core was busy for {busy:.3} of the window, the spinner alone for {own:.3}"
                );
                seen.push((busy, own));
                let as_asked = (own - duty as f64 / 100.0).abs() < POINTS;
                as_asked && (busy - own).abs() <= POINTS
            })
        });
        assert!(
            found,
            "core {node} was never quiet enough in {TRIES} windows to find a spinner of {duty} %: \
             end what else runs there, and try again; (busy, spinner) were {seen:.3?}"
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
    let mut seen = Vec::new();
    // With and without in turn: others may come and go.
    let found = (0..TRIES).any(|_| {
        let without = window(&mut meter, &nothing).0;
        let with = beside(&tester, &mut meter);
        seen.push((without, with));
        // A core that is busy anyway cannot be moved.
        without < QUIET && (with - without).abs() < POINTS
    });
    assert!(
        found,
        "core {node} was never quiet, or a spinner on core {tester} moved its figure, in {TRIES} windows: \
         end what else runs there, and try again; (without, with) were {seen:.3?}"
    );
}

fn beside(tester: &Cores, meter: &mut Meter) -> f64 {
    while_spinning(tester, 80, |spent| {
        let (busy, own) = window(meter, spent);
        assert!(own > 0.0, "the spinner did not run");
        busy
    })
}
