//! The capture points: one table of words, each with its place on a frame's path and the nodes that have it.

use crate::named::named;

/// Which frames of a path pass a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedBy {
    /// Each: a frame that arrived without a record there was not seen.
    Each,
    /// One of several, or only those for which the node waited.
    Some,
}

named! {
    /// A place on a frame's path at which a node records a time. A stage lies between two of them. Models and other firmware
    /// may have more.
    CapturePoint of PassedBy {
        "the tester, by its own clock", PassedBy::Some => {
            WIRE = "wire": "the frame left the tester, or came back to it";
        }
        "Linux nodes, boards and the reference node", PassedBy::Some => {
            INTERRUPT = "interrupt": "the interrupt's work began, in which the driver took the frame";
        }
        "Linux nodes, boards and the reference node", PassedBy::Each => {
            DRIVER = "driver": "the driver hands the frame over, or is given it to send";
        }
        "Linux nodes", PassedBy::Each => {
            STACK = "stack": "a socket buffer has been made of it";
            SOCKET = "socket": "it is in the socket's queue";
        }
        "Linux nodes", PassedBy::Some => {
            COPY = "copy": "the application has been woken, and its data are about to be copied";
        }
        "Linux nodes", PassedBy::Each => {
            CALL = "call": "the system call returns, or is entered to send";
            QUEUE = "queue": "the frame to send reaches the queueing discipline";
        }
        "applications of all nodes", PassedBy::Each => {
            APPLICATION = "application": "the application has the frame, or is about to send it";
        }
        "boards and the reference node", PassedBy::Each => {
            LINE = "line": "the first bit of the frame at the node's own line";
            MAC = "mac": "the processor has started the MAC";
        }
    }
}

impl CapturePoint {
    /// Points of a received frame, in the order of its path.
    pub const RECEIVED: [CapturePoint; 9] = [
        CapturePoint::WIRE,
        CapturePoint::LINE,
        CapturePoint::INTERRUPT,
        CapturePoint::DRIVER,
        CapturePoint::STACK,
        CapturePoint::SOCKET,
        CapturePoint::COPY,
        CapturePoint::CALL,
        CapturePoint::APPLICATION,
    ];

    /// Points of a sent frame, in the order of its path.
    pub const SENT: [CapturePoint; 7] = [
        CapturePoint::APPLICATION,
        CapturePoint::CALL,
        CapturePoint::QUEUE,
        CapturePoint::DRIVER,
        CapturePoint::MAC,
        CapturePoint::LINE,
        CapturePoint::WIRE,
    ];
}

/// The separator of the two points in the name of a stage's series.
const TO: &str = " to ";

/// A stage by the points where it begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageName<'a> {
    /// Where it begins.
    pub from: &'a str,
    /// Where it ends.
    pub to: &'a str,
}

impl<'a> StageName<'a> {
    /// The name of the stage between two points.
    pub const fn new(from: &'a str, to: &'a str) -> StageName<'a> {
        StageName { from, to }
    }

    /// The stage that a text names between two points of the table.
    pub fn between_known(text: &str) -> Option<StageName<'static>> {
        CapturePoint::ALL.iter().find_map(|from| {
            let to = text.strip_prefix(from.word())?.strip_prefix(TO)?;
            Some(StageName::new(from.word(), CapturePoint::of(to)?.word()))
        })
    }
}

/// As series are named.
impl std::fmt::Display for StageName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{TO}{}", self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_on_a_way() {
        for point in CapturePoint::ALL {
            let listed =
                CapturePoint::RECEIVED.contains(point) || CapturePoint::SENT.contains(point);
            assert!(listed, "{point:?}");
        }
    }
}
