//! A start to fill in: who asks sets the fields it has something to say of, and a new field changes nobody else.

use wirelab_trial::Direction;
use wirelab_wire::Layer;

use crate::message::Start;
use crate::value::Extent;

impl Start {
    /// A trial of which only what each must say is said.
    #[must_use]
    pub fn new(direction: Direction, layer: Layer, extent: Extent) -> Start {
        Start {
            direction,
            layer,
            vlan_tags: None,
            traffic: None,
            path: None,
            size: None,
            load: None,
            extent,
            limit_ps: None,
            ports: None,
            tx_stream: None,
            rx_stream: None,
            buffers: None,
            descriptors: None,
            captures: None,
            capture_unit: None,
            wait: None,
            rule: None,
            probes: None,
            strict_gaps: None,
            background_port: None,
            clock_id: None,
            node_port: None,
            peer_port: None,
            peer_mac: None,
            peer_ip: None,
        }
    }
}
