//! Shared by the tests of cores: two cores or the reason for skipping, and a thread that spins for a known share.

mod over;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use over::Over;
use wirelab_cores::busy::now_ns;
use wirelab_cores::{Cores, allowed, pin_thread};

pub fn skip(feature: &str, why: &str) {
    // Written directly, because the test harness hides printed lines.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
}

/// The first and the last core, if there are two.
pub fn two_cores() -> Option<(Cores, Cores)> {
    let all = allowed().unwrap();
    let (first, last) = (all.numbers()[0], *all.numbers().last().unwrap());
    if first == last {
        skip("two-cores", "this process may run on one core only");
        return None;
    }
    Some((Cores::new([first]).unwrap(), Cores::new([last]).unwrap()))
}

/// CPU time of the calling thread, in ns.
fn own_ns() -> u64 {
    let t = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap();
    t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
}

/// Runs `work` while a thread on `cores` spins for `duty_percent` of each 10 ms, with priority over other work there.
/// `work` gets a function for that thread's CPU time so far, by the thread's own clock.
pub fn while_spinning<T>(
    cores: &Cores,
    duty_percent: u64,
    work: impl FnOnce(&dyn Fn() -> u64) -> T,
) -> T {
    const PERIOD_NS: u64 = 10_000_000;
    let (over, spent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin_thread(cores).unwrap();
            hurry();
            let (start, own) = (now_ns(), own_ns());
            for period in 1.. {
                let due = start + period * PERIOD_NS;
                // CPU time that the thread missed in one period it may get in the next.
                let until = own + period * PERIOD_NS * duty_percent / 100;
                while own_ns() < until && now_ns() < due {
                    spent.store(own_ns() - own, Ordering::Relaxed);
                    std::hint::spin_loop();
                }
                if over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(Duration::from_nanos(due.saturating_sub(now_ns())));
            }
        });
        let _over = Over(&over);
        std::thread::sleep(Duration::from_millis(100));
        work(&|| spent.load(Ordering::Relaxed))
    })
}

/// Raises the priority of the calling thread on its core, if permitted.
fn hurry() {
    let thread = nix::unistd::gettid().to_string();
    let _ = Command::new("chrt")
        .args(["--fifo", "--pid", "1", &thread])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
