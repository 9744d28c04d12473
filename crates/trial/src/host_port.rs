//! A peer as written in the target of a node's name: `HOST[:PORT]`.

use std::fmt;
use std::net::Ipv6Addr;

/// A host and a port as written. The name is not resolved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// A name or an address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// Parses `HOST[:PORT]`; an IPv6 address with a port needs brackets.
    ///
    /// # Errors
    /// An error text.
    pub fn parse(text: &str, default_port: u16) -> Result<HostPort, String> {
        let bad = |why: &str| {
            Err(format!(
                "invalid host '{text}': {why}; fix: write HOST, HOST:PORT or [IPV6]:PORT"
            ))
        };
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let Some((host, rest)) = rest.split_once(']') else {
                return bad("']' is missing");
            };
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return bad("only :PORT may follow ']'"),
            }
        } else if text.parse::<Ipv6Addr>().is_ok() {
            (text, None)
        } else {
            match text.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return bad("an IPv6 address with a port needs brackets");
                }
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return bad("the name is empty or has spaces");
        }
        let port = match port.map(str::parse::<u16>) {
            None => default_port,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => return bad("a port is a number from 1 to 65535"),
        };
        Ok(HostPort {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, u16) {
        let read = HostPort::parse(text, 5001).unwrap();
        (read.host, read.port)
    }

    #[test]
    fn every_way_to_write_a_host() {
        for (text, host, port) in [
            ("board", "board", 5001),
            ("board:7", "board", 7),
            ("192.0.2.1", "192.0.2.1", 5001),
            ("192.0.2.1:65535", "192.0.2.1", 65535),
            ("[2001:db8::1]", "2001:db8::1", 5001),
            ("[2001:db8::1]:80", "2001:db8::1", 80),
            ("2001:db8::1", "2001:db8::1", 5001),
            ("[fe80::1%eth0]:9", "fe80::1%eth0", 9),
        ] {
            assert_eq!(read(text), (host.to_owned(), port), "{text}");
        }
        let shown = HostPort::parse("[2001:db8::1]:80", 1).unwrap().to_string();
        assert_eq!(shown, "[2001:db8::1]:80");
    }

    #[test]
    fn what_is_no_host_is_said() {
        for (text, why) in [
            ("", "empty"),
            (":80", "empty"),
            ("a b", "spaces"),
            ("board:0", "a port is"),
            ("board:65536", "a port is"),
            ("board:http", "a port is"),
            ("board:", "a port is"),
            ("[::1", "']' is missing"),
            ("[::1]80", "only :PORT"),
            ("fe80::1%eth0:80", "needs brackets"),
        ] {
            let error = HostPort::parse(text, 1).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
