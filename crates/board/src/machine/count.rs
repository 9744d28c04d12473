//! Counts of a machine: frames go through it one at a time, and each stage of each has its instructions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use wirelab_trial::{Cancel, Direction};

use super::MachineError;
use super::attribute::{PathPoints, StageCount, Unattributed};
use super::file::{FramePath, MachineFile, Traffic};
use super::image::Image;
use super::plan::{CountOptions, Counting};
use super::running::Machine;
use super::walk::Flight;

/// Longest wait for a service of the machine.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time of a frame through the machine.
const FRAME: Duration = Duration::from_millis(500);
/// Longest time until a machine that sends on its own sends a frame.
const SENDS: Duration = Duration::from_secs(10);
/// Most times that a machine rests while a frame is in flight: a driver may check for frames at each tick.
const MOST_RESTS: u32 = 32;
/// Unattributed frames after which a run ends.
const HOPELESS: u64 = 16;
/// Most passes of points while one frame is in flight.
const MOST_PASSES: usize = 4_096;

/// What was counted in one direction.
#[derive(Debug, Default)]
pub struct Counts {
    /// Names of the points.
    pub points: Vec<String>,
    /// The stages of each frame.
    pub frames: Vec<Vec<StageCount>>,
    /// Frames that are in no figure, and why.
    pub apart: BTreeMap<Unattributed, u64>,
    /// Instructions by stage and path of calls, all frames together.
    pub paths: BTreeMap<(usize, Vec<String>), u64>,
    /// Warm-up frames, which do not count.
    pub warm_up: u64,
    /// Frames after the warm-up.
    pub tried: u64,
}

/// What a run counts.
#[derive(Clone, Copy, Debug)]
pub struct CountRequest {
    /// Frames that count.
    pub frames: u64,
    /// Bytes of their data.
    pub data_bytes: u32,
    /// Whether loads, stores and branches are counted too.
    pub kinds: bool,
}

/// Counts all paths of a machine. The paths that one frame takes are counted together after one start of the machine;
/// each other path needs a start of its own.
///
/// # Errors
/// [`MachineError`], also where no frame takes a path as its points say.
pub fn count(
    file: &MachineFile,
    image: &Image,
    request: CountRequest,
    cancel: &Cancel,
) -> Result<HashMap<Direction, Counts>, MachineError> {
    let mut all = HashMap::new();
    for frame_paths in phases(file) {
        let phase = Phase::start(file, image, &frame_paths, request)?;
        for (frame_path, counts) in
            frame_paths
                .iter()
                .zip(phase.run(&frame_paths, request, cancel)?)
        {
            all.insert(frame_path.direction, counts);
        }
        if cancel.is_cancelled() {
            break;
        }
    }
    Ok(all)
}

fn phases(file: &MachineFile) -> Vec<Vec<&FramePath>> {
    let comes_back = |frame_path: &&FramePath| frame_path.traffic == Traffic::Echo;
    match file
        .frame_paths
        .iter()
        .any(|frame_path| comes_back(&frame_path))
    {
        true => vec![file.frame_paths.iter().collect()],
        false => file
            .frame_paths
            .iter()
            .map(|frame_path| vec![frame_path])
            .collect(),
    }
}

/// A started machine whose paths are counted together.
struct Phase<'a> {
    file: &'a MachineFile,
    machine: Machine,
    counting: Counting,
    /// Whether frames are sent to it; otherwise it sends on its own.
    is_sent_to: bool,
    /// Points that were passed at all.
    passed_points: BTreeSet<u8>,
    lost: u64,
}

