//! Options of `hdl:`: the number of ports, and their cables.

use wirelab_trial::{NameError, NodeName};

/// Most ports of a bench.
pub const MOST_PORTS: usize = 8;

/// The number of ports and their cables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HdlOptions {
    /// Ports, 1 to [`MOST_PORTS`].
    pub ports: usize,
    /// Each port is joined to itself.
    pub loopback: bool,
}

impl HdlOptions {
    /// Options from the text after `hdl:`: `4`, `1`, `3,loopback`.
    ///
    /// # Errors
    /// As [`HdlOptions::of`].
    pub fn parse(text: &str) -> Result<HdlOptions, NameError> {
        HdlOptions::of(&format!("hdl:{text}").parse()?)
    }

    /// The options of a name.
    ///
    /// # Errors
    /// [`NameError`] with what is wrong, and the valid options.
    pub fn of(name: &NodeName) -> Result<HdlOptions, NameError> {
        let wrong = |why: String| NameError::new(name, why);
        let number = name.target().parse().ok();
        let ports = number.filter(|n| (1..=MOST_PORTS).contains(n)).ok_or_else(|| {
            wrong(format!(
                "hardware in simulation has 1 to {MOST_PORTS} ports; fix: write hdl:N, e.g. hdl:4, or hdl:reference for the reference node"
            ))
        })?;
        name.only_options(&["loopback"], "write loopback, the one option")?;
        let loopback = match name.option("loopback") {
            None => false,
            Some(None) => true,
            Some(Some(_)) => {
                return Err(wrong("loopback has no value; fix: write loopback".into()));
            }
        };
        if ports % 2 == 1 && ports > 1 && !loopback {
            let why = format!(
                "a cable has two ends, and {ports} is odd; fix: give an even number, or hdl:{ports},loopback to join each \
                 port to itself"
            );
            return Err(wrong(why));
        }
        Ok(HdlOptions {
            ports,
            // A single port has no other peer.
            loopback: loopback || ports == 1,
        })
    }

    /// The port at the other end of a port's cable: with four ports 0–2 and 1–3, as in the Ethernet FMC design.
    pub fn peer(&self, port: usize) -> usize {
        match self.loopback {
            true => port,
            false => (port + self.ports / 2) % self.ports,
        }
    }

    /// The joined ports, each cable once, its lower end first.
    pub fn cables(&self) -> Vec<(usize, usize)> {
        let ends = (0..self.ports).map(|port| (port, self.peer(port)));
        ends.filter(|(port, peer)| port <= peer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_ports_have_the_cables_of_the_ethernet_fmc() {
        let cables = |text| HdlOptions::parse(text).unwrap().cables();
        assert_eq!(cables("4"), [(0, 2), (1, 3)]);
        assert_eq!(cables("1"), [(0, 0)]);
        assert_eq!(cables("2"), [(0, 1)]);
        assert_eq!(cables("3,loopback"), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(cables("8").len(), 4);
    }

    #[test]
    fn what_cannot_be_says_what_can() {
        for (text, words) in [
            ("0", "1 to 8 ports"),
            ("9", "1 to 8 ports"),
            ("", "1 to 8 ports"),
            ("four", "1 to 8 ports"),
            ("3", "hdl:3,loopback"),
            ("4,cable=0-1", "unknown option 'cable'"),
            ("4,loopback,loopback", "given before"),
            ("4,", "nothing follows a comma"),
            ("4,loopback=1", "loopback has no value"),
        ] {
            let error = HdlOptions::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
