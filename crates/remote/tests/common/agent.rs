//! `wirelab node serve` on the node's side of a lab, and trials on it from the tester's.

use std::net::SocketAddr;

use wirelab_agent::{Options, Serving};
use wirelab_port::lab::{EphemeralLab, Side};
use wirelab_remote::ControlNode;
use wirelab_trial::{Cancel, Counts, FlowObservation, Node, NodeError, Observation, Trial};

use super::{NODE_IPV4, on_tester};

pub fn serve(lab: &EphemeralLab, change: impl FnOnce(&mut Options) + Send) -> Serving {
    let listen = SocketAddr::new(NODE_IPV4.parse().unwrap(), 5002);
    lab.netns(Side::Node)
        .unwrap()
        .run_in(|| {
            let mut options = Options::on(listen);
            options.iperf = false;
            change(&mut options);
            Serving::start(options).unwrap()
        })
        .unwrap()
}

pub fn open(host: &str) -> Result<ControlNode, NodeError> {
    ControlNode::open(&format!("node:{host}"), host)
}

pub fn all(lab: &EphemeralLab, trials: &[Trial]) -> Vec<Observation> {
    on_tester(lab, || {
        let mut node = open(NODE_IPV4).unwrap();
        let mut one = |t: &Trial| node.run(t, &(), &Cancel::new()).expect("an observation");
        trials.iter().map(&mut one).collect()
    })
}

pub fn counts(flow: &FlowObservation) -> Counts {
    *flow.counts.value().unwrap_or_else(|| panic!("{flow:#?}"))
}
