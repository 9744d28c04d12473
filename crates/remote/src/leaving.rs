//! Watches the interface by which a side sends in a trial: its link may fail, and its queue or driver may drop frames,
//! which are then neither sent nor lost.

use std::collections::BTreeMap;
use std::time::Instant;

use wirelab_port::iface::{Departed, Egress, Interface};
use wirelab_trial::job::SendReport;
use wirelab_trial::{NodeError, Observation};

/// The interface by which a trial sends, from its beginning; `None` where it is unknown or has no link.
pub struct Leaving(Option<Egress>, Instant);

impl Leaving {
    /// Starts to watch an interface.
    pub fn by(interface: Option<&Interface>) -> Leaving {
        let link = interface.filter(|i| !i.loopback);
        Leaving(link.and_then(|i| Egress::begin(&i.port)), Instant::now())
    }

    /// Events of the interface so far, in a trial in which this side sent `emitted` frames (0 if unknown).
    pub fn end(&self, emitted: u64) -> InterfaceEvents {
        let departed = self.0.as_ref().map(|egress| egress.end(emitted));
        let departed = departed.unwrap_or_default();
        let fault = departed.fault.zip(self.0.as_ref());
        let watched = self.0.as_ref().map(|_| self.1.elapsed().as_nanos());
        InterfaceEvents {
            departed,
            watched_ns: watched.map_or(0, |ns| u64::try_from(ns).unwrap_or(u64::MAX)),
            fault: fault
                .map(|(fault, egress)| format!("{}: {fault} during the trial", egress.port())),
        }
    }
}

/// Most frames/s of the control protocol between tester and node during a trial.
const CONTROL_PER_S: u64 = 200;

/// Events of a side's interface in a trial.
#[derive(Clone, Debug, Default)]
pub struct InterfaceEvents {
    departed: Departed,
    /// How long it was watched; 0 where it was not.
    watched_ns: u64,
    fault: Option<String>,
}

impl InterfaceEvents {
    /// The events that a node reports of its interface.
    pub fn of_node(counters: &BTreeMap<String, u64>) -> InterfaceEvents {
        let get = |name: &str| counters.get(name).copied();
        let departed = Departed {
            fault: None,
            transmitted: get("interface_sent_frames").unwrap_or(0),
            dropped: get("interface_dropped_frames").unwrap_or(0),
            received: get("interface_received_frames").unwrap_or(0),
        };
        InterfaceEvents {
            departed,
            watched_ns: get("watched_ns").unwrap_or(0),
            fault: None,
        }
    }

    /// These events without the frames of other flows that certainly left, because they arrived.
    #[must_use]
    pub fn beside(&self, arrived: u64) -> InterfaceEvents {
        InterfaceEvents {
            departed: self.departed.beside(arrived),
            ..self.clone()
        }
    }

    /// Least frames/s received that do not belong to `own`; `None` where they may be the trial's own control frames.
    pub fn foreign_per_s(&self, own: u64) -> Option<u64> {
        let frames = u128::from(self.departed.received.saturating_sub(own));
        let rate = (frames * 1_000_000_000).checked_div(u128::from(self.watched_ns))?;
        u64::try_from(rate)
            .ok()
            .filter(|rate| *rate > CONTROL_PER_S)
    }

    /// Judges the result of a trial: if the link failed, it shows nothing about the node.
    ///
    /// # Errors
    /// The errors of the trial.
    pub fn judge(
        self,
        observation: Result<Observation, NodeError>,
    ) -> Result<Observation, NodeError> {
        let mut observation = match observation {
            Ok(observation) => observation,
            Err(error) => return Err(self.because(error)),
        };
        if let Some(why) = self.fault {
            observation.make_void(&why);
        }
        Ok(observation)
    }

    /// Names a failed link as the cause of an error, which itself does not name it.
    pub fn because(self, error: NodeError) -> NodeError {
        match self.fault {
            Some(why) => NodeError::Failed(format!("{why}: {error}")),
            None => error,
        }
    }

    /// Subtracts the datagrams that certainly did not leave from the sender's count. Returns how many more of the `unseen` ones
    /// may not have left.
    pub fn take_from(&self, sent: &mut SendReport, unseen: u64, segmented: bool) -> u64 {
        let emitted = sent.emitted_frames;
        let never = self.departed.never_left(emitted, unseen, segmented);
        let lasted_ns = sent.last_ns.saturating_sub(sent.first_ns);
        if never.at_least > 0 {
            // The share of the time in which the path took nothing equals the share of frames that it did not take.
            let share = u128::from(never.at_least) * u128::from(lasted_ns);
            let ns = u64::try_from(share / u128::from(emitted.max(1))).unwrap_or(u64::MAX);
            sent.blocked_ns = Some(sent.blocked_ns.unwrap_or(0).saturating_add(ns));
        }
        sent.never_left(never.at_least);
        never.at_most - never.at_least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_frames_are_those_beyond_the_flows_own_and_its_control() {
        let foreign_per_s = |received: u64| {
            let counters = [
                ("interface_received_frames", received),
                ("watched_ns", 500_000_000),
            ];
            let counters = counters.map(|(name, value)| (name.to_owned(), value));
            InterfaceEvents::of_node(&counters.into()).foreign_per_s(1_000)
        };
        assert_eq!(
            foreign_per_s(900),
            None,
            "frames that were joined count once"
        );
        assert_eq!(foreign_per_s(1_100), None, "the control of the trial");
        assert_eq!(foreign_per_s(1_600), Some(1_200));
        assert_eq!(
            InterfaceEvents::default().foreign_per_s(0),
            None,
            "nobody looked"
        );
    }
}
