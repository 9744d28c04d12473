//! The record store: maps that the eBPF programs of a node's port and those that trace its kernel share. The programs
//! write, and user space reads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libbpf_rs::{MapCore, MapHandle, MapType, OpenObject, libbpf_sys};
use wirelab_port::ebpf::{Hist, MapMemory, Plain, silence_libbpf};
use wirelab_port::iface::{Interface, PortName};
use wirelab_trial::stage::PointTimes;
use wirelab_trial::{Clock, ClockKind, Direction, Histogram, Owner, PointCount};

use crate::abi::{ANY_STREAM, CPUS, Cfg, Head, POINTS, PORTS, Poll, Record, SLOTS, Slot};
use crate::error::StagesError;
use crate::point::Point;
use crate::sys;

/// Most records of a point in a store: 16 bytes each, of twelve points (201 MB).
pub const MOST_RECORDS: u32 = 1 << 20;

/// The node's clock of all capture points: CLOCK_MONOTONIC in nanoseconds.
pub const NODE_NS: Clock = Clock {
    kind: ClockKind::Wall,
    tick_ps: Some(1000),
    resolution_ticks: 1,
    owner: Owner::Node,
};

/// The filter for frames of the test flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowFilter {
    /// UDP ports of the node: destination of received frames, source or destination of sent ones. At most 8.
    pub udp_ports: Vec<u16>,
    /// Whether frames of the test EtherType are included.
    pub ethernet: bool,
    /// Stream of received frames; by default any.
    pub stream_in: Option<u8>,
    /// Stream of sent frames; by default any.
    pub stream_out: Option<u8>,
    /// The sender stamps frames by this host's clock, CLOCK_MONOTONIC. Only then is there a point `wire`.
    pub one_clock: bool,
}

/// Records of all points, in maps that eBPF objects join before they are loaded.
pub struct Store {
    maps: Vec<MapHandle>,
    cfg: MapMemory<Cfg>,
    heads: MapMemory<Head>,
    records: MapMemory<Record>,
    slots: MapMemory<Slot>,
    costs: MapMemory<Hist>,
    capacity: u32,
}

/// The counts of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that passed it; only the first of them have records.
    pub taken: u64,
    /// Frames that passed it and found no space for a record.
    pub missed: u64,
    /// Possible frames of the flow whose headers could not be read there.
    pub unreadable: u64,
    /// Frames of the flow whose time there is unknown.
    pub unmatched: u64,
    /// Frames of the flow that the kernel dropped between the previous point and this one.
    pub dropped: u64,
    /// Frames to the flow's port with a damaged test header, which may belong to any flow.
    pub corrupt: u64,
    /// Frames of the flow that reached a later point and passed this one without a run of the program.
    pub unseen: u64,
}

impl Counts {
    /// Each count with its kind.
    pub fn each(&self) -> [(PointCount, u64); 7] {
        [
            (PointCount::Taken, self.taken),
            (PointCount::Missed, self.missed),
            (PointCount::Unreadable, self.unreadable),
            (PointCount::Unmatched, self.unmatched),
            (PointCount::Dropped, self.dropped),
            (PointCount::Corrupt, self.corrupt),
            (PointCount::Unseen, self.unseen),
        ]
    }
}

impl Store {
    /// A store of `capacity` records for each point; further frames are only counted.
    ///
    /// # Errors
    /// [`StagesError::BadOptions`] for a capacity of 0 or above [`MOST_RECORDS`]; [`StagesError::Privilege`].
    pub fn new(capacity: u32) -> Result<Store, StagesError> {
        if capacity == 0 || capacity > MOST_RECORDS {
            return Err(StagesError::BadOptions(format!(
                "{capacity} records a point are not possible; fix: choose 1 to {MOST_RECORDS}"
            )));
        }
        silence_libbpf();
        let (cfg_map, cfg) = array("wl_cap_cfg", 1)?;
        let (heads_map, heads) = array("wl_cap_heads", POINTS)?;
        let (records_map, records) = array("wl_cap_records", POINTS * capacity as usize)?;
        let (polls_map, _) = array::<Poll>("wl_cap_polls", CPUS)?;
        let (slots_map, slots) = array("wl_cap_slots", SLOTS)?;
        let (costs_map, costs) = array("wl_cap_costs", 2 * POINTS)?;
        Ok(Store {
            maps: vec![
                cfg_map,
                heads_map,
                records_map,
                polls_map,
                slots_map,
                costs_map,
            ],
            cfg,
            heads,
            records,
            slots,
            costs,
            capacity,
        })
    }

