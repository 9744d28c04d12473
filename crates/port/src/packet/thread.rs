//! The threads of senders and checkers: pinned if requested, and woken in time.

use super::error::PacketError;
use crate::iface::PortName;

/// Pins the calling thread to a CPU, if one is given, raises its priority, and removes the usual timer slack of 50
/// µs. `interval_ps` is that of a paced sender.
pub(super) fn prepare(
    port: &PortName,
    cpu: Option<usize>,
    interval_ps: Option<u64>,
) -> Result<(), PacketError> {
    // Without it the sender only wakes later and spins less; its frames are late, and their times show it.
    let _ = nix::sys::prctl::set_timerslack(1);
    wirelab_cores::prefer_this_thread(interval_ps);
    let Some(cpu) = cpu else { return Ok(()) };
    wirelab_cores::pin_task(0, &[cpu]).map_err(|errno| PacketError::Setup {
        port: port.clone(),
        what: "the requested CPU (see `lscpu --online`)",
        source: errno.into(),
    })
}

/// Runs `work` on a separate thread and waits for it.
pub(super) fn run<T: Send>(
    port: &PortName,
    what: &'static str,
    work: impl FnOnce() -> Result<T, PacketError> + Send,
) -> Result<T, PacketError> {
    let died = || PacketError::Died {
        port: port.clone(),
        what,
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name(format!("wirelab-{what}"))
            .spawn_scoped(scope, work)
            .map_err(|source| PacketError::Setup {
                port: port.clone(),
                what: "a thread",
                source,
            })?
            .join()
            .unwrap_or_else(|_| Err(died()))
    })
}
