//! Weighted least squares for a handful of parameters, none of which may be below 0.
//!
//! Columns are scaled to length 1 and orthogonalized one after the other (modified Gram-Schmidt, each twice; A. Björck,
//! Numerical Methods for Least Squares Problems, 1996, 2.4). Unlike normal equations, that does not square the
//! condition number.

/// Most columns: idle, three classes of two, one for batches.
pub(super) const MAX_COLUMNS: usize = 8;

/// Residual length of a column of length 1 below which it depends on those before it.
const DEPENDENT: f64 = 1e-6;

/// A column that depends on earlier ones: the data do not determine its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dependent(pub(super) usize);

/// The result of least squares.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// A value for each column; 0 where the best fit would be negative.
    pub(super) values: Vec<f64>,
    /// Observed minus fitted, unweighted.
    pub(super) residuals: Vec<f64>,
    /// Influence of each observation on its own fitted value, 0 to 1 (diagonal of the hat matrix).
    pub(super) leverages: Vec<f64>,
    /// Sum of weighted squares of the residuals.
    pub(super) squares: f64,
    /// How far independent causes of a weighted variance of 1 move all columns' parameters, before any was held at 0.
    /// `factor[i][k]` is the effect of cause k on parameter i, so the covariance is the factor times its transpose.
    pub(super) factor: Vec<Vec<f64>>,
    /// Values before any was held at 0.
    pub(super) unbounded: Vec<f64>,
    /// Columns that are not held at 0.
    pub(super) free: usize,
}

impl Solution {
    /// Covariance of two parameters for a weighted variance of 1.
    pub(super) fn covariance(&self, i: usize, j: usize) -> f64 {
        dot(&self.factor[i], &self.factor[j])
    }
}

/// The parameters with the least weighted squares, all at least 0. `columns[j][i]` is column j of observation i.
///
/// # Errors
/// [`Dependent`] names the first column that depends on earlier ones.
pub(super) fn solve(
    columns: &[Vec<f64>],
    y: &[f64],
    weights: &[f64],
) -> Result<Solution, Dependent> {
    let all: Vec<usize> = (0..columns.len().min(MAX_COLUMNS)).collect();
    let full = Orthogonal::of(columns, &all, y, weights)?;
    let factor = full.factor();
    let unbounded = full.values.clone();
    let mut best = full;
    let mut chosen = all;
    if unbounded.iter().any(|v| *v < 0.0) {
        (best, chosen) = best_without_negative(columns, y, weights)?;
    }
    let mut values = vec![0.0; columns.len()];
    for (value, column) in best.values.iter().zip(&chosen) {
        values[*column] = *value;
    }
    let residuals: Vec<f64> = (0..y.len())
        .map(|i| {
            y[i] - (0..columns.len())
                .map(|j| values[j] * columns[j][i])
                .sum::<f64>()
        })
        .collect();
    let squares = residuals.iter().zip(weights).map(|(e, w)| w * e * e).sum();
    Ok(Solution {
        values,
        residuals,
        leverages: best.leverages(y.len()),
        squares,
        factor,
        unbounded,
        free: chosen.len(),
    })
}

/// The best solution without a negative value, and the columns it uses (C. Lawson, R. Hanson: Solving Least Squares
/// Problems, 1974, 23.3). The column with the largest gain enters; columns that would become negative leave.
fn best_without_negative(
    columns: &[Vec<f64>],
    y: &[f64],
    weights: &[f64],
) -> Result<(Orthogonal, Vec<usize>), Dependent> {
    let count = columns.len().min(MAX_COLUMNS);
    let lengths: Vec<f64> = columns
        .iter()
        .map(|c| weighted_dot(c, c, weights).sqrt())
        .collect();
    let mut values = vec![0.0; count];
    let mut chosen: Vec<usize> = Vec::new();
    let mut part = Orthogonal::of(columns, &chosen, y, weights)?;
    // Each round adds a column that lowers the squares, so no set repeats. The bound is for rounding errors.
    for _ in 0..10 * count {
        let rest: Vec<f64> = (0..y.len())
            .map(|i| y[i] - (0..count).map(|j| values[j] * columns[j][i]).sum::<f64>())
            .collect();
        let gain = |j: &usize| weighted_dot(&columns[*j], &rest, weights) / lengths[*j];
        let size = weighted_dot(y, y, weights).sqrt();
        let outside = (0..count).filter(|j| !chosen.contains(j) && gain(j) > 1e-12 * size);
        let Some(next) = outside.max_by(|a, b| gain(a).total_cmp(&gain(b))) else {
            break;
        };
        chosen.push(next);
        part = Orthogonal::of(columns, &chosen, y, weights)?;
        while part.values.iter().any(|v| *v <= 0.0) && !chosen.is_empty() {
            step_to_zero(&mut values, &mut chosen, &part.values);
            part = Orthogonal::of(columns, &chosen, y, weights)?;
        }
        values = vec![0.0; count];
        for (value, column) in part.values.iter().zip(&chosen) {
            values[*column] = *value;
        }
    }
    Ok((part, chosen))
}

