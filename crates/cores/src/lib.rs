//! Cores of a Linux host: pin work to them, steer an interface's receive work to them, and measure how busy they are.
//!
//! A node's CPU load is meaningful on one machine only if node and tester run on different cores and the receive work
//! of each is done on its own core. On veth the sender's core does the receiver's work unless it is steered, so both
//! ends must be.
//!
//! `agent`, `bench`, `console`, `iperf`, `port`, `remote`, `stages` and the command line use it. It knows no other
//! crate. Start reading at [`busy::Meter`] for CPU load, and at [`pin`] and [`steer::Steering`] for the placement of
//! work and how the host's settings are restored.
#![deny(unsafe_code)]

pub mod busy;
pub mod course;
pub mod host;
mod interface;
pub mod interrupts;
pub mod list;
pub mod pin;
mod prefer;
mod records;
pub mod runtime;
mod session;
pub mod steer;
#[allow(unsafe_code)]
mod sys;

pub use busy::{Busy, BusyError, Meter, Sample};
pub use course::{Course, CourseSlices};
pub use host::{clock_id, host_id};
pub use interface::{Recorded, restore_recorded};
pub use list::{CoreError, Cores};
pub use pin::{allowed, pin_task, pin_thread, stay_on_this_core};
pub use prefer::{Preferred, prefer_this_thread};
pub use session::{PreferredSession, prefer_this_session, session_records, share_priority};
pub use steer::{SteerError, Steering, mount_own_sysfs, namespaces_left};

/// Restores what killed processes changed: the priority of sessions, and settings of the interfaces in the calling
/// thread's network namespace. Values that others have changed since then are kept.
///
/// # Errors
/// The system's error for the records.
pub fn restore_left() -> std::io::Result<()> {
    session::restore_left()?;
    steer::restore_left()
}
