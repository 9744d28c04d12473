//! A DHCP server for one machine (RFC 2131): any client on its interface gets the only address.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use wirelab_port::netns::NetNs;

/// The port of servers.
pub const SERVER: u16 = 67;
/// The port of clients.
pub const CLIENT: u16 = 68;
/// Fixed fields of a message (RFC 2131, 2), before the magic number of its options.
const FIXED_BYTES: usize = 236;
const MAGIC: [u8; 4] = [99, 130, 83, 99];
/// Seconds of a lease: longer than any run.
const LEASE_S: u32 = 86_400;
/// Longest wait of the server for a message, so that it ends soon.
const LOOK: Duration = Duration::from_millis(50);

/// The server; it ends with this value.
#[derive(Debug)]
pub struct Dhcp {
    over: Arc<AtomicBool>,
    given: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Dhcp {
    /// Serves one address on an interface of a namespace.
    ///
    /// # Errors
    /// The system's error.
    pub fn serve(
        namespace: &NetNs,
        interface: &str,
        own: Ipv4Addr,
        given: Ipv4Addr,
    ) -> io::Result<Dhcp> {
        let device = interface.to_owned();
        let socket = namespace
            .run_in(move || -> io::Result<UdpSocket> {
                let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, SERVER))?;
                // Without it the kernel has no route for broadcasts.
                setsockopt(&socket, sockopt::BindToDevice, &device.into())?;
                socket.set_broadcast(true)?;
                socket.set_read_timeout(Some(LOOK))?;
                Ok(socket)
            })
            .map_err(io::Error::other)??;
        let (over, has_given) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (ends, gives) = (Arc::clone(&over), Arc::clone(&has_given));
        let thread = std::thread::Builder::new()
            .name("wirelab-dhcp".to_owned())
            .spawn(move || {
                let mut bytes = [0; 1500];
                while !ends.load(Ordering::Relaxed) {
                    let Ok((length, _)) = socket.recv_from(&mut bytes) else {
                        continue;
                    };
                    let Some(answer) = answer(&bytes[..length], own, given) else {
                        continue;
                    };
                    let sent = socket.send_to(&answer.bytes, (Ipv4Addr::BROADCAST, CLIENT));
                    if answer.is_final && sent.is_ok() {
                        gives.store(true, Ordering::Relaxed);
                    }
                }
            })?;
        Ok(Dhcp {
            over,
            given: has_given,
            thread: Some(thread),
        })
    }

    /// Whether the machine has taken its address.
    pub fn has_given(&self) -> bool {
        self.given.load(Ordering::Relaxed)
    }
}

