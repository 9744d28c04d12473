//! Count runs: a board's stages in instructions, exactly repeatable.
//!
//! Virtual time advances by the same 2^N ns with each instruction, so differences of the board's own time stamps are
//! counts of instructions. The frames go through the MAC's internal loopback, one at a time, without any outside
//! influence. Such a run gives no time and no rate.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wirelab_control::client::{Client, Patience, PointRecords};
use wirelab_control::message::{Identity, Start};
use wirelab_control::node_report::{self, NodeReport};
use wirelab_control::refused;
use wirelab_control::transport::Transport;
use wirelab_control::value::{Extent as Until, Load, Path, State};
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::job::{FlowRequest, SendReport, flow_observation};
use wirelab_trial::stage;
use wirelab_trial::{
    Accepts, Cancel, Capabilities, Clock, ClockKind, Description, Direction, Extent, Field,
    FlowObservation, Layer, Node, NodeError, Observation, Progress, Series, SeriesBuilder,
    SizeLimits, Sizes, StageSource, Status, TesterObservation, Trial, TrialField, TrialOption,
    WarningCode,
};

use crate::connection::Connect;
use crate::running::{Board, Options};
use crate::{BoardError, catalogue, facts};

/// What a count run supports of a trial. Rates, loads and gaps have no effect: it measures instructions, not time.
const ACCEPTS: Accepts<'_> = Accepts {
    layers: &[Layer::UdpIpv4],
    directions: &[Direction::Both],
    vlan_tags: 0,
    ports: 1,
    buffers: &[],
    paths: &[],
    options: &[TrialOption::Link, TrialOption::StrictGaps],
    sizes: SizeLimits::TestFrame,
    reasons: &[
        (
            TrialField::Layer,
            "a count run sends UDP over IPv4 without tags",
        ),
        (
            TrialField::VlanTags,
            "a count run sends UDP over IPv4 without tags",
        ),
        (
            TrialField::Direction,
            "the loopback of a count run goes out and in; fix: use both",
        ),
    ],
    otherwise: "the frames of a count run stay inside the MAC; fix: leave it out",
};
/// The name of its flows' path.
pub const PATH: &str = "loopback";
/// Time between checks whether a trial is over.
const LOOK: Duration = Duration::from_millis(2);
/// Longest time of a trial: some hundred frames take a fraction of a second.
const LONGEST: Duration = Duration::from_secs(60);
/// Stream of the frames.
const STREAM: u8 = 0;
const NO_TIME: &str = "a count run measures instructions, not time";

type Control = Client<Box<dyn Transport + Send>>;

/// A board whose trials are count runs. Each trial restarts the board, so that all begin in the same state.
#[derive(Debug)]
pub struct CountNode {
    name: String,
    board: &'static str,
    options: Options,
    instruction_ps: u64,
    identity: Identity,
    setup: BTreeMap<String, String>,
}

impl CountNode {
    /// The board called `board`, which is `name` on the command line.
    ///
    /// # Errors
    /// [`BoardError`] where it does not run in QEMU or does not start, and errors of its control protocol.
    pub fn open(name: &str, board: &str, options: &Options) -> Result<CountNode, NodeError> {
        let info = catalogue::find(board)?;
        let Some(shift) = info.machine().and_then(|machine| machine.icount) else {
            let error = BoardError::NotQemu {
                name: board.to_owned(),
            };
            return Err(error.into());
        };
        let options = Options {
            connect: Connect::Open,
            counts: true,
            ..options.clone()
        };
        let (running, mut control) = start(info.name, &options)?;
        let identity = control.identity().clone();
        let setup = node_report::setup(&mut control).map_err(|e| refused::of_start(&e))?;
        drop(running);
        if !identity.paths.contains(&Path::Loopback) {
            let why = format!("board {board} has no loopback inside its MAC");
            return Err(NodeError::unsupported(None, why));
        }
        Ok(CountNode {
            name: name.to_owned(),
            board: info.name,
            options,
            instruction_ps: 1000 << shift,
            identity,
            setup,
        })
    }

