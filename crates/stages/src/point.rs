//! The capture points of a Linux node: their names, their order, and what records the time at each.

use wirelab_trial::stage::CapturePoint;
use wirelab_trial::{Direction, PointCount, PointCounter, PointPlace};

/// A place on a frame's path through the node, in the order of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Point {
    /// Received: it left the tester, as its own time stamp says by the tester's clock.
    InWire = 0,
    /// Received: the interrupt began its work, in which the driver took the frame.
    InInterrupt = 1,
    /// Received: the driver hands it over (XDP).
    InDriver = 2,
    /// Received: the kernel has made a socket buffer of it (`netif_receive_skb`).
    InStack = 3,
    /// Received: it is in the socket's queue.
    InSocket = 4,
    /// Received: the application was woken, and its data are about to be copied.
    InCopy = 5,
    /// Received: the system call returns.
    InCall = 6,
    /// Sent: the system call is entered.
    OutCall = 7,
    /// Sent: it reaches the queueing discipline (`net_dev_queue`).
    OutQueue = 8,
    /// Sent: the driver gets it (`net_dev_start_xmit`).
    OutDriver = 9,
    /// Sent: the other end saw it.
    OutWire = 10,
}

impl Point {
    /// All points, in the order of the path, received first.
    pub const ALL: [Point; 11] = [
        Point::InWire,
        Point::InInterrupt,
        Point::InDriver,
        Point::InStack,
        Point::InSocket,
        Point::InCopy,
        Point::InCall,
        Point::OutCall,
        Point::OutQueue,
        Point::OutDriver,
        Point::OutWire,
    ];

    /// Its name in the node control protocol and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Point::InWire | Point::OutWire => CapturePoint::WIRE.word(),
            Point::InInterrupt => CapturePoint::INTERRUPT.word(),
            Point::InDriver | Point::OutDriver => CapturePoint::DRIVER.word(),
            Point::InStack => CapturePoint::STACK.word(),
            Point::InSocket => CapturePoint::SOCKET.word(),
            Point::InCopy => CapturePoint::COPY.word(),
            Point::InCall | Point::OutCall => CapturePoint::CALL.word(),
            Point::OutQueue => CapturePoint::QUEUE.word(),
        }
    }

    /// Its name with the direction of its frames, `in.driver`: both directions have points of the same name.
    pub fn key(self) -> String {
        self.place().to_string()
    }

    /// The name of its counter for `count`.
    pub fn counter(self, count: PointCount) -> String {
        let place = self.place();
        PointCounter { count, place }.to_string()
    }

    fn place(self) -> PointPlace<'static> {
        PointPlace {
            direction: Some(self.direction()),
            point: self.name(),
        }
    }

    /// Whether frames pass it when the node receives or when it sends.
    pub const fn direction(self) -> Direction {
        match self {
            Point::OutCall | Point::OutQueue | Point::OutDriver | Point::OutWire => {
                Direction::Transmit
            }
            _ => Direction::Receive,
        }
    }
}

#[cfg(test)]
#[path = "../../trial/tests/common/table.rs"]
mod table;

#[cfg(test)]
mod tests {
    use super::table::{quoted, rows};
    use super::*;

    #[test]
    fn the_pages_have_a_row_for_each_point_in_the_order_of_the_way() {
        let names = Point::ALL.map(Point::name);
        let manual = include_str!("../../../docs/stages.md");
        let here = rows(
            manual,
            "| point | set `raw` | set `fentry` | the time at which |",
        );
        let here: Vec<&str> = here.iter().flat_map(|row| quoted(row[0])).collect();
        assert_eq!(here, names[..names.len() - 1], "docs/stages.md");

        // The protocol also has the points of boards.
        let protocol = include_str!("../../../spec/node-control.md");
        let protocol = rows(protocol, "| | point | the moment |");
        let mut documented = protocol.iter().flat_map(|row| quoted(row[1]));
        for name in names {
            assert!(
                documented.any(|point| point == name),
                "spec/node-control.md: {name}"
            );
        }
    }
}
