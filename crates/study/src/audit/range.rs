//! Interval arithmetic: the range of values behind a printed number.

use std::ops::{Add, Div, Mul, Sub};

use crate::quantity::{Precision, Quantity};

/// Relative slack for the rounding of floating-point arithmetic itself.
const SLACK: f64 = 1e-9;

/// All values from `low` to `high`, in a base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    pub fn exact(value: f64) -> Range {
        Range {
            low: value,
            high: value,
        }
    }

    /// The values that round to the printed figure; for a non-negative figure they are not negative.
    pub fn rounded(printed: &Quantity) -> Range {
        let half = half_step(printed) * printed.unit.scale;
        let (low, high) = (printed.base() - half, printed.base() + half);
        let low = if printed.number >= 0.0 {
            low.max(0.0)
        } else {
            low
        };
        Range { low, high }
    }

    /// The values that round to the printed figure if all of its digits count.
    pub fn of_digits(printed: &Quantity) -> Range {
        let (low, high) = printed.range();
        Range { low, high }
    }

    /// The values behind the printed figure if digits may also have been truncated instead of rounded.
    pub fn printed(printed: &Quantity) -> Range {
        let rounded = Range::rounded(printed);
        if printed.precision != Precision::Digits {
            return rounded;
        }
        let step = 2.0 * half_step(printed) * printed.unit.scale;
        if printed.number >= 0.0 {
            Range {
                high: printed.base() + step,
                ..rounded
            }
        } else {
            Range {
                low: printed.base() - step,
                ..rounded
            }
        }
    }

    pub fn middle(self) -> f64 {
        (self.low + self.high) / 2.0
    }

    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// Whether every value here is above every value there.
    pub fn above(self, other: Range) -> bool {
        let slack = SLACK * self.low.abs().max(other.high.abs());
        self.low > other.high + slack
    }

    /// Whether the ranges overlap. Incomparable values count as overlapping.
    pub fn touches(self, other: Range) -> bool {
        !self.above(other) && !other.above(self)
    }

    pub fn contains(self, value: f64) -> bool {
        self.touches(Range::exact(value))
    }

    /// The overlap of both.
    pub fn common(self, other: Range) -> Option<Range> {
        self.touches(other).then(|| Range {
            low: self.low.max(other.low),
            high: self.high.min(other.high).max(self.low.max(other.low)),
        })
    }

    /// The smallest range that contains both.
    pub fn around(self, other: Range) -> Range {
        Range {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    pub fn scaled(self, factor: f64) -> Range {
        self * Range::exact(factor)
    }
}

/// Half a step of the last significant digit: zeros at the end of a number such as 27000 may not be significant.
fn half_step(printed: &Quantity) -> f64 {
    let mut half = printed.half_step();
    let by_digits = printed.precision == Precision::Digits;
    if by_digits
        && printed.decimals == 0
        && printed.number.abs() >= 1000.0
        && printed.number % 100.0 == 0.0
    {
        while printed.number % (20.0 * half) == 0.0 {
            half *= 10.0;
        }
    }
    half
}

impl Add for Range {
    type Output = Range;
    fn add(self, other: Range) -> Range {
        Range {
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}

impl Sub for Range {
    type Output = Range;
    fn sub(self, other: Range) -> Range {
        Range {
            low: self.low - other.high,
            high: self.high - other.low,
        }
    }
}

impl Mul for Range {
    type Output = Range;
    fn mul(self, other: Range) -> Range {
        let all = [
            self.low * other.low,
            self.low * other.high,
            self.high * other.low,
            self.high * other.high,
        ];
        Range {
            low: all.into_iter().fold(f64::INFINITY, f64::min),
            high: all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

impl Div for Range {
    type Output = Range;
    /// Division by a range that contains zero has no result.
    fn div(self, other: Range) -> Range {
        if other.low <= 0.0 {
            return Range {
                low: f64::NEG_INFINITY,
                high: f64::INFINITY,
            };
        }
        self * Range {
            low: 1.0 / other.high,
            high: 1.0 / other.low,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Range {
        Range::rounded(&text.parse().unwrap())
    }

    #[test]
    fn neighbours_in_the_last_digit_touch() {
        assert!(printed("7.73 us").touches(printed("7.74 us")));
        assert!(!printed("7.73 us").touches(printed("7.75 us")));
        assert!(printed("7.75 us").above(printed("7.73 us")));
    }

    #[test]
    fn cut_digits_are_honoured() {
        // 148,809 x 46 B = 6.845214 MB was printed as 6.84.
        let cut = Range::printed(&"6.84 MB/s".parse().unwrap());
        assert!(cut.contains(8.0 * 6_845_214.0));
        assert!(!printed("6.84 MB/s").contains(8.0 * 6_845_214.0));
    }

    #[test]
    fn zeros_at_the_end_may_be_rounding() {
        assert_eq!(
            printed("27000 frames/s"),
            Range {
                low: 26_500.0,
                high: 27_500.0
            }
        );
        assert_eq!(
            printed("27010 frames/s"),
            Range {
                low: 27_009.5,
                high: 27_010.5
            }
        );
        assert_eq!(printed("950").width(), 1.0);
        assert_eq!(printed("27000.0").width().round(), 0.0);
    }

    #[test]
    fn nothing_follows_from_a_division_by_what_may_be_zero() {
        let any = printed("5 us") / printed("0.0 us");
        assert!(any.contains(0.0) && any.contains(1e12));
        assert_eq!(printed("0.0 %").low, 0.0);
    }

    #[test]
    fn arithmetic_keeps_the_ends() {
        let a = Range {
            low: 1.0,
            high: 2.0,
        };
        let b = Range {
            low: 4.0,
            high: 5.0,
        };
        assert_eq!(
            b - a,
            Range {
                low: 2.0,
                high: 4.0
            }
        );
        assert_eq!(
            b / a,
            Range {
                low: 2.0,
                high: 5.0
            }
        );
        assert_eq!(
            a * b,
            Range {
                low: 4.0,
                high: 10.0
            }
        );
        assert_eq!(
            a + b,
            Range {
                low: 5.0,
                high: 7.0
            }
        );
        assert_eq!(a.common(b), None);
        assert_eq!(
            a.around(b),
            Range {
                low: 1.0,
                high: 5.0
            }
        );
    }
}
