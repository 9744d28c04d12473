//! The shadow stack on steps as the plugin records them.

use super::*;

const MAIN: u64 = 0x1000;
const CALLED: u64 = 0x1100;
const SECOND: u64 = 0x1200;
const ISR: u64 = 0x1300;
const THREAD: u64 = 0x1400;
const TICK: u64 = 0x1500;
/// Ends of blocks: by a call in `main` and in `thread`, by a return of each function that is called, by the return from an
/// interrupt, by a call of the system, and by none of these.
const MAIN_CALLS: u64 = MAIN + 0x14;
const THREAD_CALLS: u64 = THREAD + 0x14;
const RETURNS: u64 = 0x30;
/// The interrupt returns with the same instruction as functions, as on a Cortex-M.
const RETURNS_AS_M: u64 = ISR + 0x3C;
const ASKS: u64 = MAIN + 0x24;
const PLAIN: u64 = MAIN + 0x2C;

fn walker(apart: &[u64]) -> Walker {
    let names = ["main", "called", "second", "isr", "thread", "tick"];
    let functions: Vec<_> = names
        .iter()
        .zip(0..)
        .map(|(name, n)| (*name, MAIN + n * 0x100, MAIN + n * 0x100 + 0x40))
        .collect();
    let mut code = vec![
        (MAIN_CALLS - 4, 0xEB00_0000),
        (THREAD_CALLS - 4, 0xEB00_0000),
        (ASKS - 4, 0xEF00_0000),
    ];
    code.extend([CALLED, SECOND].map(|f| (f + RETURNS - 4, 0xE12F_FF1E)));
    code.extend([ISR, TICK].map(|f| (f + RETURNS - 4, 0xE25E_F004)));
    code.push((RETURNS_AS_M - 4, 0xE12F_FF1E));
    Walker::new(
        Symbols::of_arm(&functions, &code),
        BTreeSet::from([ISR, TICK]),
        &apart.iter().copied().collect(),
        HashMap::from([(0, MAIN)]),
        &[(CALLED, 7)],
    )
}

fn record(count: u64, event: Event) -> RingRecord {
    RingRecord {
        count,
        vcpu: 0,
        kinds: Kinds::default(),
        event,
    }
}

/// A flight from the first instruction of `main` through steps `(count, at, from)`.
fn fly(walker: &mut Walker, steps: &[(u64, u64, u64)]) -> Flight {
    walker.take(&record(100, Event::Point(0)));
    for &(count, at, from) in steps {
        walker.take(&record(count, Event::Step { at, from }));
    }
    walker.end()
}

/// The segments of a flight: paths of names, with their instructions.
fn segments(walker: &Walker, flight: &Flight) -> Vec<(String, u64)> {
    let functions = walker.symbols().functions();
    let path = |number| {
        let names = walker.paths().functions(number).into_iter();
        let names = names.map(|f| f.map_or("?", |f| functions[f as usize].name.as_str()));
        names.collect::<Vec<_>>().join(";")
    };
    flight
        .segments
        .iter()
        .map(|s| (path(s.path), s.to - s.from))
        .collect()
}

fn shown(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter()
        .map(|(path, n)| ((*path).to_owned(), *n))
        .collect()
}

fn interruptions(flight: &Flight) -> Vec<(u64, u64)> {
    flight
        .interruptions
        .iter()
        .map(|i| (i.from.count, i.to.count))
        .collect()
}

#[test]
fn a_call_is_below_its_caller_until_it_returns() {
    let mut walker = walker(&[]);
    let flight = fly(
        &mut walker,
        &[
            (105, CALLED, MAIN_CALLS),
            (112, MAIN_CALLS, CALLED + RETURNS),
            (120, SECOND, MAIN_CALLS),
        ],
    );
    let expected = [("main", 5), ("main;called", 7), ("main", 8)];
    assert_eq!(segments(&walker, &flight), shown(&expected));
    let returned: Vec<_> = flight
        .passes
        .iter()
        .map(|p| (p.point, p.moment.count))
        .collect();
    assert_eq!(
        returned,
        [(0, 100), (7, 112)],
        "the point behind its return"
    );
}

#[test]
fn a_function_that_jumps_into_another_at_its_end_is_left() {
    let mut walker = walker(&[]);
    let steps = [
        (105, CALLED, MAIN_CALLS),
        (110, SECOND, CALLED + 0x20),
        (117, MAIN_CALLS, SECOND + RETURNS),
        (120, CALLED, MAIN_CALLS),
    ];
    let flight = fly(&mut walker, &steps);
    let expected = [
        ("main", 5),
        ("main;called", 5),
        ("main;second", 7),
        ("main", 3),
    ];
    assert_eq!(segments(&walker, &flight), shown(&expected));
    // The caller gets the return of the function that it called.
    assert_eq!(
        flight.passes.last().map(|p| (p.point, p.moment.count)),
        Some((7, 117))
    );
}

