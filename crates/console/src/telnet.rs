//! Telnet (RFC 854) as far as a console needs it: options are answered, and commands are removed from the data.
//!
//! A peer without telnet sends no command bytes, so a plain TCP port works with the same code.

const IAC: u8 = 255;
const SB: u8 = 250;
const SE: u8 = 240;
const WILL: u8 = 251;
const WONT: u8 = 252;
const DO: u8 = 253;
const DONT: u8 = 254;
/// Options that the peer may use: echo, and no go-ahead.
const TAKEN: [u8; 2] = [1, 3];
/// The option that wirelab uses: no go-ahead.
const DONE: [u8; 1] = [3];

/// Splits a stream into data and commands.
#[derive(Debug, Default)]
pub struct Telnet {
    state: State,
    /// Options whose answer was sent, so that no loop of answers begins: `WILL` and `DO`.
    answered: Answered,
    /// Whether the peer uses telnet, so that input is escaped.
    speaks: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Data,
    Command,
    Option(u8),
    Sub,
    SubCommand,
}

#[derive(Debug)]
struct Answered([[bool; 256]; 2]);

impl Default for Answered {
    fn default() -> Answered {
        Answered([[false; 256]; 2])
    }
}

impl Telnet {
    /// Takes bytes of the peer: its data are added to `data`, the answers to `answer`.
    pub fn take(&mut self, bytes: &[u8], data: &mut Vec<u8>, answer: &mut Vec<u8>) {
        for &byte in bytes {
            self.state = match (self.state, byte) {
                (State::Data, IAC) => State::Command,
                (State::Data, byte) => {
                    data.push(byte);
                    State::Data
                }
                (State::Command, IAC) => {
                    data.push(IAC);
                    State::Data
                }
                (State::Command, SB) => State::Sub,
                (State::Command, WILL | WONT | DO | DONT) => State::Option(byte),
                (State::Command, _) => State::Data,
                (State::Option(verb), option) => {
                    self.answer(verb, option, answer);
                    State::Data
                }
                (State::Sub, IAC) => State::SubCommand,
                (State::Sub, _) => State::Sub,
                (State::SubCommand, SE) => State::Data,
                (State::SubCommand, _) => State::Sub,
            };
        }
    }

    fn answer(&mut self, verb: u8, option: u8, answer: &mut Vec<u8>) {
        self.speaks = true;
        let (which, yes, no, accepted) = match verb {
            WILL => (0, DO, DONT, TAKEN.contains(&option)),
            DO => (1, WILL, WONT, DONE.contains(&option)),
            // A refusal needs no answer: nothing was requested.
            _ => return,
        };
        let before = &mut self.answered.0[which][usize::from(option)];
        if !std::mem::replace(before, true) {
            answer.extend([IAC, if accepted { yes } else { no }, option]);
        }
    }

    /// Input, as the peer expects it.
    pub fn escape(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            out.push(byte);
            if byte == IAC && self.speaks {
                out.push(IAC);
            }
            // RFC 854: a carriage return alone is followed by a zero.
            if byte == b'\r' && self.speaks {
                out.push(0);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_answered_once_and_data_comes_out_clean() {
        let mut telnet = Telnet::default();
        let (mut data, mut answer) = (Vec::new(), Vec::new());
        // The server of NuttX offers echo and no go-ahead; another asks for the window size and a terminal type.
        let bytes = [
            b'a', IAC, WILL, 1, IAC, WILL, 3, IAC, DO, 31, IAC, WILL, 1, IAC, SB, 24, 1, IAC, SE,
            b'b', IAC, IAC,
        ];
        for byte in bytes {
            telnet.take(&[byte], &mut data, &mut answer);
        }
        assert_eq!(data, [b'a', b'b', IAC]);
        assert_eq!(answer, [IAC, DO, 1, IAC, DO, 3, IAC, WONT, 31]);
        assert_eq!(telnet.escape(b"x\r"), b"x\r\0");
    }

    #[test]
    fn a_plain_port_stays_as_it_is() {
        let mut telnet = Telnet::default();
        let (mut data, mut answer) = (Vec::new(), Vec::new());
        telnet.take(b"nsh> \x1b[K", &mut data, &mut answer);
        assert_eq!((&data[..], &answer[..]), (&b"nsh> \x1b[K"[..], &[][..]));
        assert_eq!(telnet.escape(b"x\r\xff"), b"x\r\xff");
    }
}
