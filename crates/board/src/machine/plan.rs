//! What to watch in an image: the addresses of its points, where it sleeps, and what is counted once it runs.

use std::collections::{BTreeSet, HashMap};

use super::MachineError;
use super::attribute::PathPoints;
use super::file::{FramePath, MachineFile};
use super::image::Image;
use super::point::{MachinePoint, PointAddress, symbol};
use super::ring::{Ring, Spotted, flag};
use super::symbols::Symbols;
use super::walk::Walker;
use crate::folder::Folder;

/// The file of the memory that the plugin shares, in the folder of a machine.
pub(super) const RING_FILE: &str = "ring";

/// What to watch in a machine that counts.
#[derive(Clone, Copy)]
pub struct CountOptions<'a> {
    /// The paths whose points are recorded.
    pub frame_paths: &'a [&'a FramePath],
    /// Whether loads, stores and branches are counted too.
    pub kinds: bool,
    /// Whether it runs step by step; otherwise by the wall clock, for requests over its serial line.
    pub is_stepped: bool,
}

/// What is counted in a machine.
pub struct Counting {
    /// The records.
    pub ring: Ring,
    /// Interprets the records.
    pub walker: Walker,
    /// The points of the paths, in the order of the file.
    pub frame_paths: Vec<PathPoints>,
}

/// What to watch in an image, before a machine starts.
pub(super) struct WatchPlan {
    symbols: Symbols,
    watched: Vec<Spotted>,
    returns: Vec<(u64, u8)>,
    interrupts: BTreeSet<u64>,
    apart: BTreeSet<u64>,
    frame_paths: Vec<PathPoints>,
}

pub(super) fn plan(
    file: &MachineFile,
    requested: &[&FramePath],
    image: &Image,
) -> Result<WatchPlan, MachineError> {
    let bad = |why: String| MachineError::BadImage {
        path: image.path.clone(),
        why: format!("{why}; fix: take an ELF image with symbols, as the linker makes it"),
    };
    let mut symbols = Symbols::read(&image.bytes).map_err(bad)?;
    let named = |key: &str, names: &[String]| {
        let each = names.iter().map(|name| symbol(&symbols, name));
        let all = each.collect::<Result<BTreeSet<u64>, String>>();
        all.map_err(|why| MachineError::Other(format!("{}: {key}: {why}", file.name)))
    };
    let interrupts = match &file.interrupts {
        None => symbols.interrupts().iter().copied().collect(),
        Some(names) => named("interrupts", names)?,
    };
    let apart = named("apart", &file.apart)?;
    let kicks = named("kicks", &file.kicks)?;
    for entry in &interrupts {
        symbols.split_at(*entry);
    }
    let (mut watched, mut returns, mut frame_paths) = (Vec::new(), Vec::new(), Vec::new());
    let unrecorded = |at, flags| Spotted {
        at,
        number: UNRECORDED,
        flags,
    };
    let mut next = 0u8;
    for (w, frame_path) in requested.iter().enumerate() {
        let mut numbers = Vec::new();
        for (n, point) in frame_path.points.iter().enumerate() {
            // Steps are recorded from the first point of all to the last of all.
            let begins = w == 0 && n == 0;
            let ends = w + 1 == requested.len() && n + 1 == frame_path.points.len();
            let flags = [(begins, flag::BEGINS), (ends, flag::ENDS | flag::STANDS)];
            let flags = flags
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, flag)| flag)
                .sum();
            let number = next;
            next += 1;
            let spot = point.place.find(&symbols);
            match spot.map_err(|why| bad_point(file, frame_path, point, why))? {
                PointAddress::At(at) => watched.push(Spotted { at, number, flags }),
                PointAddress::ReturnOf(function) => {
                    returns.push((function, number));
                    watched.extend(ends.then(|| unrecorded(function, flag::STANDS_BEHIND)));
                }
            }
            numbers.push(number);
        }
        frame_paths.push(PathPoints {
            names: frame_path.points.iter().map(|p| p.name.clone()).collect(),
            numbers,
            takes: frame_path.points.iter().map(|p| p.take).collect(),
        });
    }
    // A path that begins after a return is watched from the function's start on.
    let first = returns.iter().find(|(_, number)| *number == 0);
    watched.extend(first.map(|(function, _)| Spotted {
        number: HIDDEN,
        ..unrecorded(*function, flag::BEGINS)
    }));
    let kick = flag::STANDS_BEHIND | flag::KICKS;
    watched.extend(kicks.into_iter().map(|at| unrecorded(at, kick)));
    let sleeps = symbols.sleeps();
    watched.extend(sleeps.into_iter().map(|at| unrecorded(at, flag::SLEEPS)));
    Ok(WatchPlan {
        symbols,
        watched,
        returns,
        interrupts,
        apart,
        frame_paths,
    })
}

fn bad_point(
    file: &MachineFile,
    frame_path: &FramePath,
    point: &MachinePoint,
    why: String,
) -> MachineError {
    MachineError::BadPoint {
        machine: file.name.clone(),
        point: point.name.clone(),
        frame_path: frame_path.direction,
        why,
    }
}

/// Number of an address that is recorded, but is not a point of the file.
const HIDDEN: u8 = 0x80;
/// Number of an address that is not recorded.
const UNRECORDED: u8 = 0x81;

pub(super) fn counting(
    plan: WatchPlan,
    folder: &Folder,
    with_kinds: bool,
) -> Result<Counting, MachineError> {
    let functions: Vec<_> = plan
        .symbols
        .functions()
        .iter()
        .map(|f| (f.start, f.end))
        .collect();
    let ring = Ring::make(
        &folder.join(RING_FILE),
        &plan.watched,
        &functions,
        with_kinds,
    );
    let points: HashMap<u8, u64> = plan.watched.iter().map(|w| (w.number, w.at)).collect();
    Ok(Counting {
        ring: ring.map_err(MachineError::io("the memory for the plugin"))?,
        walker: Walker::new(
            plan.symbols,
            plan.interrupts,
            &plan.apart,
            points,
            &plan.returns,
        ),
        frame_paths: plan.frame_paths,
    })
}
