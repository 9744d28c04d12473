//! Chooses the tester's cores: beside a node on the same machine they are others than the node's, so that the node's
//! CPU load is its own.

use wirelab_cores::{Cores, Steering, allowed, host_id, pin_thread};
use wirelab_trial::{Warning, WarningCode};

/// The cores of the tester.
#[derive(Debug, Default)]
pub struct TesterCores {
    /// The cores to work on, where they are restricted.
    cores: Option<Cores>,
    /// Lasts as long as the node is in use.
    _steering: Option<Steering>,
    /// Why the two may share cores.
    pub shared: Option<String>,
}

impl TesterCores {
    /// Chooses cores apart from a node that reports `host` and `cpus`; `interface` is the tester's own.
    pub fn beside(host: Option<&str>, cpus: Option<&str>, interface: Option<&str>) -> TesterCores {
        let same = host.is_some() && host_id().as_deref() == host;
        if !same {
            return TesterCores::default();
        }
        let shared = |why: String| TesterCores {
            shared: Some(why),
            ..TesterCores::default()
        };
        let theirs = match cpus.map(str::parse::<Cores>) {
            Some(Ok(cores)) => cores,
            _ => return shared("the node does not report its cores".to_owned()),
        };
        let own = match allowed() {
            Ok(own) => own,
            Err(error) => return shared(error.to_string()),
        };
        let Some(cores) = own.without(&theirs) else {
            return shared(format!(
                "this process may run only on cores {own}, and the node is on {theirs}"
            ));
        };
        let steering = interface.map(|name| Steering::to(name, &cores)).transpose();
        match steering {
            Ok(steering) => TesterCores {
                cores: Some(cores),
                _steering: steering,
                shared: None,
            },
            Err(error) => TesterCores {
                cores: Some(cores),
                _steering: None,
                shared: Some(format!(
                    "what the tester receives cannot be kept off the node's cores: {error}"
                )),
            },
        }
    }

    /// The cores that the tester must keep to, if any.
    pub const fn cores(&self) -> Option<&Cores> {
        self.cores.as_ref()
    }

    /// Pins the calling thread, and those that it starts, to these cores; returns why that failed.
    pub fn take(&self) -> Option<String> {
        let cores = self.cores.as_ref()?;
        pin_thread(cores).err().map(|error| error.to_string())
    }
}

/// The warning that tester and node may share cores.
pub fn warning(why: &str) -> Warning {
    Warning::new(
        WarningCode::SHARED_CORES,
        format!("tester and node may share cores ({why}), so the CPU load is not the node's alone"),
        "start the node with --cpus on cores of its own, or on another machine; such figures are kept out of fit",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_needs_no_care() {
        let cores = TesterCores::beside(Some("of another machine"), Some("0"), None);
        assert_eq!((cores.take(), cores.shared), (None, None));
        assert_eq!(TesterCores::beside(None, Some("0"), None).shared, None);
    }

    #[test]
    fn on_the_same_machine_what_cannot_be_kept_apart_is_said() {
        let Some(host) = host_id() else { return };
        let all = allowed().unwrap().to_string();
        let cores = TesterCores::beside(Some(&host), Some(&all), None);
        assert!(cores.shared.unwrap().contains("only"));
        for cpus in [None, Some("all of them")] {
            let cores = TesterCores::beside(Some(&host), cpus, None);
            assert!(cores.shared.unwrap().contains("does not report"));
        }
    }
}
