//! Why a node refuses a request: a code for programs, and text for readers.

use core::fmt;

use crate::line::{Fault, Kind, Line, LineBuf, RequestId};
use crate::value::{FieldError, Slot};

/// Longest explanation in bytes, before encoding.
pub const MAX_WHY: usize = 120;

macro_rules! codes {
    ($($(#[$meta:meta])* $code:ident = $word:literal,)+) => {
        /// The code of an error line.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$meta])* $code,)+
            /// A code of a newer node.
            Other,
        }
        impl Code {
            /// The word in the line.
            pub const fn word(self) -> &'static str {
                match self { $(Code::$code => $word,)+ Code::Other => "other" }
            }
            /// The code of a word.
            pub fn of(word: &str) -> Code {
                match word { $($word => Code::$code,)+ _ => Code::Other }
            }
            /// Every code of this version.
            pub const ALL: &'static [Code] = &[$(Code::$code),+];
        }
    };
}
codes! {
    /// A syntax error.
    BadLine = "bad-line",
    /// The checksum does not match: repeat the line.
    BadCheck = "bad-check",
    /// This transport requires a checksum.
    NoCheck = "no-check",
    /// More than 512 bytes.
    TooLong = "too-long",
    /// No version in common.
    Version = "version",
    /// The session is unknown or no longer known: say hello again.
    NoSession = "no-session",
    /// All sessions are in use.
    Full = "full",
    /// An older number than the last of this session: no request is executed twice.
    Stale = "stale",
    /// Unknown command.
    UnknownCommand = "unknown-command",
    /// Unknown field.
    UnknownField = "unknown-field",
    /// A required field is missing.
    MissingField = "missing-field",
    /// A value of the wrong type, or mutually exclusive fields.
    BadValue = "bad-value",
    /// The node cannot do this at all.
    Unsupported = "unsupported",
    /// Outside the node's limits.
    Limit = "limit",
    /// Traffic may not go there.
    Peer = "peer",
    /// Another trial runs.
    Busy = "busy",
    /// The trial is not the last one.
    NoTrial = "no-trial",
    /// The trial belongs to another client.
    NotOwner = "not-owner",
    /// The node requires a token first, and got none, or another one.
    Token = "token",
    /// The reply has more bytes than the requesting datagram: fill the hello with `pad`.
    Pad = "pad",
    /// The node tried and failed.
    Failed = "failed",
}

impl Code {
    /// The fix for its reader.
    pub const fn fix(self) -> &'static str {
        match self {
            Code::Unsupported | Code::Limit | Code::BadValue | Code::MissingField => {
                "request what the node can do"
            }
            Code::Full => "end other testers, or wait until their sessions are idle",
            Code::Busy | Code::NotOwner => "wait until its trial is over, and measure again",
            Code::Peer => "start the node with --allow for that address",
            Code::Token => "give the token that the node was started with",
            Code::Failed => "see what the node prints",
            Code::BadCheck | Code::NoCheck | Code::NoSession | Code::Stale | Code::NoTrial => {
                "measure again"
            }
            Code::BadLine
            | Code::TooLong
            | Code::Version
            | Code::UnknownCommand
            | Code::UnknownField
            | Code::Pad
            | Code::Other => "use the same release of wirelab on both sides",
        }
    }
}

/// An error line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The type of error.
    pub code: Code,
    /// The field concerned.
    pub field: Option<String>,
    /// The exceeded limit, in the unit of the field.
    pub limit: Option<u64>,
    /// The trial concerned.
    pub trial: Option<u32>,
    /// The explanation; at most [`MAX_WHY`] bytes are sent.
    pub why: Option<String>,
}

