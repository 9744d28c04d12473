//! What becomes of a trial at the tester's own interface: its link may fail, and its queue or driver may drop frames, which
//! are neither sent nor lost.

use wirelab_port::iface::{Departed, Egress, Interface};
use wirelab_trial::job::SendReport;
use wirelab_trial::{NodeError, Observation, Status};

/// The interface that a trial leaves by, from its beginning; none where it is not known, or no link.
pub struct Leaving(Option<Egress>);

impl Leaving {
    /// Begin to watch it.
    pub fn by(interface: Option<&Interface>) -> Leaving {
        let link = interface.filter(|i| !i.loopback);
        Leaving(link.and_then(|i| Egress::begin(&i.port)))
    }

    /// What happened to it until now.
    pub fn end(&self) -> Left {
        let departed = self.0.as_ref().map(Egress::end).unwrap_or_default();
        let fault = departed.fault.zip(self.0.as_ref());
        Left {
            departed,
            fault: fault
                .map(|(fault, egress)| format!("{}: {fault} during the trial", egress.port())),
        }
    }
}

/// What happened to the tester's interface in a trial.
#[derive(Clone, Debug, Default)]
pub struct Left {
    departed: Departed,
    fault: Option<String>,
}

impl Left {
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
            observation.status = Status::Void { why };
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