    /// Let an object that is not loaded yet write into this store: the store's maps replace the object's maps of the same
    /// names.
    ///
    /// # Errors
    /// libbpf's error.
    pub fn join(&self, object: &mut OpenObject) -> libbpf_rs::Result<()> {
        for mut map in object.maps_mut() {
            if let Some(own) = self.maps.iter().find(|own| own.name() == map.name()) {
                map.reuse_fd(own.as_fd())?;
            }
        }
        Ok(())
    }

    /// The maps, by name and descriptor.
    pub fn maps(&self) -> impl Iterator<Item = (String, BorrowedFd<'_>)> {
        let name = |map: &MapHandle| map.name().to_string_lossy().into_owned();
        self.maps.iter().map(move |map| (name(map), map.as_fd()))
    }

    /// Set which frames of which port are recorded, and start.
    ///
    /// # Errors
    /// [`StagesError::BadOptions`] for a filter that no frame matches or of too many ports; errors of the port.
    pub fn aim(&self, port: &PortName, filter: &FlowFilter) -> Result<(), StagesError> {
        if filter.udp_ports.len() > PORTS {
            return Err(StagesError::BadOptions(format!(
                "{} UDP ports to trace; fix: give {PORTS} at most",
                filter.udp_ports.len()
            )));
        }
        if filter.udp_ports.is_empty() && !filter.ethernet {
            return Err(StagesError::BadOptions(
                "nothing to trace; fix: give a UDP port, or request frames of the test EtherType"
                    .to_owned(),
            ));
        }
        let stream = |s: Option<u8>| s.map_or(ANY_STREAM, u16::from);
        let mut cfg = Cfg {
            on: 1,
            capacity: self.capacity,
            ethernet: u32::from(filter.ethernet),
            port_count: filter.udp_ports.len() as u32,
            stream_in: stream(filter.stream_in),
            stream_out: stream(filter.stream_out),
            ifindex: Interface::query(port)?.index,
            netns: port.netns()?.id()?.1,
            no_driver: self.cfg.read(0).no_driver,
            one_clock: u32::from(filter.one_clock),
            ..Cfg::default()
        };
        cfg.udp_ports[..filter.udp_ports.len()].copy_from_slice(&filter.udp_ports);
        self.cfg.write(0, &cfg);
        Ok(())
    }

    /// Set whether an XDP program records the points `wire`, `interrupt` and `driver`. Without one, frames are first visible in
    /// the stack, and `interrupt` is recorded there.
    pub fn set_driver(&self, present: bool) {
        let mut cfg = self.cfg.read(0);
        cfg.no_driver = u32::from(!present);
        self.cfg.write(0, &cfg);
    }

    /// Set the socket that receives the flow. Other sockets that get its frames (a tap, or another socket of its port) are then
    /// ignored, until the next [`Store::aim`].
    ///
    /// # Errors
    /// The kernel's error for the socket.
    pub fn set_socket(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let mut cfg = self.cfg.read(0);
        cfg.socket = sys::cookie(socket)?;
        self.cfg.write(0, &cfg);
        Ok(())
    }

    pub(crate) fn has_driver(&self) -> bool {
        self.cfg.get(0).no_driver == 0
    }

    /// Stop or continue recording.
    pub fn set_on(&self, on: bool) {
        let mut cfg = self.cfg.read(0);
        cfg.on = u32::from(on);
        self.cfg.write(0, &cfg);
    }

    /// Clear all records and counts. Frames that pass meanwhile may be counted or not.
    pub fn clear(&self) {
        for point in 0..POINTS {
            self.heads.write(point, &Head::default());
            for cost in [point, POINTS + point] {
                self.costs.write(cost, &wirelab_port::ebpf::zeroed());
            }
        }
        for slot in 0..SLOTS {
            self.slots.write(slot, &Slot::default());
        }
    }

