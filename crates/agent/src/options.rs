//! The options of a node.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::{fmt, io};

use wirelab_control::line::word;
use wirelab_control::refusal::MAX_WHY;
use wirelab_control::token::Token;
use wirelab_cores::{BusyError, CoreError, Cores};
use wirelab_port::iface::{IfaceError, PortNameError};
use wirelab_socket::access::{Access, Rules};
use wirelab_socket::prefix::Prefix;
use wirelab_stages::Xdp;
use wirelab_trial::system_error::system_fix;

use crate::limits::Limits;

/// Most set-up keys that a user can give.
const MOST_KEYS: usize = 64;

/// Called with a peer and the reason of its refusal.
type Refused = dyn Fn(IpAddr, &str) + Send + Sync;

/// What to do about a refusal.
#[derive(Clone)]
pub struct OnRefusal(pub Arc<Refused>);

impl Default for OnRefusal {
    /// Ignores refusals.
    fn default() -> OnRefusal {
        OnRefusal(Arc::new(|_, _| ()))
    }
}

impl fmt::Debug for OnRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnRefusal")
    }
}

/// How to run a node.
#[derive(Clone, Debug)]
pub struct Options {
    /// The only address on which it listens: for control, and on other ports for iperf.
    pub listen: SocketAddr,
    /// The interface of the trials; by default the one that has the address.
    pub interface: Option<String>,
    /// The cores that do the node's work; by default the last core, if there are two.
    pub cores: Option<Cores>,
    /// Name of the node, a word; by default the host's name.
    pub name: Option<String>,
    /// Set-up keys that the system does not report, or whose values these replace.
    pub set: Vec<(String, String)>,
    /// Link-layer addresses that Ethernet trials may send to, besides that of the requesting host.
    pub allowed_macs: Vec<[u8; 6]>,
    /// Whether to steer the receive work of the interface to the node's cores.
    pub steer: bool,
    /// Where XDP programs may be attached to the interface.
    pub xdp: Xdp,
    /// Whether to serve iperf 2 and iperf3.
    pub iperf: bool,
    /// Who may use the node; empty means all hosts.
    pub allow: Vec<Prefix>,
    /// The token that clients must prove to have.
    pub token: Option<Token>,
    /// Who gets datagrams from the iperf 2 server without having proven that it receives them.
    pub allow_reverse: Vec<Prefix>,
    /// Limits of what a peer can request.
    pub limits: Limits,
    /// Called for each peer that iperf refuses, with the reason.
    pub on_refusal: OnRefusal,
}

/// An invalid option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Not KEY=VALUE.
    #[error(
        "invalid set-up key '{0}'; fix: write KEY=VALUE, such as phy=DP83869HM; a key consists of small letters, digits, '_', '-' and '.'"
    )]
    Assignment(String),
    /// Too long for a line of the protocol.
    #[error("the value of '{key}' has more than {limit} bytes; fix: shorten it")]
    TooLong {
        /// The key.
        key: String,
        /// Bytes that fit.
        limit: usize,
    },
    /// Too many set-up keys.
    #[error("more than {0} set-up keys were given; fix: leave some out")]
    TooMany(usize),
    /// Not a word of the protocol.
    #[error(
        "'{0}' cannot be the name of a node; fix: use 1 to 32 small letters, digits, '_', '-' and '.', a letter first"
    )]
    Name(String),
    /// A wildcard or multicast address.
    #[error(
        "a node listens on one address of this host, not on {0}; fix: give the address that testers reach, such as the one that `ip -brief address` shows"
    )]
    AnyAddress(IpAddr),
}

/// Why a node cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// An invalid option.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The address is not this host's.
    #[error(
        "no interface here has the address {0}; fix: give one that `ip -brief address` shows, or name an interface with --interface"
    )]
    NoAddress(IpAddr),
    /// The kernel does not list addresses.
    #[error("cannot list the addresses of this host: {}; fix: {}", .0, system_fix(.0))]
    Addresses(io::Error),
    /// Invalid name of an interface.
    #[error(transparent)]
    Name(#[from] PortNameError),
    /// The interface cannot be used.
    #[error(transparent)]
    Interface(#[from] IfaceError),
    /// The cores cannot be used.
    #[error(transparent)]
    Cores(#[from] CoreError),
    /// The load of the cores cannot be read.
    #[error(transparent)]
    Busy(#[from] BusyError),
    /// The port is in use or not permitted.
    #[error("cannot listen on {address}: {source}; fix: {}", fix(.source))]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error(
        "the node's threads cannot be started: {0}; fix: raise the limit of processes (`ulimit -u`)"
    )]
    Threads(io::Error),
}

fn fix(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "end the node that may run there already (`ss -lptu`), or give another port with --listen ADDRESS:PORT"
        }
        io::ErrorKind::PermissionDenied => "give a port above 1023, or run as root",
        _ => "give an address that `ip -brief address` shows",
    }
}

