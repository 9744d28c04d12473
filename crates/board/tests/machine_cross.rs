//! Points by symbol against the points compiled into the firmware, on both boards in QEMU: the same frames, the same
//! counts, and less what the compiled-in points themselves cost.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::common::can_run;
use wirelab_board::machine::file::{FramePath, MachineFile, Traffic};
use wirelab_board::machine::image::Image;
use wirelab_board::machine::plan::{CountOptions, Counting};
use wirelab_board::machine::point::{MachinePoint, PassChoice};
use wirelab_board::machine::running::Machine;
use wirelab_board::machine::walk::{Flight, Pass};
use wirelab_control::client::{Client, Patience};
use wirelab_control::message::Start;
use wirelab_control::node_report;
use wirelab_control::value::{Extent, Load, Path, State};
use wirelab_trial::{Direction, Layer, Size, SizeUnit};

const FRAMES: u32 = 128;
/// Functions that are there only for the compiled-in points.
const POINTS: [&str; 3] = ["wl_probe_", "wl_capture_", "wl_points_"];
/// Instructions by which the callers of two points give them their arguments, where the points are on.
const CALL_SITES: u64 = 7;

/// The points of a loopback frame out and in: those of the driver and the stack, those of the compiled-in points, and the
/// clock that these read.
fn frame_paths(interrupt: &str) -> Vec<FramePath> {
    let frame_path = |direction, points: &[(&str, &str)]| FramePath {
        direction,
        traffic: Traffic::Echo,
        start: Vec::new(),
        points: points
            .iter()
            .map(|(name, at)| MachinePoint {
                name: (*name).to_owned(),
                place: at.parse().unwrap(),
                take: PassChoice::Only,
            })
            .collect(),
    };
    let out = [
        ("out", "flows.c:send_datagram"),
        ("send", "mac_send"),
        ("probe_send", "wl_probe_send"),
        ("probe_started", "wl_probe_started"),
    ];
    let into = [
        ("interrupt", interrupt),
        ("probe_interrupt", "wl_probe_interrupt"),
        ("probe_received", "wl_probe_received"),
        ("input", "loop_input"),
        ("in", "wl_app_udp"),
    ];
    // The last point is never passed, so that steps are recorded throughout.
    let clock = [("clock", "wl_clock"), ("never", "0xFFFFFFF0")];
    vec![
        frame_path(Direction::Transmit, &out),
        frame_path(Direction::Receive, &into),
        frame_path(Direction::Both, &clock),
    ]
}

/// Its name, the function of its MAC's interrupt, and the tick of its clock in ps.
type Board = (&'static str, &'static str, u64);

/// What a run gave: the compiled-in points by name, and everything that the plugin saw.
struct CrossRun {
    compiled: Vec<(String, Vec<(u32, u64)>)>,
    flight: Flight,
    numbers: BTreeMap<&'static str, u8>,
    cost: Vec<(u64, u64)>,
    /// Instructions of so many ticks: exact, because one takes more than two of them.
    instructions: Box<dyn Fn(u64) -> u64>,
}

