//! Loading one set of the tracing programs, attaching it, and saying in words what the host refuses.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, Object, ObjectBuilder};
use wirelab_port::ebpf::{Plain, Shared, attach_tracing};

use crate::error::StagesError;
use crate::programs::{self, Program};
use crate::store::Store;
use crate::tracer::ProbeSet;

/// The compiled programs.
const STAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stages.bpf.o"));

/// Where a kernel describes its own types.
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// A tracepoint that a kernel lacks, and the one that stands in for it.
pub type Replaced = (&'static str, &'static str);

/// One loaded set.
pub struct Programs {
    object: Object,
    set: ProbeSet,
    /// Whether they look at the kernel's memory by themselves (`bpf_rdonly_cast`), and do not have each field copied.
    pub casts: bool,
}

impl Programs {
    /// Load a set that writes into `store`: programs that look at the kernel's memory by themselves where the kernel
    /// takes such (Linux 6.2), else those for which it copies what they look at.
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

    /// Attach all programs. Tracepoints that this kernel lacks, and those that stand in for them, are added to
    /// `replaced`.
    ///
    /// # Errors
    /// [`StagesError::Refused`] or [`StagesError::Kernel`]; those attached until then are detached again.
    pub fn attach(&self, replaced: &mut Vec<Replaced>) -> Result<Vec<OwnedFd>, StagesError> {
        let mut links = Vec::new();
        for program in programs::of(self.set) {
            let lacks = |e: &io::Error| e.raw_os_error() == Some(libc::ENOENT);
            let (tried, program) = match (self.attach_one(program), program.instead) {
                (Err(e), Some(instead)) if lacks(&e) => {
                    replaced.extend(program.tracepoint.zip(instead.tracepoint));
                    (self.attach_one(instead), instead)
                }
                (tried, _) => (tried, program),
            };
            links.push(tried.map_err(|e| self.no_place(program, e))?);
        }
        Ok(links)
    }

    fn no_place(&self, program: &Program, error: io::Error) -> StagesError {
        let place = program.tracepoint.unwrap_or(program.name);
        let what = format!("attaching a program to {place}");
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

    /// The program that reads the kernel's clock.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn clock(&self) -> io::Result<OwnedFd> {
        self.fd("st_clock")
    }

    /// The memory of a map of this object, of `entries` values.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn shared<T: Plain>(&self, name: &str, entries: usize) -> Result<Shared<T>, StagesError> {
        let mut maps = self.object.maps();
        let map = maps.find(|m| m.name().to_string_lossy() == name);
        let map = map.expect("the object was built from this source with this map");
        assert!(map.value_size() as usize >= size_of::<T>());
        assert!(map.max_entries() as usize >= entries);
        Shared::map(map.as_fd(), entries)
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
        program.set_autoload(name == "st_clock" || programs::has(set, &name));
    }
    let calls = programs::calls();
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

/// Whether there is a description of the kernel's types that can be one.
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
    // BTF's own magic number (linux/btf.h) in either byte order, or an ELF file that holds it.
    let known = start[..2] == [0x9F, 0xEB] || start[..2] == [0xEB, 0x9F] || start == *b"\x7fELF";
    known
        .then_some(())
        .ok_or_else(|| bad("this is no BTF".to_owned()))
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

/// A refusal is reported as a missing privilege only where the privilege is missing.
fn refused(what: String, why: &io::Error, set: ProbeSet) -> StagesError {
    if !may_trace() {
        return StagesError::Privilege { what };
    }
    StagesError::Refused {
        what,
        why: format!("{why}, with all capabilities that it takes"),
        way_out: match set {
            ProbeSet::Fentry => "raw tracepoints give the same stages: --probes raw",
            ProbeSet::Raw => "measure without looking inside, or on the host itself",
        },
    }
}

/// Whether this process has CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, which stands for both (capabilities(7)).
fn may_trace() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    const BOTH: u64 = 1 << 38 | 1 << 39;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let bits = line.and_then(|l| u64::from_str_radix(l.trim(), 16).ok());
    bits.is_some_and(|b| b & SYS_ADMIN != 0 || b & BOTH == BOTH)
}