impl Options {
    /// A node on an address, with all other options at their defaults.
    pub fn on(listen: SocketAddr) -> Options {
        Options {
            listen,
            interface: None,
            cores: None,
            name: None,
            set: Vec::new(),
            allowed_macs: Vec::new(),
            steer: true,
            xdp: Xdp::Auto,
            iperf: true,
            allow: Vec::new(),
            token: None,
            allow_reverse: Vec::new(),
            limits: Limits::default(),
            on_refusal: OnRefusal::default(),
        }
    }

    /// Who may use the node, and to whom it sends datagrams.
    pub fn access(&self) -> Access {
        Access::new(Rules {
            allow: self.allow.clone(),
            reverse: self.allow_reverse.clone(),
            trust_link: false,
            token: self.token.is_some(),
        })
    }

    /// Take a set-up key as `KEY=VALUE`.
    ///
    /// # Errors
    /// [`OptionsError`] names the key.
    pub fn set(&mut self, assignment: &str) -> Result<(), OptionsError> {
        let bad = || OptionsError::Assignment(assignment.chars().take(80).collect());
        let (key, value) = assignment.split_once('=').ok_or_else(bad)?;
        // It is sent as `set.KEY`, which must also be a valid key.
        if word(key.as_bytes()).is_none() || word(format!("set.{key}").as_bytes()).is_none() {
            return Err(bad());
        }
        if value.len() > MAX_WHY {
            return Err(OptionsError::TooLong {
                key: key.to_owned(),
                limit: MAX_WHY,
            });
        }
        if self.set.len() == MOST_KEYS {
            return Err(OptionsError::TooMany(MOST_KEYS));
        }
        self.set.retain(|(other, _)| other != key);
        self.set.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Check what can be checked without the system.
    ///
    /// # Errors
    /// [`OptionsError`]
    pub fn check(&self) -> Result<(), OptionsError> {
        if self.listen.ip().is_unspecified() || self.listen.ip().is_multicast() {
            return Err(OptionsError::AnyAddress(self.listen.ip()));
        }
        match &self.name {
            Some(name) if word(name.as_bytes()).is_none() => Err(OptionsError::Name(name.clone())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(listen: &str) -> Options {
        Options::on(listen.parse().unwrap())
    }

    #[test]
    fn keys_are_words_and_the_last_value_counts() {
        let mut options = options("127.0.0.1:5002");
        options.set("phy=DP83869HM").unwrap();
        options.set("phy=KSZ9031 = new").unwrap();
        assert_eq!(
            options.set,
            [("phy".to_owned(), "KSZ9031 = new".to_owned())]
        );
        for bad in ["phy", "=x", "Phy=x", "a b=c", "1a=2"] {
            let error = options.set(bad).unwrap_err().to_string();
            assert!(error.contains("KEY=VALUE"), "{bad}: {error}");
        }
        let long = format!("phy={}", "x".repeat(121));
        assert!(options.set(&long).unwrap_err().to_string().contains("120"));
        for n in 0..63 {
            options.set(&format!("key_{n}=v")).unwrap();
        }
        assert_eq!(options.set("more=1"), Err(OptionsError::TooMany(64)));
    }

    #[test]
    fn every_address_at_once_is_refused() {
        for any in ["0.0.0.0:5002", "[::]:5002", "224.0.0.1:5002"] {
            let error = options(any).check().unwrap_err().to_string();
            assert!(error.contains("one address"), "{error}");
        }
        let mut named = options("127.0.0.1:5002");
        named.name = Some("My Node".to_owned());
        assert!(named.check().unwrap_err().to_string().contains("My Node"));
        named.name = Some("my-node".to_owned());
        named.check().unwrap();
    }
}