fn run((board, interrupt, tick_ps): Board, length: u32, captures: Option<u32>) -> CrossRun {
    let file = MachineFile::find(board).unwrap();
    let instruction_ps = 1000 << file.icount.unwrap();
    let image = Image::find(&file, None).unwrap();
    let frame_paths = frame_paths(interrupt);
    let asked: Vec<&FramePath> = frame_paths.iter().collect();
    let watch = CountOptions {
        frame_paths: &asked,
        kinds: false,
        is_stepped: false,
    };
    let (machine, counting) = Machine::start(&file, &image, Some(watch)).unwrap();
    let Counting {
        mut ring,
        mut walker,
        ..
    } = counting.unwrap();
    let start = Start {
        path: Some(Path::Loopback),
        size: Some(Size::new(SizeUnit::Length, length)),
        load: Some(Load::Max),
        limit_ps: Some(60_000_000_000_000),
        tx_stream: Some(0),
        captures,
        ..Start::new(
            Direction::Both,
            Layer::UdpIpv4,
            Extent::Frames(FRAMES.into()),
        )
    };
    let mut take = |ring: &mut wirelab_board::machine::ring::Ring| {
        while let Some(record) = ring.take() {
            walker.take(&record);
        }
    };
    // Not over its network, whose frames would pass the same points.
    let mut control = Client::open(machine.serial().unwrap(), Patience::default()).unwrap();
    ring.arm();
    let trial = control.start(start).unwrap().trial;
    let begun = Instant::now();
    while control.status(Some(trial)).unwrap().state == State::Running {
        take(&mut ring);
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    ring.disarm();
    take(&mut ring);
    let points = match captures {
        Some(_) => node_report::points(&mut control, trial).unwrap(),
        None => Vec::new(),
    };
    assert_eq!(ring.lost(), 0);
    let compiled = points.iter().map(|records| {
        let times = records.times();
        assert_eq!(times.clock.tick_ps, Some(tick_ps));
        (times.name, times.times)
    });
    let compiled = compiled.collect();
    let names = walker.symbols().functions();
    let is_point = |function: &Option<u32>| {
        let name = function.map_or("", |f| names[f as usize].name.as_str());
        POINTS.iter().any(|start| name.starts_with(start))
    };
    let is_cost = |path: u32| walker.paths().functions(path).iter().any(is_point);
    let segments = &walker.flight().segments;
    let cost = segments
        .iter()
        .filter(|s| is_cost(s.path))
        .map(|s| (s.from, s.to))
        .collect();
    let names = frame_paths
        .iter()
        .flat_map(|frame_path| &frame_path.points)
        .map(|p| p.name.clone());
    let names: Vec<&'static str> = names.map(|n| &*n.leak()).collect();
    CrossRun {
        compiled,
        numbers: names.into_iter().zip(0..).collect(),
        flight: walker.end(),
        cost,
        instructions: Box::new(move |ticks| {
            (ticks * tick_ps + instruction_ps / 2) / instruction_ps
        }),
    }
}

/// The points of a frame that was seen at all of them: counts by name, and at the clock's readings.
struct Frame {
    points: BTreeMap<&'static str, u64>,
    /// As the compiled-in points: received, then sent.
    readings: [u64; 6],
}

impl CrossRun {
    /// The frames, by their sequences: each begins where the application sends it.
    fn frames(&self, compiled: bool) -> BTreeMap<u32, Frame> {
        let passes = &self.flight.passes;
        let number = |name: &str| self.numbers[name];
        let starts: Vec<usize> = (0..passes.len())
            .filter(|n| passes[*n].point == number("out"))
            .collect();
        let mut frames = BTreeMap::new();
        for (sequence, start) in starts.iter().enumerate() {
            let end = starts.get(sequence + 1).copied().unwrap_or(passes.len());
            let frame = self.frame(&passes[*start..end], &passes[..*start], compiled);
            frames.extend(frame.map(|frame| (sequence as u32, frame)));
        }
        frames
    }

    fn frame(&self, own: &[Pass], before: &[Pass], compiled: bool) -> Option<Frame> {
        let number = |name: &str| self.numbers[name];
        let at = |name: &str| own.iter().position(|p| p.point == number(name));
        // Of several interrupts that of the frame is the last before it was received.
        let input = at("input")?;
        let last = |name: &str| own[..input].iter().rposition(|p| p.point == number(name));
        let clock = |from: usize, nth: usize| {
            let mut clocks = own[from..].iter().filter(|p| p.point == number("clock"));
            clocks.nth(nth).map(|p| p.moment.count)
        };
        let counts = |name, at: usize| (name, own[at].moment.count);
        let points = [
            counts("out", 0),
            counts("send", at("send")?),
            counts("interrupt", last("interrupt")?),
            counts("input", input),
            counts("in", at("in")?),
        ];
        let mut readings = [0; 6];
        if compiled {
            let sent = before.iter().rfind(|p| p.point == number("clock"))?;
            readings = [
                clock(last("probe_interrupt")?, 0)?,
                // The first reading is discarded: the interrupt has its own.
                clock(at("probe_received")?, 1)?,
                clock(at("in")?, 0)?,
                sent.moment.count,
                clock(at("probe_send")?, 0)?,
                clock(at("probe_started")?, 0)?,
            ];
        }
        Some(Frame {
            points: points.into(),
            readings,
        })
    }

    /// Instructions of the compiled-in points between two moments.
    fn cost(&self, from: u64, to: u64) -> u64 {
        let within = |(a, b): &(u64, u64)| (*b).min(to).saturating_sub((*a).max(from));
        self.cost.iter().map(within).sum()
    }
}

fn usual(all: &[u64]) -> u64 {
    let mut counts = BTreeMap::new();
    all.iter().for_each(|c| *counts.entry(*c).or_insert(0) += 1);
    counts.into_iter().max_by_key(|(_, n)| *n).unwrap().0
}

fn the_same(of: Board) {
    let board = of.0;
    if !can_run(board) {
        return;
    }
    for length in [64, 1024] {
        let on = run(of, length, Some(FRAMES));
        let frames = on.frames(true);
        assert!(
            frames.len() as u32 > FRAMES * 9 / 10,
            "{board}: {} frames",
            frames.len()
        );
        for (from, to) in [(0, 1), (1, 2), (3, 4), (4, 5)] {
            let name = format!(
                "{board}, {length} bytes: {} to {}",
                on.compiled[from].0, on.compiled[to].0
            );
            let times = |at: usize| {
                on.compiled[at]
                    .1
                    .iter()
                    .copied()
                    .collect::<BTreeMap<u32, u64>>()
            };
            let (begins, ends) = (times(from), times(to));
            let mut compared = 0;
            for (sequence, frame) in &frames {
                let (Some(begin), Some(end)) = (begins.get(sequence), ends.get(sequence)) else {
                    continue;
                };
                let by_plugin = frame.readings[to] - frame.readings[from];
                assert_eq!(
                    by_plugin,
                    (on.instructions)(end - begin),
                    "{name}, frame {sequence}"
                );
                compared += 1;
            }
            assert!(compared > FRAMES * 9 / 10, "{name}: {compared} frames");
        }
        let off = run(of, length, None);
        let without_points = off.frames(false);
        let stages = [
            ("interrupt", "input", CALL_SITES),
            ("input", "in", 0),
            ("out", "send", 0),
        ];
        for (from, to, call_sites) in stages {
            let stage = |frame: &Frame| frame.points[to] - frame.points[from];
            let less = |frame: &Frame| stage(frame) - on.cost(frame.points[from], frame.points[to]);
            let less: Vec<u64> = frames.values().map(less).collect();
            let off: Vec<u64> = without_points.values().map(stage).collect();
            let (less, off) = (usual(&less), usual(&off));
            assert_eq!(
                less,
                off + call_sites,
                "{board}, {length} bytes: {from} to {to}"
            );
        }
    }
}

#[test]
fn points_by_symbol_are_those_compiled_in_on_the_mps2() {
    the_same(("mps2-an385", "lan9118_interrupt", 40_000));
}

#[test]
fn points_by_symbol_are_those_compiled_in_on_the_zynq() {
    the_same(("zynq7000", "gem_interrupt", 10_000));
}
