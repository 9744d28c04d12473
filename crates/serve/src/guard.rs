//! Who may read and write: decided by the requested host name, the token of readers, and the token and origin of writers.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Method, Uri, header};
use sha2::{Digest, Sha256};

/// The cookie of readers.
const COOKIE: &str = "wirelab_token";

/// The rules of access.
pub struct Guard {
    at: SocketAddr,
    readers: Option<String>,
    /// The token in the forms of this server's pages, new with each start.
    pub writers: String,
}

/// The answer to a request, before any page is made.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request is allowed.
    Allowed,
    /// Redirect to the address without the token, which moves to a cookie.
    SignedIn {
        /// The address without the token.
        again: String,
        /// The cookie.
        cookie: String,
    },
    /// The request is refused, with the fix.
    Refused(&'static str),
}

impl Guard {
    /// The guard of a server at address `at`; `readers` is the readers' token.
    pub fn new(at: SocketAddr, readers: Option<String>) -> Guard {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has random numbers");
        let writers = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Guard {
            at,
            readers,
            writers,
        }
    }

    /// The answer to a request, decided without its body.
    pub fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Answer {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        // DNS rebinding: a page of another host name that resolves to the loopback could read the whole store.
        if self.readers.is_none() && !self.is_own_name(host) {
            return Answer::Refused(
                "this server answers only to its own address; fix: open the address that it printed",
            );
        }
        if let Some(token) = &self.readers {
            let bearer =
                text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
            let cookies = text(header::COOKIE).unwrap_or_default().split("; ");
            let mut cookies = cookies.filter_map(|cookie| cookie.split_once('='));
            let cookie = cookies
                .find(|(name, _)| *name == COOKIE)
                .map(|(_, value)| value.to_owned());
            let known = |said: &str| same(said, &hashed(token));
            let is_in = cookie.is_some_and(|said| known(&said))
                || bearer.is_some_and(|said| same(said, token));
            let query = uri.query().unwrap_or_default();
            let given = query
                .split('&')
                .find_map(|part| part.strip_prefix("token="));
            match given {
                Some(said) if same(said, token) && *method == Method::GET => {
                    return Answer::SignedIn {
                        again: uri.path().to_owned(),
                        cookie: format!(
                            "{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/",
                            hashed(token)
                        ),
                    };
                }
                _ if !is_in => {
                    return Answer::Refused(
                        "readers need the token; fix: open the address with ?token=TOKEN after it",
                    );
                }
                _ => {}
            }
        }
        let own = |origin: &str| {
            origin
                .split_once("://")
                .is_some_and(|(_, name)| name == host)
        };
        if *method != Method::GET
            && *method != Method::HEAD
            && !text(header::ORIGIN).is_some_and(own)
        {
            return Answer::Refused(
                "only pages of this server may change the store; fix: use the form of a run's page",
            );
        }
        Answer::Allowed
    }

    /// Whether a form is one of this server's.
    pub fn may_write(&self, token: &str) -> bool {
        same(token, &self.writers)
    }

    fn is_own_name(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        let ip = match self.at.ip() {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        };
        port == Some(self.at.port()) && (name == "localhost" || name == ip)
    }
}

/// The content of a cookie in place of the token.
fn hashed(token: &str) -> String {
    let digest = Sha256::digest(format!("wirelab {token}").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two secrets are the same, in a time that does not depend on where they differ.
fn same(said: &str, secret: &str) -> bool {
    Sha256::digest(said.as_bytes()) == Sha256::digest(secret.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(guard: &Guard, method: Method, uri: &str, headers: &[(&str, &str)]) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(
                header::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        guard.judge(&method, &uri.parse().unwrap(), &map)
    }

    #[test]
    fn a_loopback_server_answers_to_its_own_names_alone() {
        let guard = Guard::new("127.0.0.1:7070".parse().unwrap(), None);
        for (host, allowed) in [
            ("127.0.0.1:7070", true),
            ("localhost:7070", true),
            ("127.0.0.1", false),
            ("127.0.0.1:80", false),
            ("evil.example:7070", false),
            ("", false),
        ] {
            let answer = judge(&guard, Method::GET, "/", &[("host", host)]);
            assert_eq!(answer == Answer::Allowed, allowed, "{host}");
        }
        let guard = Guard::new("[::1]:7070".parse().unwrap(), None);
        assert_eq!(
            judge(&guard, Method::GET, "/", &[("host", "[::1]:7070")]),
            Answer::Allowed
        );
    }

    #[test]
    fn a_write_comes_from_a_page_of_the_server() {
        let guard = Guard::new("127.0.0.1:7070".parse().unwrap(), None);
        let host = ("host", "localhost:7070");
        for (origin, allowed) in [
            ("http://localhost:7070", true),
            ("http://127.0.0.1:7070", false),
            ("http://evil.example", false),
            ("null", false),
        ] {
            let answer = judge(&guard, Method::POST, "/write", &[host, ("origin", origin)]);
            assert_eq!(answer == Answer::Allowed, allowed, "{origin}");
        }
        assert!(matches!(
            judge(&guard, Method::POST, "/write", &[host]),
            Answer::Refused(_)
        ));
        assert!(guard.may_write(&guard.writers.clone()) && !guard.may_write(""));
    }

    #[test]
    fn elsewhere_readers_need_the_token() {
        let token = "a token of some length";
        let guard = Guard::new("192.0.2.1:7070".parse().unwrap(), Some(token.to_owned()));
        let get = |uri: &str, more: &[(&str, &str)]| {
            judge(
                &guard,
                Method::GET,
                uri,
                &[&[("host", "lab")], more].concat(),
            )
        };
        assert!(matches!(get("/", &[]), Answer::Refused(_)));
        assert!(matches!(get("/?token=wrong", &[]), Answer::Refused(_)));
        assert!(matches!(
            get("/", &[("authorization", "Bearer wrong")]),
            Answer::Refused(_)
        ));
        assert_eq!(
            get("/", &[("authorization", &format!("Bearer {token}"))]),
            Answer::Allowed
        );
        let guard = Guard::new(
            "192.0.2.1:7070".parse().unwrap(),
            Some("0123456789abcdef".to_owned()),
        );
        let signed = judge(&guard, Method::GET, "/runs/1?token=0123456789abcdef", &[]);
        let Answer::SignedIn { again, cookie } = signed else {
            panic!("{signed:?}");
        };
        assert!(again == "/runs/1" && !cookie.contains("0123456789abcdef"));
        let cookie = cookie.split(';').next().unwrap();
        let other = format!("a=b; {cookie}");
        assert_eq!(
            judge(&guard, Method::GET, "/", &[("cookie", &other)]),
            Answer::Allowed
        );
        assert!(matches!(
            judge(
                &guard,
                Method::POST,
                "/",
                &[("cookie", cookie), ("host", "lab")]
            ),
            Answer::Refused(_)
        ));
    }
}