    fn request(&self, trial: &Trial) -> Result<(Start, u64), NodeError> {
        let most = u64::from(self.identity.max_captures).min(self.identity.max_frames);
        let frames = match trial.extent {
            Extent::Frames { frames } if (1..=most).contains(&frames) => frames,
            Extent::Frames { frames } => {
                return Err(NodeError::bad(format!(
                    "{frames} frames: this node keeps the records of 1 to {most}; fix: request a number in that range"
                )));
            }
            Extent::Time { .. } => return Err(NodeError::unsupported(TrialField::Extent, NO_TIME)),
        };
        ACCEPTS.check(trial)?;
        let start = Start {
            path: Some(Path::Loopback),
            size: Some(trial.size),
            load: Some(Load::Max),
            limit_ps: Some(self.identity.max_time_ps),
            tx_stream: Some(STREAM),
            captures: Some(frames as u32),
            ..Start::new(Direction::Both, Layer::UdpIpv4, Until::Frames(frames))
        };
        Ok((start, frames))
    }

    /// Measures the stages of both flows, and the counters.
    fn count(&self, start: Start, cancel: &Cancel) -> Result<CountResult, NodeError> {
        let (board, mut control) = self::start(self.board, &self.options)?;
        let started = control.start(start).map_err(|e| refused::of_start(&e))?;
        let begun = Instant::now();
        let mut state = State::Running;
        while state == State::Running && begun.elapsed() < LONGEST && !cancel.is_cancelled() {
            std::thread::sleep(LOOK);
            let status = control.status(Some(started.trial));
            let status = status.map_err(|e| refused::of_start(&e))?;
            state = status.state;
            if state == State::Failed {
                let why = status.why.unwrap_or_default();
                return Err(NodeError::Failed(format!("the board failed: {why}")));
            }
        }
        if cancel.is_cancelled() {
            return Ok(CountResult::default());
        }
        if state == State::Running {
            let seconds = LONGEST.as_secs();
            return Err(NodeError::Failed(format!(
                "the board did not end its trial within {seconds} s; fix: see its console (`wirelab board console`)"
            )));
        }
        let report = NodeReport::ask(&mut control, started.trial, false);
        let points = node_report::points(&mut control, started.trial);
        let points = points.map_err(|e| refused::of_start(&e))?;
        board.check()?;
        Ok(self.counted(report, &points))
    }

    fn counted(&self, report: NodeReport, points: &[PointRecords]) -> CountResult {
        let times: Vec<_> = points.iter().map(PointRecords::times).collect();
        // The receive points come first, and both flows use one stream: a repeated name begins the other flow.
        let turn = times.windows(2).position(|p| p[0].name == p[1].name);
        let (receive, transmit) = times.split_at(turn.map_or(times.len(), |at| at + 1));
        let mut notes = report.notes;
        let mut stages = |points| {
            let stages = stage::between(points, &mut notes).into_iter();
            stages.map(|(_, s)| self.instructions(&s)).collect()
        };
        CountResult {
            receive: stages(receive),
            transmit: stages(transmit),
            counters: report.counters,
            notes,
        }
    }

    /// Ticks of the board's timer as instructions: exact, because an instruction takes more than two of them.
    fn instructions(&self, stage: &Series) -> Series {
        let tick_ps = stage.clock.tick_ps.unwrap_or(1);
        let clock = Clock {
            kind: ClockKind::Instructions,
            tick_ps: None,
            resolution_ticks: 1,
            owner: stage.clock.owner,
        };
        let mut series = SeriesBuilder::new(stage.name.clone(), clock, 0);
        for ticks in &stage.raw_ticks {
            let ps = ticks.saturating_mul(tick_ps);
            series.push(ps.saturating_add(self.instruction_ps / 2) / self.instruction_ps);
        }
        series.finish()
    }

