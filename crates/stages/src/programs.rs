//! The tracing programs of both sets: their names, their places in the kernel and their points; how a set is loaded
//! and attached, and the errors of a host that refuses it.

use crate::error::StagesError;
use crate::point::Point;
use crate::store::Store;
use crate::sys;
use libbpf_rs::{MapCore, Object, ObjectBuilder};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use wirelab_port::ebpf::{MapMemory, Plain, attach_tracing};

/// The set of programs that trace the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeSet {
    /// Programs at kernel functions (fentry, fexit) and typed tracepoints.
    Fentry,
    /// Programs only at raw tracepoints, for hosts that refuse the others.
    Raw,
}

impl fmt::Display for ProbeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProbeSet::Fentry => "fentry",
            ProbeSet::Raw => "raw",
        })
    }
}

/// One program of `bpf/stages_sets.h`.
pub struct Program {
    /// Its name in the object.
    pub name: &'static str,
    /// The tracepoint to attach it to; `None` for programs that declare their place by the kernel's types.
    pub tracepoint: Option<&'static str>,
    /// The replacement on a kernel without its tracepoint.
    pub instead: Option<&'static Program>,
}

const fn raw(name: &'static str, tracepoint: &'static str) -> Program {
    Program {
        name,
        tracepoint: Some(tracepoint),
        instead: None,
    }
}

const fn typed(name: &'static str) -> Program {
    Program {
        name,
        tracepoint: None,
        instead: None,
    }
}

/// `sk_data_ready` exists since Linux 6.3. On older kernels only the wake-up of a sleeping reader is visible.
const READY: Program = Program {
    instead: Some(&WAKING),
    ..raw("st_raw_ready", "sk_data_ready")
};

const WAKING: Program = raw("st_raw_waking", "sched_waking");

const RAW: [Program; 12] = [
    raw("st_raw_stack", "netif_receive_skb"),
    READY,
    raw("st_raw_drop", "kfree_skb"),
    raw("st_raw_copy", "skb_copy_datagram_iovec"),
    raw("st_raw_run", "sched_switch"),
    raw("st_raw_enter", "sys_enter"),
    raw("st_raw_exit", "sys_exit"),
    raw("st_raw_queue", "net_dev_queue"),
    raw("st_raw_xmit", "net_dev_start_xmit"),
    raw("st_raw_irq", "softirq_entry"),
    raw("st_raw_irqend", "softirq_exit"),
    raw("st_raw_poll", "napi_poll"),
];

const TYPED: [Program; 25] = [
    typed("st_fn_stack"),
    typed("st_fn_ready"),
    typed("st_fn_drop"),
    typed("st_fn_taken"),
    typed("st_fn_copy"),
    typed("st_fn_queue"),
    typed("st_fn_xmit"),
    typed("st_fn_irq"),
    typed("st_fn_irqend"),
    typed("st_fn_poll"),
    typed("st_fn_recvfrom"),
    typed("st_fn_read"),
    typed("st_fn_readv"),
    typed("st_fn_recvmsg"),
    typed("st_fn_recvmmsg"),
    typed("st_fn_sendto"),
    typed("st_fn_sendmsg"),
    typed("st_fn_sendmmsg"),
    typed("st_fn_write"),
    typed("st_fn_writev"),
    typed("st_fx_sendto"),
    typed("st_fx_sendmsg"),
    typed("st_fx_sendmmsg"),
    typed("st_fx_write"),
    typed("st_fx_writev"),
];

/// Whether a set has a program of this name.
pub fn has(set: ProbeSet, name: &str) -> bool {
    let is = |program: &Program| program.name == name;
    let instead = |program: &Program| program.instead.is_some_and(is);
    of(set).iter().any(|p| is(p) || instead(p))
}

/// The programs of a set, in the order in which they are attached.
pub fn of(set: ProbeSet) -> &'static [Program] {
    match set {
        ProbeSet::Raw => &RAW,
        ProbeSet::Fentry => &TYPED,
    }
}

/// The function or tracepoint of the kernel behind a point.
pub const fn function(set: ProbeSet, point: Point) -> &'static str {
    match (point, set) {
        (Point::InWire, _) => "the time in the test header",
        (Point::InInterrupt, _) => "softirq_entry, napi_poll",
        (Point::InDriver, _) => "XDP program",
        (Point::InStack, _) => "netif_receive_skb",
        (Point::InSocket, ProbeSet::Raw) => "sk_data_ready",
        (Point::InSocket, ProbeSet::Fentry) => "sock_def_readable",
        (Point::InCopy, ProbeSet::Raw) => "skb_copy_datagram_iovec, sched_switch",
        (Point::InCopy, ProbeSet::Fentry) => "__skb_recv_udp, skb_copy_datagram_iovec",
        (Point::InCall, ProbeSet::Raw) => "sys_exit",
        (Point::InCall, ProbeSet::Fentry) => {
            "__x64_sys_recvfrom, …recvmsg, …recvmmsg, …read, …readv"
        }
        (Point::OutCall, ProbeSet::Raw) => "sys_enter",
        (Point::OutCall, ProbeSet::Fentry) => {
            "__x64_sys_sendto, …sendmsg, …sendmmsg, …write, …writev"
        }
        (Point::OutQueue, _) => "net_dev_queue",
        (Point::OutDriver, _) => "net_dev_start_xmit",
        (Point::OutWire, _) => "seen by the other end",
    }
}

