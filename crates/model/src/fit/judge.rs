//! Chooses the form that the cells support (one line, classes of sizes, batches) and the cells that do not belong to
//! it.
//!
//! Every choice is made by the leave-one-out error, and only where the difference is clear.

use wirelab_statistics::summary::student_t;

use super::shape::{Cell, Class, Law, Model, Shape, median, repeat_noise};

/// The fitted quantity, which decides how large an error justifies a more detailed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// ns for one frame; errors are relative.
    Period,
    /// Busy ratio; errors are shares of the CPU.
    Load,
}

impl Quantity {
    /// A value, for a reader.
    pub(super) fn shown(self, value: f64) -> String {
        match self {
            Quantity::Load => format!("{:.1} %", 100.0 * value),
            Quantity::Period => format!("{value:.0} ns"),
        }
    }

    /// The unit of its errors.
    pub(super) const fn error_unit(self) -> &'static str {
        match self {
            Quantity::Load => "points",
            Quantity::Period => "%",
        }
    }

    /// An error, for a reader.
    pub(super) fn shown_error(self, error: f64) -> String {
        format!("{:.1} {}", 100.0 * error, self.error_unit())
    }

    /// Error up to which a form is accepted: 2 % of a period, 1 point of load.
    fn tolerance(self) -> f64 {
        match self {
            Quantity::Period => 0.02,
            Quantity::Load => 0.01,
        }
    }

    /// Error from which a form is reported as not fitting: 5 % of a period, 3 points of load.
    fn misfit(self) -> f64 {
        match self {
            Quantity::Period => 0.05,
            Quantity::Load => 0.03,
        }
    }
}

/// Factor on the leave-one-out error that one more class, or batches, must reach.
const CLEARLY: f64 = 0.5;
/// Factor on the error that removing a size from the line must reach.
const FAR: f64 = 1.0 / 3.0;
/// Chance that a good cell becomes an outlier, over all cells.
const OUTLIER_CHANCE: f64 = 0.05;
/// Most cells that are removed.
const MAX_OUTLIERS: usize = 16;
/// Cells beyond the number of parameters that classes must leave: with fewer, leaving one out proves nothing.
const SPARE: usize = 2;
/// Most boundaries between classes that are tried.
const MAX_BOUNDARIES: usize = 15;
/// Batch rates that are tried.
const BATCH_STEPS: usize = 24;

/// Smallest sizes that look as if a tool had sent larger datagrams.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Raised {
    /// Requested sizes in bytes.
    pub(super) raised_bytes: Vec<f64>,
    /// Size that lies on the line of the other cells, in bytes: lowest and highest.
    pub(super) implied_bytes: (f64, f64),
    /// The cells.
    pub(super) cells: Vec<Cell>,
}

/// The chosen form.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) model: Model,
    /// Outliers, each with the prediction of the others.
    pub(super) outliers: Vec<(Cell, f64)>,
    pub(super) raised: Option<Raised>,
    /// A size that no form fits together with the others.
    pub(super) apart: Option<(f64, Vec<Cell>)>,
    /// Usual leave-one-out error of a single line over all cells.
    pub(super) line_error: f64,
    /// Usual leave-one-out error of the chosen form; `None` where there are too few cells.
    pub(super) error: Option<f64>,
    /// Whether the chosen form is reported as not fitting.
    pub(super) misfit: bool,
    /// Whether repeats scatter by more than the error that is reported as not fitting.
    pub(super) noisy: bool,
}

/// Chooses the form that the cells support. `None` where there is no cell.
pub(super) fn judge(cells: &[Cell], quantity: Quantity) -> Option<Judged> {
    let first = line(cells, quantity)?;
    let line_error = usual_error(&first).unwrap_or(0.0);
    let mut rest = cells.to_vec();
    let raised = raised_sizes(&rest, quantity);
    if let Some(raised) = &raised {
        rest.retain(|c| !raised.raised_bytes.contains(&c.bytes));
    }
    let outliers = take_outliers(&mut rest, quantity);
    let mut model = line(&rest, quantity)?;
    model = with_batches(&model, quantity).unwrap_or(model);
    let enough = |model: &Model| error_of(model).is_none_or(|e| e <= allowed(&rest, quantity));
    if !enough(&model) {
        if let Some(better) = in_classes(&rest, &model) {
            model = with_batches(&better, quantity).unwrap_or(better);
        }
    }
    let mut apart = None;
    if !enough(&model) && model.shape.classes.len() == 1 {
        apart = size_apart(&rest, quantity);
        if let Some((bytes, _)) = &apart {
            rest.retain(|c| c.bytes != *bytes);
            model = line(&rest, quantity)?;
        }
    }
    let error = error_of(&model);
    let noise = repeat_noise(&rest).unwrap_or(0.0);
    Some(Judged {
        misfit: error.is_some_and(|e| e > quantity.misfit().max(2.0 * noise)),
        noisy: noise > quantity.misfit(),
        error,
        model,
        outliers,
        raised,
        apart,
        line_error,
    })
}

