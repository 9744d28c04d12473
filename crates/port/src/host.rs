//! The host that the tester runs on, as the kernel describes it.

use std::fs;

use wirelab_trial::{Environment, Field};

/// The kernel's description of this host.
pub fn environment() -> Environment {
    let first = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let release = first("/proc/sys/kernel/osrelease");
    let cpuinfo = first("/proc/cpuinfo").unwrap_or_default();
    let cpu = value(&cpuinfo, "model name").or_else(|| value(&cpuinfo, "Model"));
    let memory = value(&first("/proc/meminfo").unwrap_or_default(), "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map(|kib| kib * 1024);
    let flags = value(&cpuinfo, "flags").unwrap_or_default();
    let virtual_machine = flags.split_whitespace().any(|flag| flag == "hypervisor");
    let cpus = std::thread::available_parallelism()
        .ok()
        .map(|n| n.get() as u32);
    Environment {
        kernel: Field::measured_or(
            release.map(|r| format!("Linux {r}")),
            "/proc is not mounted",
        ),
        cpu: Field::measured_or(cpu, "the kernel does not name it"),
        cpus: Field::measured_or(cpus, "the kernel does not report it"),
        memory_bytes: Field::measured_or(memory, "the kernel does not report it"),
        virtual_machine: if flags.is_empty() {
            Field::absent("this architecture does not report it")
        } else {
            Field::measured(virtual_machine)
        },
    }
}

/// The value of `key` in lines of `key : value`.
fn value(text: &str, key: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_key() {
        let text = "model\t\t: 7\nmodel name\t: Some CPU @ 2 GHz\nMemTotal:  1024 kB\n";
        assert_eq!(
            value(text, "model name").as_deref(),
            Some("Some CPU @ 2 GHz")
        );
        assert_eq!(value(text, "MemTotal").as_deref(), Some("1024 kB"));
        assert_eq!(value(text, "name"), None);
    }

    #[test]
    fn this_host_names_its_kernel() {
        let kernel = environment().kernel;
        assert!(
            kernel.value().is_some_and(|k| k.starts_with("Linux ")),
            "{kernel:?}"
        );
    }
}