impl<'a> Phase<'a> {
    fn start(
        file: &'a MachineFile,
        image: &Image,
        frame_paths: &[&FramePath],
        request: CountRequest,
    ) -> Result<Phase<'a>, MachineError> {
        let watch = CountOptions {
            frame_paths,
            kinds: request.kinds,
            is_stepped: true,
        };
        let (mut machine, counting) = Machine::start(file, image, Some(watch))?;
        let counting = counting.expect("counting was requested");
        let first = frame_paths[0];
        let is_sent_to = first.direction == Direction::Receive;
        let port = MachineError::io("the tester's port");
        if !is_sent_to {
            machine
                .steps()?
                .peer()
                .take_at(first.traffic)
                .map_err(port)?;
        }
        let data = [
            ("data", request.data_bytes.to_string()),
            ("count", (request.frames * 4).to_string()),
        ];
        let commands: Vec<&String> = frame_paths
            .iter()
            .flat_map(|frame_path| &frame_path.start)
            .collect();
        machine.commands(&commands, &data)?;
        if is_sent_to {
            let (ip, bytes) = (machine.ip(), request.data_bytes as usize);
            let peer = machine.steps()?.peer();
            peer.send_to(ip, first.traffic, bytes)
                .map_err(MachineError::io("the tester's port"))?;
            connect(&mut machine)?;
        }
        Ok(Phase {
            file,
            machine,
            counting,
            is_sent_to,
            passed_points: BTreeSet::new(),
            lost: 0,
        })
    }

    fn run(
        mut self,
        frame_paths: &[&FramePath],
        request: CountRequest,
        cancel: &Cancel,
    ) -> Result<Vec<Counts>, MachineError> {
        let points = self.counting.frame_paths.clone();
        let order: Vec<u8> = points
            .iter()
            .flat_map(|frame_path| frame_path.numbers.clone())
            .collect();
        let mut counts: Vec<Counts> = points
            .iter()
            .map(|frame_path| Counts {
                points: frame_path.names.clone(),
                warm_up: self.file.warm_up,
                ..Counts::default()
            })
            .collect();
        let by_path: Vec<_> = points.iter().map(|_| BTreeMap::new()).collect();
        let mut by_path: Vec<BTreeMap<(usize, u32), u64>> = by_path;
        let most = request.frames * 2 + self.file.warm_up + HOPELESS;
        if !self.is_sent_to {
            self.counting.ring.arm();
        }
        for number in 0..most {
            let flight = self.fly(&order)?;
            self.passed_points
                .extend(flight.passes.iter().map(|pass| pass.point));
            let sends_no_more = !self.is_sent_to && flight.passes.is_empty();
            if number >= self.file.warm_up {
                let all_lost = self.counting.ring.lost();
                let lost = all_lost != std::mem::replace(&mut self.lost, all_lost);
                for ((frame_path, counts), paths) in
                    points.iter().zip(&mut counts).zip(&mut by_path)
                {
                    if (counts.frames.len() as u64) < request.frames {
                        counts.take(frame_path, &flight, lost, paths);
                    }
                }
            }
            self.tell_hopeless(frame_paths, &counts, sends_no_more)?;
            let is_done = counts
                .iter()
                .all(|c| c.frames.len() as u64 >= request.frames);
            if is_done || sends_no_more || cancel.is_cancelled() {
                break;
            }
        }
        self.counting.ring.disarm();
        self.tell_limits()?;
        for (counts, paths) in counts.iter_mut().zip(by_path) {
            counts.paths = self.named(paths);
        }
        Ok(counts)
    }

    /// Sends a frame, or waits for one. Returns what happened until it passed all points in their order; only the last
    /// one may be passed earlier, by other frames of the machine.
    fn fly(&mut self, order: &[u8]) -> Result<Flight, MachineError> {
        if self.is_sent_to {
            self.counting.ring.arm();
            self.lost = 0;
            let sent = self.machine.steps()?.peer().send();
            sent.map_err(MachineError::io(format!("to send to {}", self.file.name)))?;
        }
        let begun = Instant::now();
        let (mut next, mut passes, mut rests) = (0, 0, 0);
        while next < order.len() && passes <= MOST_PASSES {
            self.machine.step()?;
            self.take_records(order, &mut next, &mut passes);
            rests += u32::from(self.machine.steps()?.is_at_rest());
            let is_over = match self.is_sent_to {
                true => rests > MOST_RESTS,
                false => begun.elapsed() > SENDS,
            };
            if is_over {
                break;
            }
        }
        let flight = self.counting.walker.end();
        if self.is_sent_to {
            self.counting.ring.disarm();
            self.machine.settle()?;
            self.counting.ring.forget();
        }
        Ok(flight)
    }

    /// Takes what was recorded, up to the pass of the last point: how many points were passed in their order, and how
    /// many passes there were.
    fn take_records(&mut self, order: &[u8], next: &mut usize, passes: &mut usize) {
        let Counting { ring, walker, .. } = &mut self.counting;
        while *next < order.len() && *passes <= MOST_PASSES {
            let Some(record) = ring.take() else { return };
            walker.take(&record);
            let all = &walker.flight().passes;
            for pass in &all[(*passes).min(all.len())..] {
                *next += usize::from(order.get(*next) == Some(&pass.point));
            }
            *passes = all.len();
        }
    }

    /// The error that no frame takes a path as its points say, once that is clear.
    fn tell_hopeless(
        &self,
        frame_paths: &[&FramePath],
        counts: &[Counts],
        ends: bool,
    ) -> Result<(), MachineError> {
        let is_clear = |c: &Counts| (c.tried >= HOPELESS || ends) && c.frames.is_empty();
        let hopeless = counts.iter().position(is_clear);
        let Some(at) = hopeless else {
            return Ok(());
        };
        let points = &self.counting.frame_paths[at];
        let never: Vec<String> = points
            .names
            .iter()
            .zip(&points.numbers)
            .zip(&frame_paths[at].points)
            .filter(|((_, number), _)| !self.passed_points.contains(number))
            .map(|((name, _), point)| format!("{name} ({})", point.place))
            .collect();
        let why: Vec<String> = counts[at]
            .apart
            .iter()
            .map(|(why, n)| format!("{why}: {n}"))
            .collect();
        let finding = match never.is_empty() {
            true => format!(
                "of {} frames none has a pass of each point ({})",
                counts[at].tried,
                why.join(", ")
            ),
            false => format!(
                "in {} frames never reached: {}",
                counts[at].tried,
                never.join(", ")
            ),
        };
        let fix = "are these functions on the path of these frames, and not inlined into their callers? A point that a frame passes several times needs take = \"first\" or \"last\"";
        Err(self.machine.silent(
            &format!("{}: {finding}", frame_paths[at].direction),
            FRAME,
            fix,
        ))
    }

    fn tell_limits(&self) -> Result<(), MachineError> {
        let ring = &self.counting.ring;
        let name = &self.file.name;
        if ring.is_overrun() {
            return Err(MachineError::Other(format!(
                "{name}: QEMU translated more code than the plugin can distinguish; fix: take an image that does not rewrite its own code"
            )));
        }
        match (ring.interface(), ring.vcpus()) {
            (Some(1), vcpus) if vcpus > 1 => Err(MachineError::Other(format!(
                "{name}: {vcpus} processors ran, and plugins of this QEMU count them together; fix: start it with \"-smp\", \"1\", or take QEMU 9.1 or later"
            ))),
            _ => Ok(()),
        }
    }

    fn named(&self, paths: BTreeMap<(usize, u32), u64>) -> BTreeMap<(usize, Vec<String>), u64> {
        let walker = &self.counting.walker;
        let functions = walker.symbols().functions();
        let name = |id: Option<u32>| {
            id.map_or("(no symbol)".to_owned(), |f| {
                functions[f as usize].name.clone()
            })
        };
        let named = paths.into_iter().map(|((stage, path), count)| {
            let functions = walker.paths().functions(path).into_iter();
            ((stage, functions.map(name).collect()), count)
        });
        named.collect()
    }
}

impl Counts {
    fn take(
        &mut self,
        frame_path: &PathPoints,
        flight: &Flight,
        lost: bool,
        paths: &mut BTreeMap<(usize, u32), u64>,
    ) {
        self.tried += 1;
        let passed = match lost {
            true => Err(Unattributed::Lost),
            false => frame_path.passes(flight),
        };
        match passed {
            Ok(passed) => {
                passed.add_paths(flight, paths);
                self.frames.push(passed.stages(flight));
            }
            Err(why) => *self.apart.entry(why).or_default() += 1,
        }
    }
}

/// Waits until the service of a machine accepts a connection: it may have started a moment ago.
fn connect(machine: &mut Machine) -> Result<(), MachineError> {
    let begun = Instant::now();
    while !machine.steps()?.peer().is_connected() {
        machine.step()?;
        if begun.elapsed() > CONNECT {
            let fix = "does its service listen at the port of traffic, and does the machine have its address?";
            return Err(machine.silent("it takes no connection", CONNECT, fix));
        }
    }
    machine.settle()
}
