//! The control connection of iperf3: a cookie, then one-byte states, between them JSON with a length before it.

use thiserror::Error;

use super::server_error::describe;

/// Bytes of a cookie: 36 characters and a zero.
pub const COOKIE_LEN: usize = 37;
/// Longest parameters that are read, in bytes; those of iperf3 are a few hundred.
pub const MAX_PARAMETERS: usize = 64 * 1024;
/// Longest results that are read, in bytes: room for the server's own output, which a peer may add.
pub const MAX_RESULTS: usize = 4 * 1024 * 1024;

/// The states that the two ends of a control connection send each other, one byte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    /// All streams are open.
    TestStart = 1,
    /// Data flows.
    TestRunning = 2,
    /// The client ends the test.
    TestEnd = 4,
    /// The server requests the client's JSON.
    ParamExchange = 9,
    /// The client must open its streams.
    CreateStreams = 10,
    /// The server was stopped.
    ServerTerminate = 11,
    /// The client was stopped.
    ClientTerminate = 12,
    /// The server requests results: first the client's, then its own.
    ExchangeResults = 13,
    /// The exchange is over.
    DisplayResults = 14,
    /// Between tests.
    IperfStart = 15,
    /// The client closes.
    IperfDone = 16,
    /// The server is busy.
    AccessDenied = -1,
    /// The server cannot run the test; two words of 32 bits follow, iperf3's error number and the system's.
    ServerError = -2,
}

impl State {
    /// The state of a byte on the wire.
    pub const fn from_byte(byte: u8) -> Option<State> {
        Some(match byte as i8 {
            1 => State::TestStart,
            2 => State::TestRunning,
            4 => State::TestEnd,
            9 => State::ParamExchange,
            10 => State::CreateStreams,
            11 => State::ServerTerminate,
            12 => State::ClientTerminate,
            13 => State::ExchangeResults,
            14 => State::DisplayResults,
            15 => State::IperfStart,
            16 => State::IperfDone,
            -1 => State::AccessDenied,
            -2 => State::ServerError,
            _ => return None,
        })
    }

    /// The byte on the wire.
    pub const fn byte(self) -> u8 {
        self as i8 as u8
    }
}

/// The identification of a test: each of its connections begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie([u8; COOKIE_LEN]);

impl Cookie {
    /// 36 characters from the 32 that iperf3 uses, generated from `seed` (SplitMix64).
    pub fn new(seed: u64) -> Cookie {
        const CHARACTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut bytes = [0; COOKIE_LEN];
        let mut state = seed;
        for character in &mut bytes[..COOKIE_LEN - 1] {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            *character = CHARACTERS[(mixed >> 59) as usize];
        }
        Cookie(bytes)
    }

    /// The cookie at the start of a connection, with any characters; `None` where there are too few bytes.
    pub fn parse(bytes: &[u8]) -> Option<Cookie> {
        bytes.first_chunk().map(|chunk| Cookie(*chunk))
    }

    /// The bytes on the wire.
    pub const fn as_bytes(&self) -> &[u8; COOKIE_LEN] {
        &self.0
    }

    /// The text: the characters before the zero.
    pub fn text(&self) -> String {
        let characters = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(characters).into_owned()
    }
}

/// Why a control connection cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// A byte that is no state.
    #[error(
        "byte {0} on the control connection is not a state of iperf3; fix: check the port, and that the peer is an iperf3 (not iperf 2)"
    )]
    UnknownState(u8),
    /// A state that is invalid in this phase.
    #[error(
        "the peer sent {state:?} while {during}; fix: check that it is an iperf3, and start it again"
    )]
    Unexpected {
        /// The state.
        state: State,
        /// The phase.
        during: &'static str,
    },
    /// JSON longer than the limit.
    #[error(
        "the peer announces {what} of {bytes} bytes; at most {limit} are read; fix: check that it is an iperf3, or use fewer streams"
    )]
    TooLong {
        /// Name of the JSON, e.g. the results.
        what: &'static str,
        /// Its announced length.
        bytes: u32,
        /// The most that is read.
        limit: usize,
    },
    /// JSON that is invalid or incomplete.
    #[error(
        "the peer's {what} cannot be used: {why}; fix: check that it is an iperf3, and its options"
    )]
    Json {
        /// Name of the JSON, e.g. the results.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The server is busy with another client.
    #[error(
        "the server is busy with another test; fix: wait until that is over and try again, or use a server on another port"
    )]
    Busy,
    /// The server closed the connection before it sent anything.
    #[error(
        "the server closed the connection before it sent anything: it may be busy with another test, or have just ended one; fix: try again, and check that it is an iperf3 (not iperf 2) that allows this host (--allow)"
    )]
    TurnedAway,
    /// The server closed the connection after it had read the parameters.
    #[error(
        "the server closed the connection while the parameters are agreed on, as iperf3 3.21 does where it does not let the user in; fix: check --username, the password, the key and both clocks, or start it again"
    )]
    Dismissed,
    /// The server accepted the connection and sent nothing.
    #[error(
        "the server took the connection and sent nothing for 10 s; fix: check that it is an iperf3 (not iperf 2), and that nothing blocks it"
    )]
    Silent,
    /// The server gave up.
    #[error("{}", describe(*iperf, *system))]
    Server {
        /// iperf3's error number; 0 for none.
        iperf: i32,
        /// The server's errno; 0 for none.
        system: i32,
    },
    /// The peer was stopped.
    #[error("the peer was stopped before the test was over; fix: start it again")]
    Stopped,
}