    fn flow(
        &self,
        direction: Direction,
        sizes: Sizes,
        series: Vec<Series>,
        counted: &CountResult,
        sent: u64,
    ) -> FlowObservation {
        let request = FlowRequest {
            port: self.name.clone(),
            direction,
            stream: STREAM,
            layer: Layer::UdpIpv4,
            sizes,
            link: None,
            frames_per_s: None,
            from: self.name.clone(),
            to: self.name.clone(),
            sender_path: PATH.to_owned(),
            receiver_path: PATH.to_owned(),
            ledger: None,
        };
        let report = SendReport {
            emitted_frames: sent,
            sequences: sent,
            ..SendReport::default()
        };
        let (received, missing) = match node_report::counts(&counted.counters) {
            Ok(counts) => (node_report::report(&counted.counters, counts, None), None),
            Err(name) => (Default::default(), Some(name)),
        };
        let mut flow = flow_observation(&request, &report, received);
        flow.without_rates(NO_TIME);
        flow.jitter_ps = Field::absent(NO_TIME);
        flow.sender = Field::absent("the board sends to itself");
        if let Some(name) = missing {
            let why = format!("the board does not report its counter {name}");
            flow.counts = Field::absent(&why);
            flow.loss_ratio = Field::absent(&why);
        }
        flow.series = series;
        flow
    }
}

/// The result of a count run.
#[derive(Debug, Default)]
struct CountResult {
    receive: Vec<Series>,
    transmit: Vec<Series>,
    counters: BTreeMap<String, u64>,
    notes: Vec<String>,
}

fn start(board: &str, options: &Options) -> Result<(Board, Control), NodeError> {
    let running = Board::start(board, options)?;
    let transport = running.control().map_err(|e| BoardError::Io {
        what: format!("the UART of board {board}"),
        source: e,
    })?;
    let control = Client::open(transport, Patience::default()).map_err(|why| {
        let tail = running.console().tail();
        NodeError::Failed(format!(
            "board {board} does not speak the control protocol on its UART, and {tail}\n{why}"
        ))
    })?;
    Ok((running, control))
}

impl Node for CountNode {
    fn describe(&self) -> Description {
        Description {
            name: self.name.clone(),
            node_type: facts::NODE_TYPE.to_owned(),
            capabilities: Capabilities {
                layers: vec![Layer::UdpIpv4],
                directions: vec![Direction::Both],
                buffers: Vec::new(),
                paths: Vec::new(),
                ..node_report::capabilities(&self.identity, None)
            },
            setup: self.setup.clone(),
            facts: Some(facts::facts()),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let sizes = trial.sizes().map_err(NodeError::bad)?;
        let (start, frames) = self.request(trial)?;
        progress.report(0, 1, "counting instructions");
        let started_unix_ns = unix_ns();
        let mut counted = self.count(start, cancel)?;
        if counted.receive.is_empty() && !cancel.is_cancelled() {
            return Err(NodeError::Failed(
                "the board took no times at its capture points; fix: build its firmware with them (`make firmware`)".to_owned(),
            ));
        }
        let sent = counted.counters.get("sent_frames").copied();
        let sent = sent.unwrap_or(frames);
        let (receive, transmit) = (
            std::mem::take(&mut counted.receive),
            std::mem::take(&mut counted.transmit),
        );
        let flows = vec![
            self.flow(Direction::Receive, sizes, receive, &counted, sent),
            self.flow(Direction::Transmit, sizes, transmit, &counted, sent),
        ];
        Ok(Observation {
            trial: trial.clone(),
            sizes,
            node: self.describe(),
            status: match cancel.is_cancelled() {
                true => Status::cancelled(),
                false => Status::Complete,
            },
            started_unix_ns: Field::measured(started_unix_ns),
            flows,
            cpu_load: Field::absent(NO_TIME),
            busy_over_time: Vec::new(),
            series: Vec::new(),
            counters: BTreeMap::new(),
            tester: TesterObservation::new(Field::absent(NO_TIME), Field::measured(false)),
            warnings: counted.notes.iter().map(|text| note(text)).collect(),
        })
    }

    fn stages(&self) -> StageSource {
        StageSource::Counted
    }
}

fn note(text: &str) -> wirelab_trial::Warning {
    wirelab_trial::Warning::new(
        WarningCode::CAPTURE_NOTES,
        text,
        "no stage's figures include such frames; the others are valid",
    )
}
