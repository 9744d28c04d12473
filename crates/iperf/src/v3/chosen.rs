//! Socket options that a client requests for both ends: sent in the parameters, and applied by a server.

use std::net::SocketAddr;

use nix::sys::socket::SockFlag;

use super::link::wanted;
use super::parameters::Parameters;
use super::server_error::{NO_CONGESTION, NO_NODELAY, NO_SEGMENT, NO_TOS};
use super::test::TestError;
use crate::connecting::{SocketError, stream_socket};
use crate::options::{Name, SocketOptions, is_at_hand};

/// The parameters of a client with these socket options. The server shall use the same.
pub(super) fn requested(parameters: &Parameters, options: &SocketOptions) -> Parameters {
    let mut requested = parameters.clone();
    if let Some(bytes) = options.mss_bytes {
        requested.mss_bytes = bytes;
    }
    if let Some(tos) = options.tos {
        requested.tos = tos;
    }
    if let Some(algorithm) = options.congestion {
        requested.congestion = Some(algorithm.to_string());
    }
    requested.no_delay |= options.no_delay;
    requested
}

/// Checks that this system accepts the options of a test over TCP, before a server is contacted.
///
/// # Errors
/// [`TestError::Refused`] for the first option that it refuses.
pub(super) fn try_out(peer: SocketAddr, options: &SocketOptions) -> Result<(), TestError> {
    match stream_socket(peer, SockFlag::empty(), wanted(0, options)) {
        Err(SocketError::Refused(refused)) => Err(TestError::Refused(refused)),
        Ok(_) | Err(SocketError::System(_)) => Ok(()),
    }
}

/// The socket options of a test at the server: the client's, else the server's own.
///
/// # Errors
/// iperf3's error number for an option that the system refuses.
pub(super) fn granted(
    parameters: &Parameters,
    own: &SocketOptions,
    local: SocketAddr,
) -> Result<SocketOptions, i32> {
    let congestion = match &parameters.congestion {
        None => own.congestion,
        Some(text) => {
            let name: Name = text.parse().map_err(|_| NO_CONGESTION)?;
            // The system would load a kernel module for a stranger.
            Some(name)
                .filter(is_at_hand)
                .ok_or(NO_CONGESTION)
                .map(Some)?
        }
    };
    let options = SocketOptions {
        // Connections are already made.
        device: None,
        mss_bytes: Some(parameters.mss_bytes)
            .filter(|bytes| *bytes > 0)
            .or(own.mss_bytes),
        no_delay: parameters.no_delay || own.no_delay,
        tos: Some(parameters.tos).filter(|tos| *tos > 0).or(own.tos),
        congestion,
        ..*own
    };
    // Tried before the client opens its streams, so that the client gets the error.
    match try_out(local, &options) {
        Err(TestError::Refused(refused)) => Err(match refused.option {
            "--mss" => NO_SEGMENT,
            "--congestion" => NO_CONGESTION,
            "--no-delay" => NO_NODELAY,
            _ => NO_TOS,
        }),
        Ok(()) | Err(_) => Ok(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> SocketAddr {
        ([127, 0, 0, 1], 5201).into()
    }

    #[test]
    fn what_a_client_chooses_is_what_a_server_grants() {
        let options = SocketOptions {
            mss_bytes: Some(1000),
            no_delay: true,
            tos: Some(0xb8),
            congestion: Some("reno".parse().unwrap()),
            ..SocketOptions::NONE
        };
        let parameters = requested(&Parameters::default(), &options);
        let own = SocketOptions {
            tos: Some(4),
            ..SocketOptions::NONE
        };
        assert_eq!(granted(&parameters, &own, local()), Ok(options));
        assert_eq!(granted(&Parameters::default(), &own, local()), Ok(own));
    }

    #[test]
    fn what_the_system_refuses_has_iperf3s_number() {
        let refused = |parameters: Parameters| {
            granted(&parameters, &SocketOptions::NONE, local()).unwrap_err()
        };
        let congestion = |text: &str| Parameters {
            congestion: Some(text.to_owned()),
            ..Parameters::default()
        };
        assert_eq!(refused(congestion("nonesuch")), NO_CONGESTION);
        assert_eq!(refused(congestion("../../etc")), NO_CONGESTION);
        assert_eq!(refused(congestion(&"x".repeat(10_000))), NO_CONGESTION);
        let short = Parameters {
            mss_bytes: 20,
            ..Parameters::default()
        };
        assert_eq!(refused(short), NO_SEGMENT);
    }
}