    /// The counts of a point so far.
    pub fn counts(&self, point: Point) -> Counts {
        let head = self.heads.read(point as usize);
        Counts {
            taken: head.taken,
            missed: head.taken.saturating_sub(u64::from(self.capacity)),
            unreadable: head.unreadable,
            unmatched: head.unmatched,
            dropped: head.dropped,
            corrupt: head.corrupt,
            unseen: head.unseen,
        }
    }

    /// The records of all points in the order of the path, received first, each stream separately.
    pub fn times(&self) -> Vec<PointTimes> {
        let both = [Direction::Receive, Direction::Transmit];
        both.iter().flat_map(|d| self.times_of(*d)).collect()
    }

    /// The records of the points in a direction, in the order of the path, each stream separately.
    pub fn times_of(&self, direction: Direction) -> Vec<PointTimes> {
        let points = Point::ALL.iter().filter(|p| p.direction() == direction);
        points.flat_map(|p| self.of_point(*p)).collect()
    }

    fn of_point(&self, point: Point) -> Vec<PointTimes> {
        let kept = self.counts(point).taken.min(u64::from(self.capacity)) as usize;
        let mut streams: Vec<PointTimes> = Vec::new();
        for index in 0..kept {
            let record = self.records.get(index * POINTS + point as usize);
            let at = streams.iter().position(|s| s.stream == record.stream);
            let at = at.unwrap_or_else(|| {
                streams.push(PointTimes {
                    name: point.name().to_owned(),
                    stream: record.stream,
                    clock: match point {
                        Point::InWire => Clock::TESTER_NS,
                        _ => NODE_NS,
                    },
                    times: Vec::with_capacity(kept),
                });
                streams.len() - 1
            });
            streams[at].times.push((record.sequence, record.ns));
        }
        streams
    }

    /// The cost of recording at each point, measured by its program for each eighth frame.
    pub fn costs(&self) -> Vec<Cost> {
        let measured = |point: &Point| {
            let at = *point as usize;
            let (all, clock) = (self.costs.read(at), self.costs.read(POINTS + at));
            (all.count > 0).then(|| Cost {
                point: *point,
                all: all.histogram(),
                clock: clock.histogram(),
            })
        };
        Point::ALL.iter().filter_map(measured).collect()
    }
}

/// The cost of recording at a point, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The point.
    pub point: Point,
    /// From the first reading of the clock in its program to another at its end, which includes one reading.
    pub all: Histogram,
    /// The same with nothing between the readings: the clock's part of [`Cost::all`].
    pub clock: Histogram,
}

impl Cost {
    /// Its figures, with the names of a node's counters: quartiles, and the median of the clock alone.
    pub fn counters(&self) -> [(String, u64); 4] {
        let of = |count, from: &Histogram, percent: f64| {
            let ns = from.percentile(percent).unwrap_or_default();
            (self.point.counter(count), ns)
        };
        [
            of(PointCount::CostQ1, &self.all, 25.0),
            of(PointCount::Cost, &self.all, 50.0),
            of(PointCount::CostQ3, &self.all, 75.0),
            of(PointCount::Clock, &self.clock, 50.0),
        ]
    }
}

/// An array map that programs and user space share.
fn array<T: Plain>(
    name: &'static str,
    entries: usize,
) -> Result<(MapHandle, MapMemory<T>), StagesError> {
    let what = || format!("making the eBPF map {name}");
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        map_flags: libbpf_sys::BPF_F_MMAPABLE,
        ..Default::default()
    };
    let (kind, value) = (MapType::Array, size_of::<T>() as u32);
    let map = MapHandle::create(kind, Some(name), 4, value, entries as u32, &options)
        .map_err(|e| StagesError::libbpf(what(), &e))?;
    let shared =
        MapMemory::map(map.as_fd(), entries).map_err(|e| StagesError::kernel(what(), e))?;
    Ok((map, shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_out_of_range_is_refused() {
        for capacity in [0, MOST_RECORDS + 1] {
            let said = Store::new(capacity).err().unwrap().to_string();
            assert!(said.contains(&capacity.to_string()), "{said}");
        }
    }
}
