//! Where the tester does its work, beside a node on the same machine: on other cores, so that the node's CPU load is
//! the node's alone.

use wirelab_cores::{Cores, Steering, allowed, host_id, pin_thread};
use wirelab_trial::{Warning, WarningCode};

/// The tester's place.
#[derive(Debug, Default)]
pub struct Place {
    /// The cores to work on, where they are chosen.
    cores: Option<Cores>,
    /// Lasts as long as the node is asked.
    _steering: Option<Steering>,
    /// Why the two may share cores.
    pub shared: Option<String>,
}

impl Place {
    /// Find a place apart from a node that says `host` and `cpus` of itself; `interface` is the tester's own.
    pub fn beside(host: Option<&str>, cpus: Option<&str>, interface: Option<&str>) -> Place {
        let same = host.is_some() && host_id().as_deref() == host;
        if !same {
            return Place::default();
        }
        let shared = |why: String| Place {
            shared: Some(why),
            ..Place::default()
        };
        let theirs = match cpus.map(str::parse::<Cores>) {
            Some(Ok(cores)) => cores,
            _ => return shared("the node does not tell its cores".to_owned()),
        };
        let own = match allowed() {
            Ok(own) => own,
            Err(error) => return shared(error.to_string()),
        };
        let Some(cores) = own.without(&theirs) else {
            return shared(format!(
                "this process may run on cores {own} alone, and the node is on {theirs}"
            ));
        };
        let steering = interface.map(|name| Steering::to(name, &cores)).transpose();
        match steering {
            Ok(steering) => Place {
                cores: Some(cores),
                _steering: steering,
                shared: None,
            },
            Err(error) => Place {
                cores: Some(cores),
                _steering: None,
                shared: Some(format!(
                    "what the tester receives cannot be kept off the node's cores: {error}"
                )),
            },
        }
    }

    /// The cores that the tester keeps to, where it must.
    pub const fn cores(&self) -> Option<&Cores> {
        self.cores.as_ref()
    }

    /// Put the calling thread, and those that it starts, in this place; why it could not be done.
    pub fn take(&self) -> Option<String> {
        let cores = self.cores.as_ref()?;
        pin_thread(cores).err().map(|error| error.to_string())
    }
}

/// The warning that says that tester and node may share cores.
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
        let place = Place::beside(Some("of another machine"), Some("0"), None);
        assert_eq!((place.take(), place.shared), (None, None));
        assert_eq!(Place::beside(None, Some("0"), None).shared, None);
    }

    #[test]
    fn on_the_same_machine_what_cannot_be_kept_apart_is_said() {
        let Some(host) = host_id() else { return };
        let all = allowed().unwrap().to_string();
        let place = Place::beside(Some(&host), Some(&all), None);
        assert!(place.shared.unwrap().contains("alone"));
        for cpus in [None, Some("all of them")] {
            let place = Place::beside(Some(&host), cpus, None);
            assert!(place.shared.unwrap().contains("does not tell"));
        }
    }
}
