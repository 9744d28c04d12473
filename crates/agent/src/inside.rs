//! Tracing the kernel: what this host allows, and the tracer of a trial.

mod points;

pub use points::{OneWay, RequestedPoints, TakenPoint, collect};

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use wirelab_port::ebpf::Mode;
use wirelab_port::iface::{Interface, PortName};
use wirelab_stages::{
    Choice, FlowFilter, NodeOptions, NodeXdp, ProbeSet, StagesError, Store, Tracer, TracerOptions,
    Xdp,
};
use wirelab_trial::stage::PointTimes;
use wirelab_trial::{Direction, Probes};

/// UDP port of a tracer without a flow: discard, on which no traffic is expected.
const NO_PORT: u16 = 9;

/// What this host allows, determined by a try.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// The set of programs, or why there is none.
    pub probes: Result<ProbeSet, String>,
    /// Why it is not the better set.
    pub remark: Option<String>,
    /// Each point, as `in.NAME` or `out.NAME`, and the kernel function behind it.
    pub functions: Vec<(String, &'static str)>,
    /// The mode of XDP programs, or why there are none: `untried` where only a trial can show it.
    pub xdp: Result<String, String>,
}

impl Allowed {
    /// Find out by a try: attach a tracer to the port for a moment, and an XDP program unless that disturbs the host.
    /// Attaching XDP takes down the link of some network cards for a while.
    pub fn find(interface: &Interface, xdp: Xdp, shelf: &Shelf) -> Allowed {
        let port = &interface.port;
        let filter = FlowFilter {
            udp_ports: vec![NO_PORT],
            ..FlowFilter::default()
        };
        let tried = shelf.take(port, &filter, 1, Choice::Auto);
        let harmless = ["veth", "tun", "dummy"];
        let driver = interface.driver.as_deref().unwrap_or_default();
        let mut allowed = Allowed {
            probes: tried.as_ref().map(Tracer::set).map_err(ToString::to_string),
            remark: None,
            functions: Vec::new(),
            xdp: match xdp {
                Xdp::Off => Err(
                    "its option --xdp switched it off; fix: start the node with --xdp auto"
                        .to_owned(),
                ),
                _ => try_xdp(port, xdp, harmless.contains(&driver)).map_err(|e| e.to_string()),
            },
        };
        if let Ok(tracer) = tried {
            let of = |info: &wirelab_stages::PointInfo| (info.point.key(), info.function);
            allowed.functions = tracer.points().iter().map(of).collect();
            allowed.remark = tracer.notes().into_iter().next();
            tracer.pause();
            shelf.put(tracer);
        }
        allowed
    }
}

/// The tracers between two trials, one of each set, because loading their programs takes long. They are not attached.
#[derive(Clone)]
pub struct Shelf {
    kept: Arc<Mutex<Vec<Tracer>>>,
    capacity: u32,
}

impl Shelf {
    /// A shelf for tracers with `capacity` records for each point; a trial that requests more gets a new tracer.
    pub fn new(capacity: u32) -> Shelf {
        Shelf {
            kept: Arc::default(),
            capacity: capacity.clamp(1, wirelab_stages::MOST_RECORDS),
        }
    }

    fn take(
        &self,
        port: &PortName,
        filter: &FlowFilter,
        records: u32,
        choice: Choice,
    ) -> Result<Tracer, StagesError> {
        let wanted = |tracer: &Tracer| match choice {
            // The better set is the first.
            Choice::Auto => true,
            Choice::Fentry => tracer.set() == ProbeSet::Fentry,
            Choice::Raw => tracer.set() == ProbeSet::Raw,
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(wanted).map(|at| kept.remove(at));
        drop(kept);
        if let Some(tracer) = found.filter(|_| records <= self.capacity) {
            tracer.clear();
            tracer.store().set_driver(false);
            tracer.store().aim(port, filter)?;
            tracer.resume()?;
            return Ok(tracer);
        }
        Tracer::attach(&TracerOptions {
            port: port.clone(),
            filter: filter.clone(),
            capacity: records.max(self.capacity),
            choice,
            xdp: Xdp::Off,
            btf: None,
        })
    }

    fn put(&self, tracer: Tracer) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.set() != tracer.set());
        match tracer.set() {
            ProbeSet::Fentry => kept.insert(0, tracer),
            ProbeSet::Raw => kept.push(tracer),
        }
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl Allowed {
    /// What is missing, for the user.
    pub fn notices(&self) -> Vec<String> {
        let missing = [
            (
                "no capture points inside the stack",
                self.probes.as_ref().err(),
            ),
            ("no path past the stack", self.xdp.as_ref().err()),
        ];
        let tell = |(what, why): (&str, Option<&String>)| why.map(|why| format!("{what}: {why}"));
        missing.into_iter().filter_map(tell).collect()
    }
}

fn try_xdp(port: &PortName, xdp: Xdp, attach: bool) -> Result<String, StagesError> {
    let options = NodeOptions {
        xdp,
        ..NodeOptions::default()
    };
    if !attach {
        NodeXdp::load(&wirelab_stages::own_addresses(port)?, &options, None)?;
        return Ok("untried".to_owned());
    }
    let node = NodeXdp::attach(port, &options, None)?;
    Ok(node.mode().map_or("none", mode_name).to_owned())
}

/// The mode of an XDP program, as the set-up key names it.
pub const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Native => "native",
        Mode::Generic => "generic",
    }
}