impl Drop for Dhcp {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The answer to a client.
pub struct Answer {
    /// The message.
    pub bytes: Vec<u8>,
    /// The client may use the address now.
    pub is_final: bool,
}

/// Kinds of messages (RFC 2132, 9.6).
mod kind {
    pub const DISCOVER: u8 = 1;
    pub const OFFER: u8 = 2;
    pub const REQUEST: u8 = 3;
    pub const ACK: u8 = 5;
    pub const NAK: u8 = 6;
}

/// The answer to a message of a client that requests an address.
pub fn answer(message: &[u8], own: Ipv4Addr, given: Ipv4Addr) -> Option<Answer> {
    let fixed = message.get(..FIXED_BYTES)?;
    let rest = message.get(FIXED_BYTES..)?.strip_prefix(&MAGIC)?;
    // BOOTREQUEST over Ethernet.
    if (fixed[0], fixed[1], fixed[2]) != (1, 1, 6) {
        return None;
    }
    let kind = option(rest, 53)?.first().copied()?;
    let server = option(rest, 54);
    let wanted = option(rest, 50);
    let reply = match kind {
        kind::DISCOVER => kind::OFFER,
        // A request to another server.
        kind::REQUEST if server.is_some_and(|ip| ip != own.octets()) => return None,
        kind::REQUEST if wanted.is_some_and(|ip| ip != given.octets()) => kind::NAK,
        kind::REQUEST => kind::ACK,
        _ => return None,
    };
    let mut bytes = fixed.to_vec();
    (bytes[0], bytes[3]) = (2, 0);
    if reply != kind::NAK {
        bytes[16..20].copy_from_slice(&given.octets());
    }
    bytes[20..24].copy_from_slice(&own.octets());
    bytes[44..].fill(0);
    bytes.extend(MAGIC);
    bytes.extend([53, 1, reply, 54, 4]);
    bytes.extend(own.octets());
    if reply != kind::NAK {
        bytes.extend([51, 4]);
        bytes.extend(LEASE_S.to_be_bytes());
        bytes.extend([1, 4, 255, 255, 255, 0, 3, 4]);
        bytes.extend(own.octets());
    }
    bytes.push(255);
    // Some clients accept nothing shorter (RFC 1542, 2.1).
    bytes.resize(bytes.len().max(300), 0);
    Some(Answer {
        bytes,
        is_final: reply == kind::ACK,
    })
}

/// The value of an option.
fn option(mut rest: &[u8], code: u8) -> Option<&[u8]> {
    while let [kind, more @ ..] = rest {
        match *kind {
            0 => rest = more,
            255 => return None,
            kind => {
                let (length, more) = more.split_first()?;
                let value = more.get(..usize::from(*length))?;
                if kind == code {
                    return Some(value);
                }
                rest = &more[usize::from(*length)..];
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Ipv4Addr = Ipv4Addr::new(10, 55, 0, 1);
    const GIVEN: Ipv4Addr = Ipv4Addr::new(10, 55, 0, 2);

    fn message(options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; FIXED_BYTES];
        bytes[..4].copy_from_slice(&[1, 1, 6, 0]);
        bytes[4..8].copy_from_slice(&[0xAA, 0xBB, 0xCC, 0xDD]);
        bytes.extend(MAGIC);
        bytes.extend(options);
        bytes
    }

    #[test]
    fn a_client_is_offered_the_address_and_gets_it() {
        let offer = answer(&message(&[53, 1, kind::DISCOVER, 255]), OWN, GIVEN).unwrap();
        assert!(!offer.is_final);
        assert_eq!(
            (offer.bytes[0], &offer.bytes[4..8]),
            (2, &[0xAA, 0xBB, 0xCC, 0xDD][..])
        );
        assert_eq!(offer.bytes[16..20], GIVEN.octets());
        let options = &offer.bytes[FIXED_BYTES + 4..];
        assert_eq!(option(options, 53), Some(&[kind::OFFER][..]));
        assert_eq!(option(options, 54), Some(&OWN.octets()[..]));
        let asks = |wanted: [u8; 4], server: [u8; 4]| {
            let mut options = vec![0, 53, 1, kind::REQUEST, 50, 4];
            options.extend(wanted);
            options.extend([54, 4]);
            options.extend(server);
            options.push(255);
            answer(&message(&options), OWN, GIVEN)
        };
        assert!(asks(GIVEN.octets(), OWN.octets()).unwrap().is_final);
        let refused = asks([10, 0, 0, 9], OWN.octets()).unwrap();
        assert!(!refused.is_final && option(&refused.bytes[240..], 53) == Some(&[kind::NAK]));
        assert!(
            asks(GIVEN.octets(), [1, 1, 1, 1]).is_none(),
            "another server's"
        );
    }

    #[test]
    fn no_message_makes_it_panic() {
        let whole = message(&[53, 1, kind::DISCOVER, 50, 4, 1, 2, 3, 4, 255]);
        for cut in 0..whole.len() {
            let _ = answer(&whole[..cut], OWN, GIVEN);
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = 0xFF;
            let _ = answer(&bytes, OWN, GIVEN);
        }
        assert!(answer(&message(&[53, 1, 7, 255]), OWN, GIVEN).is_none());
        assert!(answer(&message(&[53, 200]), OWN, GIVEN).is_none());
    }
}
