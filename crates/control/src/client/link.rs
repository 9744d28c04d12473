//! One request on a transport: repeated until its answer arrives, whatever else arrives in between.

use std::time::Duration;

use super::{ClientCounts, ClientError, Patience};
use crate::line::{Kind, Line, LineBuf, MAX_LINE, RequestId};
use crate::message::{Hello, Identity, Opened, Reply, Request, VERSION};
use crate::refusal::{Code, Refusal};
use crate::transport::Transport;

/// A transport with counters.
pub(super) struct Link<T> {
    pub transport: T,
    pub patience: Patience,
    pub counts: ClientCounts,
}

/// The meaning of a received line for the pending request.
enum Received {
    Answer(Box<Reply>),
    /// The node received something unreadable, which may have been the request: repeat it now.
    SayAgain,
    Nothing,
}

impl<T: Transport> Link<T> {
    /// Opens a session. Over UDP the line is as long as a reply can be, so that the node may send one; a node that does
    /// not know the padding gets a hello without it.
    pub fn hello(&mut self, id: RequestId) -> Result<(Opened, Identity), ClientError> {
        let said = |link: &mut Link<T>, padded: bool, id: RequestId| {
            let mut hello = Hello {
                version: VERSION,
                pad: None,
            };
            if padded {
                let mut out = LineBuf::new();
                hello.pad = Some(String::new());
                let bare = Request::Hello(hello.clone()).emit(id, &mut out);
                let bare = bare.map_or(MAX_LINE, <[u8]>::len);
                hello.pad = Some("-".repeat(MAX_LINE - bare));
            }
            link.exchange(&Request::Hello(hello), id)
        };
        let padded = self.transport.is_forgeable();
        let answer = match said(self, padded, id) {
            Err(ClientError::Refused { refusal, .. }) if turns(&refusal, padded) => {
                // A second copy of that refusal must not answer this hello too.
                let number = id.number.wrapping_add(1);
                said(self, !padded, RequestId { number, ..id })
            }
            answer => answer,
        };
        match answer? {
            Reply::Hello(opened, identity) => Ok((opened, identity)),
            _ => Err(super::unexpected("hello")),
        }
    }

    /// Repeats a request until its answer arrives, or all tries are used up.
    pub fn exchange(&mut self, request: &Request, id: RequestId) -> Result<Reply, ClientError> {
        let command = request.command();
        let mut out = LineBuf::new();
        let line = request
            .emit(id, &mut out)
            .ok_or(ClientError::TooLong(command))?;
        let mut wait = self.patience.first;
        for attempt in 0..self.patience.tries {
            self.counts.repeated += u64::from(attempt > 0);
            self.counts.sent += 1;
            self.transport.send(line)?;
            let deadline = self.transport.now() + wait;
            if let Some(reply) = self.listen(command, id, deadline)? {
                return self.judge(command, id, reply);
            }
            wait = (wait * 2).min(self.patience.longest);
        }
        Err(ClientError::Silent {
            command,
            tries: self.patience.tries,
        })
    }

    fn listen(
        &mut self,
        command: &'static str,
        id: RequestId,
        deadline: Duration,
    ) -> Result<Option<Reply>, ClientError> {
        let mut buffer = [0; crate::line::MAX_LINE];
        // One try ends at its deadline, however much noise arrives.
        while self.transport.now() < deadline {
            let Some(len) = self.transport.receive(&mut buffer, deadline)? else {
                return Ok(None);
            };
            match self.hear(&buffer[..len.min(buffer.len())], command, id)? {
                Received::Answer(reply) => return Ok(Some(*reply)),
                Received::SayAgain => return Ok(None),
                Received::Nothing => {}
            }
        }
        Ok(None)
    }

    fn hear(
        &mut self,
        bytes: &[u8],
        command: &'static str,
        id: RequestId,
    ) -> Result<Received, ClientError> {
        let Ok(line) = Line::parse(bytes, self.transport.needs_check()) else {
            self.counts.unreadable += 1;
            return Ok(Received::Nothing);
        };
        if line.kind == Kind::Request {
            // This client's own line, echoed by a terminal or a loopback.
            self.counts.unreadable += 1;
            return Ok(Received::Nothing);
        }
        if line.kind == Kind::Error && line.id == RequestId::default() && id != line.id {
            self.counts.unreadable += 1;
            return Ok(Received::SayAgain);
        }
        if line.id != id || (line.kind == Kind::Reply && line.name != command) {
            self.counts.stale += 1;
            return Ok(Received::Nothing);
        }
        match Reply::parse(&line) {
            Ok(reply) => Ok(Received::Answer(Box::new(reply))),
            Err(error) => Err(ClientError::Protocol {
                command,
                what: format!("{error:?}"),
            }),
        }
    }

    fn judge(
        &self,
        command: &'static str,
        id: RequestId,
        reply: Reply,
    ) -> Result<Reply, ClientError> {
        match reply {
            Reply::Error(r) if r.code == Code::NoSession && id.session != 0 => {
                Err(ClientError::SessionLost)
            }
            Reply::Error(refusal) => Err(ClientError::Refused { command, refusal }),
            reply => Ok(reply),
        }
    }
}

/// Whether a refused hello is worth repeating with or without padding.
fn turns(refusal: &Refusal, padded: bool) -> bool {
    match padded {
        true => refusal.code == Code::UnknownField && refusal.field.as_deref() == Some("pad"),
        false => refusal.code == Code::Pad,
    }
}
