//! The client's end of a control connection, without I/O: bytes in, bytes out, and what to do next.

use super::control::{ControlError, Cookie, Inbox, MAX_RESULTS, State, frame_json};
use super::parameters::Parameters;
use super::results::Results;

/// What the caller must do.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// Open the streams.
    OpenStreams,
    /// Transfer data; call [`ClientControl::end`] when the test is over.
    Run,
    /// Stop counting and call [`ClientControl::give_results`].
    GiveResults,
    /// The server's results.
    PeerResults(Results),
    /// Finished: send the rest and close.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Agreeing,
    Opening,
    Running,
    Ending,
    Giving,
    Reading,
    Leaving,
    Over,
}

impl Phase {
    const fn what(self) -> &'static str {
        match self {
            Phase::Agreeing => "the parameters are agreed on",
            Phase::Opening => "the streams are opened",
            Phase::Running => "data flows",
            Phase::Ending => "the test ends",
            Phase::Giving | Phase::Reading | Phase::Leaving => "results are exchanged",
            Phase::Over => "nothing is left to do",
        }
    }
}

/// The client's control connection of one test.
#[derive(Clone, Debug)]
pub struct ClientControl {
    parameters: Parameters,
    phase: Phase,
    inbox: Inbox,
    out: Vec<u8>,
    heard: bool,
    failing: bool,
}

impl ClientControl {
    /// A new connection. The cookie is sent first.
    pub fn new(cookie: Cookie, parameters: Parameters) -> ClientControl {
        ClientControl {
            parameters,
            phase: Phase::Agreeing,
            inbox: Inbox::default(),
            out: cookie.as_bytes().to_vec(),
            heard: false,
            failing: false,
        }
    }

