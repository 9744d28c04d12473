//! The forms of a cost, fitted to cells: linear in the size, in classes or not, with idle load and batches.

use wirelab_trial::Summary;

use super::squares::{Solution, solve};

/// All observations of one size and load together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    /// Size and load, for a reader.
    pub(super) label: String,
    /// Size in bytes.
    pub(super) bytes: f64,
    /// Frames/s; 1e9 where the value is ns for one frame, so that parameters are in ns in both cases.
    pub(super) frames_per_s: f64,
    /// Busy ratio, or ns.
    pub(super) value: f64,
    /// Weight of its squared error.
    pub(super) weight: f64,
    /// Standard deviation among its observations, where it has several.
    pub(super) stddev: Option<f64>,
    /// How many observations it holds.
    pub(super) observations: usize,
    /// Whether frames were counted, so that the frame rate does not depend on the requested size.
    pub(super) counted: bool,
    /// Half of a step of the last printed digit; 0 where the value is not rounded.
    pub(super) rounding: f64,
}

impl Cell {
    /// An error of this cell in the scale of the weights.
    pub(super) fn weighted(&self, error: f64) -> f64 {
        error.abs() * self.weight.sqrt()
    }
}

/// How the cost depends on the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// The same for every size.
    Constant,
    /// A constant for each frame and each byte.
    Line,
}

/// Sizes that follow one law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Class {
    pub(super) from_bytes: f64,
    pub(super) to_bytes: f64,
    pub(super) law: Law,
}

impl Class {
    /// One class for every size.
    pub(super) const fn all(law: Law) -> Class {
        Class {
            from_bytes: 0.0,
            to_bytes: f64::INFINITY,
            law,
        }
    }

    fn holds(&self, bytes: f64) -> bool {
        self.from_bytes <= bytes && bytes <= self.to_bytes
    }
}

/// Selects the parameters of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// Whether there is a load without frames.
    pub(super) idle: bool,
    pub(super) classes: Vec<Class>,
    /// Most batches/s, where frames share a cost; below this rate each frame pays it.
    pub(super) batches_per_s: Option<f64>,
}

/// The meaning of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Idle,
    /// For each frame of a class.
    Packet(usize),
    /// For each byte of a class.
    Byte(usize),
    /// For each batch.
    Batch,
}

impl Shape {
    /// The role of each column, in order.
    pub(super) fn roles(&self) -> Vec<Role> {
        let mut roles = Vec::new();
        if self.idle {
            roles.push(Role::Idle);
        }
        for (i, class) in self.classes.iter().enumerate() {
            roles.push(Role::Packet(i));
            if class.law == Law::Line {
                roles.push(Role::Byte(i));
            }
        }
        if self.batches_per_s.is_some() {
            roles.push(Role::Batch);
        }
        roles
    }

    /// The value that a parameter of 1 adds, at a frame size and frame rate; ns against seconds give the 1e-9.
    fn term(&self, role: Role, bytes: f64, frames_per_s: f64) -> f64 {
        let within = |i: usize| {
            let in_class = self.classes.get(i).is_some_and(|c| c.holds(bytes));
            if in_class { frames_per_s * 1e-9 } else { 0.0 }
        };
        match role {
            Role::Idle => 1.0,
            Role::Packet(i) => within(i),
            Role::Byte(i) => within(i) * bytes,
            Role::Batch => frames_per_s.min(self.batches_per_s.unwrap_or(0.0)) * 1e-9,
        }
    }
}

/// A shape with its parameters.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) shape: Shape,
    pub(super) solution: Solution,
    /// For each cell the prediction of the other cells; `None` where they give none.
    pub(super) without: Vec<Option<f64>>,
    /// The cells of the fit.
    pub(super) cells: Vec<Cell>,
}