/// Moves towards `to` until the first value is 0, and removes its column.
fn step_to_zero(values: &mut [f64], chosen: &mut Vec<usize>, to: &[f64]) {
    let share = |(column, to): (&usize, &f64)| {
        let from = values[*column];
        (*to <= 0.0).then(|| if from > 0.0 { from / (from - to) } else { 0.0 })
    };
    let shares: Vec<Option<f64>> = chosen.iter().zip(to).map(share).collect();
    let least = shares.iter().flatten().copied().fold(1.0, f64::min);
    for (column, to) in chosen.iter().zip(to) {
        values[*column] += least * (to - values[*column]);
    }
    let mut gone = shares.iter().map(|s| s.is_some_and(|s| s <= least));
    chosen.retain(|column| {
        let gone = gone.next().unwrap_or(false);
        if gone {
            values[*column] = 0.0;
        }
        !gone
    });
}

fn weighted_dot(a: &[f64], b: &[f64], weights: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .zip(weights)
        .map(|((a, b), w)| w * a * b)
        .sum()
}

/// Orthogonalized columns.
struct Orthogonal {
    /// Orthogonal columns of length 1, of weighted observations.
    q: Vec<Vec<f64>>,
    /// Inverse of the upper triangle, on columns of length 1.
    inverse: Vec<Vec<f64>>,
    /// Lengths of the weighted columns.
    lengths: Vec<f64>,
    values: Vec<f64>,
}

impl Orthogonal {
    fn of(
        columns: &[Vec<f64>],
        chosen: &[usize],
        y: &[f64],
        weights: &[f64],
    ) -> Result<Orthogonal, Dependent> {
        let weighted =
            |x: &[f64]| -> Vec<f64> { x.iter().zip(weights).map(|(x, w)| x * w.sqrt()).collect() };
        let p = chosen.len();
        let mut q: Vec<Vec<f64>> = Vec::with_capacity(p);
        let mut lengths = Vec::with_capacity(p);
        let mut r = vec![vec![0.0; p]; p];
        for (j, column) in chosen.iter().enumerate() {
            let mut next = weighted(&columns[*column]);
            let length = dot(&next, &next).sqrt();
            if !length.is_finite() || length <= 0.0 {
                return Err(Dependent(*column));
            }
            next.iter_mut().for_each(|x| *x /= length);
            for _ in 0..2 {
                for (k, before) in q.iter().enumerate() {
                    let along = dot(before, &next);
                    r[k][j] += along;
                    subtract(&mut next, before, along);
                }
            }
            let left = dot(&next, &next).sqrt();
            if left < DEPENDENT || j >= y.len() {
                return Err(Dependent(*column));
            }
            next.iter_mut().for_each(|x| *x /= left);
            r[j][j] = left;
            q.push(next);
            lengths.push(length);
        }
        let mut rest = weighted(y);
        let mut along = Vec::with_capacity(p);
        for column in &q {
            let part = dot(column, &rest);
            subtract(&mut rest, column, part);
            along.push(part);
        }
        let inverse = invert_upper(&r);
        let values = (0..p)
            .map(|i| dot(&inverse[i], &along) / lengths[i])
            .collect();
        Ok(Orthogonal {
            q,
            inverse,
            lengths,
            values,
        })
    }

    fn factor(&self) -> Vec<Vec<f64>> {
        let rows = self.inverse.iter().zip(&self.lengths);
        rows.map(|(row, length)| row.iter().map(|x| x / length).collect())
            .collect()
    }

