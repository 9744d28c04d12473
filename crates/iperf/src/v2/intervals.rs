//! When the lines of `-i` are due: boundaries at whole intervals since the start, independent of the time of a check.

/// The span of one line, in ns since the clock's zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First instant.
    pub start_ns: u64,
    /// The instant after the last.
    pub end_ns: u64,
}

impl Span {
    /// Its length in s.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// The boundaries of a test.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    every_ns: u64,
    start_ns: u64,
    reached: u64,
}

impl Intervals {
    /// Boundaries every `every_ns` from `start_ns`; 0 for none.
    pub const fn new(start_ns: u64, every_ns: u64) -> Intervals {
        Intervals {
            every_ns,
            start_ns,
            reached: 0,
        }
    }

    /// The next interval that has ended by `now_ns`. Call it until it returns `None`, and before counting what happens
    /// at `now_ns`.
    pub fn over(&mut self, now_ns: u64) -> Option<Span> {
        let end_ns = self.boundary(self.reached + 1)?;
        if now_ns < end_ns {
            return None;
        }
        let start_ns = self.boundary(self.reached)?;
        self.reached += 1;
        Some(Span { start_ns, end_ns })
    }

    /// The rest of a test that ends at `now_ns`: the begun part of an interval, if it is long enough for a line, more
    /// than a quarter as in iperf 2.1.8.
    pub fn rest(&self, now_ns: u64) -> Option<Span> {
        let start_ns = self.boundary(self.reached)?;
        let long = now_ns.saturating_sub(start_ns) > self.every_ns / 4;
        long.then_some(Span {
            start_ns,
            end_ns: now_ns,
        })
    }

    fn boundary(&self, index: u64) -> Option<u64> {
        if self.every_ns == 0 {
            return None;
        }
        self.start_ns.checked_add(self.every_ns.checked_mul(index)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_do_not_depend_on_when_one_looks() {
        let mut intervals = Intervals::new(500, 1000);
        assert_eq!(intervals.over(1499), None);
        let span = |start_ns, end_ns| Some(Span { start_ns, end_ns });
        assert_eq!(intervals.over(3600), span(500, 1500));
        assert_eq!(intervals.over(3600), span(1500, 2500));
        assert_eq!(intervals.over(3600), span(2500, 3500));
        assert_eq!(intervals.over(3600), None);
        assert_eq!(intervals.rest(3751), span(3500, 3751));
        assert_eq!(intervals.rest(3750), None, "a quarter is not enough");
        assert_eq!(intervals.rest(3400), None);
        assert_eq!(intervals.over(0), None, "a clock that went back");
    }

    #[test]
    fn none_where_none_are_wanted() {
        let mut intervals = Intervals::new(0, 0);
        assert_eq!((intervals.over(u64::MAX), intervals.rest(9)), (None, None));
        let mut late = Intervals::new(u64::MAX - 1, 1000);
        assert_eq!(late.over(u64::MAX), None);
    }
}
