//! The kernel's counters of the ports during a run: whether their links stayed up, and whether sent frames left.

use std::time::{Duration, Instant};

use wirelab_port::iface::{Egress, IfaceError, LinkEvents, LinkFault, LinkState, PortName};
use wirelab_port::job::{Missed, SendReport};

use crate::flow::FlowPlan;

/// Longest wait for a link that attaching a program took down: some drivers restart.
const LINK_BACK: Duration = Duration::from_secs(5);
/// Drivers that update their counters at intervals do so within this time.
const COUNTERS_UP_TO_DATE: Duration = Duration::from_millis(2_500);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The state of a run's ports when it began.
pub struct PortStates(Vec<PortState>);

struct PortState {
    egress: Egress,
    events: Option<LinkEvents>,
}

impl PortState {
    fn begin(port: &PortName, index: u32) -> Option<PortState> {
        // First, so that no change between the two is missed.
        let events = LinkEvents::begin(port, index);
        let egress = Egress::begin(port)?;
        Some(PortState { egress, events })
    }
}

impl PortStates {
    /// Begin to watch both ends of each flow.
    ///
    /// # Errors
    /// [`IfaceError`] if a port cannot be queried or has no carrier.
    pub fn of_flows(flows: &[FlowPlan]) -> Result<PortStates, IfaceError> {
        let mut ports: Vec<_> = flows.iter().flat_map(|f| [&f.from, &f.to]).collect();
        ports.sort();
        ports.dedup();
        PortStates::start(&ports)
    }

    /// Begin to watch `ports`.
    ///
    /// # Errors
    /// As [`PortStates::of_flows`].
    pub fn start(ports: &[&PortName]) -> Result<PortStates, IfaceError> {
        let begin = |port: &&PortName| {
            let state = state_with_carrier(port)?;
            PortState::begin(port, state.index).ok_or_else(|| gone(port))
        };
        ports
            .iter()
            .map(begin)
            .collect::<Result<_, _>>()
            .map(PortStates)
    }

    /// Begin to watch a port that has a carrier; `None` as long as it has none.
    pub fn once_up(port: &PortName) -> Option<PortStates> {
        let state = LinkState::query(port).ok().flatten()?;
        let watched = state.carrier.then(|| PortState::begin(port, state.index));
        Some(PortStates(vec![watched.flatten()?]))
    }

    /// What happened to the links since, in words; `None` for nothing.
    pub fn fault(&self) -> Option<String> {
        let fault = |watched: &PortState| {
            let was_down = || watched.events.as_ref().is_some_and(LinkEvents::was_down);
            let fault = watched.egress.end(0).fault;
            let fault = fault.or_else(|| was_down().then_some(LinkFault::Down))?;
            Some(format!("{}: {fault} during the run", watched.egress.port()))
        };
        let faults: Vec<_> = self.0.iter().filter_map(fault).collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }

    /// Subtract from a sender's frames those that the interface never sent, because the kernel dropped them after the
    /// send call, e.g. in a queue of the port. At most `unseen` frames are in question; returns how many more of them
    /// may not have left.
    pub fn reconcile(&self, from: &PortName, sent: &mut SendReport, unseen: u64) -> u64 {
        let never = self.never_left(from, sent.emitted_frames, unseen);
        sent.never_left(never.at_least);
        never.at_most - never.at_least
    }

    fn never_left(&self, from: &PortName, emitted: u64, unseen: u64) -> Missed {
        let watched = self.0.iter().find(|w| w.egress.port() == from);
        let Some(watched) = watched.filter(|_| unseen > 0) else {
            return Missed::default();
        };
        let begun = Instant::now();
        loop {
            // This loop waits until the counters agree, so one reading need not wait for emitted frames.
            let departed = watched.egress.end(0);
            if departed.fault.is_some() {
                return Missed::default();
            }
            // Each foreign frame that left hides one of these.
            let lacking = emitted.saturating_sub(departed.transmitted);
            if lacking <= departed.dropped || begun.elapsed() >= COUNTERS_UP_TO_DATE {
                // Frames that were not sent by now did not leave, whether or not a counter includes them.
                let at_least = lacking.min(unseen);
                let bounds = departed.never_left(emitted, unseen, false);
                return Missed {
                    at_least,
                    at_most: bounds.at_most.max(at_least),
                };
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn gone(port: &PortName) -> IfaceError {
    IfaceError::Unknown {
        port: port.clone(),
        known: Vec::new(),
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
            None => return Err(gone(port)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use wirelab_port::lab::{EphemeralLab, LabSpec, Side};
    use wirelab_port::tap::{TapPort, TapSpec};

    #[test]
    fn an_interface_that_keeps_its_carrier_is_seen_to_have_been_down() {
        if !wirelab_port::netns::may_test() {
            return;
        }
        let lab = EphemeralLab::up(&LabSpec::unique("wlwatch", 1)).unwrap();
        let inside = lab.port(0, Side::Node).unwrap();
        let namespace = inside.namespace.as_deref().unwrap();
        let ip = |arguments: &str| {
            let arguments = arguments.split(' ');
            let mut ip = Command::new("ip");
            let done = ip.args(["-n", namespace]).args(arguments).status().unwrap();
            assert!(done.success());
        };
        let port = PortName::new(Some(namespace), "d0").unwrap();
        let _tap = TapPort::create(&TapSpec::new(port.clone())).unwrap();
        let watch = PortStates::start(&[&port]).unwrap();
        assert_eq!(watch.fault(), None);
        ip("link set n0 down");
        assert_eq!(watch.fault(), None, "another interface");
        for state in ["down", "up"] {
            ip(&format!("link set d0 {state}"));
        }
        for look in ["first", "second"] {
            let fault = watch.fault().expect(look);
            assert!(fault.contains("d0: the interface was set down"), "{fault}");
        }
    }
}
