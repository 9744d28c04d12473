//! Makes and removes the namespaces and interfaces of a lab with iproute2's `ip`.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::Flock;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::record::{self, Record};
use super::{LabError, LabSpec, Side, napi, spec};
use crate::iface::{self, Interface, sys::Feature};
use crate::netns::{NetNs, Tool};

/// How long the links may take to come up. It is the kernel's own work queue that is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long processes inside a lab get to end by themselves.
const GRACE: Duration = Duration::from_millis(500);

/// What is turned off so that frames look as they would on a wire. Segmentation first: it depends on the rest.
const OFFLOADS: [Feature; 4] = [
    Feature::Tso,
    Feature::Gso,
    Feature::TxChecksum,
    Feature::ScatterGather,
];

/// Makes a lab and its record. `owner` is the process that it goes with; then the locked record comes back.
pub(super) fn up(
    spec: &LabSpec,
    owner: Option<u32>,
) -> Result<(Record, Option<Flock<File>>), LabError> {
    up_watched(spec, owner, |_| Ok(()))
}

/// The same; `watch` is called when the record is there and nothing else is made yet.
pub(super) fn up_watched(
    spec: &LabSpec,
    owner: Option<u32>,
    watch: impl FnOnce(&Record) -> Result<(), LabError>,
) -> Result<(Record, Option<Flock<File>>), LabError> {
    spec.check()?;
    let _lock = record::lock()?;
    sweep()?;
    refuse_existing(spec)?;
    let record = Record::new(spec, owner);
    let held = record::create(&record)?;
    match watch(&record).and_then(|()| make(spec)) {
        Ok(()) => Ok((record, held)),
        Err(error) => {
            // The first error is the one that helps; what cannot be removed now is still in the list.
            let _ = remove(spec);
            Err(error)
        }
    }
}

/// Removes a lab by name.
pub(super) fn down(name: &str) -> Result<(), LabError> {
    spec::check_name(name)?;
    let _lock = record::lock()?;
    let swept = sweep()?;
    if swept.iter().any(|gone| gone == name) {
        return Ok(());
    }
    let record = record::read(name)?.ok_or_else(|| unknown(name))?;
    match record.owner {
        Some(pid) if pid != std::process::id() => Err(LabError::InUse {
            name: name.to_owned(),
            pid,
        }),
        _ => remove(&record.spec),
    }
}

/// Removes a lab that this process owns, unless somebody has done so.
pub(super) fn down_own(record: &Record) -> Result<(), LabError> {
    let _lock = record::lock()?;
    match record::read(&record.spec.name)? {
        Some(found) if found.token == record.token => remove(&record.spec),
        _ => Ok(()),
    }
}

/// Removes the labs whose owner has died. The caller holds the list.
pub(super) fn sweep() -> Result<Vec<String>, LabError> {
    let mut gone = Vec::new();
    for record in record::all()? {
        if record::is_orphan(&record) {
            remove(&record.spec)?;
            gone.push(record.spec.name);
        }
    }
    Ok(gone)
}

pub(super) fn unknown(name: &str) -> LabError {
    let known = record::all().unwrap_or_default();
    LabError::Unknown {
        name: name.to_owned(),
        known: known.into_iter().map(|record| record.spec.name).collect(),
    }
}

fn refuse_existing(spec: &LabSpec) -> Result<(), LabError> {
    if let Some(found) = record::read(&spec.name)? {
        let name = &spec.name;
        let way_out = match found.owner {
            None => format!("use it, or remove it with `sudo wirelab lab down {name}`"),
            Some(pid) => format!("it belongs to process {pid}; choose another name"),
        };
        return Err(LabError::Exists {
            name: name.clone(),
            way_out,
        });
    }
    let taken = NetNs::list()?;
    match Side::BOTH
        .map(|side| spec.namespace(side))
        .into_iter()
        .find(|n| taken.contains(n))
    {
        Some(namespace) => Err(LabError::NamespaceTaken { namespace }),
        None => Ok(()),
    }
}

fn make(spec: &LabSpec) -> Result<(), LabError> {
    for side in Side::BOTH {
        let namespace = NetNs::create(&spec.namespace(side))?;
        namespace
            .run_in(silence)?
            .map_err(|e| LabError::io("to turn IPv6 off", e))?;
    }
    let node = spec.namespace(Side::Node);
    let tester = spec.namespace(Side::Tester);
    Tool::Ip.run_with_input(&["-n", &node, "-batch", "-"], &pair_commands(spec, &tester))?;
    for side in Side::BOTH {
        let namespace = spec.namespace(side);
        Tool::Ip.run_with_input(
            &["-n", &namespace, "-batch", "-"],
            &side_commands(spec, side),
        )?;
        set_options(spec, side)?;
    }
    wait_until_up(spec)
}

