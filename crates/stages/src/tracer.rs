//! The tracer: times of the test flow's frames at each place of a node's kernel, by the set of programs that this
//! host allows.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use wirelab_port::ebpf::{Hist, MapMemory};
use wirelab_port::iface::PortName;
use wirelab_trial::nearest::unknown;
use wirelab_trial::stage::PointTimes;
use wirelab_trial::{Direction, Histogram, Probes, format};

use crate::clock;
use crate::error::StagesError;
use crate::point::Point;
use crate::programs::{ProbeSet, Programs, Replaced, function};
use crate::store::{Cost, Counts, FlowFilter, Store};
use crate::xdp::{NodeOptions, NodeXdp, Xdp};

/// The requested set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Functions if the host allows it, else raw tracepoints.
    #[default]
    Auto,
    /// Functions or nothing.
    Fentry,
    /// Raw tracepoints or nothing.
    Raw,
}

impl FromStr for Choice {
    type Err = StagesError;

    fn from_str(text: &str) -> Result<Choice, StagesError> {
        match text {
            "auto" => Ok(Choice::Auto),
            "fentry" => Ok(Choice::Fentry),
            "raw" => Ok(Choice::Raw),
            _ => Err(StagesError::BadOptions(unknown(
                "set of probes",
                text,
                ["auto", "fentry", "raw"],
            ))),
        }
    }
}

/// The probes of a trial with this choice.
impl From<Choice> for Probes {
    fn from(choice: Choice) -> Probes {
        match choice {
            Choice::Auto => Probes::Auto,
            Choice::Fentry => Probes::Fentry,
            Choice::Raw => Probes::Raw,
        }
    }
}

/// Options of a tracer.
#[derive(Clone, Debug)]
pub struct TracerOptions {
    /// The node's port.
    pub port: PortName,
    /// The flow.
    pub filter: FlowFilter,
    /// Records of each point; further frames are only counted.
    pub capacity: u32,
    /// The requested set of programs.
    pub choice: Choice,
    /// Where to attach the XDP program that records the points up to `driver`. With [`Xdp::Auto`] a port that takes
    /// none is traced without it; with [`Xdp::Off`] another one may join [`Tracer::store`].
    pub xdp: Xdp,
    /// A file with the kernel's types (BTF), instead of those of the running kernel.
    pub btf: Option<PathBuf>,
}

/// The counts of a point, and the place in the kernel behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointInfo {
    /// The point.
    pub point: Point,
    /// The function or tracepoint.
    pub function: &'static str,
    /// Its counts.
    pub counts: Counts,
}

/// Programs that trace a node's kernel, attached until they are paused, or until the value is dropped or its process
/// ends.
pub struct Tracer {
    programs: Programs,
    links: Mutex<Vec<OwnedFd>>,
    /// Skipped runs before the last [`Tracer::clear`], which [`Tracer::skipped_runs`] leaves out.
    skipped_before: AtomicU64,
    store: Store,
    polls: MapMemory<Hist>,
    set: ProbeSet,
    replaced: Vec<Replaced>,
    notes: Vec<String>,
    node: Option<NodeXdp>,
    port: PortName,
}

/// Why this host refused functions. That does not change while this process lives, and a retry takes as long as a
/// load.
static REFUSED: Mutex<Option<String>> = Mutex::new(None);

impl Tracer {
    /// Trace the kernel, with the chosen set or the best that this host allows.
    ///
    /// Without an XDP program the point `driver` is absent, and `wire` and `interrupt` are recorded in the stack.
    ///
    /// # Errors
    /// [`StagesError::Refused`] if the host refuses the chosen set; [`StagesError::Privilege`], [`StagesError::Btf`],
    /// [`StagesError::Clock`], [`StagesError::BadOptions`], errors of the port.
    pub fn attach(options: &TracerOptions) -> Result<Tracer, StagesError> {
        let store = Store::new(options.capacity)?;
        store.set_driver(false);
        store.aim(&options.port, &options.filter)?;
        let mut notes = Vec::new();
        let (set, (programs, links, replaced)) = match options.choice {
            Choice::Fentry => alone(ProbeSet::Fentry, &store, options)?,
            Choice::Raw => alone(ProbeSet::Raw, &store, options)?,
            Choice::Auto => best(&store, options, &mut notes)?,
        };
        Ok(Tracer {
            node: driver(&store, options, &mut notes)?,
            polls: programs.shared("polls", 1)?,
            programs,
            links: Mutex::new(links),
            skipped_before: AtomicU64::new(0),
            store,
            set,
            replaced,
            notes,
            port: options.port.clone(),
        })
    }