/// The effect of a system call on frames, by its number, as `enum wl_call` of `bpf/stages.h` defines it.
pub fn calls() -> [u8; 512] {
    let mut calls = [0; 512];
    let known = [
        (libc::SYS_sendto, 1),
        (libc::SYS_sendmsg, 1),
        (libc::SYS_sendmmsg, 1),
        (libc::SYS_write, 1),
        (libc::SYS_writev, 1),
        (libc::SYS_recvfrom, 2),
        (libc::SYS_read, 2),
        (libc::SYS_readv, 3),
        (libc::SYS_recvmsg, 4),
        (libc::SYS_recvmmsg, 5),
    ];
    for (number, does) in known {
        calls[number as usize] = does;
    }
    calls
}

/// The compiled programs.
const STAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stages.bpf.o"));

/// The kernel's description of its own types.
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// A tracepoint that a kernel lacks, and its replacement.
pub type Replaced = (&'static str, &'static str);

/// One loaded set.
pub struct Programs {
    object: Object,
    set: ProbeSet,
    /// Whether they read the kernel's memory directly (`bpf_rdonly_cast`), without a copy of each field.
    pub casts: bool,
}

impl Programs {
    /// Load a set that writes into `store`. Its programs read the kernel's memory directly if the kernel accepts that (Linux
    /// 6.2); otherwise the kernel copies each field for them.
    ///
    /// # Errors
    /// [`StagesError::Btf`], [`StagesError::Privilege`], [`StagesError::Refused`].
    pub fn load(set: ProbeSet, store: &Store, btf: Option<&Path>) -> Result<Programs, StagesError> {
        check_btf(btf)?;
        let own = load_with(set, store, btf, true);
        let casts = own.is_ok();
        let object = own.or_else(|_| load_with(set, store, btf, false));
        let object = object.map_err(|e| failed(set, btf, &e))?;
        Ok(Programs { object, set, casts })
    }

    /// Attach all programs. Tracepoints that this kernel lacks, and their replacements, are added to `replaced`.
    ///
    /// # Errors
    /// [`StagesError::Refused`] or [`StagesError::Kernel`]; the programs attached until then are detached again.
    pub fn attach(&self, replaced: &mut Vec<Replaced>) -> Result<Vec<OwnedFd>, StagesError> {
        let mut links = Vec::new();
        for program in of(self.set) {
            let lacks = |e: &io::Error| e.raw_os_error() == Some(libc::ENOENT);
            let (tried, program) = match (self.attach_one(program), program.instead) {
                (Err(e), Some(instead)) if lacks(&e) => {
                    replaced.extend(program.tracepoint.zip(instead.tracepoint));
                    (self.attach_one(instead), instead)
                }
                (tried, _) => (tried, program),
            };
            links.push(tried.map_err(|e| self.not_attached(program, e))?);
        }
        Ok(links)
    }

    fn not_attached(&self, program: &Program, error: io::Error) -> StagesError {
        let attach_point = program.tracepoint.unwrap_or(program.name);
        let what = format!("attaching a program to {attach_point}");
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => refused(what, &error, self.set),
            _ => StagesError::kernel(what, error),
        }
    }

    fn attach_one(&self, program: &Program) -> io::Result<OwnedFd> {
        let fd = self.fd(program.name)?;
        attach_tracing(fd.as_fd(), program.tracepoint)
    }

    fn fd(&self, name: &str) -> io::Result<OwnedFd> {
        let mut programs = self.object.progs();
        let program = programs.find(|p| p.name() == name);
        program
            .expect("the object was built from this source with this program")
            .as_fd()
            .try_clone_to_owned()
    }

    /// Runs of all programs that the kernel skipped since they were loaded: it runs no program twice at a time on a core.
    pub fn skipped_runs(&self) -> u64 {
        let programs = self.object.progs();
        programs
            .filter_map(|p| sys::skipped_runs(p.as_fd()).ok())
            .sum()
    }

    /// The program that reads the kernel's clock.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn clock(&self) -> io::Result<OwnedFd> {
        self.fd("st_clock")
    }

    /// The memory of a map of this object, of `entries` values.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn shared<T: Plain>(
        &self,
        name: &str,
        entries: usize,
    ) -> Result<MapMemory<T>, StagesError> {
        let mut maps = self.object.maps();
        let map = maps.find(|m| m.name().to_string_lossy() == name);
        let map = map.expect("the object was built from this source with this map");
        assert!(map.value_size() as usize >= size_of::<T>());
        assert!(map.max_entries() as usize >= entries);
        MapMemory::map(map.as_fd(), entries)
            .map_err(|e| StagesError::kernel(format!("mapping the eBPF map {name}"), e))
    }
}

