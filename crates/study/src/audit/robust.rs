//! Regression that up to two wrong rows cannot spoil: each row and each pair is left out, and the likelihoods of what is
//! left are compared.
//!
//! A row counts in units of its own uncertainty: the rounding, and the usual scatter of figures of a page. The scatter
//! of the others is estimated from their distances to the fit, with a prior worth a few rows for that unit.

use super::fit::{MOST_ROWS, chance_of_deviation, invert};

/// Scatter that any measured figure may have, as a share of it.
pub const SCATTER: f64 = 0.01;
/// Weight of the prior for that scatter, in rows.
const BELIEF: f64 = 3.0;
/// Probability that a figure is wrong, before the table is known.
const WRONG: f64 = 0.01;
/// Rows whose likelihood is below this share of the likeliest are not candidates.
const UNLIKELY: f64 = 1e-6;
/// Fewest rows beyond the fit's coefficients when two rows are left out.
const LEAST_FREEDOM: usize = 2;

/// A row of a regression.
#[derive(Clone, Debug)]
pub struct RegressionRow {
    pub x: Vec<f64>,
    pub y: f64,
    /// Uncertainty of y by rounding and by that of x: the real value is not further away.
    pub own: f64,
}

impl RegressionRow {
    fn unit(&self, floor: f64) -> f64 {
        (self.own * self.own + (SCATTER * self.y.abs().max(floor)).powi(2)).sqrt()
    }
}

/// A row that the others contradict.
pub struct Deviant {
    /// Its place in the list of points.
    pub at: usize,
    /// The value that the others imply.
    pub expected: f64,
    /// The standard deviation of that value.
    pub expected_deviation: f64,
    /// Rows of the fit.
    pub others: usize,
    /// The fit through the others.
    pub coefficients: Vec<f64>,
    /// Upper bound of the probability of the distance by chance, times the number of rows tried.
    pub chance: f64,
    /// Distance beyond this row's own rounding, in standard deviations.
    pub deviations: f64,
    /// The rows that may be the wrong one, this one among them.
    pub candidates: Vec<Candidate>,
}

/// A row that may be wrong in place of another.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub at: usize,
    /// Its relative probability.
    pub weight: f64,
    /// The value that the others imply if this row is the wrong one.
    pub expected: f64,
    pub deviation: f64,
}

/// A fit without some rows.
struct ReducedFit {
    coefficients: Vec<f64>,
    inverse: Vec<Vec<f64>>,
    squares: f64,
    log_determinant: f64,
    freedom: usize,
}

/// The rows as multiples of their units.
struct Scaled {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    unit: Vec<f64>,
}

fn scaled(points: &[RegressionRow]) -> Scaled {
    let floor = middle_of(points.iter().map(|p| p.y.abs())) * 0.25;
    let unit: Vec<f64> = points
        .iter()
        .map(|p| p.unit(floor).max(f64::MIN_POSITIVE))
        .collect();
    let x = points
        .iter()
        .zip(&unit)
        .map(|(p, u)| p.x.iter().map(|v| v / u).collect());
    Scaled {
        x: x.collect(),
        y: points.iter().zip(&unit).map(|(p, u)| p.y / u).collect(),
        unit,
    }
}