/// Router and neighbour solicitations would be foreign frames in every trial. Without IPv6 in the kernel, or
/// with a read-only /proc/sys, the file cannot be written; then `addrgenmode none` keeps IPv6 quiet.
fn silence() -> std::io::Result<()> {
    for which in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        if Path::new(&path).exists() {
            match fs::write(&path, "1") {
                Err(e) if e.kind() == std::io::ErrorKind::ReadOnlyFilesystem => {}
                result => result?,
            }
        }
    }
    Ok(())
}

fn pair_commands(spec: &LabSpec, tester: &str) -> String {
    let LabSpec { mtu, queues, .. } = spec;
    let end = |pair, side| {
        let name = LabSpec::interface(pair, side);
        let mac = spec.mac(pair, side);
        format!("name {name} address {mac} mtu {mtu} numtxqueues {queues} numrxqueues {queues}")
    };
    (0..spec.pairs).fold(String::new(), |mut text, pair| {
        let near = end(pair, Side::Node);
        let far = end(pair, Side::Tester);
        let _ = writeln!(text, "link add {near} type veth peer {far} netns {tester}");
        text
    })
}

fn side_commands(spec: &LabSpec, side: Side) -> String {
    let ipv6 = Path::new("/proc/sys/net/ipv6").exists();
    let mut text = "link set dev lo up\n".to_owned();
    for pair in 0..spec.pairs {
        let name = LabSpec::interface(pair, side);
        let address = spec.address(pair, side);
        if ipv6 {
            let _ = writeln!(text, "link set dev {name} addrgenmode none");
        }
        let _ = writeln!(
            text,
            "address add {address}/24 dev {name}\nlink set dev {name} up"
        );
    }
    text
}

fn set_options(spec: &LabSpec, side: Side) -> Result<(), LabError> {
    let namespace = NetNs::open(&spec.namespace(side))?;
    for pair in 0..spec.pairs {
        if !spec.offloads {
            for feature in OFFLOADS {
                iface::set_feature(&namespace, &LabSpec::interface(pair, side), feature, false)?;
            }
        }
        if spec.threaded {
            napi::set_threaded(&spec.port(pair, side), true)?;
        }
    }
    Ok(())
}

/// Until the kernel's link watch has run, a new interface silently drops what is sent on it.
fn wait_until_up(spec: &LabSpec) -> Result<(), LabError> {
    let deadline = Instant::now() + PATIENCE;
    for side in Side::BOTH {
        for pair in 0..spec.pairs {
            let port = spec.port(pair, side);
            while !Interface::is_running(&port)? {
                if Instant::now() > deadline {
                    return Err(LabError::NotUp {
                        port: port.to_string(),
                        namespace: spec.namespace(side),
                        seconds: PATIENCE.as_secs(),
                    });
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    Ok(())
}

/// Removes what is there of a lab, then its record. The caller holds the list.
fn remove(spec: &LabSpec) -> Result<(), LabError> {
    let there = NetNs::list()?;
    let namespaces: Vec<String> = Side::BOTH
        .map(|side| spec.namespace(side))
        .into_iter()
        .filter(|name| there.contains(name))
        .collect();
    for namespace in &namespaces {
        end_processes(namespace)?;
    }
    for namespace in &namespaces {
        // The namespace lives on while somebody has it open; its interfaces must not. One end takes the other along.
        if *namespace == spec.namespace(Side::Node) {
            let links = (0..spec.pairs)
                .map(|pair| format!("link del dev {}\n", LabSpec::interface(pair, Side::Node)))
                .collect::<String>();
            let _ = Tool::Ip.run_with_input(&["-n", namespace, "-force", "-batch", "-"], &links);
        }
        NetNs::delete(namespace)?;
    }
    record::remove(&spec.name)
}

fn end_processes(namespace: &str) -> Result<(), LabError> {
    let deadline = Instant::now() + GRACE;
    let mut signal = Signal::SIGTERM;
    loop {
        let inside = processes_in(namespace)?;
        if inside.is_empty() || signal == Signal::SIGKILL {
            return Ok(());
        }
        if Instant::now() > deadline {
            signal = Signal::SIGKILL;
        }
        for pid in inside {
            // It may have ended by itself in between.
            let _ = kill(Pid::from_raw(pid), signal);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn processes_in(namespace: &str) -> Result<Vec<i32>, LabError> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    Ok(Tool::Ip
        .run(&["netns", "pids", namespace])?
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .filter(|pid| *pid != own && *pid > 1)
        .collect())
}
