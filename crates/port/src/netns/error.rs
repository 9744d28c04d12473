//! Errors of network namespaces, each with the fix.

use std::fmt::Display;

use wirelab_trial::system_error::system_fix;

use super::privilege::Privilege;

/// An error of a network namespace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetNsError {
    /// The name cannot be a namespace's name.
    #[error("'{name}' cannot be the name of a network namespace: {why}; fix: choose another name")]
    BadName {
        /// The given name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No namespace of that name.
    #[error("there is no network namespace '{name}'; fix: {}", known_names(.known))]
    Unknown {
        /// The given name.
        name: String,
        /// The existing namespaces.
        known: Vec<String>,
    },
    /// The name is taken.
    #[error(
        "network namespace '{name}' exists already; fix: choose another name, or delete it with `ip netns del {name}`"
    )]
    Exists {
        /// The given name.
        name: String,
    },
    /// Its holder belongs to this user but to another user namespace, which capabilities of this one do not reach.
    #[error(
        "network namespace {name} belongs to another user namespace (`unshare -r`), and can only be used there; fix: in a shell outside of `unshare`, write `nsenter --preserve-credentials --user --target {holder} wirelab …`"
    )]
    OfOtherUsers {
        /// The name that was given.
        name: String,
        /// The process that holds it.
        holder: i32,
    },
    /// The kernel refused because a capability is missing.
    #[error(transparent)]
    Privilege(#[from] Privilege),
    /// A tool is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A program could not be started inside a namespace.
    #[error(
        "{program} cannot be started in {namespace}: {source}; fix: install it, or add its folder to PATH"
    )]
    Command {
        /// The program.
        program: String,
        /// Its namespace.
        namespace: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system refused something else.
    #[error("{what}: {source}; fix: {}", system_fix(source))]
    Io {
        /// The action, or the file.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// An error of a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It is not installed.
    #[error(
        "{tool} is not installed; fix: install the package iproute2 (`sudo apt-get install iproute2`)"
    )]
    Missing {
        /// The program.
        tool: &'static str,
    },
    /// It said that something is not permitted.
    #[error(transparent)]
    Privilege(#[from] Privilege),
    /// It failed otherwise.
    #[error("`{command}` failed: {said}; fix: run it by hand, and repair what it reports")]
    Failed {
        /// The command line.
        command: String,
        /// What it printed.
        said: String,
    },
    /// It could not be run.
    #[error("`{command}` could not be run: {source}; fix: {}", system_fix(source))]
    Io {
        /// The command line.
        command: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl NetNsError {
    pub(crate) fn io(what: impl Display, source: std::io::Error) -> NetNsError {
        NetNsError::Io {
            what: what.to_string(),
            source,
        }
    }

    /// Whether a missing capability is the reason, so that a test may skip.
    pub fn is_privilege(&self) -> bool {
        matches!(
            self,
            NetNsError::Privilege(_) | NetNsError::Tool(ToolError::Privilege(_))
        )
    }
}

/// Lists the existing names, for the end of an error message.
pub(crate) fn known_names(known: &[String]) -> String {
    match known {
        [] => "make one with 'wirelab lab up NAME' (none is up here)".to_owned(),
        [one] => format!("name {one}, the only one here"),
        many => format!("name one of {}", many.join(", ")),
    }
}
