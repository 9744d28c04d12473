//! The token of a node: a secret shared with its clients, proven without being sent.
//!
//! The node challenges each session with a random number; the client answers with an HMAC-SHA-256 (RFC 2104, FIPS
//! 180-4) of it under the token. A listener learns nothing that is valid in another session.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use wirelab_trial::system_error::system_fix;

/// Fewest bytes of a token: a shorter one can be guessed from one observed exchange.
pub const MIN_BYTES: usize = 16;
/// Most bytes of a token's file.
pub const MAX_BYTES: usize = 4096;
/// Random bytes of a challenge.
const CHALLENGE_BYTES: usize = 16;
/// What is missing where the system has no random source.
const NO_RANDOM: &str = "the system's source of randomness";
/// The purpose of an answer, so that it is invalid elsewhere.
const PURPOSE: &str = "wirelab node control 1";

/// A secret shared by a node and its clients.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why a file has no valid token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error(
        "the token file {path} cannot be read: {source}; fix: {}",
        system_fix(source)
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Its length is wrong.
    #[error(
        "the token has {bytes} bytes, and must have {MIN_BYTES} to {MAX_BYTES}; fix: head -c 32 /dev/urandom | base64 > FILE"
    )]
    Length {
        /// Its number of bytes.
        bytes: usize,
    },
}

impl Token {
    /// A token of these bytes; trailing white space is ignored.
    ///
    /// # Errors
    /// [`TokenError::Length`]
    pub fn new(bytes: &[u8]) -> Result<Token, TokenError> {
        let token = bytes.trim_ascii_end();
        match (MIN_BYTES..=MAX_BYTES).contains(&token.len()) {
            true => Ok(Token(token.to_vec())),
            false => Err(TokenError::Length { bytes: token.len() }),
        }
    }

    /// The token in a file.
    ///
    /// # Errors
    /// [`TokenError`]
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        use std::io::Read as _;
        let read = || {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path)?;
            file.take(MAX_BYTES as u64 + 2).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|source| TokenError::Read {
            path: path.to_owned(),
            source,
        })?;
        Token::new(&bytes)
    }

    /// The answer to a challenge in a session: 64 hexadecimal digits.
    pub fn response(&self, session: u32, challenge: &str) -> String {
        hex(&self.mac(session, challenge).finalize().into_bytes())
    }

    /// Whether the answer is that of a client with this token. It takes the same time wherever the answer differs.
    pub fn accepts(&self, session: u32, challenge: &str, response: &str) -> bool {
        let Some(bytes) = unhex(response) else {
            return false;
        };
        self.mac(session, challenge).verify_slice(&bytes).is_ok()
    }

    fn mac(&self, session: u32, challenge: &str) -> Hmac<Sha256> {
        // HMAC takes keys of any length.
        let mut mac =
            <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!());
        mac.update(format!("{PURPOSE} {session} {challenge}").as_bytes());
        mac
    }
}

/// A challenge for one session: 32 hexadecimal digits.
///
/// # Panics
/// As [`random_u32`].
pub(crate) fn challenge() -> String {
    let mut bytes = [0; CHALLENGE_BYTES];
    getrandom::fill(&mut bytes).expect(NO_RANDOM);
    hex(&bytes)
}

/// A number that cannot be guessed.
///
/// # Panics
/// Where the system has no source of randomness: a guessable number would be worse.
pub(crate) fn random_u32() -> u32 {
    getrandom::u32().expect(NO_RANDOM)
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.len() % 2 != 0 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_specification() {
        // python3: hmac.new(b"0123456789abcdef", b"wirelab node control 1 7 00112233445566778899aabbccddeeff",
        // hashlib.sha256).hexdigest()
        let token = Token::new(b"0123456789abcdef\n").unwrap();
        let challenge = "00112233445566778899aabbccddeeff";
        let response = token.response(7, challenge);
        assert_eq!(response, RESPONSE);
        assert!(token.accepts(7, challenge, &response));
        assert!(token.accepts(7, challenge, &response.to_uppercase()));
        assert!(!token.accepts(8, challenge, &response), "another session");
        assert!(!token.accepts(7, &super::challenge(), &response));
        for wrong in ["", "0", "zz", &response[..62], &response.replace('a', "b")] {
            assert!(!token.accepts(7, challenge, wrong), "{wrong}");
        }
        let other = Token::new(b"0123456789abcdeg").unwrap();
        assert!(!other.accepts(7, challenge, &response));
    }

    const RESPONSE: &str = "5bc59d9896a051076d5df4f606055b5bb3c74bb324d0591062db6ea0056d98bc";

    #[test]
    fn challenges_differ_and_tokens_are_long_enough() {
        let (one, two) = (challenge(), challenge());
        assert!(one != two && one.len() == 32);
        let error = Token::new(b"short \n").unwrap_err().to_string();
        assert!(
            error.contains("has 5 bytes") && error.contains("fix:"),
            "{error}"
        );
        assert!(Token::new(&[b'x'; MAX_BYTES + 1]).is_err());
        let error = Token::read(Path::new("/nowhere/token")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/token"));
        assert_eq!(
            format!("{:?}", Token::new(&[b'x'; 20]).unwrap()),
            "Token(…)"
        );
    }
}