impl Model {
    /// Fits a shape; `None` where the cells do not separate its parameters.
    pub(super) fn fit(shape: Shape, cells: &[Cell]) -> Option<Model> {
        let of = |role: &Role| -> Vec<f64> {
            let term = |c: &Cell| shape.term(*role, c.bytes, c.frames_per_s);
            cells.iter().map(term).collect()
        };
        let columns: Vec<Vec<f64>> = shape.roles().iter().map(of).collect();
        let y: Vec<f64> = cells.iter().map(|c| c.value).collect();
        let weights: Vec<f64> = cells.iter().map(|c| c.weight).collect();
        let solution = solve(&columns, &y, &weights).ok()?;
        // Leaving an observation out changes its error by exactly this factor (D.
        let without = (0..cells.len())
            .map(|i| {
                let rest = 1.0 - solution.leverages[i];
                (rest > 1e-6).then(|| y[i] - solution.residuals[i] / rest)
            })
            .collect();
        Some(Model {
            shape,
            solution,
            without,
            cells: cells.to_vec(),
        })
    }

    /// The value of a parameter; 0 where the shape has none of this role.
    pub(super) fn parameter(&self, role: Role) -> f64 {
        let index = self.shape.roles().iter().position(|r| *r == role);
        index.map_or(0.0, |i| self.solution.values[i])
    }

    /// Weighted leave-one-out errors of the cells; `None` where one cannot be left out.
    pub(super) fn errors_without(&self) -> Option<Vec<f64>> {
        let error = |(c, w): (&Cell, &Option<f64>)| Some(c.weighted((*w)? - c.value));
        self.cells.iter().zip(&self.without).map(error).collect()
    }

    /// Number of solved parameters, including the batch rate.
    pub(super) fn parameters(&self) -> usize {
        self.solution.free + usize::from(self.shape.batches_per_s.is_some())
    }

    /// Variance of a cell of weight 1: of the deviation from the shape, else of repeats, and never below that of rounding;
    /// `None` without either.
    pub(super) fn variance(&self) -> Option<f64> {
        let freedom = self.freedom()?;
        let found = if self.cells.len() > self.parameters() {
            self.solution.squares / freedom as f64
        } else {
            repeat_noise(&self.cells)?.powi(2)
        };
        Some(found.max(self.rounding()))
    }

    /// Variance of a cell of weight 1 by rounding alone: a uniform error of up to half a step.
    pub(super) fn rounding(&self) -> f64 {
        let squares = self.cells.iter().map(|c| c.weighted(c.rounding).powi(2));
        squares.sum::<f64>() / 3.0 / self.cells.len().max(1) as f64
    }

    /// An error of 1 in the scale of the weights as a share of the cells' values.
    pub(super) fn relative(&self) -> f64 {
        let errors: f64 = self.cells.iter().map(|c| 1.0 / c.weight.sqrt()).sum();
        let values: f64 = self.cells.iter().map(|c| c.value.abs()).sum();
        if values > 0.0 { errors / values } else { 0.0 }
    }

    /// Degrees of freedom of [`Model::variance`].
    pub(super) fn freedom(&self) -> Option<usize> {
        let apart = self.cells.len().saturating_sub(self.parameters());
        let repeats: usize = self.cells.iter().map(|c| c.observations - 1).sum();
        [apart, repeats].into_iter().find(|n| *n > 0)
    }
}

/// Standard deviation among repeats, in the scale of the weights, pooled over cells; `None` without repeats.
pub(super) fn repeat_noise(cells: &[Cell]) -> Option<f64> {
    let repeated = cells.iter().filter_map(|c| Some((c, c.stddev?)));
    let (squares, freedom) = repeated.fold((0.0, 0usize), |(squares, freedom), (c, stddev)| {
        let more = c.observations - 1;
        (
            squares + c.weighted(stddev).powi(2) * more as f64,
            freedom + more,
        )
    });
    (freedom > 0).then(|| (squares / freedom as f64).sqrt())
}

/// The median of repeats, which one disturbed repeat does not move, and their standard deviation where there are two.
pub(super) fn middle(values: &[f64]) -> (f64, Option<f64>) {
    let summary = Summary::of(values, 0.95);
    let middle = summary.map_or(0.0, |s| s.median);
    let stddev = summary.filter(|s| s.count > 1).map(|s| s.stddev);
    (middle, stddev)
}

/// The median of some figures.
pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
