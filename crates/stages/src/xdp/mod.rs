//! The XDP program of a node's port: times of test frames, the packet identifier, and the reflector.

mod abi;
mod mode;
mod own;
mod sys;

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libbpf_rs::{MapCore, MapFlags};
use wirelab_port::ebpf::{self, Loaded, MapMemory, Mode};
use wirelab_port::iface::PortName;
use wirelab_wire::rule::{FixedList, MAX_PORTS, MAX_RULES, PortAddresses, Rules};

use crate::error::StagesError;
use crate::store::Store;
use abi::{NodeCfg, NodeState};
use mode::Attached;

pub use mode::Xdp;
pub use own::own_addresses;

/// Receive queues of a port that can have a socket; frames of further queues go to the stack.
pub const MAX_QUEUES: u32 = abi::QUEUES as u32;

/// The compiled program.
const NODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/node.bpf.o"));

/// What the program does with the frames of a port, besides recording times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOptions {
    /// Where it is attached.
    pub xdp: Xdp,
    /// Frames for the AF_XDP socket of their queue; frames of a queue without a socket go to the stack.
    pub rules: Rules,
    /// Test frames that are sent back.
    pub reflect: Option<Reflect>,
}

/// Test frames to the port's own address that the driver sends back. It sends back only frames with an intact test header, and
/// only to a single host; everything else goes to the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reflect {
    /// Frames of the test EtherType.
    pub ethernet: bool,
    /// Datagrams of UDP to these ports, over IPv4 and IPv6.
    pub udp_ports: FixedList<u16, MAX_PORTS>,
    /// The only MAC address that gets replies; by default any.
    pub peer_mac: Option<[u8; 6]>,
    /// The only IP address that gets replies; by default any.
    pub peer: Option<IpAddr>,
}

/// The program's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Frames that the driver handed over.
    pub frames: u64,
    /// Frames given to the stack.
    pub passed: u64,
    /// Frames that matched each rule; of several rules the first counts.
    pub matched: [u64; MAX_RULES],
    /// Frames that matched a rule but had no socket: they passed to the stack.
    pub no_socket: u64,
    /// Test frames sent back.
    pub reflected: u64,
    /// Test frames to reflect whose sender must not get a reply (a group, this host, not the peer): they passed to
    /// the stack.
    pub not_reflected: u64,
}

impl NodeCounters {
    /// Frames that matched any rule.
    pub fn all_matched(&self) -> u64 {
        self.matched.iter().sum()
    }

    /// Frames passed to sockets, whether or not they fit.
    pub fn handed_over(&self) -> u64 {
        self.all_matched().saturating_sub(self.no_socket)
    }
}

/// The XDP program of a node, on a port. It is detached with this value, and with the process.
pub struct NodeXdp {
    attached: Option<Attached>,
    loaded: Loaded,
    cfg: MapMemory<NodeCfg>,
    state: MapMemory<NodeState>,
    own: PortAddresses,
}

impl NodeXdp {
    /// Attach the program to `port`. It never replaces another program. With a store it records the times of the
    /// store's flow.
    ///
    /// # Errors
    /// [`StagesError::Refused`] if the driver does not support the requested XDP mode; `XdpError::Occupied` names the
    /// program that is attached; other variants for what is missing.
    pub fn attach(
        port: &PortName,
        options: &NodeOptions,
        store: Option<&Store>,
    ) -> Result<NodeXdp, StagesError> {
        let own = own_addresses(port)?;
        let mut node = NodeXdp::load(&own, options, store)?;
        node.attached = Some(mode::attach(port, node.loaded.program(), options.xdp)?);
        if let Some(store) = store {
            store.set_driver(true);
        }
        Ok(node)
    }

    /// Load the program without a port, for [`NodeXdp::verdict`]; `own` are the addresses of its port.
    ///
    /// # Errors
    /// [`StagesError`] names the privilege or the kernel feature that is missing.
    pub fn load(
        own: &PortAddresses,
        options: &NodeOptions,
        store: Option<&Store>,
    ) -> Result<NodeXdp, StagesError> {
        let loaded = ebpf::load(NODE, "node", |object| match store {
            Some(store) => store.join(object),
            None => Ok(()),
        })
        .map_err(mode::in_words)?;
        let cfg: MapMemory<NodeCfg> = loaded.shared(".data.cfg", 1)?;
        let state = loaded.shared(".data.state", 1)?;
        cfg.write(0, &NodeCfg::new(own, options.reflect.as_ref()));
        let node = NodeXdp {
            attached: None,
            loaded,
            cfg,
            state,
            own: *own,
        };
        node.set_rules(&options.rules);
        Ok(node)
    }

    /// Replace the rules. The old or the new ones apply to frames that pass meanwhile.
    pub fn set_rules(&self, rules: &Rules) {
        let mut cfg = self.cfg.read(0);
        cfg.set_rules(&rules.0);
        self.cfg.write(0, &cfg);
    }

    /// Where it is attached; `None` if it was loaded without a port.
    pub fn mode(&self) -> Option<Mode> {
        self.attached.as_ref().map(|a| a.mode)
    }

    /// Why it is attached after the driver although that was not requested.
    pub fn remark(&self) -> Option<&str> {
        self.attached.as_ref().and_then(|a| a.remark.as_deref())
    }

    /// The port's own addresses when it was attached.
    pub fn own(&self) -> &PortAddresses {
        &self.own
    }

    /// Its counts so far.
    pub fn counters(&self) -> NodeCounters {
        let state = self.state.read(0);
        let sum = |field: fn(&abi::NodeCounts) -> u64| state.counts.iter().map(field).sum();
        let mut matched = [0; MAX_RULES];
        for (rule, total) in matched.iter_mut().enumerate() {
            *total = state.counts.iter().map(|c| c.matched[rule]).sum();
        }
        NodeCounters {
            frames: sum(|c| c.frames),
            passed: sum(|c| c.passed),
            matched,
            no_socket: sum(|c| c.no_socket),
            reflected: sum(|c| c.reflected),
            not_reflected: sum(|c| c.not_reflected),
        }
    }

    /// Run the program over one frame (destination address first, without FCS) without a port, as a test does:
    /// returns its verdict (`XDP_PASS` 2, `XDP_TX` 3), and the frame afterwards.
    ///
    /// # Errors
    /// The kernel's error of the run.
    pub fn verdict(&self, frame: &[u8]) -> Result<(u32, Vec<u8>), StagesError> {
        ebpf::run_into(self.loaded.program(), frame)
            .map_err(|e| StagesError::kernel("running the XDP program over a frame", e))
    }

    /// Pass frames of a receive queue to a socket that is bound to it.
    pub(crate) fn set_socket(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), StagesError> {
        let value = socket.as_fd().as_raw_fd().to_ne_bytes();
        self.loaded
            .map("sockets")
            .update(&queue.to_ne_bytes(), &value, MapFlags::ANY)
            .map_err(|e| {
                StagesError::libbpf(
                    format!("giving the frames of queue {queue} to a socket"),
                    &e,
                )
            })
    }
}
