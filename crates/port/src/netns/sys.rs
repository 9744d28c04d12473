//! Hands a capability of this thread on to the programs that it starts.
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

/// Capabilities of a file end with the program in it. One that is inheritable and ambient goes on to the programs that
/// the calling thread starts; other threads are not changed.
///
/// # Errors
/// What the kernel says: EPERM where the capability is not held.
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
    // SAFETY: the header and two halves are what this version reads and writes, and outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, halves.as_mut_ptr()) })?;
    halves[capability as usize / 32].inheritable |= 1 << (capability % 32);
    // SAFETY: as above; only this thread's own set changes.
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