fn middle_of(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

impl Scaled {
    fn without(&self, out: &[usize]) -> Option<ReducedFit> {
        let width = self.x.first()?.len();
        let kept: Vec<usize> = (0..self.y.len()).filter(|i| !out.contains(i)).collect();
        let freedom = kept.len().checked_sub(width).filter(|f| *f > 0)?;
        let mut normal = vec![vec![0.0; width]; width];
        let mut right = vec![0.0; width];
        for &row in &kept {
            let x = &self.x[row];
            for i in 0..width {
                right[i] += x[i] * self.y[row];
                for j in 0..width {
                    normal[i][j] += x[i] * x[j];
                }
            }
        }
        let log_determinant = log_determinant(&normal)?;
        let inverse = invert(normal)?;
        let coefficients: Vec<f64> = inverse.iter().map(|r| dot(r, &right)).collect();
        let squares = kept
            .iter()
            .map(|&i| (self.y[i] - dot(&coefficients, &self.x[i])).powi(2))
            .sum();
        Some(ReducedFit {
            coefficients,
            inverse,
            squares,
            log_determinant,
            freedom,
        })
    }
}

/// What the fit through all rows implies for the fits without some of them.
struct Whole {
    /// Distance of each row from the fit through all.
    residual: Vec<f64>,
    /// How much the value of each row moves the fitted value of each row.
    hat: Vec<Vec<f64>>,
    squares: f64,
    log_determinant: f64,
    freedom: usize,
    /// The logarithm of the density of a wrong figure: its probability, over the range in which it may lie in the row's units.
    anything: Vec<f64>,
}

impl Whole {
    fn new(rows: &Scaled) -> Option<Whole> {
        let rest = rows.without(&[])?;
        let n = rows.y.len();
        let moved: Vec<Vec<f64>> = rows
            .x
            .iter()
            .map(|x| rest.inverse.iter().map(|r| dot(r, x)).collect())
            .collect();
        let hat = (0..n).map(|i| (0..n).map(|j| dot(&rows.x[i], &moved[j])).collect());
        let residual = (0..n).map(|i| rows.y[i] - dot(&rest.coefficients, &rows.x[i]));
        let values = rows.y.iter().zip(&rows.unit).map(|(y, u)| (y * u).abs());
        let most = values.fold(0.0, f64::max);
        let anything = rows.unit.iter().map(|u| (WRONG * u / (2.0 * most)).ln());
        Some(Whole {
            residual: residual.collect(),
            hat: hat.collect(),
            squares: rest.squares,
            log_determinant: rest.log_determinant,
            freedom: rest.freedom,
            anything: anything.collect(),
        })
    }

    /// The logarithm of the likelihood of the rows, where those of `out` may have any value; none if the others
    /// do not determine the fit.
    fn log_likelihood(&self, out: &[usize]) -> Option<f64> {
        let left = self.freedom.checked_sub(out.len()).filter(|f| *f > 0)?;
        let own = |i: usize| 1.0 - self.hat[i][i];
        let (less, determinant) = match *out {
            [] => (0.0, 1.0),
            [i] => (self.residual[i].powi(2) / own(i), own(i)),
            [i, j] => {
                let (a, d, b) = (own(i), own(j), -self.hat[i][j]);
                let determinant = a * d - b * b;
                let (e, f) = (self.residual[i], self.residual[j]);
                (
                    (d * e * e - 2.0 * b * e * f + a * f * f) / determinant,
                    determinant,
                )
            }
            _ => return None,
        };
        if determinant <= 1e-9 {
            return None;
        }
        let freedom = left as f64 + BELIEF;
        let squares = (self.squares - less).max(0.0);
        let anything: f64 = out.iter().map(|i| self.anything[*i]).sum();
        Some(
            log_gamma_half(left + BELIEF as usize)
                - left as f64 / 2.0 * std::f64::consts::PI.ln()
                - freedom / 2.0 * (BELIEF + squares).ln()
                - (self.log_determinant + determinant.ln()) / 2.0
                + anything,
        )
    }
}

/// ln Γ(n / 2), by the recursion Γ(a) = (a − 1) Γ(a − 1).
fn log_gamma_half(n: usize) -> f64 {
    let start = if n % 2 == 0 {
        0.0
    } else {
        std::f64::consts::PI.ln() / 2.0
    };
    let mut twice = if n % 2 == 0 { 2 } else { 1 };
    let mut log = start;
    while twice < n {
        log += (twice as f64 / 2.0).ln();
        twice += 2;
    }
    log
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Of a symmetric positive matrix, by Cholesky's method.
fn log_determinant(m: &[Vec<f64>]) -> Option<f64> {
    let n = m.len();
    let mut lower = vec![vec![0.0; n]; n];
    let mut log = 0.0;
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            if i == j {
                let rest: f64 = m[i][i] - sum;
                if rest <= 0.0 || !rest.is_finite() {
                    return None;
                }
                lower[i][i] = rest.sqrt();
                log += rest.ln();
            } else {
                lower[i][j] = (m[i][j] - sum) / lower[j][j];
            }
        }
    }
    Some(log)
}

/// The rows that the others contradict: none, one or two.
pub fn deviants(points: &[RegressionRow]) -> Vec<Deviant> {
    let n = points.len();
    let width = points.first().map_or(0, |p| p.x.len());
    if n < width + 2 || width == 0 || n > MOST_ROWS {
        return Vec::new();
    }
    let rows = scaled(points);
    let Some(whole) = Whole::new(&rows) else {
        return Vec::new();
    };
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    sets.extend((0..n).map(|i| vec![i]));
    if n >= width + 2 + LEAST_FREEDOM {
        sets.extend((0..n).flat_map(|i| (i + 1..n).map(move |j| vec![i, j])));
    }
    let likely = sets
        .into_iter()
        .filter_map(|set| Some((whole.log_likelihood(&set)?, set)));
    let likely: Vec<(f64, Vec<usize>)> = likely.collect();
    let best = likely.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((top, best)) = best else {
        return Vec::new();
    };
    let tries = likely
        .iter()
        .filter(|(_, set)| set.len() == best.len())
        .count();
    let each = best
        .iter()
        .filter_map(|&at| deviant(points, &rows, &likely, (*top, best), at, tries));
    each.collect()
}

/// The chance of a row's distance from the fit without the rows of `out`, times the rows tried; none where the others do
/// not determine its value.
pub fn chance_without(points: &[RegressionRow], out: &[usize], at: usize) -> Option<f64> {
    let rows = scaled(points);
    let rest = rows.without(out)?;
    let (deviations, freedom) = distance(&points[at], &rest);
    Some((chance_of_deviation(deviations, freedom) * points.len() as f64).min(1.0))
}

