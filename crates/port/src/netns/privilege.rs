//! The error for a missing capability, which names the capability and the command that grants it.

/// The command that grants an installed wirelab all that its ports need, without root.
pub const GRANT: &str = "sudo setcap cap_net_raw,cap_net_admin,cap_sys_admin,cap_bpf,cap_perfmon+ep $(command -v wirelab)";

/// A capability is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing {}, needed {what}; run it with `sudo wirelab …`{}", .capabilities.join(" and "), grant(*.by_setcap))]
pub struct Privilege {
    /// What it was needed for: "to …".
    pub what: String,
    /// The capabilities, by their names in capabilities(7).
    pub capabilities: Vec<&'static str>,
    /// Whether `setcap` on the program is a way out too. It is not where a tool such as `ip` does the work,
    /// because capabilities of a file do not go on to the programs it starts.
    pub by_setcap: bool,
}

impl Privilege {
    /// A capability that `setcap` can grant as well as root.
    pub fn new(what: impl Into<String>, capabilities: &[&'static str]) -> Privilege {
        Privilege {
            what: what.into(),
            capabilities: capabilities.to_vec(),
            by_setcap: true,
        }
    }

    /// A capability that only root has here, because another program or the file system asks for it.
    pub fn root(what: impl Into<String>, capabilities: &[&'static str]) -> Privilege {
        Privilege {
            by_setcap: false,
            ..Privilege::new(what, capabilities)
        }
    }
}

fn grant(by_setcap: bool) -> String {
    if by_setcap {
        format!(", or grant it once with `{GRANT}`")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_capability_and_way_out() {
        let text = Privilege::new("to open eth0", &["CAP_NET_RAW", "CAP_NET_ADMIN"]).to_string();
        assert!(
            text.starts_with("missing CAP_NET_RAW and CAP_NET_ADMIN, needed to open eth0"),
            "{text}"
        );
        assert!(text.contains("sudo setcap cap_net_raw"), "{text}");
        let text = Privilege::root("to make a lab", &["CAP_SYS_ADMIN"]).to_string();
        assert!(
            text.contains("sudo wirelab") && !text.contains("setcap"),
            "{text}"
        );
    }
}