/// Received bytes that are not used yet, bounded by the expected JSON.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    used: usize,
}

impl Inbox {
    pub(super) const fn new() -> Inbox {
        Inbox {
            bytes: Vec::new(),
            used: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let chunk = *self.rest().first_chunk::<N>()?;
        self.used += N;
        Some(chunk)
    }

    /// The next state; `None` until a byte arrives.
    pub(super) fn state(&mut self) -> Result<Option<State>, ControlError> {
        let Some([byte]) = self.take() else {
            return Ok(None);
        };
        match State::from_byte(byte) {
            Some(state) => Ok(Some(state)),
            None => Err(ControlError::UnknownState(byte)),
        }
    }

    /// The next JSON with its length; `None` until it is complete.
    pub(super) fn json(
        &mut self,
        what: &'static str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ControlError> {
        let Some(length) = self.rest().first_chunk() else {
            return Ok(None);
        };
        let bytes = u32::from_be_bytes(*length);
        let len = bytes as usize;
        if len > limit {
            return Err(ControlError::TooLong { what, bytes, limit });
        }
        let Some(text) = self.rest().get(4..4 + len).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.used += 4 + len;
        Ok(Some(text))
    }
}

/// JSON on the wire: its length in four bytes, then the text.
pub fn frame_json(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_single_bytes() {
        let known = [1, 2, 4, 9, 10, 11, 12, 13, 14, 15, 16, 255, 254];
        for byte in 0..=u8::MAX {
            let state = State::from_byte(byte);
            assert_eq!(state.is_some(), known.contains(&byte), "{byte}");
            assert!(state.is_none_or(|state| state.byte() == byte));
        }
    }

    #[test]
    fn a_cookie_of_a_real_client() {
        let sent = b"5tllnvk52qwtk5lebl5misxz6keyulkc66vv\0\x09";
        let cookie = Cookie::parse(sent).unwrap();
        assert_eq!(cookie.text(), "5tllnvk52qwtk5lebl5misxz6keyulkc66vv");
        assert_eq!(Cookie::parse(&sent[..36]), None);
        let ours = Cookie::new(7);
        assert_eq!((ours.text().len(), ours.as_bytes()[36]), (36, 0));
        assert_ne!(ours, Cookie::new(8));
    }

    #[test]
    fn json_comes_in_pieces() {
        let mut inbox = Inbox::default();
        let sent = frame_json(r#"{"udp":true}"#);
        assert_eq!(&sent[..5], b"\0\0\0\x0c{");
        for byte in &sent {
            assert_eq!(inbox.json("parameters", 100), Ok(None));
            inbox.push(&[*byte]);
        }
        inbox.push(&[13]);
        let text = inbox.json("parameters", 100).unwrap().unwrap();
        assert_eq!(text, br#"{"udp":true}"#);
        assert_eq!(inbox.state(), Ok(Some(State::ExchangeResults)));
        assert_eq!(inbox.state(), Ok(None));
    }

    #[test]
    fn a_hostile_length_is_refused_before_anything_is_kept() {
        let mut inbox = Inbox::default();
        inbox.push(&[0xFF; 4]);
        let error = inbox.json("results", MAX_RESULTS).unwrap_err();
        insta::assert_snapshot!(error, @"the peer announces results of 4294967295 bytes; at most 4194304 are read; fix: check that it is an iperf3, or use fewer streams");
        inbox = Inbox::default();
        inbox.push(b"H");
        assert_eq!(inbox.state(), Err(ControlError::UnknownState(b'H')));
    }
}
