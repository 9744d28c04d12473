//! iperf3's authentication: a client's name and password, encrypted with the server's public key.
//!
//! ```text
//! user: NAME\npwd:  PASSWORD\nts:   SECONDS          seconds since 1970, so that a token cannot be used again later
//! ```
//! RSA encrypts it as a token: with OAEP (SHA-1) since iperf3 3.17, before with PKCS #1 v1.5, where a server's answers
//! and their times can leak a token. A server has a list of users with a line for each: `NAME,HASH`, the hash being the
//! SHA-256 of `{NAME}PASSWORD` in hexadecimal.

use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    Pkcs1PrivateDecryptingKey, Pkcs1PublicEncryptingKey, PublicEncryptingKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

mod pem;

/// Default tolerance for the difference between the clocks of client and server, in s.
pub const SKEW_SECONDS: u64 = 10;
/// Longest token that is read, in characters: that of the longest key.
const MOST_TOKEN: usize = 8192 / 8 * 4 / 3 + 4;

/// The RSA padding of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// OAEP with SHA-1, as iperf3 has it since 3.17.
    #[default]
    Oaep,
    /// PKCS #1 v1.5, as iperf3 had it until 3.16.
    Pkcs1,
}

/// Why a key, a list of users or a name is unusable.
#[derive(Debug, Error)]
pub enum AuthError {
    /// A file cannot be read.
    #[error("{path}: {source}; fix: name a file that can be read", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file without a usable key.
    #[error("{path}: {why}", path = path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the fix.
        why: String,
    },
    /// A name or a password that iperf3 cannot carry.
    #[error(
        "the {0} is empty or has spaces; fix: choose another one, as iperf3 reads up to the first space"
    )]
    Words(&'static str),
    /// A name and a password that are longer than the key.
    #[error(
        "the name and the password are too long for the key; fix: choose a longer key or a shorter password"
    )]
    TooLong,
}

/// The identity of a client, encrypted for the server with the private key.
#[derive(Clone)]
pub struct Credentials {
    name: String,
    password: String,
    key: Arc<PublicEncryptingKey>,
    padding: Padding,
}

impl fmt::Debug for Credentials {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// A user, with the server's public key from a PEM file.
    ///
    /// # Errors
    /// [`AuthError`] where the file has no such key, or iperf3 cannot carry the words.
    pub fn new(
        name: &str,
        password: &str,
        key: &Path,
        padding: Padding,
    ) -> Result<Credentials, AuthError> {
        for (what, text) in [("user name", name), ("password", password)] {
            if text.is_empty() || text.contains(char::is_whitespace) {
                return Err(AuthError::Words(what));
            }
        }
        let public = pem::public_key(&read(key)?).map_err(|why| unusable(key, why))?;
        Ok(Credentials {
            name: name.to_owned(),
            password: password.to_owned(),
            key: Arc::new(public),
            padding,
        })
    }

    /// The token of a test that begins at `unix_s` seconds since 1970.
    ///
    /// # Errors
    /// [`AuthError::TooLong`] where the token exceeds the key.
    pub fn token(&self, unix_s: u64) -> Result<String, AuthError> {
        let (name, password) = (&self.name, &self.password);
        let text = format!("user: {name}\npwd:  {password}\nts:   {unix_s}");
        let key = PublicEncryptingKey::clone(&self.key);
        let mut out = vec![0; key.key_size_bytes()];
        let hidden = match self.padding {
            Padding::Oaep => OaepPublicEncryptingKey::new(key).and_then(|key| {
                let out = key.encrypt(&OAEP_SHA1_MGF1SHA1, text.as_bytes(), &mut out, None)?;
                Ok(STANDARD.encode(out))
            }),
            Padding::Pkcs1 => Pkcs1PublicEncryptingKey::new(key)
                .and_then(|key| Ok(STANDARD.encode(key.encrypt(text.as_bytes(), &mut out)?))),
        };
        hidden.map_err(|_| AuthError::TooLong)
    }
}

enum PrivateKey {
    Oaep(OaepPrivateDecryptingKey),
    Pkcs1(Pkcs1PrivateDecryptingKey),
}

/// Who a server accepts: its private key and its users.
pub struct Authorizer {
    key: PrivateKey,
    bytes: usize,
    users: PathBuf,
    skew_s: u64,
}

/// Why a client is refused. The client does not learn the reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAuthorized {
    /// It sent no token.
    #[error("it named no user; fix: give it --username and --rsa-public-key-path")]
    NoToken,
    /// Its token cannot be decrypted.
    #[error(
        "its token cannot be read with this key; fix: give it the public key of this one, and both ends the same padding (--use-pkcs1-padding for clients older than 3.17)"
    )]
    Unreadable,
    /// Its clock differs too much.
    #[error(
        "its clock is {0} s away from this one; fix: set the clocks, or allow more with --time-skew-threshold"
    )]
    Skew(u64),
    /// The name or the password is wrong.
    #[error(
        "the user or the password is wrong; fix: give those of a line of the server's file of users"
    )]
    Wrong,
    /// The list of users cannot be read.
    #[error("{0}")]
    Users(String),
}