#[test]
fn an_interrupt_that_comes_back_is_told_apart() {
    let mut walker = walker(&[]);
    let inside = [(105, ISR, PLAIN), (145, PLAIN, ISR + RETURNS)];
    assert_eq!(interruptions(&fly(&mut walker, &inside)), [(105, 145)]);
    // Between a call and the function that it calls.
    let between = [
        (105, ISR, MAIN_CALLS),
        (145, CALLED, ISR + RETURNS),
        (150, MAIN_CALLS, CALLED + RETURNS),
        (151, CALLED, MAIN_CALLS),
    ];
    let flight = fly(&mut walker, &between);
    assert_eq!(interruptions(&flight), [(105, 145)]);
    let expected = [
        ("main", 5),
        ("main;isr", 40),
        ("main;called", 5),
        ("main", 1),
    ];
    assert_eq!(segments(&walker, &flight), shown(&expected));
    // Between a return and its caller.
    let behind = [
        (105, CALLED, MAIN_CALLS),
        (110, ISR, CALLED + RETURNS),
        (150, MAIN_CALLS, ISR + RETURNS),
    ];
    assert_eq!(interruptions(&fly(&mut walker, &behind)), [(110, 150)]);
    // The same on a Cortex-M, whose interrupts end as functions do; then again before the machine goes on.
    let mut as_m = [behind[0], behind[1], (150, MAIN_CALLS, RETURNS_AS_M)];
    assert_eq!(interruptions(&fly(&mut walker, &as_m)), [(110, 150)]);
    as_m[2] = (130, ISR, RETURNS_AS_M);
    let twice = [&as_m[..], &[(150, MAIN_CALLS, RETURNS_AS_M)]].concat();
    assert_eq!(interruptions(&fly(&mut walker, &twice)), [(110, 150)]);
    // One inside another, each once.
    let nested = [
        (105, ISR, PLAIN),
        (110, TICK, ISR + 0x10),
        (115, ISR + 0x10, TICK + RETURNS),
        (120, PLAIN, ISR + RETURNS),
    ];
    assert_eq!(
        interruptions(&fly(&mut walker, &nested)),
        [(110, 115), (105, 120)]
    );
}

#[test]
fn an_interrupt_that_switches_to_another_thread_is_of_the_way() {
    let mut walker = walker(&[]);
    let steps = [
        (105, ISR, PLAIN),
        (145, THREAD + 8, ISR + RETURNS),
        (150, SECOND, THREAD_CALLS),
        (160, ISR, SECOND + 8),
        (170, PLAIN, ISR + RETURNS),
        (180, CALLED, MAIN_CALLS),
    ];
    let flight = fly(&mut walker, &steps);
    assert_eq!(interruptions(&flight), []);
    // The thread that comes back has its own stack again.
    let expected = [
        ("main", 5),
        ("main;isr", 40),
        ("thread", 5),
        ("thread;second", 10),
        ("thread;second;isr", 10),
        ("main", 10),
    ];
    assert_eq!(segments(&walker, &flight), shown(&expected));
}

#[test]
fn what_the_machine_asked_for_is_no_interruption() {
    let mut walker = walker(&[]);
    let steps = [
        (105, ISR, ASKS),
        (145, ASKS, ISR + RETURNS),
        (150, CALLED, MAIN_CALLS),
    ];
    let flight = fly(&mut walker, &steps);
    assert_eq!(interruptions(&flight), []);
    assert_eq!(
        segments(&walker, &flight),
        shown(&[("main", 5), ("main;isr", 40), ("main", 5)])
    );
}

#[test]
fn a_timer_that_follows_an_interrupt_is_told_apart_where_it_is_named() {
    let steps = [
        (105, ISR, PLAIN),
        (120, TICK, ISR + RETURNS),
        (130, THREAD + 8, TICK + RETURNS),
    ];
    assert_eq!(interruptions(&fly(&mut walker(&[]), &steps)), []);
    assert_eq!(
        interruptions(&fly(&mut walker(&[TICK]), &steps)),
        [(120, 130)]
    );
}

#[test]
fn steps_of_any_kind_have_bounds() {
    let mut walker = walker(&[]);
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Half of them in the image.
        let near = MAIN + (seed >> 40) % 0x600 / 4 * 4;
        if seed >> 63 == 0 { near } else { seed }
    };
    let steps: Vec<_> = (0..200_000).map(|n| (101 + n, next(), next())).collect();
    let flight = fly(&mut walker, &steps);
    assert!(flight.segments.len() <= steps.len());
    // A function that calls itself without end.
    let deep: Vec<_> = (0..10_000).map(|n| (101 + n, MAIN, MAIN_CALLS)).collect();
    let flight = fly(&mut walker, &deep);
    let longest = flight
        .segments
        .iter()
        .map(|s| walker.paths().functions(s.path).len())
        .max();
    assert_eq!(longest, Some(DEEPEST));
}