/// A tracer on the node's port, for one trial. Dropping it detaches the programs.
pub struct Inside {
    // Declared first, so that it is detached before another trial's records are written.
    node: Option<NodeXdp>,
    tracer: Tracer,
    shelf: Shelf,
    notes: Vec<String>,
}

/// The result of a tracer.
#[derive(Debug, Default)]
pub struct TraceResult {
    /// Times of each point of received frames, in the order of the path.
    pub received: Vec<PointTimes>,
    /// Times of each point of sent frames.
    pub sent: Vec<PointTimes>,
    /// Counters, by their names in the protocol.
    pub counters: Vec<(String, u64)>,
    /// Notes for the reader of the result.
    pub notes: Vec<String>,
}

impl Inside {
    /// Attach a tracer. A program that joins [`Inside::store`] records the points up to `driver`; without one the
    /// stack records `wire` and `interrupt`.
    ///
    /// # Errors
    /// [`StagesError`]: what is missing, and the fix.
    pub fn attach(
        shelf: &Shelf,
        port: &PortName,
        filter: &FlowFilter,
        records: u32,
        probes: Probes,
    ) -> Result<Inside, StagesError> {
        let choice = match probes {
            Probes::Fentry => Choice::Fentry,
            Probes::Raw => Choice::Raw,
            Probes::Auto | Probes::Off => Choice::Auto,
        };
        Ok(Inside {
            node: None,
            tracer: shelf.take(port, filter, records, choice)?,
            shelf: shelf.clone(),
            notes: Vec::new(),
        })
    }

    /// The set-up keys of the programs that now record the times.
    pub fn keys(&self) -> Vec<(String, String)> {
        let points = self.tracer.points().into_iter();
        let functions = points.map(|p| (format!("function.{}", p.point.key()), p.function));
        let set = ("probes".to_owned(), self.tracer.set().to_string());
        functions
            .map(|(key, function)| (key, function.to_owned()))
            .chain([set])
            .collect()
    }

    /// The records, for an XDP program to join.
    pub fn store(&self) -> &Store {
        self.tracer.store()
    }

    /// Record the points up to `driver` by an XDP program; returns its mode. A port that takes none is traced without
    /// it.
    pub fn watch_driver(&mut self, port: &PortName, xdp: Xdp) -> Option<Mode> {
        if xdp == Xdp::Off {
            return None;
        }
        let options = NodeOptions {
            xdp,
            ..NodeOptions::default()
        };
        match NodeXdp::attach(port, &options, Some(self.tracer.store())) {
            Ok(node) => {
                self.notes.extend(node.remark().map(str::to_owned));
                self.node = Some(node);
            }
            Err(error) => self.notes.push(format!("no point driver: {error}")),
        }
        self.node.as_ref().and_then(NodeXdp::mode)
    }

    /// Detach everything, and return the result.
    pub fn finish(self) -> TraceResult {
        let Inside {
            node,
            tracer,
            shelf,
            mut notes,
        } = self;
        tracer.pause();
        notes.extend(tracer.notes());
        let traced = TraceResult {
            received: tracer.times_of(Direction::Receive),
            sent: tracer.times_of(Direction::Transmit),
            counters: tracer.counters(),
            notes,
        };
        drop(node);
        shelf.put(tracer);
        traced
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside")
            .field("set", &self.tracer.set())
            .finish_non_exhaustive()
    }
}