    /// Trace another flow of the same port, for the next trial; the records are cleared.
    ///
    /// # Errors
    /// As [`Store::aim`].
    pub fn aim(&self, filter: &FlowFilter) -> Result<(), StagesError> {
        self.store.set_on(false);
        self.clear();
        self.store.aim(&self.port, filter)
    }

    /// The attached set.
    pub fn set(&self) -> ProbeSet {
        self.set
    }

    /// The XDP program of the port, if this has one.
    pub fn node(&self) -> Option<&NodeXdp> {
        self.node.as_ref()
    }

    /// The records, for an XDP program to join.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Each point of this set, with its counts.
    pub fn points(&self) -> Vec<PointInfo> {
        let here = |p: &&Point| match **p {
            Point::OutWire => false,
            Point::InDriver => self.store.has_driver(),
            _ => true,
        };
        let info = |point: &Point| PointInfo {
            point: *point,
            function: self.function(*point),
            counts: self.store.counts(*point),
        };
        Point::ALL.iter().filter(here).map(info).collect()
    }

    fn function(&self, point: Point) -> &'static str {
        let usual = function(self.set, point);
        let instead = self.replaced.iter().find(|(lacking, _)| *lacking == usual);
        instead.map_or(usual, |(_, instead)| instead)
    }

    /// The times at all points in the order of the path, received first.
    pub fn times(&self) -> Vec<PointTimes> {
        let both = [Direction::Receive, Direction::Transmit];
        both.iter().flat_map(|d| self.times_of(*d)).collect()
    }

    /// The times at the points of a direction, in the order of the path. With [`ProbeSet::Raw`] the point `copy` has
    /// only frames whose reader slept.
    pub fn times_of(&self, direction: Direction) -> Vec<PointTimes> {
        self.store.times_of(direction)
    }

    /// Frames in each NAPI poll of the port that took one of the flow.
    pub fn polls(&self) -> Histogram {
        let polls = self.polls.read(0).histogram();
        Histogram {
            tick_ps: None,
            ..polls
        }
    }

    /// The cost of recording at each point, measured by its program for each eighth frame.
    pub fn costs(&self) -> Vec<Cost> {
        self.store.costs()
    }

    /// Runs of the tracing programs that the kernel skipped, because an interrupt came while the same program ran on that
    /// core. Each may be a frame that passed a point without a time, or a drop that was not counted.
    pub fn skipped_runs(&self) -> u64 {
        self.programs.skipped_runs() - self.skipped_before.load(Ordering::Relaxed)
    }

    /// Notes for the reader of the times.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        for (lacking, instead) in &self.replaced {
            notes.push(format!(
                "this kernel has no tracepoint {lacking} (Linux 6.3 and newer have it): {instead} replaces it, which \
                 sees only frames that wake a sleeping reader"
            ));
        }
        if !self.programs.casts {
            notes.push(
                "this kernel copies what the programs read (Linux 6.2 and newer let them read it directly), so \
                 each point costs more"
                    .to_owned(),
            );
        }
        for info in self.points() {
            let PointInfo { point, counts, .. } = info;
            let name = point.name();
            if counts.missed > 0 {
                notes.push(format!(
                    "{name}: {} beyond the store's capacity, without a time",
                    format::count(counts.missed, "frame")
                ));
            }
            if counts.unreadable > 0 {
                notes.push(format!(
                    "{name}: {} with headers in several pieces, which were not read",
                    format::count(counts.unreadable, "frame")
                ));
            }
            if point == Point::InInterrupt && counts.unmatched > 0 {
                notes.push(format!(
                    "{name}: {} without a wait for an interrupt: the driver was polling, or the time is unknown",
                    format::count(counts.unmatched, "frame")
                ));
            }
        }
        match self.skipped_runs() {
            0 => {}
            runs => notes.push(format!(
                "the kernel skipped {} of the tracing programs, so up to as many frames have no time",
                format::count(runs, "run")
            )),
        }
        notes
    }

    /// Detach the tracing programs, to measure without them; records stay. The XDP program stays attached but records
    /// nothing: without it some drivers, such as veth, use another path.
    pub fn pause(&self) {
        self.store.set_on(false);
        self.links.lock().unwrap_or_else(|e| e.into_inner()).clear();
    }

    /// Attach the tracing programs again.
    ///
    /// # Errors
    /// As [`Tracer::attach`].
    pub fn resume(&self) -> Result<(), StagesError> {
        let mut links = self.links.lock().unwrap_or_else(|e| e.into_inner());
        if links.is_empty() {
            *links = self.programs.attach(&mut Vec::new())?;
        }
        self.store.set_on(true);
        Ok(())
    }

    /// Clear all times and counts, for the next trial.
    pub fn clear(&self) {
        self.store.clear();
        let skipped = self.programs.skipped_runs();
        self.skipped_before.store(skipped, Ordering::Relaxed);
        self.polls.write(0, &wirelab_port::ebpf::zeroed());
    }
}

