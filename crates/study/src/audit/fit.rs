//! Least squares for a few rows, the load columns that are fitted, and the probability that chance alone does better.

use super::facts::{Facts, groups};
use super::range::Range;
use crate::metric::Metric;

/// From this load on the CPU may be saturated, which shows nothing about a frame.
const SATURATED: f64 = 0.995;

/// Columns with more rows are not fitted row by row.
pub const MOST_ROWS: usize = 100;

/// A fit of y = x · β.
pub struct Fit {
    coefficients: Vec<f64>,
    /// Sum of squared residuals.
    pub squares: f64,
    /// Rows beyond the number of coefficients.
    pub freedom: usize,
}

/// The least-squares fit; `None` where the rows do not determine every coefficient.
pub fn fit(rows: &[(Vec<f64>, f64)]) -> Option<Fit> {
    let width = rows.first()?.0.len();
    let freedom = rows.len().checked_sub(width).filter(|f| *f > 0)?;
    let mut normal = vec![vec![0.0; width]; width];
    let mut right = vec![0.0; width];
    for (x, y) in rows {
        for i in 0..width {
            right[i] += x[i] * y;
            for j in 0..width {
                normal[i][j] += x[i] * x[j];
            }
        }
    }
    let inverse = invert(normal)?;
    let coefficients: Vec<f64> = inverse.iter().map(|row| dot(row, &right)).collect();
    let squares = rows
        .iter()
        .map(|(x, y)| (y - dot(&coefficients, x)).powi(2))
        .sum();
    Some(Fit {
        coefficients,
        squares,
        freedom,
    })
}

impl Fit {
    /// The value at `x`.
    pub fn at(&self, x: &[f64]) -> f64 {
        dot(&self.coefficients, x)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Gauss-Jordan with scaling by the diagonal, so that bytes, frames and ones can be mixed.
pub fn invert(mut m: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = m.len();
    let scale: Vec<f64> = (0..n).map(|i| m[i][i].sqrt()).collect();
    if scale.iter().any(|s| !s.is_finite() || *s == 0.0) {
        return None;
    }
    for i in 0..n {
        for j in 0..n {
            m[i][j] /= scale[i] * scale[j];
        }
        m[i].extend((0..n).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    for at in 0..n {
        let best = (at..n).max_by(|a, b| m[*a][at].abs().total_cmp(&m[*b][at].abs()))?;
        m.swap(at, best);
        let pivot = m[at][at];
        // Dependent columns cannot be separated.
        if pivot.abs() < 1e-9 {
            return None;
        }
        m[at].iter_mut().for_each(|v| *v /= pivot);
        let row = m[at].clone();
        for (_, other) in m.iter_mut().enumerate().filter(|(i, _)| *i != at) {
            let factor = other[at];
            other
                .iter_mut()
                .zip(&row)
                .for_each(|(v, r)| *v -= factor * r);
        }
    }
    let unscaled = |i: usize, j: usize| m[i][n + j] / (scale[i] * scale[j]);
    Some(
        (0..n)
            .map(|i| (0..n).map(|j| unscaled(i, j)).collect())
            .collect(),
    )
}

/// A row of a load column.
pub struct Loaded<'a> {
    pub facts: Facts<'a>,
    pub per_s: f64,
    pub load: Range,
    /// The uncertainty of the load from that of the frames per second, in the same unit.
    pub own: f64,
}

/// The load columns of a study: rows of one kind, with any size and rate.
pub fn columns<'a>(rows: &[Facts<'a>]) -> Vec<Vec<Loaded<'a>>> {
    let usable: Vec<Facts<'a>> = rows
        .iter()
        .filter(|r| loaded(r).is_some())
        .copied()
        .collect();
    let columns = groups(&usable, Facts::same_kind);
    let all = columns
        .iter()
        .map(|c| c.iter().filter_map(loaded).collect());
    all.filter(|c: &Vec<_>| c.len() <= MOST_ROWS).collect()
}

