//! The cores that get an interface's interrupts. Steering moves the receive work of the stack, not the interrupts.

use std::fs;
use std::path::Path;

use crate::list::Cores;
use crate::steer::{SteerError, on_own_sysfs};

/// Most interrupts of an interface that are read.
const MOST: usize = 1024;

/// An interrupt and the cores that get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number, as `/proc/interrupts` shows it.
    pub number: u32,
    /// The cores that get it.
    pub cores: Cores,
}

/// The message-signalled interrupts (MSI) of the device of an interface, in the network namespace of the calling
/// thread; none for a software interface, or if the device has another type.
///
/// # Errors
/// [`SteerError`] if the interface does not exist.
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
    // The effective cores if the kernel reports them, else the allowed ones.
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
