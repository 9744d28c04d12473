//! The fix for an error: of the system, or in place of the one in its text.

use std::io::{Error, ErrorKind};

/// Too many open files, of this process and of the system.
const TOO_MANY_FILES: [i32; 2] = [24, 23];
/// No such device, and no such device or address.
const NO_DEVICE: [i32; 2] = [19, 6];

/// The text of an error in its two parts: what happened and why, and the fix where it has one.
pub fn what_and_fix(text: &str) -> (&str, Option<&str>) {
    match text.split_once("; fix: ") {
        Some((what, fix)) => (what, Some(fix)),
        None => (text, None),
    }
}

/// The text of an error without its fix, for a caller with a better one.
pub fn without_fix(text: &str) -> &str {
    what_and_fix(text).0
}

/// The fix for an error of the system without a more precise cause.
pub fn system_fix(error: &Error) -> &'static str {
    match error.raw_os_error() {
        Some(number) if TOO_MANY_FILES.contains(&number) => {
            return "raise the limit of open files (`ulimit -n`)";
        }
        Some(number) if NO_DEVICE.contains(&number) => {
            return "check that its interface is still there (`ip link`)";
        }
        _ => {}
    }
    match error.kind() {
        ErrorKind::PermissionDenied => "run it with `sudo wirelab …`, or check who may use it",
        ErrorKind::ReadOnlyFilesystem => "run it where its file system can be written",
        ErrorKind::NotFound => {
            "check its name or path, and in a container that /proc, /sys and /run are mounted"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space",
        ErrorKind::OutOfMemory => "free memory, or raise the limit of this process or container",
        ErrorKind::ResourceBusy | ErrorKind::AddrInUse => "end what uses it, or choose another",
        ErrorKind::AddrNotAvailable => "give an address that `ip -brief address` shows",
        ErrorKind::NetworkDown => "bring the interface up (`ip link set dev NAME up`)",
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
            "check the address and the route to it (`ip route get ADDRESS`)"
        }
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof
        | ErrorKind::TimedOut
        | ErrorKind::WouldBlock => "check that the other end still runs, and run it again",
        ErrorKind::Unsupported => "use a newer kernel, or one that was built with it",
        _ => "run it again; if the error stays, the kernel's log (`sudo dmesg`) may say more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_errors_of_the_system_have_a_fix_of_their_own() {
        let unknown = system_fix(&Error::other("odd"));
        for number in [
            1, 2, 6, 12, 13, 16, 19, 23, 24, 28, 30, 32, 98, 99, 100, 101, 104, 110, 111, 113,
        ] {
            let error = Error::from_raw_os_error(number);
            assert_ne!(system_fix(&error), unknown, "{error}");
        }
    }
}
