//! The time slices of a flow as counters: `slice_ns.NN` and `slice_frames.NN`, and if they differ, `slice_distinct.NN`
//! and `slice_passed.NN`.

use std::collections::BTreeMap;

use wirelab_trial::slices::{Slice, Slices};

/// Most slices in a report: each is at least two counters, and a page holds some fifteen.
pub const MOST_TOLD: usize = 32;

/// The counters of a flow's slices, which are merged in pairs until there are few enough.
pub fn counters(slices: &Slices) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for (at, slice) in slices.joined(MOST_TOLD).0.iter().enumerate() {
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
pub fn told(counters: &BTreeMap<String, u64>) -> Slices {
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
    Slices((0..MOST_TOLD).map_while(slice).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_come_back_as_they_were_told_and_few_enough() {
        let slice = |at: u64| Slice {
            ns: 1_000 + at,
            amount: 10,
            distinct: if at % 3 == 0 { 9 } else { 10 },
            passed: if at % 5 == 0 { 12 } else { 10 },
        };
        for number in [0, 1, 31, 32] {
            let slices = Slices((0..number).map(slice).collect());
            let counters: BTreeMap<String, u64> = counters(&slices).into_iter().collect();
            assert_eq!(told(&counters), slices, "{number}");
        }
        let many = Slices((0..127).map(slice).collect());
        let counters: BTreeMap<String, u64> = counters(&many).into_iter().collect();
        let fewer = told(&counters).0;
        assert_eq!(fewer.len(), MOST_TOLD);
        let sum = |of: fn(&Slice) -> u64| {
            let sum = |slices: &[Slice]| slices.iter().map(of).sum::<u64>();
            assert_eq!(sum(&fewer), sum(&many.0));
        };
        sum(|slice| slice.ns);
        sum(|slice| slice.amount);
        sum(|slice| slice.distinct);
        sum(|slice| slice.passed);
    }
}
