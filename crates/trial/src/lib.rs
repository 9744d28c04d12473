//! The contract of wirelab: a [`Node`] runs a [`Trial`] and returns an [`Observation`].
//!
//! The same trial runs on Linux ports, an iperf peer, a board, HDL in simulation or a model, so published, predicted
//! and measured figures can be compared. This crate also holds what every node type counts and samples, the results file,
//! and the formatting of figures for a reader.
//!
//! All crates but `cores`, `ebpf-build`, `emulator`, `statistics` and `wire` use it. It knows `statistics` and `wire`.
//! Start reading at [`trial::Trial`], then [`node::Node`], [`observation::Observation`] and [`field::Field`];
//! [`results::ResultsFile`] is the saved form.
#![forbid(unsafe_code)]

pub mod background;
pub mod check;
pub mod clock;
pub mod column;
pub mod console;
pub mod counted;
pub mod counter;
pub mod counts;
pub mod crossover;
pub mod cycle;
mod dense;
pub mod description;
pub mod dscp;
pub mod emulated;
pub mod explanation;
pub mod facts;
pub mod faults;
pub mod field;
pub mod format;
pub mod held;
pub mod hold_watch;
pub mod host_clock;
pub mod host_port;
pub mod images;
pub mod interval;
pub mod jitter;
pub mod job;
pub mod load;
pub mod log_linear;
pub mod measuring;
mod named;
pub mod nearest;
pub mod node;
pub mod node_name;
pub mod node_path;
pub mod node_type;
pub mod observation;
pub mod open;
pub mod over_time;
pub mod pace;
pub mod pdv;
pub mod pin;
pub mod point_counter;
pub mod pool;
pub mod resolved;
pub mod results;
pub mod results_reader;
mod results_samples;
pub mod retry;
mod rounding;
#[cfg(test)]
mod schema;
pub mod search;
pub mod series;
mod series_name;
pub mod slices;
pub mod stage;
mod stage_option;
pub mod system_error;
pub mod tracker;
pub mod trial;
pub mod unseen;
pub mod warning_code;
pub mod whatif;
mod words;

pub use background::BackgroundResult;
pub use clock::{Clock, ClockKind, Owner};
pub use column::Column;
pub use console::{ConsoleLog, LineSource, Transcript};
pub use counted::CountedRows;
pub use counter::{Counter, CounterKind};
pub use counts::{Counts, Ledger};
pub use description::{Capabilities, Description};
pub use dscp::Dscp;
pub use faults::{FaultError, FaultRates, FaultsPer};
pub use field::{Field, Kind};
pub use hold_watch::{HoldWatch, Holds};
pub use interval::{FlowIntervals, IntervalBasis, PercentileIntervals, Stated};
pub use jitter::Jitter;
pub use load::{Load, LoadError};
pub use log_linear::LogLinear;
pub use measuring::{CostLoad, Measuring, Overhead, PointCost};
pub use node::{
    Cancel, CaptureLimits, Node, NodeError, Progress, StageSource, TesterCeiling, Unsupported,
};
pub use node_name::{NameError, NodeName, unknown_option};
pub use node_path::{Background, Path, Probes, Wait};
pub use node_type::{NodeType, NodeTypes, Profile};
pub use observation::{
    CPU_IS_LIMIT, CpuLoad, Elapsed, FlowObservation, NODE_BUSY, Observation, SenderObservation,
    Spans, Status, TesterObservation, WIRE_IS_LIMIT, Warning, is_node_busy,
};
pub use open::{ConsoleOptions, OpenError, OpenOptions, Purpose};
pub use over_time::{BusyOverTime, OverTime};
pub use pace::Pacer;
pub use pdv::{Ipdv, Pdv};
pub use point_counter::{PointCount, PointCounter, PointPlace};
pub use pool::{pooled, pooled_runs};
pub use resolved::{Accepts, Link, Resolved, SizeLimits};
pub use results::{Environment, Part, ResultsFile, SearchOutcome};
pub use retry::Retrying;
pub use rounding::Rounding;
pub use series::{Histogram, HistogramBuilder, Percentiles, Series, SeriesBuilder};
pub use series_name::{FixedSeries, SeriesName, SeriesTimes};
pub use tracker::{Event, SlotEvent, SlotTracker, Tracker};
pub use trial::{Buffers, Direction, Extent, Trial, TrialField, TrialOption};
pub use warning_code::WarningCode;
pub use wirelab_statistics::summary::{Interval, Ratio, Summary};
pub use wirelab_wire::{Framing, Layer, Size, SizeUnit, Sizes};