fn load_with(
    set: ProbeSet,
    store: &Store,
    btf: Option<&Path>,
    casts: bool,
) -> libbpf_rs::Result<Object> {
    let mut builder = ObjectBuilder::default();
    if let Some(path) = btf {
        builder.btf_custom_path(path)?;
    }
    let mut open = builder.open_memory(STAGES)?;
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        program.set_autoload(name == "st_clock" || has(set, &name));
    }
    let calls = calls();
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".rodata.calls") {
            map.set_initial_value(&calls)?;
        } else if name.ends_with(".rodata.casts") {
            map.set_initial_value(&u32::from(casts).to_ne_bytes())?;
        }
    }
    store.join(&mut open)?;
    open.load()
}

/// Check that a description of the kernel's types exists and has the right format.
fn check_btf(btf: Option<&Path>) -> Result<(), StagesError> {
    let path = btf.unwrap_or(Path::new(BTF));
    let bad = |why: String| StagesError::Btf {
        path: path.to_owned(),
        why,
    };
    let mut start = [0; 4];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut start))
        .map_err(|e| bad(e.to_string()))?;
    // BTF's magic number (linux/btf.h) in either byte order, or an ELF file that contains it.
    let known = start[..2] == [0x9F, 0xEB] || start[..2] == [0xEB, 0x9F] || start == *b"\x7fELF";
    known
        .then_some(())
        .ok_or_else(|| bad("this is not BTF".to_owned()))
}

fn failed(set: ProbeSet, btf: Option<&Path>, error: &libbpf_rs::Error) -> StagesError {
    let what = match set {
        ProbeSet::Fentry => "tracing functions of the kernel (fentry)",
        ProbeSet::Raw => "tracing the kernel's raw tracepoints",
    };
    match (StagesError::libbpf(what, error), btf) {
        (StagesError::Privilege { .. }, _) => {
            let e = io::Error::from_raw_os_error(libc::EPERM);
            refused(what.to_owned(), &e, set)
        }
        (StagesError::Kernel { source, .. }, Some(path)) => StagesError::Btf {
            path: PathBuf::from(path),
            why: format!("the programs do not fit it ({source})"),
        },
        (other, _) => other,
    }
}

/// A refusal is reported as a missing privilege only if the privilege is missing.
fn refused(what: String, why: &io::Error, set: ProbeSet) -> StagesError {
    if !may_trace() {
        return StagesError::Privilege { what };
    }
    StagesError::Refused {
        what,
        why: format!("{why}, with all required capabilities"),
        fix: match set {
            ProbeSet::Fentry => "--probes raw, whose tracepoints give the same stages",
            ProbeSet::Raw => "measure without probes, or on the host itself",
        },
    }
}

/// Whether this process has CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, which includes both (capabilities(7)).
fn may_trace() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const BOTH: u64 = 1 << 38 | 1 << 39;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let bits = line.and_then(|l| u64::from_str_radix(l.trim(), 16).ok());
    bits.is_some_and(|b| b & SYS_ADMIN != 0 || b & BOTH == BOTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_of_the_object_is_in_a_set() {
        let object = ObjectBuilder::default().open_memory(STAGES).unwrap();
        for program in object.progs() {
            let (name, section) = (program.name().to_string_lossy(), program.section());
            let Some(set) = [ProbeSet::Raw, ProbeSet::Fentry]
                .into_iter()
                .find(|set| has(*set, &name))
            else {
                assert_eq!(name, "st_clock", "no set has it");
                continue;
            };
            let each = of(set).iter().flat_map(|p| [Some(p), p.instead]);
            let listed = each.flatten().find(|p| p.name == name).unwrap();
            let section = section.to_string_lossy();
            let tracepoint = section.strip_prefix("raw_tp/");
            assert_eq!(listed.tracepoint, tracepoint, "{name}");
        }
    }

    #[test]
    fn the_kernel_keeps_the_whole_name_of_each_program() {
        for set in [ProbeSet::Raw, ProbeSet::Fentry] {
            for program in of(set) {
                assert!(program.name.len() <= 15, "{}", program.name);
                assert_eq!(program.tracepoint.is_some(), set == ProbeSet::Raw);
            }
        }
    }
}
