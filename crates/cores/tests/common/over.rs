//! The end of what a test runs beside itself, also after a failed assertion: a scope waits for its threads.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when dropped.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