    fn leverages(&self, observations: usize) -> Vec<f64> {
        (0..observations)
            .map(|i| self.q.iter().map(|c| c[i] * c[i]).sum())
            .collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn subtract(from: &mut [f64], column: &[f64], times: f64) {
    for (x, c) in from.iter_mut().zip(column) {
        *x -= times * c;
    }
}

fn invert_upper(r: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let p = r.len();
    let mut inverse = vec![vec![0.0; p]; p];
    for j in 0..p {
        inverse[j][j] = 1.0 / r[j][j];
        for i in (0..j).rev() {
            let sum: f64 = (i + 1..=j).map(|k| r[i][k] * inverse[k][j]).sum();
            inverse[i][j] = -sum / r[i][i];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn the_norris_data_come_out_as_certified() {
        // NIST Statistical Reference Datasets, linear regression, Norris: data and certified values.
        let x = [
            0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4, 0.6,
            775.5, 666.9, 338.0, 447.5, 11.6, 556.0, 228.1, 995.8, 887.6, 120.2, 0.3, 0.3, 556.8,
            339.1, 887.2, 999.0, 779.0, 11.1, 118.3, 229.2, 669.1, 448.9, 0.5,
        ];
        let y = [
            0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3, 0.1,
            778.1, 668.8, 339.3, 448.9, 10.8, 557.7, 228.3, 998.0, 888.8, 119.6, 0.3, 0.6, 557.6,
            339.3, 888.0, 998.5, 778.9, 10.2, 117.6, 228.9, 668.4, 449.2, 0.2,
        ];
        // The certified intercept is below 0, so it is shifted up by 1.
        let shifted: Vec<f64> = y.iter().map(|y| y + 1.0).collect();
        let columns = [vec![1.0; 36], x.to_vec()];
        let s = solve(&columns, &shifted, &[1.0; 36]).unwrap();
        assert!(near(s.values[0], 1.0 - 0.262_323_073_774_029), "{s:?}");
        assert!(near(s.values[1], 1.002_116_818_020_45));
        let variance = s.squares / 34.0;
        assert!(near(
            (variance * s.covariance(0, 0)).sqrt(),
            0.232_818_234_301_152
        ));
        assert!(near(
            (variance * s.covariance(1, 1)).sqrt(),
            0.429_796_848_199_937e-3
        ));
        assert!(near(s.leverages.iter().sum(), 2.0));
    }

    #[test]
    fn nothing_is_below_zero_and_the_rest_is_best() {
        // The free line falls; with a slope of at least 0 the mean is the best.
        let columns = [vec![1.0; 4], vec![1.0, 2.0, 3.0, 4.0]];
        let s = solve(&columns, &[4.0, 3.0, 2.0, 1.0], &[1.0; 4]).unwrap();
        assert_eq!((s.values[1], s.free), (0.0, 1));
        assert!(near(s.values[0], 2.5) && near(s.unbounded[1], -1.0));
    }

    /// The least squares over all sets of columns whose values are not negative.
    fn by_trying_all(columns: &[Vec<f64>], y: &[f64]) -> f64 {
        let ones = vec![1.0; y.len()];
        let of = |set: u32| {
            let chosen: Vec<usize> = (0..columns.len()).filter(|j| set >> j & 1 == 1).collect();
            let part = Orthogonal::of(columns, &chosen, y, &ones).unwrap();
            let fitted = |i: usize| {
                chosen
                    .iter()
                    .zip(&part.values)
                    .map(|(j, v)| v * columns[*j][i])
                    .sum::<f64>()
            };
            let squares: f64 = (0..y.len()).map(|i| (y[i] - fitted(i)).powi(2)).sum();
            part.values.iter().all(|v| *v >= 0.0).then_some(squares)
        };
        (0..1u32 << columns.len())
            .filter_map(of)
            .fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn no_set_of_columns_is_better(
            columns in prop::collection::vec(prop::collection::vec(-1.0f64..1.0, 12), 1..6),
            y in prop::collection::vec(-1.0f64..1.0, 12),
        ) {
            let s = solve(&columns, &y, &[1.0; 12]).unwrap();
            prop_assert!(s.values.iter().all(|v| *v >= 0.0));
            prop_assert!((s.squares - by_trying_all(&columns, &y)).abs() < 1e-9, "{s:?}");
        }
    }

    #[test]
    fn columns_that_say_the_same_are_named() {
        let columns = [vec![1.0, 2.0, 3.0], vec![64.0, 128.0, 192.0]];
        let error = solve(&columns, &[1.0, 2.0, 3.0], &[1.0; 3]).unwrap_err();
        assert_eq!(error, Dependent(1));
        let few = [vec![1.0, 1.0], vec![1.0, 2.0], vec![1.0, 4.0]];
        assert_eq!(
            solve(&few, &[1.0, 2.0], &[1.0; 2]).unwrap_err(),
            Dependent(2)
        );
    }

    #[test]
    fn everything_may_be_held_at_zero() {
        let columns = [vec![1.0; 3], vec![1.0, 2.0, 3.0]];
        let s = solve(&columns, &[-1.0, -2.0, -1.0], &[1.0; 3]).unwrap();
        assert_eq!(
            (s.values, s.leverages, s.free),
            (vec![0.0; 2], vec![0.0; 3], 0)
        );
    }

    #[test]
    fn weights_decide() {
        let columns = [vec![1.0, 1.0]];
        let s = solve(&columns, &[1.0, 4.0], &[2.0, 1.0]).unwrap();
        assert!(near(s.values[0], 2.0));
    }
}
