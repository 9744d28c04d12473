//! What happened over the time of a trial as counters. The slices of a flow: `slice_ns.NN` and `slice_frames.NN`, and if they
//! differ, `slice_distinct.NN` and `slice_passed.NN`. The node's load: `load_from_ns`, `load_ns.NN` and `load_busy_ns.NN`.

use std::collections::BTreeMap;

use wirelab_trial::BusyOverTime;
use wirelab_trial::over_time::Cores;
use wirelab_trial::slices::{Slice, Slices};

/// Most slices in a report: each is at least two counters, and a page holds some fifteen.
pub const MOST_REPORTED: usize = 32;

/// The counters of a flow's slices, which are merged in pairs until there are few enough.
pub fn counters(slices: &Slices) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for (at, slice) in slices.joined(MOST_REPORTED).all.iter().enumerate() {
        let mut put = |what: &str, value: u64| all.push((format!("slice_{what}.{at:02}"), value));
        put("ns", slice.ns);
        put("frames", slice.amount);
        for (what, value) in [("distinct", slice.distinct), ("passed", slice.passed)] {
            if value != slice.amount {
                put(what, value);
            }
        }
    }
    all
}

/// The slices that a node reported, in order; empty where it reported none.
pub fn reported(counters: &BTreeMap<String, u64>) -> Slices {
    let slice = |at: usize| {
        let get = |what: &str| counters.get(&format!("slice_{what}.{at:02}")).copied();
        let amount = get("frames")?;
        Some(Slice {
            ns: get("ns")?,
            amount,
            distinct: get("distinct").unwrap_or(amount),
            passed: get("passed").unwrap_or(amount),
        })
    };
    of((0..MOST_REPORTED).map_while(slice).collect())
}

/// The counters of a node's load over a trial; slices beyond [`MOST_REPORTED`] are left out.
pub fn load_counters(of: &BusyOverTime) -> Vec<(String, u64)> {
    let mut all = vec![("load_from_ns".to_owned(), of.from_ns)];
    let slices = of.slice_ns.iter().zip(of.busy_ns.iter());
    for (at, (ns, busy_ns)) in slices.take(MOST_REPORTED).enumerate() {
        all.push((format!("load_ns.{at:02}"), *ns));
        all.push((format!("load_busy_ns.{at:02}"), *busy_ns));
    }
    all
}

/// The load that a node reported over a trial; `None` where it reported none.
pub fn reported_load(counters: &BTreeMap<String, u64>) -> Option<BusyOverTime> {
    let slice = |at: usize| {
        let get = |what: &str| counters.get(&format!("load_{what}.{at:02}")).copied();
        let ns = get("ns")?;
        Some((ns, get("busy_ns")?.min(ns)))
    };
    let slices: Vec<(u64, u64)> = (0..MOST_REPORTED).map_while(slice).collect();
    let from_ns = counters.get("load_from_ns").copied().unwrap_or(0);
    (!slices.is_empty()).then(|| BusyOverTime::new(Cores::Node, from_ns, &slices))
}

/// Slices of a node, whose clock is not the tester's.
fn of(all: Vec<Slice>) -> Slices {
    Slices {
        all,
        first_ns: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_comes_back_as_written_and_is_never_more_than_all() {
        let load = BusyOverTime::new(Cores::Node, 7, &[(200, 20), (210, 210)]);
        let mut counters: BTreeMap<String, u64> = load_counters(&load).into_iter().collect();
        assert_eq!(reported_load(&counters), Some(load.clone()));
        counters.insert("load_busy_ns.00".to_owned(), u64::MAX);
        let reported = reported_load(&counters).unwrap();
        assert_eq!(
            reported.busy_ns.first(),
            Some(&200),
            "a node cannot work longer than time passes"
        );
        let many = BusyOverTime::new(Cores::Node, 0, &[(1, 1); 99]);
        assert_eq!(load_counters(&many).len(), 1 + 2 * MOST_REPORTED);
        assert_eq!(reported_load(&BTreeMap::new()), None);
    }

    #[test]
    fn slices_come_back_as_written_and_few_enough() {
        let slice = |at: u64| Slice {
            ns: 1_000 + at,
            amount: 10,
            distinct: if at % 3 == 0 { 9 } else { 10 },
            passed: if at % 5 == 0 { 12 } else { 10 },
        };
        for number in [0, 1, 31, 32] {
            let slices = of((0..number).map(slice).collect());
            let counters: BTreeMap<String, u64> = counters(&slices).into_iter().collect();
            assert_eq!(reported(&counters), slices, "{number}");
        }
        let many = of((0..127).map(slice).collect());
        let counters: BTreeMap<String, u64> = counters(&many).into_iter().collect();
        let fewer = reported(&counters).all;
        assert_eq!(fewer.len(), MOST_REPORTED);
        let sum = |of: fn(&Slice) -> u64| {
            let sum = |slices: &[Slice]| slices.iter().map(of).sum::<u64>();
            assert_eq!(sum(&fewer), sum(&many.all));
        };
        sum(|slice| slice.ns);
        sum(|slice| slice.amount);
        sum(|slice| slice.distinct);
        sum(|slice| slice.passed);
    }
}
