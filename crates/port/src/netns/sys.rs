//! Passes a capability of this thread to the programs that it starts.
#![allow(unsafe_code)]

use std::io;

/// linux/capability.h: the version with 64 bits of capabilities, in two halves.
const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Capabilities of a file do not pass to the programs that it starts. One that is inheritable and ambient passes to
/// the programs that the calling thread starts; other threads do not change.
///
/// # Errors
/// The kernel's error: EPERM if the capability is not held.
pub(super) fn pass_on(capability: u32) -> io::Result<()> {
    let check = |result: i64| match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let mut halves = [Half::default(); 2];
    // SAFETY: this version reads and writes the header and two halves, which outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, halves.as_mut_ptr()) })?;
    halves[capability as usize / 32].inheritable |= 1 << (capability % 32);
    // SAFETY: as above; only this thread's set changes.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) })?;
    // SAFETY: no pointers.
    let raised = unsafe {
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_RAISE,
            libc::c_ulong::from(capability),
            0 as libc::c_ulong,
            0 as libc::c_ulong,
        )
    };
    check(i64::from(raised))
}