/// A row's distance beyond its own rounding in standard deviations, and how well these are known.
fn distance(point: &RegressionRow, rest: &ReducedFit) -> (f64, usize) {
    let (expected, deviation) = implied(point, rest);
    let away = ((point.y - expected).abs() - point.own).max(0.0);
    let deviations = if deviation > 0.0 {
        away / deviation
    } else {
        0.0
    };
    (deviations, rest.freedom + BELIEF as usize)
}

/// Each row with the value that the others imply for it; none if there are too few.
pub fn alone(points: &[RegressionRow]) -> Vec<Candidate> {
    let Some(width) = points.first().map(|p| p.x.len()) else {
        return Vec::new();
    };
    if points.len() < width + 2 || points.len() > MOST_ROWS {
        return Vec::new();
    }
    let rows = scaled(points);
    let Some(whole) = Whole::new(&rows) else {
        return Vec::new();
    };
    let each = (0..points.len()).filter_map(|at| {
        let weight = whole.log_likelihood(&[at])?;
        let (expected, deviation) = implied(&points[at], &rows.without(&[at])?);
        Some(Candidate {
            at,
            weight,
            expected,
            deviation,
        })
    });
    let mut all: Vec<Candidate> = each.collect();
    let top = all
        .iter()
        .map(|c| c.weight)
        .fold(f64::NEG_INFINITY, f64::max);
    all.iter_mut()
        .for_each(|c| c.weight = (c.weight - top).exp());
    all
}

/// The value of a row as the others imply it, with its standard deviation.
fn implied(point: &RegressionRow, rest: &ReducedFit) -> (f64, f64) {
    let x = &point.x;
    let leverage: f64 = rest
        .inverse
        .iter()
        .zip(x)
        .map(|(row, xi)| xi * dot(row, x))
        .sum();
    let variance = (BELIEF + rest.squares) / (rest.freedom as f64 + BELIEF);
    let expected = dot(&rest.coefficients, x);
    // The scatter of the expected figure counts, not that of a wrong one.
    let scatter = SCATTER * expected.abs().max(point.y.abs() * 0.1);
    let deviation = (variance * (scatter * scatter + leverage.max(0.0))).sqrt();
    (expected, deviation)
}

fn deviant(
    points: &[RegressionRow],
    rows: &Scaled,
    likely: &[(f64, Vec<usize>)],
    (top, best): (f64, &[usize]),
    at: usize,
    tries: usize,
) -> Option<Deviant> {
    let rest = rows.without(best)?;
    let (expected, deviation) = implied(&points[at], &rest);
    let (deviations, freedom) = distance(&points[at], &rest);
    let chance = chance_of_deviation(deviations, freedom) * tries as f64;
    let others: Vec<usize> = best.iter().copied().filter(|i| *i != at).collect();
    let candidates = likely.iter().filter_map(|(value, set)| {
        let weight = (value - top).exp();
        let same = set.len() == best.len() && others.iter().all(|i| set.contains(i));
        let other = *set
            .iter()
            .find(|i| same && weight > UNLIKELY && !others.contains(i))?;
        let (expected, deviation) = implied(&points[other], &rows.without(set)?);
        Some(Candidate {
            at: other,
            weight,
            expected,
            deviation,
        })
    });
    Some(Deviant {
        at,
        expected,
        expected_deviation: deviation,
        others: points.len() - best.len(),
        coefficients: rest.coefficients.clone(),
        chance: chance.min(1.0),
        deviations,
        candidates: candidates.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ys: &[f64]) -> Vec<RegressionRow> {
        let each = ys.iter().enumerate();
        each.map(|(i, y)| RegressionRow {
            x: vec![1.0, i as f64],
            y: *y,
            own: 0.05,
        })
        .collect()
    }

    fn found(ys: &[f64]) -> Vec<usize> {
        let mut all: Vec<usize> = deviants(&line(ys)).iter().map(|d| d.at).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn an_honest_line_has_none() {
        assert!(found(&[10.0, 12.0, 14.1, 16.0, 17.9, 20.0, 22.0]).is_empty());
    }

    #[test]
    fn one_wrong_row_is_named_with_its_chance() {
        let points = line(&[10.0, 12.0, 14.0, 61.0, 18.0, 20.0, 22.0]);
        let all = deviants(&points);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].at, 3);
        assert!((all[0].expected - 16.0).abs() < 0.1 && all[0].chance < 1e-6);
        let total: f64 = all[0].candidates.iter().map(|c| c.weight).sum();
        let of_it = all[0].candidates.iter().find(|c| c.at == 3).unwrap();
        assert!(of_it.weight / total > 0.99);
    }

    #[test]
    fn two_wrong_rows_do_not_hide_each_other() {
        // Through all rows the largest distances are those of honest rows at the ends.
        assert_eq!(
            found(&[10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 42.0, 44.0]),
            [6, 7]
        );
        assert_eq!(
            found(&[10.0, 40.0, 14.0, 16.0, 18.0, 50.0, 22.0, 24.0]),
            [1, 5]
        );
    }

    #[test]
    fn gamma_of_halves() {
        assert!((log_gamma_half(8) - 6f64.ln()).abs() < 1e-12);
        assert!((log_gamma_half(5) - 1.329_340_388_f64.ln()).abs() < 1e-9);
    }
}
