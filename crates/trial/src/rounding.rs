//! How far the figures of an observation may be off because they were printed with few digits.

/// Half of a step of the last digit of an observation's figures; 0 where they are not rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rounding {
    /// Of the frames/s, as a share of them.
    pub frames_per_s: f64,
    /// Of the busy ratio.
    pub cpu_load: f64,
    /// Of the time of a series, in ns.
    pub series_ns: f64,
}