type Attached = (Programs, Vec<OwnedFd>, Vec<Replaced>);

fn alone(
    set: ProbeSet,
    store: &Store,
    options: &TracerOptions,
) -> Result<(ProbeSet, Attached), StagesError> {
    Ok((set, attached(set, store, options)?))
}

/// Functions if the host allows it; a refusal is kept.
fn best(
    store: &Store,
    options: &TracerOptions,
    notes: &mut Vec<String>,
) -> Result<(ProbeSet, Attached), StagesError> {
    let known = REFUSED.lock().unwrap_or_else(|e| e.into_inner()).clone();
    let why = match known {
        Some(why) => why,
        None => match attached(ProbeSet::Fentry, store, options) {
            Ok(done) => return Ok((ProbeSet::Fentry, done)),
            Err(why @ StagesError::Refused { .. }) => {
                let why = why.to_string();
                *REFUSED.lock().unwrap_or_else(|e| e.into_inner()) = Some(why.clone());
                why
            }
            Err(why @ StagesError::Kernel { .. }) => why.to_string(),
            Err(other) => return Err(other),
        },
    };
    notes.push(format!("raw tracepoints in place of functions: {why}"));
    alone(ProbeSet::Raw, store, options)
}

/// The XDP program, if it is requested and available.
fn driver(
    store: &Store,
    options: &TracerOptions,
    notes: &mut Vec<String>,
) -> Result<Option<NodeXdp>, StagesError> {
    if options.xdp == Xdp::Off {
        return Ok(None);
    }
    let wanted = NodeOptions {
        xdp: options.xdp,
        ..NodeOptions::default()
    };
    match NodeXdp::attach(&options.port, &wanted, Some(store)) {
        Ok(node) => {
            notes.extend(node.remark().map(str::to_owned));
            Ok(Some(node))
        }
        Err(why) if options.xdp == Xdp::Auto => {
            notes.push(format!("no point driver: {why}"));
            Ok(None)
        }
        Err(why) => Err(why),
    }
}

/// Load and attach a set: a host allows it only if both succeed.
fn attached(
    set: ProbeSet,
    store: &Store,
    options: &TracerOptions,
) -> Result<Attached, StagesError> {
    let programs = Programs::load(set, store, options.btf.as_deref())?;
    let reader = programs
        .clock()
        .map_err(|e| StagesError::kernel("reading the clock of the kernel's programs", e))?;
    clock::check(reader.as_fd(), &programs.shared(".bss.clock", 1)?)?;
    let mut replaced = Vec::new();
    let links = programs.attach(&mut replaced)?;
    Ok((programs, links, replaced))
}
