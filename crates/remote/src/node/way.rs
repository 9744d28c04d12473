//! How the tester reaches a node: by IP, or by a wire on which the tester makes the frames itself.

use std::io;
use std::net::SocketAddr;

use wirelab_control::client::Client;
use wirelab_control::token::Token;
use wirelab_control::transport::Transport;
use wirelab_trial::{Layer, NodeError};
use wirelab_wire::LineRate;

use super::control::{self, Control};
use super::wire::Wire;
use crate::route::Route;

/// Makes a transport to a node's control protocol, again where a session is lost.
pub type Connect = Box<dyn Fn() -> io::Result<Box<dyn Transport + Send>> + Send>;

/// The way of frames and datagrams.
pub enum Way {
    /// The stack of this host.
    Ip {
        /// Where the node is.
        address: SocketAddr,
        /// How this host reaches it.
        route: Route,
    },
    /// Frames made here.
    Wire(Wire),
}

impl Way {
    /// The tester's own link rate, where there is a carrier with one.
    pub fn link(&self) -> Option<LineRate> {
        match self {
            Way::Ip { route, .. } => route.link(),
            Way::Wire(_) => None,
        }
    }

    /// The MTU of the tester's own interface, where it is known.
    pub fn mtu(&self) -> Option<u32> {
        match self {
            Way::Ip { route, .. } => route.mtu(),
            Way::Wire(_) => None,
        }
    }

    /// How observations name the way of a layer's frames.
    pub fn name(&self, layer: Layer) -> &'static str {
        match (self, layer) {
            (Way::Wire(_), _) => super::wire::PATH,
            (_, Layer::Ethernet) => super::ethernet::PATH,
            _ => "socket",
        }
    }
}

/// How the control protocol is reached.
pub enum Opener {
    /// By an address, over UDP or TCP, with the token that the node may ask for.
    Address(SocketAddr, Option<Token>),
    /// By what somebody brought.
    Given(Connect),
}

impl Opener {
    /// Open a session.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where nothing answers, or what answers is no node of this protocol.
    pub fn open(&self) -> Result<Control, NodeError> {
        let connect = match self {
            Opener::Address(address, token) => {
                return control::open(*address, token.as_ref());
            }
            Opener::Given(connect) => connect,
        };
        let failed = |error: &dyn std::fmt::Display| {
            NodeError::Failed(format!("the node's control connection: {error}"))
        };
        let transport = connect().map_err(|error| failed(&error))?;
        Client::open(transport, control::PATIENCE).map_err(|error| failed(&error))
    }
}
