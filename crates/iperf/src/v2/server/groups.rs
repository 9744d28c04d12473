//! Parallel streams of one client (`-P`), for sum lines.

use std::net::IpAddr;

use crate::v2::sums::{Sums, sum_of};
use crate::v2::table::{Id, Row};

/// Most streams in a sum, the maximum of an iperf client.
const MOST_STREAMS: u32 = 128;
/// Most clients with sums: a client that never starts all of its streams must not hold its slot forever.
const MOST_GROUPS: usize = 32;

/// The number of streams in a client's sum, if its header announces `streams`.
pub(super) fn counted(streams: u32) -> u32 {
    match streams {
        2..=MOST_STREAMS => streams,
        _ => 1,
    }
}

/// All groups of streams.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<Group>);

#[derive(Debug)]
struct Group {
    peer: IpAddr,
    back: bool,
    streams: u32,
    members: Vec<Id>,
    sums: Sums,
    ended: Vec<Row>,
}

impl Groups {
    /// Adds a stream, one of `streams` of its client.
    pub(super) fn join(&mut self, id: Id, peer: IpAddr, streams: u32) {
        if counted(streams) == 1 {
            return;
        }
        let back = matches!(id, Id::Back(_));
        let fits = |group: &&mut Group| {
            (group.peer, group.back, group.streams) == (peer, back, streams)
                && group.members.len() < streams as usize
                && group.ended.is_empty()
        };
        if let Some(group) = self.0.iter_mut().find(fits) {
            group.members.push(id);
            return;
        }
        if self.0.len() == MOST_GROUPS {
            self.0.remove(0);
        }
        self.0.push(Group {
            peer,
            back,
            streams,
            members: vec![id],
            sums: Sums::new(streams),
            ended: Vec::new(),
        });
    }

    /// The sum line of an interval, if this was its last line.
    pub(super) fn row(&mut self, row: &Row) -> Option<Row> {
        let group = self
            .0
            .iter_mut()
            .find(|group| group.members.contains(&row.id))?;
        group.sums.take(row)
    }

    /// The sum line of the whole test, if this was the last stream's.
    pub(super) fn ended(&mut self, row: Row) -> Option<Row> {
        let at = self
            .0
            .iter()
            .position(|group| group.members.contains(&row.id))?;
        let group = &mut self.0[at];
        group.ended.push(row);
        if group.ended.len() < group.streams as usize {
            return None;
        }
        sum_of(&self.0.remove(at).ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: Id, bytes: u64) -> Row {
        Row {
            bytes,
            ..Row::new(id, 0.0, 1.0)
        }
    }

    #[test]
    fn streams_of_one_client_are_summed_up() {
        let mut groups = Groups::default();
        let [one, other] = [1, 2].map(|host| IpAddr::from([198, 18, 0, host]));
        groups.join(Id::Stream(1), one, 2);
        groups.join(Id::Stream(2), other, 2);
        groups.join(Id::Stream(3), one, 2);
        groups.join(Id::Stream(4), one, 1);
        groups.join(Id::Stream(5), one, u32::MAX);
        assert_eq!(groups.row(&row(Id::Stream(1), 5)), None);
        assert_eq!(groups.row(&row(Id::Stream(2), 50)), None);
        assert_eq!(groups.row(&row(Id::Stream(4), 500)), None);
        let both = |bytes| {
            Some(Row {
                streams: 2,
                ..row(Id::Sum, bytes)
            })
        };
        assert_eq!(groups.row(&row(Id::Stream(3), 6)), both(11));
        assert_eq!(groups.ended(row(Id::Stream(3), 70)), None);
        assert_eq!(groups.ended(row(Id::Stream(1), 7)), both(77));
        assert_eq!(groups.0.len(), 1, "the other client's stream still runs");
    }

    #[test]
    fn their_number_is_bounded() {
        let mut groups = Groups::default();
        for n in 0..1000 {
            groups.join(
                Id::Back(n),
                IpAddr::from([10, 0, (n / 256) as u8, n as u8]),
                2,
            );
        }
        assert_eq!(groups.0.len(), MOST_GROUPS);
    }
}
