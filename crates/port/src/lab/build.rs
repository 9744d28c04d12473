//! Makes and removes the namespaces and interfaces of a lab with iproute2's `ip`.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::Flock;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::record::{self, LabFile};
use super::{LabError, LabSpec, Side, napi, spec};
use crate::iface::{self, Interface, sys::Feature};
use crate::netns::{NetNs, NetNsError, Tool};

/// Longest time until the links are up; the kernel's work queue brings them up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long processes inside a lab get to end on their own.
const GRACE: Duration = Duration::from_millis(500);

/// Features that are switched off, so that frames look as on a wire. Segmentation first: it depends on the others.
const OFFLOADS: [Feature; 4] = [
    Feature::Tso,
    Feature::Gso,
    Feature::TxChecksum,
    Feature::ScatterGather,
];

/// Makes a lab that ends with this process, and its record, which is returned locked. `watch` is called after the
/// record is written, and before anything else is made.
pub(super) fn up(
    spec: &LabSpec,
    watch: impl FnOnce(&LabFile) -> Result<(), LabError>,
) -> Result<(LabFile, Option<Flock<File>>), LabError> {
    up_by(spec, watch, &STEPS)
}

fn up_by(
    spec: &LabSpec,
    watch: impl FnOnce(&LabFile) -> Result<(), LabError>,
    steps: &[BuildStep],
) -> Result<(LabFile, Option<Flock<File>>), LabError> {
    spec.check()?;
    let _lock = record::lock()?;
    sweep()?;
    refuse_existing(spec)?;
    let record = LabFile::new(spec, Some(std::process::id()));
    let held = record::create(&record)?;
    match watch(&record).and_then(|()| steps.iter().try_for_each(|step| step(spec))) {
        Ok(()) => Ok((record, held)),
        Err(error) => {
            // The first error is the useful one. What cannot be removed now is still in the list.
            let _ = remove(spec);
            Err(error)
        }
    }
}

/// Releases a lab of this process, so that it stays.
pub(super) fn give_up(record: &LabFile) -> Result<(), LabError> {
    let _lock = record::lock()?;
    record::create(&LabFile::new(&record.spec, None)).map(drop)
}

/// Removes a lab by name.
pub(super) fn down(name: &str) -> Result<(), LabError> {
    spec::check_name(name)?;
    let _lock = record::lock()?;
    let swept = sweep()?;
    if swept.iter().any(|gone| gone == name) {
        return Ok(());
    }
    let record = record::read(name)?.ok_or_else(|| match unknown(name) {
        LabError::Unknown { name, known } if known.is_empty() => LabError::NoneUp { name },
        error => error,
    })?;
    match record.owner {
        Some(pid) if pid != std::process::id() && !record::is_orphan(&record) => {
            Err(LabError::InUse {
                name: name.to_owned(),
                pid,
            })
        }
        // An orphan that could not be swept: the error says why.
        _ => remove(&record.spec),
    }
}

/// Removes a lab that this process owns, unless it is already removed.
pub(super) fn down_own(record: &LabFile) -> Result<(), LabError> {
    let _lock = record::lock()?;
    match record::read(&record.spec.name)? {
        Some(found) if found.token == record.token => remove(&record.spec),
        _ => Ok(()),
    }
}

/// Removes the labs whose owner has died. One that cannot be removed blocks only its own name. Restores what killed
/// processes changed in the other labs. The caller holds the list's lock.
pub(super) fn sweep() -> Result<Vec<String>, LabError> {
    let (orphans, others): (Vec<LabFile>, Vec<LabFile>) =
        record::all()?.into_iter().partition(record::is_orphan);
    let gone = orphans.into_iter().filter(|one| remove(&one.spec).is_ok());
    let gone = gone.map(|record| record.spec.name).collect();
    restore_left(&others);
    Ok(gone)
}

