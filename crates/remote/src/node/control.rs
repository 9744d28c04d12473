//! Opens the control connection, over UDP, or over TCP where no datagram gets an answer, and translates its errors.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use wirelab_control::client::{Client, ClientError, Patience};
use wirelab_control::refusal::Code;
use wirelab_control::token::Token;
use wirelab_control::transport::{TcpTransport, Transport, UdpTransport};
use wirelab_trial::NodeError;

use crate::host::unreachable_peer;

/// A client over either transport.
pub type Control = Client<Box<dyn Transport + Send>>;

/// Timeouts for requests of an open session: 7 s in all. A node at full load answers late, and datagrams are lost then.
pub const PATIENCE: Patience = Patience {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(1),
    tries: 9,
};

/// Rounds of waiting for a start, whether or not the node is known to be alive: 22 s in all. It may first load
/// programs, which the kernel of a slow host verifies for seconds.
const LEAST_ROUNDS: u32 = 3;
/// Rounds for a node that is known to be alive, two minutes: it does nothing else meanwhile, and a busy host is slow.
const MOST_ROUNDS: u32 = 17;
/// Longest time to connect to a node on a busy host.
const CONNECTING: Duration = Duration::from_secs(2);

/// Retries and pause for a node without TCP whose sessions are all in use: it keeps the session of an earlier tester on
/// this host for 5 s.
const FULL_WAITS: u32 = 6;
const FULL_WAIT: Duration = Duration::from_secs(1);

/// Whether to wait another round for a node that has not answered a start for `rounds`. Its control port accepts connections
/// while it prepares; a node that has ended refuses them.
pub fn still_prepares(address: Option<SocketAddr>, rounds: u32) -> bool {
    rounds < LEAST_ROUNDS || (rounds < MOST_ROUNDS && address.is_some_and(takes_tcp))
}

/// Opens a session with the node at an address.
///
/// # Errors
/// [`NodeError::Failed`] where nothing answers, or the answer is not from a node with this protocol.
pub fn open(to: SocketAddr, token: Option<&Token>) -> Result<Control, NodeError> {
    let mut waits = FULL_WAITS;
    let refused = loop {
        let over_udp = UdpTransport::connect(to).map_err(|e| unreachable_peer(to, &e))?;
        match open_by(over_udp, hello(), token) {
            Ok(mut client) => {
                client.be_patient(PATIENCE);
                return Ok(client);
            }
            // Over UDP a forged address may ask for a session, so the node does not end an old one quickly for it.
            Err(error) if is(&error, Code::Full) && waits > 0 && !takes_tcp(to) => {
                std::thread::sleep(FULL_WAIT);
                waits -= 1;
            }
            Err(error @ (ClientError::Silent { .. } | ClientError::Io(_))) => break error,
            Err(error) if is(&error, Code::Full) => break error,
            Err(error) => return Err(of_hello(to, &error)),
        }
    };
    let Ok(over_tcp) = TcpTransport::connect(to) else {
        return Err(of_hello(to, &refused));
    };
    open_by(over_tcp, PATIENCE, token).map_err(|error| of_hello(to, &error))
}

fn open_by(
    transport: impl Transport + Send + 'static,
    patience: Patience,
    token: Option<&Token>,
) -> Result<Control, ClientError> {
    let boxed: Box<dyn Transport + Send> = Box::new(transport);
    Client::open_as(boxed, patience, token)
}

fn takes_tcp(to: SocketAddr) -> bool {
    TcpStream::connect_timeout(&to, CONNECTING).is_ok()
}

/// A session that only proves the token to a node, for its other servers.
pub struct ProofSession {
    node: SocketAddr,
    token: Token,
    control: Control,
}

impl std::fmt::Debug for ProofSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({})", self.node)
    }
}

impl ProofSession {
    /// Opens a session with the node at an address.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where nothing answers, or the node has another token.
    pub fn open(node: SocketAddr, token: Token) -> Result<ProofSession, NodeError> {
        let control = open(node, Some(&token))?;
        Ok(ProofSession {
            node,
            token,
            control,
        })
    }

    /// Proves the token again: a node remembers it for some minutes. Opens a new session where the node has forgotten
    /// this one.
    ///
    /// # Errors
    /// As [`ProofSession::open`].
    pub fn show(&mut self) -> Result<(), NodeError> {
        if self.control.status(None).is_err() {
            self.control = open(self.node, Some(&self.token))?;
        }
        Ok(())
    }
}

/// Short timeout for hello over UDP: 2 s.
const fn hello() -> Patience {
    Patience {
        first: Duration::from_millis(200),
        longest: Duration::from_millis(600),
        tries: 4,
    }
}

fn of_hello(to: SocketAddr, error: &ClientError) -> NodeError {
    let nothing = |why: String| {
        format!(
            "nothing answers at {to}, over UDP or TCP ({why}); fix: start 'wirelab node serve --listen {}' there (without --listen it serves only its own host), let its --allow name this host, and open the port in a firewall between",
            to.ip()
        )
    };
    let text = match error {
        ClientError::Silent { tries, .. } => nothing(format!("{tries} tries")),
        ClientError::Io(error) => nothing(error.to_string()),
        ClientError::Refused { refusal, .. } if refusal.code == Code::Version => format!(
            "the node at {to} requires version {} of the control protocol, and this wirelab has version {}; fix: use the same release on both sides",
            refusal.limit.unwrap_or_default(),
            wirelab_control::message::VERSION
        ),
        ClientError::Refused { refusal, .. } if refusal.code == Code::Full => format!(
            "the node at {to} has no session free; fix: {}",
            refusal.code.fix()
        ),
        ClientError::NeedsToken => format!(
            "the node at {to} requires a token; fix: add the file that it was started with to its name, as in node:{},token=FILE",
            to.ip()
        ),
        ClientError::WrongToken => format!(
            "the node at {to} has another token; fix: use the file that it was started with"
        ),
        error => format!("the program that answers at {to} does not have this protocol: {error}"),
    };
    NodeError::Failed(text)
}

/// Whether the node refuses because it runs another trial.
pub fn is_busy(error: &ClientError) -> bool {
    is(error, Code::Busy)
}

fn is(error: &ClientError, code: Code) -> bool {
    matches!(error, ClientError::Refused { refusal, .. } if refusal.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_control::refusal::Refusal;

    #[test]
    fn a_node_that_prepares_is_told_from_one_that_is_gone() {
        // A listener that accepts no connection: the node is busy. The kernel still completes the connection.
        let node = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Some(node.local_addr().unwrap());
        assert!(still_prepares(address, 10));
        assert!(!still_prepares(address, MOST_ROUNDS), "not forever");
        assert!(!still_prepares(None, 10), "it cannot be seen");
        drop(node);
        assert!(!still_prepares(address, 10));
        assert!(still_prepares(address, 1), "a lost answer or two are usual");
    }

    #[test]
    fn a_newer_node_is_told_from_none() {
        let to = SocketAddr::from(([192, 0, 2, 1], 5002));
        let refusal = Refusal {
            limit: Some(7),
            ..Refusal::new(Code::Version)
        };
        let newer = of_hello(
            to,
            &ClientError::Refused {
                command: "hello",
                refusal,
            },
        );
        assert!(newer.to_string().contains("version 7"), "{newer}");
        let silent = ClientError::Silent {
            command: "hello",
            tries: 4,
        };
        let none = of_hello(to, &silent).to_string();
        assert!(none.contains("wirelab node serve"), "{none}");
    }
}
