//! The control connection: over UDP, and over TCP where no datagram gets an answer; and what its errors mean here.

use std::net::SocketAddr;
use std::time::Duration;

use wirelab_control::client::{Client, ClientError, Patience};
use wirelab_control::refusal::Code;
use wirelab_control::transport::{TcpTransport, Transport, UdpTransport};
use wirelab_trial::NodeError;

use crate::host::no_way;

/// A client over either transport.
pub type Control = Client<Box<dyn Transport + Send>>;

/// For requests of an open session: 7 s in all. A node at full load answers late, and datagrams are lost then.
pub const PATIENCE: Patience = Patience {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(1),
    tries: 9,
};

/// For a start: 23 s in all. A node may first load tracing programs, which the kernel of a slow host checks for seconds.
pub const START: Patience = Patience {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(1),
    tries: 25,
};

/// Open a session with the node at an address.
///
/// # Errors
/// [`NodeError::Failed`] where nothing answers, or what answers is no node of this protocol.
pub fn open(to: SocketAddr) -> Result<Control, NodeError> {
    let over_udp = UdpTransport::connect(to).map_err(|e| no_way(to, &e))?;
    let boxed: Box<dyn Transport + Send> = Box::new(over_udp);
    let silent = match Client::open(boxed, hello()) {
        Ok(mut client) => {
            client.be_patient(PATIENCE);
            return Ok(client);
        }
        Err(error @ (ClientError::Silent { .. } | ClientError::Io(_))) => error,
        Err(error) => return Err(of_hello(to, &error)),
    };
    let Ok(over_tcp) = TcpTransport::connect(to) else {
        return Err(of_hello(to, &silent));
    };
    let boxed: Box<dyn Transport + Send> = Box::new(over_tcp);
    Client::open(boxed, PATIENCE).map_err(|error| of_hello(to, &error))
}

/// Hello is tried shortly over UDP: 2 s.
const fn hello() -> Patience {
    Patience {
        first: Duration::from_millis(200),
        longest: Duration::from_millis(600),
        tries: 4,
    }
}

fn of_hello(to: SocketAddr, error: &ClientError) -> NodeError {
    let text = match error {
        ClientError::Silent { .. } | ClientError::Io(_) => format!(
            "nothing answers at {to}, over UDP or TCP: is 'wirelab node serve' running there, on that address, and does no firewall stand between? ({error})"
        ),
        ClientError::Refused { refusal, .. } if refusal.code == Code::Version => format!(
            "the node at {to} speaks version {} of the control protocol at least, and this wirelab version {}: use the same release on both sides",
            refusal.limit.unwrap_or_default(),
            wirelab_control::message::VERSION
        ),
        ClientError::Refused { refusal, .. } if refusal.code == Code::Full => format!(
            "the node at {to} has no session free: end other testers, or wait until their sessions are idle"
        ),
        error => format!("what answers at {to} is no node of this protocol: {error}"),
    };
    NodeError::Failed(text)
}

/// Whether the node refuses since it runs another trial.
pub fn is_busy(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { refusal, .. } if refusal.code == Code::Busy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_control::refusal::Refusal;

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