/// One line with the most parameters that the cells can separate.
fn line(cells: &[Cell], quantity: Quantity) -> Option<Model> {
    let idle = quantity == Quantity::Load;
    let shapes = [
        (idle, Law::Line),
        (idle, Law::Constant),
        (false, Law::Line),
        (false, Law::Constant),
    ];
    shapes.into_iter().find_map(|(idle, law)| {
        let shape = Shape {
            idle,
            classes: vec![Class::all(law)],
            batches_per_s: None,
        };
        Model::fit(shape, cells)
    })
}

/// Root mean square of the leave-one-out errors.
pub(super) fn error_of(model: &Model) -> Option<f64> {
    let errors = model.errors_without()?;
    let squares: f64 = errors.iter().map(|e| e * e).sum();
    (!errors.is_empty()).then(|| (squares / errors.len() as f64).sqrt())
}

fn usual_error(model: &Model) -> Option<f64> {
    model.errors_without().map(median)
}

/// Error that needs no better form: the tolerance, or twice the scatter of repeats.
fn allowed(cells: &[Cell], quantity: Quantity) -> f64 {
    let noise = repeat_noise(cells).unwrap_or(0.0);
    quantity.tolerance().max(2.0 * noise)
}

/// Sizes of the cells, ascending.
pub(super) fn sizes(cells: &[Cell]) -> Vec<f64> {
    let mut sizes: Vec<f64> = cells.iter().map(|c| c.bytes).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    sizes
}

/// One or two smallest sizes that miss the others' line, and would lie on it if the same bits had been sent in larger
/// datagrams. Only where frames/s were computed from bits and the requested size.
fn raised_sizes(cells: &[Cell], quantity: Quantity) -> Option<Raised> {
    let all = sizes(cells);
    let before = usual_error(&line(cells, quantity)?)?;
    if before <= allowed(cells, quantity) {
        return None;
    }
    (1..=2usize.min(all.len().saturating_sub(2))).find_map(|k| {
        let (low, mut high): (Vec<Cell>, Vec<Cell>) =
            cells.iter().cloned().partition(|c| c.bytes < all[k]);
        if low.iter().any(|c| c.counted) {
            return None;
        }
        take_outliers(&mut high, quantity);
        let model = line(&high, quantity)?;
        if usual_error(&model)? > before * FAR {
            return None;
        }
        let implied = |c: &Cell| implied_bytes(&model, c, quantity);
        let implied: Vec<f64> = low.iter().map(implied).collect::<Option<_>>()?;
        let lowest = implied.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = implied.iter().copied().fold(0.0, f64::max);
        let sound = lowest > 1.02 * all[k - 1] && highest <= 1.02 * all[k];
        (sound && highest <= 1.1 * lowest).then(|| Raised {
            raised_bytes: all[..k].to_vec(),
            implied_bytes: (lowest, highest),
            cells: low,
        })
    })
}

/// The size of datagrams that carry the cell's bits/s and lie on the line.
fn implied_bytes(model: &Model, cell: &Cell, quantity: Quantity) -> Option<f64> {
    use super::shape::Role;
    let packet = model.parameter(Role::Packet(0));
    let byte = model.parameter(Role::Byte(0));
    let bytes = match quantity {
        // period · L'/L = packet + byte · L'
        Quantity::Period => packet / (cell.value / cell.bytes - byte),
        // idle + bytes/s / L' · (packet + byte · L') = load
        Quantity::Load => {
            let bytes_per_ns = cell.frames_per_s * cell.bytes * 1e-9;
            let busy = cell.value - model.parameter(Role::Idle);
            packet * bytes_per_ns / (busy - byte * bytes_per_ns)
        }
    };
    (bytes.is_finite() && bytes > 0.0).then_some(bytes)
}

/// Removes cells that are farther off than chance allows, one at a time, at most an eighth of them.
///
/// Externally studentised residuals against Student's t with Bonferroni's correction (R. Cook, S. Weisberg:
/// Residuals and Influence in Regression, 1982, 2.2).
fn take_outliers(cells: &mut Vec<Cell>, quantity: Quantity) -> Vec<(Cell, f64)> {
    let mut outliers = Vec::new();
    for _ in 0..(cells.len() / 8).clamp(1, MAX_OUTLIERS) {
        let Some(model) = line(cells, quantity) else {
            break;
        };
        let n = cells.len();
        let freedom = n.saturating_sub(model.parameters() + 1);
        if freedom < 3 {
            break;
        }
        let s = &model.solution;
        let studentised = |i: &usize| {
            let e = cells[*i].weighted(s.residuals[*i]);
            let rest = 1.0 - s.leverages[*i];
            let others = (s.squares - e * e / rest) / freedom as f64;
            if others > 0.0 {
                e / (others * rest).sqrt()
            } else {
                0.0
            }
        };
        let Some(worst) = (0..n).max_by(|a, b| studentised(a).total_cmp(&studentised(b))) else {
            break;
        };
        let limit = student_t(1.0 - OUTLIER_CHANCE / n as f64, freedom);
        let off = model.without[worst].map(|v| (v, cells[worst].weighted(v - cells[worst].value)));
        let Some((without, error)) = off else { break };
        if studentised(&worst) <= limit || error <= allowed(cells, quantity) {
            break;
        }
        outliers.push((cells.remove(worst), without));
    }
    outliers
}

