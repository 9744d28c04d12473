//! The names and units of parameters in node files.

use super::shape::{Model, Role};

/// Names for the parameters of a figure.
pub(super) struct Prefix<'a> {
    /// E.g. `udp4-receive`.
    pub(super) path: &'a str,
    /// `cpu`, `period` or the name of a stage.
    pub(super) part: &'a str,
    /// The figure, for a reader.
    pub(super) figure: &'a str,
}

impl Prefix<'_> {
    /// The name of a parameter.
    pub(super) fn name(&self, role: Role, model: &Model) -> String {
        let (path, part) = (self.path, self.part);
        let class = |i: usize| {
            if model.shape.classes.len() > 1 {
                format!("-{}", i + 1)
            } else {
                String::new()
            }
        };
        match role {
            Role::Idle => format!("{path}-idle"),
            Role::Packet(i) => format!("{path}-{part}-packet{}", class(i)),
            Role::Byte(i) => format!("{path}-{part}-byte{}", class(i)),
            Role::Batch => format!("{path}-{part}-batch"),
        }
    }

    /// The name of the shortest time between two batches.
    pub(super) fn pacing(&self) -> String {
        format!("{}-{}-pacing", self.path, self.part)
    }
}

/// The unit of a parameter in node files, and its size in those of the fit.
pub(super) fn unit_of(role: Role) -> (&'static str, f64) {
    match role {
        Role::Idle => ("%", 100.0),
        Role::Packet(_) | Role::Batch => ("ns", 1.0),
        Role::Byte(_) => ("ns/byte", 1.0),
    }
}
