//! Checks that the clock of the kernel's programs is that of this process: a time namespace shifts only the latter.

use std::os::fd::BorrowedFd;

use wirelab_port::ebpf::{MapMemory, run_once};
use wirelab_trial::host_clock;

use crate::abi::Word;
use crate::error::StagesError;

/// Readings of both clocks; the one between the two closest readings of this process counts.
const READINGS: usize = 16;

/// Compare the clock that the program writes to `word` with CLOCK_MONOTONIC of this process.
///
/// # Errors
/// [`StagesError::Clock`] if they differ; [`StagesError::Kernel`] if the program does not run.
pub fn check(program: BorrowedFd<'_>, word: &MapMemory<Word>) -> Result<(), StagesError> {
    let mut closest: Option<(u64, u64, u64)> = None;
    for _ in 0..READINGS {
        let before = host_clock::now_ns();
        run_once(program, &[0; 64])
            .map_err(|e| StagesError::kernel("reading the clock of the kernel's programs", e))?;
        let (kernel, after) = (word.get(0).0, host_clock::now_ns());
        if closest.is_none_or(|(b, _, a)| after - before < a - b) {
            closest = Some((before, kernel, after));
        }
    }
    let (before, kernel, after) = closest.expect("there is a reading");
    if (before..=after).contains(&kernel) {
        return Ok(());
    }
    let middle = before + (after - before) / 2;
    let offset_ns = middle.wrapping_sub(kernel) as i64;
    Err(StagesError::Clock { offset_ns })
}
