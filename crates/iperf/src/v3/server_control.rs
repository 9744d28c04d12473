//! The server's end of a control connection, without I/O: bytes in, bytes out, and what to do next.

use super::control::{ControlError, Cookie, Inbox, MAX_PARAMETERS, MAX_RESULTS, State, frame_json};
use super::parameters::Parameters;
use super::results::Results;

/// What the caller must do.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// A test is requested: [`ServerControl::accept`] or [`ServerControl::refuse`] it.
    Requested(Cookie, Parameters),
    /// The client ends the test: stop counting.
    Ended,
    /// The client's results; call [`ServerControl::give_results`].
    PeerResults(Results),
    /// Finished: close.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Cookie,
    Agreeing(Cookie),
    Deciding,
    Opening,
    Running,
    Reading,
    Giving,
    Leaving,
    Over,
}

/// The server's control connection of one test.
#[derive(Clone, Debug)]
pub struct ServerControl {
    phase: Phase,
    inbox: Inbox,
    out: Vec<u8>,
}

impl Default for ServerControl {
    fn default() -> ServerControl {
        ServerControl::new()
    }
}

impl ServerControl {
    /// A newly accepted connection.
    pub const fn new() -> ServerControl {
        ServerControl {
            phase: Phase::Cookie,
            inbox: Inbox::new(),
            out: Vec::new(),
        }
    }

