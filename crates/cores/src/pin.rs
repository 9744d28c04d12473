//! The cores on which a thread runs.

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

use crate::list::{CoreError, Cores, MOST};

/// The cores that the calling thread may run on.
///
/// # Errors
/// [`CoreError::Unknown`] if the kernel does not report them.
pub fn allowed() -> Result<Cores, CoreError> {
    let set = sched_getaffinity(Pid::from_raw(0))
        .map_err(|errno| CoreError::Unknown(errno.to_string()))?;
    let limit = CpuSet::count().min(MOST);
    Cores::new((0..limit).filter(|core| set.is_set(*core).unwrap_or(false)))
}

/// Let the calling thread, and those that it will start, run only on these cores.
///
/// # Errors
/// [`CoreError::Refused`] if none of them is online and allowed.
pub fn pin_thread(cores: &Cores) -> Result<(), CoreError> {
    pin_task(0, cores.numbers()).map_err(|errno| CoreError::Refused {
        cores: cores.clone(),
        why: errno.to_string(),
    })
}

/// Keep the calling thread on its present core. Frames that one thread sends from two cores may overtake each other,
/// because each core has a separate queue to the receiver (on veth) or to the driver.
///
/// # Errors
/// [`CoreError::Unknown`] if the kernel does not report the core, [`CoreError::Refused`] if it refuses.
pub fn stay_on_this_core() -> Result<(), CoreError> {
    let core = sched_getcpu().map_err(|errno| CoreError::Unknown(errno.to_string()))?;
    pin_thread(&Cores::new([core])?)
}

/// Let a thread of any process, by its number (0 for the calling one), run only on these cores.
///
/// # Errors
/// The kernel's error: `EINVAL` if none of them is online and allowed.
pub fn pin_task(thread: i32, cores: &[usize]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core)?;
    }
    sched_setaffinity(Pid::from_raw(thread), &set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_stays_on_its_core_and_others_do_not_care() {
        let before = allowed().unwrap();
        let last = Cores::new([*before.numbers().last().unwrap()]).unwrap();
        let pinned = last.clone();
        let inside = std::thread::spawn(move || {
            pin_thread(&pinned).unwrap();
            let child = std::thread::spawn(|| allowed().unwrap());
            (allowed().unwrap(), child.join().unwrap())
        });
        assert_eq!(inside.join().unwrap(), (last.clone(), last));
        assert_eq!(allowed().unwrap(), before);
    }

    #[test]
    fn a_thread_stays_on_the_core_that_it_runs_on() {
        let stays = std::thread::spawn(|| {
            stay_on_this_core().unwrap();
            (allowed().unwrap(), sched_getcpu().unwrap())
        });
        let (cores, core) = stays.join().unwrap();
        assert_eq!(cores, Cores::new([core]).unwrap());
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        let error = pin_thread(&Cores::new([MOST - 1]).unwrap()).unwrap_err();
        assert!(error.to_string().contains("1023"), "{error}");
        assert!(!allowed().unwrap().numbers().is_empty());
    }
}