impl Authorizer {
    /// A private key from a PEM file, and a file of users, which is read again for each client.
    ///
    /// # Errors
    /// [`AuthError`] where the file has no such key, or the list of users cannot be read.
    pub fn new(
        key: &Path,
        users: &Path,
        padding: Padding,
        skew_s: u64,
    ) -> Result<Authorizer, AuthError> {
        let private = pem::private_key(&read(key)?).map_err(|why| unusable(key, why))?;
        read(users)?;
        let bytes = private.key_size_bytes();
        let rejected = |_| unusable(key, "the key cannot decrypt".to_owned());
        Ok(Authorizer {
            key: match padding {
                Padding::Oaep => {
                    PrivateKey::Oaep(OaepPrivateDecryptingKey::new(private).map_err(rejected)?)
                }
                Padding::Pkcs1 => {
                    PrivateKey::Pkcs1(Pkcs1PrivateDecryptingKey::new(private).map_err(rejected)?)
                }
            },
            bytes,
            users: users.to_owned(),
            skew_s,
        })
    }

    /// Checks a client that sent this token at `unix_s` seconds since 1970.
    ///
    /// # Errors
    /// [`NotAuthorized`] where it is refused.
    pub fn check(&self, token: Option<&str>, unix_s: u64) -> Result<(), NotAuthorized> {
        let token = token.ok_or(NotAuthorized::NoToken)?;
        let text = self.decrypt(token).ok_or(NotAuthorized::Unreadable)?;
        let claim = Claim::parse(&text).ok_or(NotAuthorized::Unreadable)?;
        let skew_s = unix_s.abs_diff(claim.unix_s);
        if skew_s > self.skew_s {
            return Err(NotAuthorized::Skew(skew_s));
        }
        let users = read(&self.users).map_err(|error| NotAuthorized::Users(error.to_string()))?;
        match is_user(&users, claim.name, claim.password) {
            true => Ok(()),
            false => Err(NotAuthorized::Wrong),
        }
    }

    fn decrypt(&self, token: &str) -> Option<String> {
        if token.len() > MOST_TOKEN {
            return None;
        }
        let hidden = STANDARD.decode(token).ok()?;
        let mut out = vec![0; self.bytes];
        let text = match &self.key {
            PrivateKey::Oaep(key) => key.decrypt(&OAEP_SHA1_MGF1SHA1, &hidden, &mut out, None),
            PrivateKey::Pkcs1(key) => key.decrypt(&hidden, &mut out),
        };
        String::from_utf8(text.ok()?.to_vec()).ok()
    }
}

fn read(path: &Path) -> Result<String, AuthError> {
    std::fs::read_to_string(path).map_err(|source| AuthError::File {
        path: path.to_owned(),
        source,
    })
}

fn unusable(path: &Path, why: String) -> AuthError {
    AuthError::Key {
        path: path.to_owned(),
        why,
    }
}

/// The contents of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claim<'a> {
    name: &'a str,
    password: &'a str,
    unix_s: u64,
}

impl Claim<'_> {
    fn parse(text: &str) -> Option<Claim<'_>> {
        let words: Vec<&str> = text.split_whitespace().take(7).collect();
        let ["user:", name, "pwd:", password, "ts:", time] = words[..] else {
            return None;
        };
        let unix_s = time.parse().ok()?;
        Some(Claim {
            name,
            password,
            unix_s,
        })
    }
}

/// Whether a list of users contains this one.
fn is_user(users: &str, name: &str, password: &str) -> bool {
    let hash = digest(&SHA256, format!("{{{name}}}{password}").as_bytes());
    let wanted = hash.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    let lines = users.lines().filter(|line| !line.starts_with('#'));
    let mut entries = lines.filter_map(|line| line.trim_end().split_once(','));
    entries.any(|(user, hash)| {
        let hash = hash.split(',').next().unwrap_or_default().trim();
        user == name && verify_slices_are_equal(hash.as_bytes(), wanted.as_bytes()).is_ok()
    })
}

/// Any bytes as a key file, as a list of users and as the text of a token; none may panic.
pub fn fuzz_auth(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = (pem::public_key(&text), pem::private_key(&text));
    if let Some(claim) = Claim::parse(&text) {
        let (name, password) = (claim.name, claim.password);
        let again = format!("user: {name}\npwd:  {password}\nts:   {}", claim.unix_s);
        assert_eq!(Claim::parse(&again), Some(claim));
        assert!(!is_user(&text, name, password), "a hash in its own text");
    }
}

#[cfg(test)]
mod tests;