    /// Takes received bytes.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.heard |= !bytes.is_empty();
        self.inbox.push(bytes);
    }

    /// Whether the server has sent anything.
    pub const fn has_heard(&self) -> bool {
        self.heard
    }

    /// The meaning of a connection closed now, if any: a server that refuses without a message, or that sends an
    /// incomplete error.
    pub fn closed(&mut self) -> Option<ControlError> {
        if self.failing {
            // iperf3 before 3.13 sends one word when it refuses a user.
            let word = self.inbox.take::<4>().map_or(0, i32::from_be_bytes);
            let (iperf, system) = (word, 0);
            return Some(ControlError::Server { iperf, system });
        }
        match (self.heard, self.phase) {
            (false, _) => Some(ControlError::TurnedAway),
            (true, Phase::Agreeing) => Some(ControlError::Dismissed),
            (true, _) => None,
        }
    }

    /// Bytes to send now.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// The next event; `None` until more bytes arrive. After an error the connection is unusable.
    pub fn next_event(&mut self) -> Result<Option<ClientEvent>, ControlError> {
        loop {
            if self.failing {
                return self.server_error();
            }
            if self.phase == Phase::Reading {
                let Some(text) = self.inbox.json("results", MAX_RESULTS)? else {
                    return Ok(None);
                };
                self.phase = Phase::Leaving;
                return Results::parse(&text).map(|r| Some(ClientEvent::PeerResults(r)));
            }
            let Some(state) = self.inbox.state()? else {
                return Ok(None);
            };
            if let Some(event) = self.on_state(state)? {
                return Ok(Some(event));
            }
        }
    }

    fn on_state(&mut self, state: State) -> Result<Option<ClientEvent>, ControlError> {
        let (phase, event) = match (state, self.phase) {
            (State::AccessDenied, _) => return Err(ControlError::Busy),
            (State::ServerTerminate, _) => return Err(ControlError::Stopped),
            (State::ServerError, _) => {
                self.failing = true;
                return Ok(None);
            }
            (State::ParamExchange, Phase::Agreeing) => {
                self.out.extend(frame_json(&self.parameters.to_json()));
                (Phase::Agreeing, None)
            }
            (State::CreateStreams, Phase::Agreeing) => {
                (Phase::Opening, Some(ClientEvent::OpenStreams))
            }
            (State::TestStart, Phase::Opening) => (Phase::Opening, None),
            (State::TestRunning, Phase::Opening) => (Phase::Running, Some(ClientEvent::Run)),
            // A server that has reached the requested amount does not wait for the client's message.
            (State::ExchangeResults, Phase::Running | Phase::Ending) => {
                (Phase::Giving, Some(ClientEvent::GiveResults))
            }
            (State::DisplayResults, Phase::Leaving) => {
                self.out.push(State::IperfDone.byte());
                (Phase::Over, Some(ClientEvent::Over))
            }
            (state, phase) => {
                let during = phase.what();
                return Err(ControlError::Unexpected { state, during });
            }
        };
        self.phase = phase;
        Ok(event)
    }

    fn server_error(&mut self) -> Result<Option<ClientEvent>, ControlError> {
        let Some(words) = self.inbox.take::<8>() else {
            return Ok(None);
        };
        let [a, b, c, d, e, f, g, h] = words;
        Err(ControlError::Server {
            iperf: i32::from_be_bytes([a, b, c, d]),
            system: i32::from_be_bytes([e, f, g, h]),
        })
    }

    /// Ends the test: notifies the server. Without effect unless data flows.
    pub fn end(&mut self) {
        if self.phase == Phase::Running {
            self.out.push(State::TestEnd.byte());
            self.phase = Phase::Ending;
        }
    }

    /// Sends the client's results to the server; after [`ClientEvent::GiveResults`], else without effect.
    pub fn give_results(&mut self, results: &Results) {
        if self.phase == Phase::Giving {
            self.out.extend(frame_json(&results.to_json()));
            self.phase = Phase::Reading;
        }
    }

    /// Stops before the end, and notifies the server immediately.
    pub fn abandon(&mut self) {
        self.out.push(State::ClientTerminate.byte());
        self.phase = Phase::Over;
    }

    /// The present phase, for a message.
    pub const fn during(&self) -> &'static str {
        self.phase.what()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> ClientControl {
        ClientControl::new(Cookie::new(1), Parameters::default())
    }

    #[test]
    fn the_whole_way_byte_by_byte() {
        let mut client = client();
        assert_eq!(client.take_output(), Cookie::new(1).as_bytes());
        client.receive(&[9]);
        assert_eq!(client.next_event(), Ok(None));
        let sent = client.take_output();
        assert_eq!(Parameters::parse(&sent[4..]), Ok(Parameters::default()));
        client.receive(&[10]);
        assert_eq!(client.next_event(), Ok(Some(ClientEvent::OpenStreams)));
        client.receive(&[1, 2]);
        assert_eq!(client.next_event(), Ok(Some(ClientEvent::Run)));
        client.end();
        client.end();
        assert_eq!(client.take_output(), [4]);
        client.receive(&[13]);
        assert_eq!(client.next_event(), Ok(Some(ClientEvent::GiveResults)));
        client.give_results(&Results::default());
        assert_eq!(client.take_output()[..4], [0, 0, 0, 105]);
        let theirs = Results {
            cpu_percent: [1.0, 0.5, 0.5],
            ..Results::default()
        };
        client.receive(&[frame_json(&theirs.to_json()), vec![14]].concat());
        assert_eq!(
            client.next_event(),
            Ok(Some(ClientEvent::PeerResults(theirs)))
        );
        assert_eq!(client.next_event(), Ok(Some(ClientEvent::Over)));
        assert_eq!(client.take_output(), [16]);
    }

    #[test]
    fn refusals() {
        let after = |bytes: &[u8]| {
            let mut client = client();
            client.receive(bytes);
            client.next_event().unwrap_err()
        };
        assert_eq!(after(&[0xFF]), ControlError::Busy);
        assert_eq!(after(&[9, 11]), ControlError::Stopped);
        let server = ControlError::Server {
            iperf: 130,
            system: 98,
        };
        assert_eq!(after(&[9, 0xFE, 0, 0, 0, 130, 0, 0, 0, 98]), server);
        insta::assert_snapshot!(after(&[2]), @"the peer sent TestRunning while the parameters are agreed on; fix: check that it is an iperf3, and start it again");
        assert_eq!(after(b"x"), ControlError::UnknownState(b'x'));
    }
}