impl Refusal {
    /// A refusal with only a code.
    pub const fn new(code: Code) -> Refusal {
        Refusal {
            code,
            field: None,
            limit: None,
            trial: None,
            why: None,
        }
    }
    /// The node cannot do what `field` requests.
    pub fn unsupported(field: &str, why: &str) -> Refusal {
        Refusal {
            field: Some(field.to_owned()),
            ..Refusal::new(Code::Unsupported)
        }
        .because(why)
    }
    /// `field` is beyond `limit`.
    pub fn limit(field: &str, limit: u64) -> Refusal {
        Refusal {
            field: Some(field.to_owned()),
            limit: Some(limit),
            ..Refusal::new(Code::Limit)
        }
    }
    /// `field` is required.
    pub fn missing(field: &str) -> Refusal {
        Refusal {
            field: Some(field.to_owned()),
            ..Refusal::new(Code::MissingField)
        }
    }
    /// Traffic may not go to the destination in `field`.
    pub fn peer(field: &str, why: &str) -> Refusal {
        Refusal {
            field: Some(field.to_owned()),
            ..Refusal::new(Code::Peer)
        }
        .because(why)
    }
    /// The node tried and failed.
    pub fn failed(why: &str) -> Refusal {
        Refusal::new(Code::Failed).because(why)
    }
    pub(crate) fn unknown_command() -> Refusal {
        Refusal::new(Code::UnknownCommand)
            .because("commands: hello auth start status stop counters load captures")
    }
    /// Adds an explanation.
    #[must_use]
    pub fn because(self, why: &str) -> Refusal {
        Refusal {
            why: Some(cut(why, MAX_WHY).to_owned()),
            ..self
        }
    }

    pub(crate) fn take(line: &Line<'_>) -> Result<Refusal, FieldError> {
        Ok(Refusal {
            code: Code::of(line.name),
            field: Slot::take(line, "field")?,
            limit: Slot::take(line, "limit")?,
            trial: Slot::take(line, "trial")?,
            why: Slot::take(line, "why")?,
        })
    }

    /// Starts the line; names are truncated so that it always fits.
    pub(crate) fn begin(&self, id: RequestId, out: &mut LineBuf) {
        out.begin(Kind::Error, id, self.code.word());
        if let Some(field) = &self.field {
            out.field("field", cut(field, crate::line::MAX_KEY).as_bytes());
        }
        self.limit.put("limit", out);
        self.trial.put("trial", out);
        if let Some(why) = &self.why {
            out.field("why", cut(why, MAX_WHY).as_bytes());
        }
    }
}

/// The longest prefix of a text with at most `max` bytes.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl From<FieldError> for Refusal {
    fn from(error: FieldError) -> Refusal {
        let (code, field) = match error {
            FieldError::Missing(key) => (Code::MissingField, key.to_owned()),
            FieldError::Value(key) => (Code::BadValue, key.to_owned()),
            FieldError::Unknown(key) => (Code::UnknownField, key),
        };
        Refusal {
            field: Some(field),
            ..Refusal::new(code)
        }
    }
}

impl Refusal {
    /// The answer of a node to bytes that are not a line; `None` where they are not even the start of one.
    pub(crate) fn of_fault(fault: Fault) -> Option<Refusal> {
        Some(match fault {
            Fault::NotALine => return None,
            Fault::TooLong => Refusal {
                limit: Some(crate::line::MAX_LINE as u64),
                ..Refusal::new(Code::TooLong)
            },
            Fault::BadCheck => Refusal::new(Code::BadCheck),
            Fault::NoCheck => Refusal::new(Code::NoCheck),
            Fault::Syntax(place) => Refusal::new(Code::BadLine).because(place),
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.word())?;
        if let Some(field) = &self.field {
            write!(f, ": {}", field.escape_debug())?;
        }
        if let Some(limit) = self.limit {
            write!(f, " (limit {limit})")?;
        }
        if let Some(trial) = self.trial {
            write!(f, " (trial {trial})")?;
        }
        // The text is from the node: control characters must not reach a terminal.
        self.why
            .as_ref()
            .map_or(Ok(()), |why| write!(f, ": {}", why.escape_debug()))
    }
}

impl std::error::Error for Refusal {}
