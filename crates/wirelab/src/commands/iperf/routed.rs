//! Warns of a client's load that crosses the networks of others (RFC 6815).

use std::net::SocketAddr;

use wirelab_remote::manners::{MODEST_BITS_PER_S, beyond};

use crate::terminal::complain;

/// Warns before a test of `bits_per_s` in total (`None`: as fast as possible) to a server behind a router.
pub fn warn(server: SocketAddr, bits_per_s: Option<u64>) {
    if bits_per_s.is_some_and(|bits| bits <= MODEST_BITS_PER_S) {
        return;
    }
    // A route that cannot be found is an error of the test itself.
    if let Ok(Some(beyond)) = beyond(server) {
        let load = match bits_per_s {
            Some(bits) => format!("{:.0} Mbit/s", bits as f64 / 1e6),
            None => "an unlimited rate".to_owned(),
        };
        complain(format_args!(
            "warning: routed: {beyond}, and {load} may disturb others on the way (RFC 6815); fix: test on an isolated link, or limit the rate with -b, e.g. -b 100m"
        ));
    }
}
