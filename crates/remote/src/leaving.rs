//! What becomes of a trial at the interface by which a side sends: its link may fail, and its queue or driver may drop
//! frames, which are neither sent nor lost.

use std::collections::BTreeMap;
use std::time::Instant;

use wirelab_port::iface::{Departed, Egress, Interface};
use wirelab_trial::job::SendReport;
use wirelab_trial::{NodeError, Observation};

/// The interface that a trial leaves by, from its beginning; none where it is not known, or no link.
pub struct Leaving(Option<Egress>, Instant);

impl Leaving {
    /// Begin to watch it.
    pub fn by(interface: Option<&Interface>) -> Leaving {
        let link = interface.filter(|i| !i.loopback);
        Leaving(link.and_then(|i| Egress::begin(&i.port)), Instant::now())
    }

    /// What happened to it until now.
    pub fn end(&self) -> Left {
        let departed = self.0.as_ref().map(Egress::end).unwrap_or_default();
        let fault = departed.fault.zip(self.0.as_ref());
        let watched = self.0.as_ref().map(|_| self.1.elapsed().as_nanos());
        Left {
            departed,
            watched_ns: watched.map_or(0, |ns| u64::try_from(ns).unwrap_or(u64::MAX)),
            fault: fault
                .map(|(fault, egress)| format!("{}: {fault} during the trial", egress.port())),
        }
    }
}

/// Frames a second that a tester and a node say to one another about a trial, at most.
const CONTROL_PER_S: u64 = 200;

/// What happened to the interface of a side in a trial.
#[derive(Clone, Debug, Default)]
pub struct Left {
    departed: Departed,
    /// For how long that was watched; 0 where nobody did.
    watched_ns: u64,
    fault: Option<String>,
}

impl Left {
    /// What a node tells of its interface.
    pub fn of_node(counters: &BTreeMap<String, u64>) -> Left {
        let get = |name: &str| counters.get(name).copied();
        let departed = Departed {
            fault: None,
            transmitted: get("interface_sent_frames").unwrap_or(0),
            dropped: get("interface_dropped_frames").unwrap_or(0),
            received: get("interface_received_frames").unwrap_or(0),
        };
        Left {
            departed,
            watched_ns: get("watched_ns").unwrap_or(0),
            fault: None,
        }
    }

    /// The same, less so many frames of other flows that left for certain, since they arrived.
    #[must_use]
    pub fn beside(&self, arrived: u64) -> Left {
        Left {
            departed: self.departed.beside(arrived),
            ..self.clone()
        }
    }

    /// Frames/s that came in and were none of `own`, at least; `None` where they are no more than a trial's own control.
    pub fn foreign_per_s(&self, own: u64) -> Option<u64> {
        let frames = u128::from(self.departed.received.saturating_sub(own));
        let rate = (frames * 1_000_000_000).checked_div(u128::from(self.watched_ns))?;
        u64::try_from(rate)
            .ok()
            .filter(|rate| *rate > CONTROL_PER_S)
    }

    /// What a trial gave: one in which the link failed says nothing of the node.
    ///
    /// # Errors
    /// Those of the trial.
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

    /// A link that failed fails many things, none of which names the cause.
    pub fn because(self, error: NodeError) -> NodeError {
        match self.fault {
            Some(why) => NodeError::Failed(format!("{why}: {error}")),
            None => error,
        }
    }

    /// Take from a sender's datagrams those that never left; how many more of `unseen` may not have either.
    pub fn take_from(&self, sent: &mut SendReport, unseen: u64, segmented: bool) -> u64 {
        let emitted = sent.emitted_frames;
        let never = self.departed.never_left(emitted, unseen, segmented);
        let lasted_ns = sent.last_ns.saturating_sub(sent.first_ns);
        if never.at_least > 0 {
            // The share of the time in which the path took nothing is that of the frames which it did not take.
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
        let told = |received: u64| {
            let counters = [
                ("interface_received_frames", received),
                ("watched_ns", 500_000_000),
            ];
            let counters = counters.map(|(name, value)| (name.to_owned(), value));
            Left::of_node(&counters.into()).foreign_per_s(1_000)
        };
        assert_eq!(told(900), None, "frames that were joined count once");
        assert_eq!(told(1_100), None, "the control of the trial");
        assert_eq!(told(1_600), Some(1_200));
        assert_eq!(Left::default().foreign_per_s(0), None, "nobody looked");
    }
}
