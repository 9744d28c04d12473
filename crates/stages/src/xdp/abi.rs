//! The structures that the XDP program of a node's port and user space share, in the layout of `bpf/node.h`.
//!
//! Loading the program compares each size with that of its map.

use wirelab_wire::rule::{FixedList, MAX_ADDRESSES, MAX_PORTS, MAX_RULES, PortAddresses, Rule};

use super::Reflect;

/// CPUs with their own counters; further ones share one.
pub const CPUS: usize = 64;
/// Receive queues that can have a socket.
pub const QUEUES: usize = 64;

const ASK_ETHERTYPE: u16 = 1;
const ASK_OWN: u16 = 2;
const ASK_PRIORITY: u16 = 4;
const ASK_PROTOCOL: u16 = 8;
const ASK_UDP_PORT: u16 = 16;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct NodeRule {
    pub ask: u16,
    pub ether_type: u16,
    pub protocol: u8,
    pub priority: u8,
    pub pad: u16,
    pub ports: [u16; MAX_PORTS],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct NodeCfg {
    pub rule_count: u32,
    pub reflect: u32,
    pub mac: [u8; 8],
    pub peer_mac: [u8; 8],
    pub address_count: u32,
    pub peer_known: u32,
    pub peer: [u8; 16],
    pub addresses: [[u8; 16]; MAX_ADDRESSES],
    pub udp_ports: [u16; MAX_PORTS],
    pub udp_port_count: u32,
    pub ethernet: u32,
    pub rules: [NodeRule; MAX_RULES],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeCounts {
    pub frames: u64,
    pub passed: u64,
    pub no_socket: u64,
    pub reflected: u64,
    pub not_reflected: u64,
    pub pad: [u64; 3],
    pub matched: [u64; MAX_RULES],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeState {
    pub counts: [NodeCounts; CPUS],
}

impl NodeCfg {
    pub fn new(own: &PortAddresses, reflect: Option<&Reflect>) -> NodeCfg {
        let mut cfg = NodeCfg {
            mac: padded(own.mac),
            address_count: own.addresses.len() as u32,
            addresses: filled(&own.addresses),
            ..NodeCfg::default()
        };
        let Some(reflect) = reflect else { return cfg };
        cfg.reflect = 1;
        cfg.ethernet = u32::from(reflect.ethernet);
        cfg.udp_port_count = reflect.udp_ports.len() as u32;
        cfg.udp_ports = filled(&reflect.udp_ports);
        cfg.peer_mac = reflect.peer_mac.map(padded).unwrap_or_default();
        if let Some(peer) = reflect.peer {
            cfg.peer_known = 1;
            cfg.peer = super::own::mapped(peer);
        }
        cfg
    }

    pub fn set_rules(&mut self, rules: &[Rule]) {
        for (to, rule) in self.rules.iter_mut().zip(rules) {
            *to = NodeRule::from(rule);
        }
        self.rule_count = rules.len().min(MAX_RULES) as u32;
    }
}

impl From<&Rule> for NodeRule {
    fn from(rule: &Rule) -> NodeRule {
        let asks = [
            (rule.ether_type.is_some(), ASK_ETHERTYPE),
            (rule.own_address, ASK_OWN),
            (rule.priority.is_some(), ASK_PRIORITY),
            (rule.protocol.is_some(), ASK_PROTOCOL),
            (!rule.udp_ports.is_empty(), ASK_UDP_PORT),
        ];
        NodeRule {
            ask: asks.iter().filter(|a| a.0).map(|a| a.1).sum(),
            ether_type: rule.ether_type.unwrap_or_default(),
            protocol: rule.protocol.unwrap_or_default(),
            priority: rule.priority.unwrap_or_default(),
            pad: 0,
            ports: filled(&rule.udp_ports),
        }
    }
}

fn padded(mac: [u8; 6]) -> [u8; 8] {
    let [a, b, c, d, e, f] = mac;
    [a, b, c, d, e, f, 0, 0]
}

/// The program reads all entries of a list, so unused ones repeat the first.
fn filled<T: Copy + Default, const N: usize>(list: &FixedList<T, N>) -> [T; N] {
    let mut all = [list.first().copied().unwrap_or_default(); N];
    all[..list.len()].copy_from_slice(list);
    all
}
