//! The capabilities that each type of work needs, and the error for a missing one, which names it and the command
//! that grants it.

use std::fmt;

/// Work that needs capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivilegedWork {
    /// Frames on the portable path, by a packet socket.
    Packet,
    /// Frames on the fast path, by XDP.
    Xdp,
    /// Work in a network namespace other than this process's own.
    Namespace,
    /// Labs: namespaces, veth pairs, shapers.
    Lab,
    /// TAP devices, and features of interfaces.
    Interface,
    /// Times inside a node.
    Stages,
}

impl PrivilegedWork {
    /// The capabilities, by their names in capabilities(7).
    pub const fn capabilities(self) -> &'static [&'static str] {
        match self {
            PrivilegedWork::Packet => &["CAP_NET_RAW"],
            PrivilegedWork::Xdp | PrivilegedWork::Stages => {
                &["CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"]
            }
            PrivilegedWork::Namespace => &["CAP_SYS_ADMIN"],
            PrivilegedWork::Lab => &["CAP_NET_ADMIN", "CAP_SYS_ADMIN"],
            PrivilegedWork::Interface => &["CAP_NET_ADMIN"],
        }
    }
}

/// Names and numbers (linux/capability.h) of the capabilities that wirelab can need.
const NUMBERS: [(&str, u32); 5] = [
    ("CAP_NET_ADMIN", 12),
    ("CAP_NET_RAW", 13),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// The kernel refused because a capability is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Privilege {
    /// The work that needs it: "to …".
    what: String,
    needed: &'static [&'static str],
    /// Capabilities of this thread, one bit each.
    held: u64,
}

impl Privilege {
    /// The calling thread may not do `what` ("to …"), which is this type of work.
    pub fn new(what: impl Into<String>, work: PrivilegedWork) -> Privilege {
        Privilege {
            what: what.into(),
            needed: work.capabilities(),
            held: held(),
        }
    }

    fn is_held(&self, name: &str) -> bool {
        let number = NUMBERS.iter().find(|(known, _)| *known == name);
        number.is_some_and(|(_, number)| self.held & (1 << number) != 0)
    }

    /// CAP_SYS_ADMIN includes these two, which were split off from it (capabilities(7)).
    fn is_missing(&self, name: &str) -> bool {
        let covered = matches!(name, "CAP_BPF" | "CAP_PERFMON") && self.is_held("CAP_SYS_ADMIN");
        !covered && !self.is_held(name)
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        let missing: Vec<&str> = self
            .needed
            .iter()
            .copied()
            .filter(|name| self.is_missing(name))
            .collect();
        if missing.is_empty() {
            let (names, verb) = match self.needed {
                [one] => ((*one).to_owned(), "is"),
                several => (several.join(" and "), "are"),
            };
            return write!(
                f,
                "the kernel refuses {what}, though {names} {verb} held: this user namespace or container \
                 does not reach that far, or a security module forbids it; fix: run it with `sudo wirelab …` on the host",
            );
        }
        // setcap replaces the capabilities of a file, so those held already are listed too.
        let granted = names().filter(|name| self.needed.contains(name) || self.is_held(name));
        write!(
            f,
            "missing {}, needed {what}; fix: run it with `sudo wirelab …`, or grant it once with `{}`",
            missing.join(" and "),
            command(granted)
        )
    }
}

/// The command that lets an installed wirelab do this type of work without root.
pub fn grant(work: PrivilegedWork) -> String {
    let needed = work.capabilities();
    command(names().filter(|name| needed.contains(name)))
}

fn names() -> impl Iterator<Item = &'static str> {
    NUMBERS.iter().map(|(name, _)| *name)
}

fn command<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(str::to_lowercase).collect();
    format!("sudo setcap {}+ep $(command -v wirelab)", names.join(","))
}

/// The effective capabilities of the calling thread.
fn held() -> u64 {
    effective("thread-self").unwrap_or(0)
}

/// Whether the calling thread lacks a capability that this type of work needs.
pub(crate) fn lacks(work: PrivilegedWork) -> bool {
    let privilege = Privilege::new("", work);
    work.capabilities()
        .iter()
        .any(|name| privilege.is_missing(name))
}

/// Whether a process has the capability to send and receive frames.
pub(crate) fn may_send(pid: i32) -> bool {
    Privilege {
        what: String::new(),
        needed: PrivilegedWork::Packet.capabilities(),
        held: effective(&pid.to_string()).unwrap_or(0),
    }
    .is_held("CAP_NET_RAW")
}

/// See proc_pid_status(5).
fn effective(who: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{who}/status")).ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(work: PrivilegedWork, held: u64) -> String {
        Privilege {
            held,
            ..Privilege::new("to open eth0", work)
        }
        .to_string()
    }

    #[test]
    fn the_message_names_what_lacks_and_grants_no_more_than_the_work_needs() {
        let text = refused(PrivilegedWork::Packet, 0);
        assert!(
            text.starts_with("missing CAP_NET_RAW, needed to open eth0"),
            "{text}"
        );
        assert!(
            text.contains("`sudo setcap cap_net_raw+ep $(command -v wirelab)`"),
            "{text}"
        );
        let text = refused(PrivilegedWork::Xdp, 1 << 21);
        assert!(text.starts_with("missing CAP_NET_ADMIN, needed"), "{text}");
        let text = refused(PrivilegedWork::Lab, 1 << 13 | 1 << 21);
        assert!(text.starts_with("missing CAP_NET_ADMIN, needed"), "{text}");
        // Otherwise the command would remove what was granted before.
        assert!(
            text.contains("setcap cap_net_admin,cap_net_raw,cap_sys_admin+ep"),
            "{text}"
        );
    }

    #[test]
    fn a_capability_that_is_held_is_not_called_missing() {
        let text = refused(PrivilegedWork::Lab, u64::MAX);
        assert!(
            !text.contains("missing")
                && text.contains("though CAP_NET_ADMIN and CAP_SYS_ADMIN are held"),
            "{text}"
        );
    }

    #[test]
    fn each_capability_has_its_number() {
        for work in [
            PrivilegedWork::Packet,
            PrivilegedWork::Xdp,
            PrivilegedWork::Namespace,
            PrivilegedWork::Lab,
            PrivilegedWork::Interface,
        ] {
            for name in work.capabilities() {
                assert!(NUMBERS.iter().any(|(known, _)| known == name), "{name}");
            }
        }
    }
}
