//! Which cores the interrupts of an interface come to. Steering moves the receive work of the stack, not these.

use std::fs;
use std::path::Path;

use crate::list::Cores;
use crate::steer::{SteerError, on_own_sysfs};

/// Most interrupts of an interface that are looked at.
const MOST: usize = 1024;

/// An interrupt and the cores that it comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number, as `/proc/interrupts` shows it.
    pub number: u32,
    /// Where it comes to.
    pub cores: Cores,
}

/// The message-signalled interrupts (MSI) of the device behind an interface, in the network namespace of the calling
/// thread; none for an interface of software, or where the device has another kind.
///
/// # Errors
/// [`SteerError`] for an interface that is not there.
pub fn interrupts(interface: &str) -> Result<Vec<Interrupt>, SteerError> {
    on_own_sysfs(interface, |folder| {
        // A virtio device is a child of the one that has the interrupts.
        let own = numbers(&folder.join("device/msi_irqs"));
        let numbers = match own.is_empty() {
            true => fs::canonicalize(folder.join("device"))
                .ok()
                .and_then(|device| Some(numbers(&device.parent()?.join("msi_irqs"))))
                .unwrap_or_default(),
            false => own,
        };
        let known = |number: u32| {
            let cores = cores_of(number)?;
            Some(Interrupt { number, cores })
        };
        numbers.into_iter().filter_map(known).collect()
    })
}

fn numbers(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut all: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .take(MOST)
        .collect();
    all.sort_unstable();
    all
}

fn cores_of(number: u32) -> Option<Cores> {
    let list = |name: &str| {
        fs::read_to_string(format!("/proc/irq/{number}/{name}"))
            .ok()?
            .parse()
            .ok()
    };
    // What is in force, where the kernel tells it; else what is allowed.
    list("effective_affinity_list").or_else(|| list("smp_affinity_list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_no_interrupts_and_an_unknown_interface_is_named() {
        assert_eq!(interrupts("lo").unwrap(), []);
        assert!(
            interrupts("nosuch0")
                .unwrap_err()
                .to_string()
                .contains("nosuch0")
        );
    }
}