/// Restores what killed processes changed, here and inside the labs, because no later process may enter their
/// namespaces.
fn restore_left(labs: &[LabFile]) {
    let _ = wirelab_cores::restore_left();
    let left = wirelab_cores::namespaces_left().unwrap_or_default();
    let sides = labs
        .iter()
        .flat_map(|record| Side::BOTH.map(|side| record.spec.namespace(side)));
    for name in sides.filter(|_| !left.is_empty()) {
        let Ok(namespace) = NetNs::open(&name) else {
            continue;
        };
        if namespace.id().is_ok_and(|(_, inode)| left.contains(&inode)) {
            let _ = namespace.run_in(wirelab_cores::restore_left);
        }
    }
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
        let (why, fix) = match found.owner {
            None => (
                String::new(),
                format!("use it, or remove it with `sudo wirelab lab down {name}`"),
            ),
            Some(pid) if record::is_orphan(&found) => (
                format!(
                    "; process {pid} left it, and it could not be removed (`wirelab lab down {name}` says why)"
                ),
                "choose another name".to_owned(),
            ),
            Some(pid) => (
                format!("; it belongs to process {pid}"),
                "choose another name".to_owned(),
            ),
        };
        return Err(LabError::Exists {
            name: name.clone(),
            why,
            fix,
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

/// A step of making a lab.
type BuildStep = fn(&LabSpec) -> Result<(), LabError>;

const STEPS: [BuildStep; 6] = [
    |spec| make_namespace(spec, Side::Node),
    |spec| make_namespace(spec, Side::Tester),
    make_pairs,
    |spec| set_up(spec, Side::Node),
    |spec| set_up(spec, Side::Tester),
    wait_until_up,
];

fn make_namespace(spec: &LabSpec, side: Side) -> Result<(), LabError> {
    NetNs::create(&spec.namespace(side))?
        .run_in(silence)?
        .map_err(|e| LabError::io("to switch IPv6 off", e))
}

fn make_pairs(spec: &LabSpec) -> Result<(), LabError> {
    let node = NetNs::open(&spec.namespace(Side::Node))?;
    let tester = NetNs::path(&spec.namespace(Side::Tester))?;
    let commands = pair_commands(spec, &tester.display().to_string());
    node.run_tool(Tool::Ip, &["-batch", "-"], &commands)?;
    Ok(())
}

fn set_up(spec: &LabSpec, side: Side) -> Result<(), LabError> {
    let namespace = NetNs::open(&spec.namespace(side))?;
    let commands = side_commands(spec, side);
    namespace.run_tool(Tool::Ip, &["-batch", "-"], &commands)?;
    set_options(spec, side)
}

/// Router and neighbour solicitations would be foreign frames in every trial. Without IPv6 in the kernel, or
/// with a read-only /proc/sys, the file cannot be written; then `addrgenmode none` keeps IPv6 quiet.
fn silence() -> std::io::Result<()> {
    for which in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        if Path::new(&path).exists() {
            match fs::write(&path, "1") {
                Err(e)
                    if matches!(
                        e.kind(),
                        std::io::ErrorKind::ReadOnlyFilesystem
                            | std::io::ErrorKind::PermissionDenied
                    ) => {}
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

/// Removes the parts of a lab that exist, then its record. The caller holds the list's lock.
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
        // The namespace exists while a process has it open, but its interfaces must go. Deleting one end deletes the
        // other.
        if *namespace == spec.namespace(Side::Node) {
            let links = (0..spec.pairs)
                .map(|pair| format!("link del dev {}\n", LabSpec::interface(pair, Side::Node)))
                .collect::<String>();
            if let Ok(inside) = NetNs::open(namespace) {
                let _ = inside.run_tool(Tool::Ip, &["-force", "-batch", "-"], &links);
            }
        }
        NetNs::delete(namespace)?;
    }
    for side in Side::BOTH {
        NetNs::forget(&spec.namespace(side));
    }
    record::remove(&spec.name)
}

fn end_processes(namespace: &str) -> Result<(), LabError> {
    let deadline = Instant::now() + GRACE;
    let mut signal = Signal::SIGTERM;
    loop {
        let inside = match processes_in(namespace) {
            // The processes inside are not visible from here, but the holder can be ended.
            Err(LabError::NetNs(NetNsError::OfOtherUsers { .. })) => return Ok(()),
            inside => inside?,
        };
        if inside.is_empty() || signal == Signal::SIGKILL {
            return Ok(());
        }
        if Instant::now() > deadline {
            signal = Signal::SIGKILL;
        }
        for pid in inside {
            // It may have ended meanwhile.
            let _ = kill(Pid::from_raw(pid), signal);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn processes_in(namespace: &str) -> Result<Vec<i32>, LabError> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut inside = NetNs::open(namespace)?.processes()?;
    inside.retain(|pid| *pid != own && *pid > 1);
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::lab::{EphemeralLab, Lab};
    use crate::netns::may_test;

    fn is_gone(spec: &LabSpec) -> bool {
        let there = NetNs::list().unwrap();
        let namespaces = Side::BOTH.map(|side| spec.namespace(side));
        !namespaces.iter().any(|name| there.contains(name))
            && record::read(&spec.name).unwrap().is_none()
    }

    #[test]
    fn a_step_that_fails_leaves_nothing() {
        if !may_test() {
            return;
        }
        let fail: BuildStep = |_| {
            Err(LabError::Spec {
                why: "on purpose".to_owned(),
            })
        };
        for after in 0..=STEPS.len() {
            let spec = LabSpec::unique("wlt-step", 1);
            let mut steps = STEPS.to_vec();
            steps.insert(after, fail);
            let error = up_by(&spec, |_| Ok(()), &steps).unwrap_err();
            assert_eq!(error.to_string(), "on purpose");
            assert!(is_gone(&spec), "after {after} steps");
        }
    }

    /// Without a watchdog, so the next operation has to find what is left. Each process of this test is killed at the
    /// first step after its allowed number.
    #[test]
    fn what_is_left_after_any_step_is_removed_by_the_next_operation() {
        const TEST: &str =
            "lab::build::tests::what_is_left_after_any_step_is_removed_by_the_next_operation";
        let kill_own: BuildStep = |_| {
            let _ = kill(Pid::this(), Signal::SIGKILL);
            Ok(())
        };
        if let Ok(step) = std::env::var("WIRELAB_TEST_STEPS") {
            let (name, after) = step.split_once(' ').unwrap();
            let mut steps = STEPS.to_vec();
            steps.insert(after.parse().unwrap(), kill_own);
            let _ = up_by(&LabSpec::new(name, 1), |_| Ok(()), &steps);
            return;
        }
        if !may_test() {
            return;
        }
        for after in 0..=STEPS.len() {
            let spec = LabSpec::unique("wlt-kill", 1);
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", TEST])
                .env("WIRELAB_TEST_STEPS", format!("{} {after}", spec.name))
                // Its output would be taken for that of this test.
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert!(!status.success(), "it was killed");
            // A lab of the same name can be made at once, and is complete.
            Lab::up(&spec).unwrap();
            let found = Lab::status().unwrap();
            let found = found.iter().find(|lab| lab.name == spec.name).unwrap();
            let whole = found.interfaces.iter().all(|one| one.is_up());
            Lab::down(&spec.name).unwrap();
            assert!(whole && is_gone(&spec), "after {after} steps");
        }
    }

    #[test]
    fn a_lab_that_is_kept_outlives_its_value_and_one_that_is_not_does_not() {
        if !may_test() {
            return;
        }
        let spec = LabSpec::unique("wlt-keep", 1);
        let lab = EphemeralLab::up(&spec).unwrap().keep().unwrap();
        assert_eq!(Lab::open(&spec.name).unwrap(), lab);
        Lab::down(&spec.name).unwrap();
        assert!(is_gone(&spec));
    }
}