    /// Takes received bytes.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.inbox.push(bytes);
    }

    /// Bytes to send now.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// The next event; `None` until more bytes arrive. After an error the connection is unusable.
    pub fn next_event(&mut self) -> Result<Option<ServerEvent>, ControlError> {
        if self.phase == Phase::Cookie {
            let Some(bytes) = self.inbox.take::<{ super::control::COOKIE_LEN }>() else {
                return Ok(None);
            };
            let Some(cookie) = Cookie::parse(&bytes) else {
                return Ok(None);
            };
            self.out.push(State::ParamExchange.byte());
            self.phase = Phase::Agreeing(cookie);
        }
        match self.phase {
            Phase::Agreeing(cookie) => {
                let Some(text) = self.inbox.json("parameters", MAX_PARAMETERS)? else {
                    return Ok(None);
                };
                self.phase = Phase::Deciding;
                let parameters = Parameters::parse(&text)?;
                Ok(Some(ServerEvent::Requested(cookie, parameters)))
            }
            Phase::Reading => {
                let Some(text) = self.inbox.json("results", MAX_RESULTS)? else {
                    return Ok(None);
                };
                self.phase = Phase::Giving;
                Results::parse(&text).map(|results| Some(ServerEvent::PeerResults(results)))
            }
            _ => self.on_state(),
        }
    }

    fn on_state(&mut self) -> Result<Option<ServerEvent>, ControlError> {
        let Some(state) = self.inbox.state()? else {
            return Ok(None);
        };
        match (state, self.phase) {
            (State::ClientTerminate, _) => Err(ControlError::Stopped),
            (State::TestEnd, Phase::Running) => {
                self.out.push(State::ExchangeResults.byte());
                self.phase = Phase::Reading;
                Ok(Some(ServerEvent::Ended))
            }
            (State::IperfDone, Phase::Leaving) => {
                self.phase = Phase::Over;
                Ok(Some(ServerEvent::Over))
            }
            (state, _) => Err(ControlError::Unexpected {
                state,
                during: self.during(),
            }),
        }
    }

    /// Accepts the test: the client must open its streams.
    pub fn accept(&mut self) {
        if self.phase == Phase::Deciding {
            self.out.push(State::CreateStreams.byte());
            self.phase = Phase::Opening;
        }
    }

    /// Refuses or aborts the test, with iperf3's error number and the system's (0 for none).
    pub fn refuse(&mut self, iperf: i32, system: i32) {
        self.out.push(State::ServerError.byte());
        self.out.extend(iperf.to_be_bytes());
        self.out.extend(system.to_be_bytes());
        self.phase = Phase::Over;
    }

    /// Stops the test immediately, and notifies the client.
    pub fn terminate(&mut self) {
        self.out.push(State::ServerTerminate.byte());
        self.phase = Phase::Over;
    }

    /// All streams are open: notifies the client, and data flows.
    pub fn start(&mut self) {
        if self.phase == Phase::Opening {
            self.out
                .extend([State::TestStart.byte(), State::TestRunning.byte()]);
            self.phase = Phase::Running;
        }
    }

    /// Sends the server's results; after [`ServerEvent::PeerResults`], else without effect.
    pub fn give_results(&mut self, results: &Results) {
        if self.phase == Phase::Giving {
            self.out.extend(frame_json(&results.to_json()));
            self.out.push(State::DisplayResults.byte());
            self.phase = Phase::Leaving;
        }
    }

    /// The present phase, for a message.
    pub const fn during(&self) -> &'static str {
        match self.phase {
            Phase::Cookie | Phase::Agreeing(_) | Phase::Deciding => "the parameters are agreed on",
            Phase::Opening => "the streams are opened",
            Phase::Running => "data flows",
            Phase::Reading | Phase::Giving | Phase::Leaving => "results are exchanged",
            Phase::Over => "nothing is left to do",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client_control::{ClientControl, ClientEvent};
    use super::*;

    fn with_request() -> ServerControl {
        let mut server = ServerControl::new();
        server.receive(Cookie::new(1).as_bytes());
        server.receive(&frame_json(&Parameters::default().to_json()));
        let request = ServerEvent::Requested(Cookie::new(1), Parameters::default());
        assert_eq!(server.next_event(), Ok(Some(request)));
        assert_eq!(server.take_output(), [9]);
        server
    }

    #[test]
    fn the_whole_way_in_single_bytes() {
        let mut server = with_request();
        server.accept();
        server.start();
        assert_eq!(server.take_output(), [10, 1, 2]);
        server.receive(&[4]);
        assert_eq!(server.next_event(), Ok(Some(ServerEvent::Ended)));
        assert_eq!(server.take_output(), [13]);
        for byte in frame_json(&Results::default().to_json()) {
            assert_eq!(server.next_event(), Ok(None));
            server.receive(&[byte]);
        }
        let theirs = ServerEvent::PeerResults(Results::default());
        assert_eq!(server.next_event(), Ok(Some(theirs)));
        server.give_results(&Results::default());
        assert_eq!(server.take_output().last(), Some(&14));
        server.receive(&[16]);
        assert_eq!(server.next_event(), Ok(Some(ServerEvent::Over)));
    }

    #[test]
    fn both_ends_understand_each_other() {
        let mut client = ClientControl::new(Cookie::new(2), Parameters::default());
        let mut server = ServerControl::new();
        let mut events = Vec::new();
        for _ in 0..20 {
            server.receive(&client.take_output());
            match server.next_event().unwrap() {
                Some(ServerEvent::Requested(..)) => {
                    server.accept();
                    server.start();
                }
                Some(ServerEvent::PeerResults(results)) => server.give_results(&results),
                Some(ServerEvent::Over) => return assert_eq!(events.len(), 5),
                Some(ServerEvent::Ended) | None => {}
            }
            client.receive(&server.take_output());
            while let Some(event) = client.next_event().unwrap() {
                match event {
                    ClientEvent::Run => client.end(),
                    ClientEvent::GiveResults => client.give_results(&Results::default()),
                    _ => {}
                }
                events.push(event);
            }
        }
        panic!("no end after {events:?}");
    }

    #[test]
    fn refusals_and_nonsense() {
        let mut server = with_request();
        server.refuse(130, 98);
        assert_eq!(server.take_output(), [0xFE, 0, 0, 0, 130, 0, 0, 0, 98]);
        let mut server = with_request();
        server.receive(&[12]);
        assert_eq!(server.next_event(), Err(ControlError::Stopped));
        let mut server = with_request();
        server.accept();
        server.receive(&[4]);
        insta::assert_snapshot!(server.next_event().unwrap_err(), @"the peer sent TestEnd while the streams are opened; fix: check that it is an iperf3, and start it again");
    }
}
