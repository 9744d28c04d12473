//! Receive work in dedicated kernel threads (threaded NAPI), and their CPU.
//!
//! The threads are called `napi/INTERFACE-ID`. Interfaces of other labs have the same names, so the netlink family
//! `netdev` is queried for the thread of each NAPI (Linux 6.8 or newer). On an older kernel the names are used only
//! if no other interface of that name has such threads.

mod netdev;

use std::fs;

use nix::errno::Errno;

use super::LabError;
use crate::iface::{self, Interface, PortName, sys::Feature};

pub(super) fn set_threaded(port: &PortName, on: bool) -> Result<(), LabError> {
    let namespace = port.netns()?;
    if on {
        iface::set_feature(&namespace, &port.interface, Feature::Gro, true)?;
    }
    let path = format!("/sys/class/net/{}/threaded", port.interface);
    let value = if on { "1" } else { "0" };
    let written = namespace.run_with_sysfs(|| fs::write(&path, value))?;
    match written {
        // Without NAPI no work is threaded, as requested.
        Err(e) if !on && e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        result => result.map_err(|e| LabError::Napi {
            what: "threaded NAPI",
            port: port.to_string(),
            why: format!("the kernel refused it ({e}); fix: use Linux 5.15 or newer"),
        }),
    }
}

pub(super) fn pin(port: &PortName, cpu: usize) -> Result<Vec<i32>, LabError> {
    let failed = |why: String| LabError::Napi {
        what: "binding the NAPI threads",
        port: port.to_string(),
        why,
    };
    let threads = threads_of(port)?;
    if threads.is_empty() {
        return Err(failed(
            "it has none; fix: switch threaded NAPI on first (option `threaded` of the lab)"
                .to_owned(),
        ));
    }
    for pid in &threads {
        wirelab_cores::pin_task(*pid, &[cpu]).map_err(|errno| {
            failed(match errno {
                Errno::EINVAL => format!("there is no CPU {cpu} that this process may use; fix: choose one that `lscpu --online` shows"),
                _ => format!("thread {pid} refused ({errno}); fix: run it with `sudo wirelab …`"),
            })
        })?;
    }
    Ok(threads)
}

fn threads_of(port: &PortName) -> Result<Vec<i32>, LabError> {
    let interface = Interface::query(port)?;
    if let Some(pids) = port
        .netns()?
        .run_in(|| netdev::napi_threads(interface.index))?
    {
        return Ok(pids);
    }
    let by_name = threads_called(&port.interface);
    let expected = interface.rx_queues.unwrap_or(1) as usize;
    if by_name.len() > expected {
        return Err(LabError::Napi {
            what: "finding the NAPI threads",
            port: port.to_string(),
            why: format!(
                "{} threads have this interface's name, and this kernel (before 6.8) does not say whose they are; fix: take the other labs down",
                by_name.len()
            ),
        });
    }
    Ok(by_name)
}

fn threads_called(interface: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let prefix = format!("napi/{interface}-");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with(&prefix))
        })
        .collect()
}
