//! Whether two processes run on one machine, without revealing which machine it is.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// A number that identifies this machine until it restarts, the same for all its processes in any network namespace: a
/// hash (FNV-1a, 64 bits) of the kernel's random boot number. `None` if `/proc` is not mounted.
pub fn host_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{:016x}", fnv1a(text.trim().as_bytes())))
}

/// The clock of this process: two processes with the same text read the same clock. CLOCK_MONOTONIC is that of a
/// machine since its start, shifted in time namespaces (time_namespaces(7)). `None` if `/proc` is not mounted.
pub fn clock_id() -> Option<String> {
    let namespace = fs::metadata("/proc/self/ns/time").ok()?;
    Some(format!("{}-{}", host_id()?, namespace.ino()))
}

/// FNV-1a (Fowler, Noll, Vo; RFC 9923), 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_process_reads_one_clock() {
        let id = clock_id().unwrap();
        assert!(id.starts_with(&host_id().unwrap()), "{id}");
        assert_eq!(clock_id().unwrap(), id);
    }

    #[test]
    fn a_machine_is_always_the_same() {
        let id = host_id().unwrap();
        assert_eq!(id.len(), 16);
        assert_eq!(host_id().unwrap(), id);
    }
}