/// The model with a cost for each batch, where that clearly lowers the leave-one-out error.
fn with_batches(model: &Model, quantity: Quantity) -> Option<Model> {
    let before = error_of(model)?;
    if quantity != Quantity::Load || !model.shape.idle || before <= quantity.tolerance() / 5.0 {
        return None;
    }
    let rates = model.cells.iter().map(|c| c.frames_per_s);
    let low = rates.clone().fold(f64::INFINITY, f64::min);
    let high = rates.fold(0.0, f64::max);
    let tried = (1..BATCH_STEPS).filter_map(|i| {
        let batches_per_s = low * (high / low).powf(i as f64 / BATCH_STEPS as f64);
        let above = model
            .cells
            .iter()
            .filter(|c| c.frames_per_s > batches_per_s);
        let above = above.count();
        // A bend needs cells on both sides of it.
        if above < 2 || model.cells.len() - above < 2 {
            return None;
        }
        let shape = Shape {
            batches_per_s: Some(batches_per_s),
            ..model.shape.clone()
        };
        let tried = Model::fit(shape, &model.cells)?;
        (tried.cells.len() > tried.parameters() + 1).then_some(())?;
        Some((error_of(&tried)?, tried))
    });
    let (error, best) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (error < CLEARLY * before).then_some(best)
}

/// Two or three classes of neighbouring sizes, at least two sizes in each, where they are clearly better than `one`.
fn in_classes(cells: &[Cell], one: &Model) -> Option<Model> {
    let sizes = sizes(cells);
    let mut limit = CLEARLY * error_of(one)?;
    let step = sizes.len().div_ceil(MAX_BOUNDARIES).max(1);
    let ends: Vec<usize> = (2..sizes.len().saturating_sub(1)).step_by(step).collect();
    let mut best = None;
    let twice = ends.iter().map(|a| vec![*a]);
    let thrice = ends.iter().flat_map(|a| {
        let later = ends.iter().filter(move |b| **b >= a + 2);
        later.map(move |b| vec![*a, *b])
    });
    for cuts in [twice.collect::<Vec<_>>(), thrice.collect()] {
        let fitted = cuts.iter().flat_map(|cuts| laws(&sizes, cuts));
        let tried = fitted.filter_map(|classes| {
            let shape = Shape {
                classes,
                ..one.shape.clone()
            };
            (shape.roles().len() + SPARE <= cells.len()).then_some(())?;
            let model = Model::fit(shape, cells)?;
            Some((error_of(&model)?, model))
        });
        let least = tried.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((error, model)) = least.filter(|(error, _)| *error < limit) {
            limit = CLEARLY * error;
            best = Some(model);
        }
    }
    best
}

/// Every combination of laws for the classes that begin at `cuts`.
fn laws(sizes: &[f64], cuts: &[usize]) -> Vec<Vec<Class>> {
    let starts: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).collect();
    (0..1u32 << starts.len())
        .map(|choice| {
            let class = |(i, start): (usize, &usize)| {
                let next = starts.get(i + 1).copied().unwrap_or(sizes.len());
                let law = if choice >> i & 1 == 1 {
                    Law::Line
                } else {
                    Law::Constant
                };
                Class {
                    from_bytes: sizes[*start],
                    to_bytes: sizes[next - 1],
                    law,
                }
            };
            starts.iter().enumerate().map(class).collect()
        })
        .collect()
}

/// The one size without which the others lie on a line.
fn size_apart(cells: &[Cell], quantity: Quantity) -> Option<(f64, Vec<Cell>)> {
    let before = error_of(&line(cells, quantity)?)?;
    let sizes = sizes(cells);
    if sizes.len() < 4 {
        return None;
    }
    let tried = sizes.iter().filter_map(|bytes| {
        let (apart, rest): (Vec<Cell>, Vec<Cell>) =
            cells.iter().cloned().partition(|c| c.bytes == *bytes);
        Some((error_of(&line(&rest, quantity)?)?, *bytes, apart))
    });
    let (error, bytes, apart) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (error < before * FAR).then_some((bytes, apart))
}
