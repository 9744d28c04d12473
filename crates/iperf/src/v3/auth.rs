//! iperf3's authentication: a client's name and password, encrypted with the server's public key.
//!
//! ```text
//! user: NAME\npwd:  PASSWORD\nts:   SECONDS          seconds since 1970, so that a token cannot be used again later
//! ```
//! RSA makes a token of it: with OAEP (SHA-1) since iperf3 3.17, before with PKCS #1 v1.5, of which it is known that a
//! server's answers and their times can give a token away. A server has a list of users with a line for each:
//! `NAME,HASH`, the hash being the SHA-256 of `{NAME}PASSWORD` in hexadecimal.

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

/// How far the clocks of a client and a server may be apart where nothing else is asked, in s.
pub const SKEW_SECONDS: u64 = 10;
/// The longest token that is looked at, in characters: what the longest key makes.
const MOST_TOKEN: usize = 8192 / 8 * 4 / 3 + 4;

/// How RSA hides a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// OAEP with SHA-1, as iperf3 has it since 3.17.
    #[default]
    Oaep,
    /// PKCS #1 v1.5, as iperf3 had it until 3.16.
    Pkcs1,
}

/// Why a key, a list of users or a name cannot be used.
#[derive(Debug, Error)]
pub enum AuthError {
    /// A file cannot be read.
    #[error("{path}: {source}; fix: name a file that can be read", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file has no key that can be used.
    #[error("{path}: {why}", path = path.display())]
    Key {
        /// Which.
        path: PathBuf,
        /// What is wrong with it, and the fix.
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

/// Who a client is, towards the server that has the private key.
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
    /// A user, and the server's public key out of a PEM file.
    ///
    /// # Errors
    /// [`AuthError`] where the file has no such key, or the words are none that iperf3 can carry.
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
    /// [`AuthError::TooLong`] where the key has no room for it.
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

/// What a server lets in: its private key and its users.
pub struct Authorizer {
    key: PrivateKey,
    bytes: usize,
    users: PathBuf,
    skew_s: u64,
}

/// Why a client is not let in. It is told none of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAuthorized {
    /// It names nobody.
    #[error("it named no user; fix: give it --username and --rsa-public-key-path")]
    NoToken,
    /// What it sent cannot be read.
    #[error(
        "its token cannot be read with this key; fix: give it the public key of this one, and both ends the same padding (--use-pkcs1-padding for clients older than 3.17)"
    )]
    Unreadable,
    /// Its clock is not ours.
    #[error(
        "its clock is {0} s away from this one; fix: set the clocks, or allow more with --time-skew-threshold"
    )]
    Skew(u64),
    /// The name or the password is wrong.
    #[error("the user or the password is wrong")]
    Wrong,
    /// The list of users cannot be read.
    #[error("{0}")]
    Users(String),
}

impl Authorizer {
    /// A private key out of a PEM file, and a file of users, which is read again for each client.
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

    /// Whether a client that sent this token at `unix_s` seconds since 1970 is let in.
    ///
    /// # Errors
    /// [`NotAuthorized`] where it is not.
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

/// What a token says.
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

/// Whether a list of users has this one.
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

/// Any bytes as a file of a key, as a list of users and as the words of a token; none may panic.
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
