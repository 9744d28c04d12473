//! RSA keys from PEM files (RFC 7468), as `openssl genrsa` and `openssl rsa` write them.

use aws_lc_rs::rsa::{PrivateDecryptingKey, PublicEncryptingKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Most bytes of a key that are read: one of 8192 bits has fewer.
const MOST: usize = 16 * 1024;
/// Prefix of a PKCS #1 key within one of PKCS #8 (RFC 5208): version 0 and the name of RSA.
const RSA: &[u8] = &[
    0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
    0x05, 0x00,
];

/// The first block of a file whose label is one of `labels`.
fn block<'a>(text: &'a str, labels: &[&str]) -> Option<(&'a str, Result<Vec<u8>, String>)> {
    let mut rest = text;
    while let Some((_, begun)) = rest.split_once("-----BEGIN ") {
        let (label, after) = begun.split_once("-----")?;
        let end = format!("-----END {label}-----");
        let (body, next) = after.split_once(end.as_str())?;
        if labels.contains(&label) {
            return Some((label, bytes(body)));
        }
        rest = next;
    }
    None
}

fn bytes(body: &str) -> Result<Vec<u8>, String> {
    if body.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(encrypted());
    }
    let bare: String = body.split_whitespace().collect();
    let damaged = || "its base64 is damaged; fix: copy the file again".to_owned();
    if bare.len() > 2 * MOST {
        return Err(damaged());
    }
    STANDARD.decode(bare).map_err(|_| damaged())
}

fn encrypted() -> String {
    "its key is protected by a password; fix: openssl rsa -in FILE -out OTHER writes one without, and name that".to_owned()
}

fn refused(error: &dyn std::fmt::Display) -> String {
    format!(
        "its key cannot be used ({error}); fix: make one of 2048 to 8192 bits with openssl genrsa"
    )
}

/// The public key of a file.
///
/// # Errors
/// The error and its fix.
pub(super) fn public_key(text: &str) -> Result<PublicEncryptingKey, String> {
    let Some((_, der)) = block(text, &["PUBLIC KEY"]) else {
        return Err(
            "it holds no public key; fix: openssl rsa -in PRIVATE -pubout writes it".to_owned(),
        );
    };
    PublicEncryptingKey::from_der(&der?).map_err(|error| refused(&error))
}

/// The private key of a file.
///
/// # Errors
/// The error and its fix.
pub(super) fn private_key(text: &str) -> Result<PrivateDecryptingKey, String> {
    let labels = ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"];
    let pkcs8 = match block(text, &labels) {
        None => {
            return Err("it holds no private key; fix: openssl genrsa 2048 makes one".to_owned());
        }
        Some(("ENCRYPTED PRIVATE KEY", _)) => return Err(encrypted()),
        Some(("RSA PRIVATE KEY", der)) => {
            let key = element(0x04, &der?);
            element(0x30, &[RSA, &key].concat())
        }
        Some((_, der)) => der?,
    };
    PrivateDecryptingKey::from_pkcs8(&pkcs8).map_err(|error| refused(&error))
}

/// An element of DER with a length of two bytes or fewer, sufficient for a key within [`MOST`].
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let [.., high, low] = content.len().to_be_bytes();
    let head: &[u8] = match content.len() {
        0..128 => &[tag, low],
        128..256 => &[tag, 0x81, low],
        _ => &[tag, 0x82, high, low],
    };
    [head, content].concat()
}
