//! An XDP program on the tester's own interface, beside a node on the same host: it sees each frame from the node
//! first, and passes it on. A frame that XDP sends into a veth arrives only if a program is attached.

use wirelab_port::iface::Interface;
use wirelab_stages::{FlowFilter, NodeOptions, NodeXdp, Point, Store};
use wirelab_trial::{Direction, Layer, Path};

use super::plan::NodeTrial;

/// The program, where there is one. It is detached with this value.
pub struct FrameRecorder {
    /// Keeps it attached.
    _program: NodeXdp,
    store: Option<Store>,
    /// The node's stream on the wire.
    stream: u8,
}

/// Attaches the program if tester and node read one clock and the trial needs it: to record when the node's frames arrive, or
/// because frames past the node's stack would not arrive otherwise. Adds to `notes` what is unavailable.
pub fn begin(
    plan: &NodeTrial,
    interface: Option<&Interface>,
    same_clock: bool,
    notes: &mut Vec<String>,
) -> Option<FrameRecorder> {
    let records = plan.start.captures.filter(|_| plan.resolved.node_sends());
    let past = plan.resolved.trial.path == Some(Path::Driver)
        && plan.resolved.trial.direction != Direction::Receive;
    let interface = interface.filter(|i| same_clock && !i.loopback)?;
    if records.is_none() && !past {
        return None;
    }
    match attach(plan, interface, records) {
        Ok(watch) => Some(watch),
        Err(why) => {
            notes.push(match past {
                true => format!("what the node's driver sends may not arrive here: {why}"),
                false => format!("when frames of the node arrive is not shown as a stage: {why}"),
            });
            None
        }
    }
}

fn attach(
    plan: &NodeTrial,
    interface: &Interface,
    records: Option<u32>,
) -> Result<FrameRecorder, String> {
    let in_words = |error: wirelab_stages::StagesError| error.to_string();
    let store = records.map(Store::new).transpose().map_err(in_words)?;
    if let Some(store) = &store {
        let filter = FlowFilter {
            udp_ports: plan.start.peer_port.into_iter().collect(),
            ethernet: plan.resolved.trial.framing.layer == Layer::Ethernet,
            stream_in: Some(plan.streams.from_node),
            ..FlowFilter::default()
        };
        store.aim(&interface.port, &filter).map_err(in_words)?;
    }
    let options = NodeOptions::default();
    let program = NodeXdp::attach(&interface.port, &options, store.as_ref()).map_err(in_words)?;
    Ok(FrameRecorder {
        _program: program,
        store,
        stream: plan.streams.from_node,
    })
}

impl FrameRecorder {
    /// Sequence and time in ns of each frame from the node, the first ones.
    pub fn times(&self) -> Vec<(u32, u64)> {
        let all = self
            .store
            .iter()
            .flat_map(|s| s.times_of(Direction::Receive));
        let driver = all.filter(|p| p.name == Point::InDriver.name() && p.stream == self.stream);
        driver.flat_map(|p| p.times).collect()
    }
}
