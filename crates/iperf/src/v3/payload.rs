//! The data that an iperf3 sender repeats, from memory or from a file.

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpStream;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile64;
use wirelab_statistics::random::SplitMix64;

use super::parameters::Parameters;
use crate::sending::write_at_once;

/// The repeated data: random bytes, which no link can compress, or the digits of iperf 2.
pub(super) fn payload(parameters: &Parameters, seed: u64) -> Vec<u8> {
    let length = parameters.length_bytes as usize;
    if parameters.repeating_payload {
        return (b'0'..=b'9').cycle().take(length).collect();
    }
    let mut random = SplitMix64::new(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend(random.next_u64().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// The data written to a TCP connection.
pub(super) enum Payload {
    Memory(Vec<u8>),
    /// A file in memory for `sendfile`, and its length.
    File(File, usize),
}

impl Payload {
    /// A payload of `bytes`; `zerocopy` requests a file, where the system supports one.
    pub(super) fn new(bytes: Vec<u8>, zerocopy: bool) -> Payload {
        match zerocopy.then(|| in_file(&bytes)) {
            Some(Ok(file)) => Payload::File(file, bytes.len()),
            // Without one the same data are copied.
            Some(Err(_)) | None => Payload::Memory(bytes),
        }
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Payload::Memory(bytes) => bytes.len(),
            Payload::File(_, len) => *len,
        }
    }

    /// Writes the bytes after the first `written`, as many as there is room for.
    pub(super) fn write_at_once(&self, stream: &TcpStream, written: usize) -> io::Result<usize> {
        match self {
            Payload::Memory(bytes) => write_at_once(stream, &bytes[written..]),
            Payload::File(file, len) => {
                // A sender's stream has no other user, so it need not wait.
                stream.set_nonblocking(true)?;
                let mut at = written as i64;
                Ok(sendfile64(stream, file, Some(&mut at), len - written)?)
            }
        }
    }
}

fn in_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("wirelab-payload", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_same_bytes_come_out_of_a_file() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let bytes = payload(&Parameters::default(), 7);
        assert_eq!(bytes.len(), 128 * 1024);
        let file = Payload::new(bytes.clone(), true);
        assert!(
            matches!(file, Payload::File(..)),
            "this system has sendfile"
        );
        for block in [Payload::new(bytes.clone(), false), file] {
            let len = block.write_at_once(&stream, 0).unwrap();
            assert!(len > 0 && len <= bytes.len());
            let mut received = vec![0; len];
            peer.read_exact(&mut received).unwrap();
            assert_eq!(received, bytes[..len]);
            let rest = block.write_at_once(&stream, bytes.len() - 7).unwrap();
            let mut received = [0; 7];
            peer.read_exact(&mut received).unwrap();
            assert_eq!((rest, &received[..]), (7, &bytes[bytes.len() - 7..]));
        }
        // A full connection must not block.
        let file = Payload::new(bytes, true);
        let full = std::iter::repeat_with(|| file.write_at_once(&stream, 5)).find_map(Result::err);
        assert_eq!(full.unwrap().kind(), io::ErrorKind::WouldBlock);
    }
}
