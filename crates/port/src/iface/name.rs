//! `[NS/]IFACE`: the name of a port on the command line and in plans.

use std::fmt;
use std::str::FromStr;

use crate::netns::{NetNs, NetNsError, check_name};

/// Longest name of an interface in bytes (`IFNAMSIZ` in linux/if.h is 16 with the final zero).
const LONGEST: usize = 15;

/// The name of a port: an interface and its network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortName {
    /// The namespace's name as `ip netns` shows it; `None` for the one in which wirelab was started.
    pub namespace: Option<String>,
    /// The interface's name.
    pub interface: String,
}

/// Why a text is not a port name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is not a port: {why}; fix: write INTERFACE or NAMESPACE/INTERFACE, such as eth0 or lab-node/n0"
)]
pub struct PortNameError {
    /// The given text.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl PortName {
    /// A port in a named namespace.
    ///
    /// # Errors
    /// [`PortNameError`] if one of the names is invalid.
    pub fn new(namespace: Option<&str>, interface: &str) -> Result<PortName, PortNameError> {
        let port = PortName {
            namespace: namespace.map(str::to_owned),
            interface: interface.to_owned(),
        };
        let bad = |why: String| PortNameError {
            text: port.to_string(),
            why,
        };
        if let Some(name) = namespace {
            check_name(name).map_err(|e| bad(e.to_string()))?;
        }
        check_interface(interface).map_err(|why| bad(why.to_owned()))?;
        Ok(port)
    }

    /// Opens the port's namespace.
    ///
    /// # Errors
    /// The errors of [`NetNs::open`].
    pub fn netns(&self) -> Result<NetNs, NetNsError> {
        match &self.namespace {
            Some(name) => NetNs::open(name),
            None => NetNs::current(),
        }
    }

    /// The command line `ip …` for this port's namespace, for the fix in messages.
    pub(crate) fn ip_command(&self, rest: &str) -> String {
        self.command("ip", rest)
    }

    /// The command line of `ip` or `tc` for this port's namespace.
    pub(crate) fn command(&self, program: &str, rest: &str) -> String {
        match &self.namespace {
            Some(name) if NetNs::is_ip_netns(name) => format!("sudo {program} -n {name} {rest}"),
            Some(name) => {
                let path = NetNs::path(name).unwrap_or_default();
                format!("nsenter --net={} {program} {rest}", path.display())
            }
            None => format!("sudo {program} {rest}"),
        }
    }
}

impl FromStr for PortName {
    type Err = PortNameError;

    fn from_str(text: &str) -> Result<PortName, PortNameError> {
        match text.split_once('/') {
            Some((namespace, interface)) => PortName::new(Some(namespace), interface),
            None => PortName::new(None, text),
        }
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.interface),
            None => f.write_str(&self.interface),
        }
    }
}

/// The kernel's rule (`dev_valid_name` in net/core/dev.c), and no control characters, because messages print the
/// name.
fn check_interface(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("the interface is missing");
    }
    if name.len() > LONGEST {
        return Err("an interface's name has at most 15 bytes");
    }
    if name == "." || name == ".." || name.starts_with('-') {
        return Err("an interface's name is not '.' or '..' and does not start with '-'");
    }
    if name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control()) {
        return Err("an interface's name has no slash, colon, space or control character");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_are_read_and_written() {
        let plain: PortName = "eth0".parse().unwrap();
        assert_eq!(
            (plain.namespace.as_deref(), plain.interface.as_str()),
            (None, "eth0")
        );
        let inside: PortName = "lab-node/n0".parse().unwrap();
        assert_eq!(inside.namespace.as_deref(), Some("lab-node"));
        assert_eq!(inside.to_string(), "lab-node/n0");
    }

    #[test]
    fn what_is_not_a_port_is_refused_with_the_reason() {
        for text in [
            "",
            "a/",
            "/b",
            "a/b/c",
            "sixteen-bytes-it",
            "a b",
            "eth0:1",
            "../x",
            "-x",
            "x\n",
        ] {
            let error = text.parse::<PortName>().unwrap_err();
            assert!(
                error.to_string().contains("NAMESPACE/INTERFACE"),
                "{text:?}: {error}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_comes_back_unchanged(text in ".{0,40}") {
            if let Ok(port) = text.parse::<PortName>() {
                prop_assert_eq!(port.to_string(), text);
            }
        }
    }
}
