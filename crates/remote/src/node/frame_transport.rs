//! How the tester reaches a node: by IP, or by a wire on which it builds the frames itself.

use std::io;
use std::net::SocketAddr;

use wirelab_control::client::{Client, ClientError};
use wirelab_control::token::Token;
use wirelab_control::transport::Transport;
use wirelab_port::iface::Interface;
use wirelab_trial::{Layer, NodeError};
use wirelab_wire::LineRate;

use super::control::{self, Control};
use super::wire::Wire;
use crate::route::Route;

/// Makes a transport to a node's control protocol, also again after a lost session.
pub type Connect = Box<dyn Fn() -> io::Result<Box<dyn Transport + Send>> + Send>;

/// The transport of frames and datagrams.
pub enum FrameTransport {
    /// The stack of this host.
    Ip {
        /// The address of the node.
        address: SocketAddr,
        /// The route of this host to it.
        route: Route,
    },
    /// A port of this host at which the node's frames arrive; `None` if there is none. The control connection is elsewhere.
    Port(Option<Interface>),
    /// Frames that the tester builds.
    Wire(Wire),
}

impl FrameTransport {
    /// The interface of this host that leads to the node, where there is one.
    pub fn interface(&self) -> Option<&Interface> {
        match self {
            FrameTransport::Ip { route, .. } => route.interface.as_ref(),
            FrameTransport::Port(interface) => interface.as_ref(),
            FrameTransport::Wire(_) => None,
        }
    }

    /// The tester's own link rate, where there is a carrier with one.
    pub fn link(&self) -> Option<LineRate> {
        match self {
            FrameTransport::Wire(_) => None,
            _ => self
                .interface()
                .and_then(|i| i.link_rate)
                .and_then(LineRate::new),
        }
    }

    /// The MTU of the tester's own interface, where known.
    pub fn mtu(&self) -> Option<u32> {
        match self {
            FrameTransport::Wire(_) => None,
            _ => self.interface().map(|i| i.mtu),
        }
    }

    /// The name of a layer's path in observations.
    pub fn name(&self, layer: Layer) -> &'static str {
        match (self, layer) {
            (FrameTransport::Wire(_), _) => super::wire::PATH,
            (_, Layer::Ethernet) => super::ethernet::PATH,
            _ => "socket",
        }
    }
}

/// How to reach the control protocol.
pub enum Opener {
    /// By an address, over UDP or TCP, with the token that the node may require.
    Address(SocketAddr, Option<Token>),
    /// By a function of the caller.
    Given(Connect),
}

impl Opener {
    /// Opens a session.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where nothing answers, or the answer is not from a node with this protocol.
    pub fn open(&self) -> Result<Control, NodeError> {
        let connect = match self {
            Opener::Address(address, token) => {
                return control::open(*address, token.as_ref());
            }
            Opener::Given(connect) => connect,
        };
        let failed =
            |why: &ClientError| NodeError::Failed(format!("the node's control connection: {why}"));
        let transport = connect().map_err(|error| failed(&error.into()))?;
        Client::open(transport, control::PATIENCE).map_err(|why| failed(&why))
    }
}