/// The row as a point of a load column.
pub fn loaded<'a>(row: &Facts<'a>) -> Option<Loaded<'a>> {
    let load = row.rounded(Metric::CpuLoad)?;
    let per_s = row.delivered_per_s()?;
    let range = row.packets_per_s()?;
    let off = (range.high - per_s).max(per_s - range.low) / per_s;
    (load.high < SATURATED && per_s > 0.0 && !row.row.limit && !row.is_tcp()).then(|| Loaded {
        facts: *row,
        per_s,
        load,
        own: load.width() / 2.0 + off * load.middle(),
    })
}

impl Loaded<'_> {
    pub fn bytes(&self) -> f64 {
        self.facts.counted_bytes
    }

    /// Idle load, cost of a frame, cost of a byte; without the last where all rows have one size.
    pub fn terms(&self, sizes: bool) -> Vec<f64> {
        let mut terms = vec![1.0, self.per_s];
        if sizes {
            terms.push(self.per_s * self.bytes());
        }
        terms
    }
}

/// The fit through all rows except one.
pub fn fit_without(column: &[Loaded<'_>], left_out: Option<usize>) -> Option<Fit> {
    let rest = || {
        column
            .iter()
            .enumerate()
            .filter(|(i, _)| Some(*i) != left_out)
    };
    let mut bytes = rest().map(|(_, row)| row.bytes());
    let first = bytes.next()?;
    let sizes = bytes.any(|b| b != first);
    let rows: Vec<_> = rest()
        .map(|(_, row)| (row.terms(sizes), row.load.middle()))
        .collect();
    fit(&rows)
}

/// An upper bound of the probability that one more coefficient lowers the sum of squares to `ratio` of its former
/// value by chance, with `freedom` rows left over.
///
/// That probability is the regularised incomplete beta function I_r(a, 1/2) with a = freedom / 2 (the F test of one
/// coefficient), and the bound is r^a / sqrt(π a (1 − r)): the integrand's slow factor taken at its end, and
/// Γ(a + 1/2) / Γ(a) ≤ sqrt(a) (Gautschi's inequality).
pub fn chance_of_ratio(ratio: f64, freedom: usize) -> f64 {
    if ratio >= 1.0 || freedom == 0 {
        return 1.0;
    }
    let a = freedom as f64 / 2.0;
    let bound = ratio.max(0.0).powf(a) / (std::f64::consts::PI * a * (1.0 - ratio)).sqrt();
    bound.min(1.0)
}

/// An upper bound of the probability that a value deviates by `t` standard deviations or more, either way, where the
/// deviation itself was estimated with `freedom` rows left over.
pub fn chance_of_deviation(t: f64, freedom: usize) -> f64 {
    let freedom_f = freedom as f64;
    chance_of_ratio(freedom_f / (freedom_f + t * t), freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_and_two_equal_columns_are_refused() {
        let rows: Vec<(Vec<f64>, f64)> = (0..6)
            .map(|i| {
                let (p, l) = (1000.0 * f64::from(i), f64::from(64 << (i % 3)));
                (vec![1.0, p, p * l], 0.03 + 6e-5 * p + 2e-8 * p * l)
            })
            .collect();
        let fit = fit(&rows).unwrap();
        assert!((fit.at(&[1.0, 2500.0, 2500.0 * 100.0]) - 0.185).abs() < 1e-9);
        assert!(fit.squares < 1e-18 && fit.freedom == 3);
        let twice: Vec<(Vec<f64>, f64)> =
            rows.iter().map(|(x, y)| (vec![x[1], x[1]], *y)).collect();
        assert!(super::fit(&twice).is_none());
        assert!(super::fit(&rows[..3]).is_none());
    }

    #[test]
    fn the_bound_lies_above_students_tables() {
        // Two-sided quantiles of Student's t (any table): freedom 10, t = 4.587 is 0.001; freedom 5, t = 4.032 is 0.01.
        for (t, freedom, chance) in [(4.587, 10, 0.001), (4.032, 5, 0.01), (2.228, 10, 0.05)] {
            let bound = chance_of_deviation(t, freedom);
            assert!(
                bound >= chance && bound < 2.0 * chance,
                "{t} {freedom}: {bound}"
            );
        }
        assert_eq!(chance_of_ratio(1.0, 5), 1.0);
        assert_eq!(chance_of_ratio(0.5, 0), 1.0);
    }
}
