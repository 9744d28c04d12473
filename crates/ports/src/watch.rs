//! What the kernel counts of the ports beside a run: whether their links stayed, and whether what was sent left.

use std::time::{Duration, Instant};

use wirelab_port::iface::{IfaceError, LinkState, PortName};
use wirelab_port::job::SendReport;

use crate::flow::FlowPlan;

/// Longest wait for a link that attaching a program took down: some drivers begin anew then.
const LINK_BACK: Duration = Duration::from_secs(5);
/// Drivers that bring their counters up to date now and then do so within this time.
const COUNTERS_UP_TO_DATE: Duration = Duration::from_millis(2_500);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The ports of a run as they were when it began.
pub struct Watch(Vec<(PortName, LinkState)>);

impl Watch {
    /// Begin to watch both ends of each flow.
    ///
    /// # Errors
    /// [`IfaceError`] where a port cannot be asked or has no carrier.
    pub fn of_flows(flows: &[FlowPlan]) -> Result<Watch, IfaceError> {
        let mut ports: Vec<_> = flows.iter().flat_map(|f| [&f.from, &f.to]).collect();
        ports.sort();
        ports.dedup();
        Watch::start(&ports)
    }

    /// Begin to watch `ports`.
    ///
    /// # Errors
    /// As [`Watch::of_flows`].
    pub fn start(ports: &[&PortName]) -> Result<Watch, IfaceError> {
        let state = |port: &&PortName| Ok(((*port).clone(), state_with_carrier(port)?));
        ports.iter().map(state).collect::<Result<_, _>>().map(Watch)
    }

    /// Begin to watch a port that has a carrier by now; `None` as long as it has none.
    pub fn once_up(port: &PortName) -> Option<Watch> {
        let state = LinkState::query(port).ok().flatten()?;
        state.carrier.then(|| Watch(vec![(port.clone(), state)]))
    }

    /// What happened to the links since, in words; `None` if nothing did.
    pub fn fault(&self) -> Option<String> {
        let fault = |(port, before): &(PortName, LinkState)| {
            // A namespace that is gone took its interfaces along.
            let now = LinkState::query(port).ok().flatten();
            let fault = before.fault_until(now.as_ref())?;
            Some(format!("{port}: {fault} during the run"))
        };
        let faults: Vec<_> = self.0.iter().filter_map(fault).collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }

    /// What a sender of the portable path handed over and the interface never sent was refused: the kernel drops it
    /// behind the sender's back, e.g. in a queue of the port. At most `unseen` frames of those are in question.
    pub fn reconcile(&self, from: &PortName, sent: &mut SendReport, unseen: u64) {
        let never_left = self.never_left(from, sent.emitted_frames, unseen);
        sent.never_left(never_left);
    }

    fn never_left(&self, from: &PortName, emitted: u64, unseen: u64) -> u64 {
        let Some((_, before)) = self.0.iter().find(|(port, _)| port == from) else {
            return 0;
        };
        let begun = Instant::now();
        loop {
            let Ok(Some(now)) = LinkState::query(from) else {
                return 0;
            };
            let transmitted = now
                .transmitted_frames
                .saturating_sub(before.transmitted_frames);
            let lacking = emitted.saturating_sub(transmitted).min(unseen);
            if lacking == 0 || begun.elapsed() >= COUNTERS_UP_TO_DATE {
                return lacking;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn state_with_carrier(port: &PortName) -> Result<LinkState, IfaceError> {
    let begun = Instant::now();
    loop {
        let state = LinkState::query(port)?;
        match state {
            Some(state) if state.carrier => return Ok(state),
            Some(_) if begun.elapsed() < LINK_BACK => std::thread::sleep(LOOK_AGAIN),
            Some(_) => return Err(IfaceError::NoCarrier { port: port.clone() }),
            None => {
                return Err(IfaceError::Unknown {
                    port: port.clone(),
                    known: Vec::new(),
                });
            }
        }
    }
}
