//! A trial on the board: asked over the serial line, then left alone until its pin, its wire or its time says that it is
//! over. A question meanwhile would cost the firmware time that the trial is to measure.

use std::io;

use wirelab_control::client::{Client, ClientError};
use wirelab_control::message::{Started, Status};
use wirelab_control::node_report::NodeReport;
use wirelab_control::value::State;
use wirelab_emulator::emac::CYCLE_PS;
use wirelab_emulator::gpio::Edge;
use wirelab_trial::{Cancel, Direction, NodeError, Progress};

use super::keep::Keeper;
use super::plan::{FROM_NODE, Plan, TO_NODE};
use super::serial::Serial;
use super::traffic::{Offer, Watch};
use wirelab_trial::job::{CheckReport, SendReport};

/// Cycles between two looks at pin and wire: 0.1 ms of simulated time.
const SLICE: u64 = 10_000;
/// Simulated time from the board's reply to the tester's first frame: the firmware opens its ring meanwhile.
const LEAD_PS: u64 = 2_000_000_000;
/// How long the tester waits for the last frames after its own last one, in ps: 20 ms.
const QUIET_PS: u64 = 20_000_000_000;
/// How often a node that ends its trial is asked whether it has.
const MOST_LOOKS: u32 = 100;

/// What came of a trial.
pub struct Ran {
    /// Its last status.
    pub status: Status,
    /// What it told afterwards.
    pub told: NodeReport,
    /// Edges of P0.0 during the trial.
    pub edges: Vec<Edge>,
    /// First preamble to the end of the last gap of what the board sent, in ps.
    pub wire_ps: Option<u64>,
    /// Frames that left, and of these with a wrong FCS.
    pub left: (u64, u64),
    /// How the board sent, by the wire, and what the tester's checker saw of it.
    pub sent: SendReport,
    /// What the checker saw.
    pub seen: CheckReport,
    /// What the tester offered.
    pub offered: SendReport,
    /// Instructions that the board executed in the trial.
    pub instructions: u64,
    /// Whether the user ended it.
    pub cancelled: bool,
}

/// What a broken conversation with the firmware means.
pub fn broken(error: &ClientError) -> NodeError {
    NodeError::Failed(format!("the firmware of board lpc1768: {error}"))
}

fn halted(error: &io::Error) -> NodeError {
    NodeError::Failed(format!("board lpc1768: {error}"))
}

/// A trial that runs.
struct Running<'a> {
    plan: &'a Plan,
    watch: Watch,
    offer: Option<Offer<'a>>,
    keeper: &'a mut Keeper,
    edges: Vec<Edge>,
    end_ps: u64,
}

impl Running<'_> {
    /// Let the board run for a slice, and look at what it did.
    fn slice(&mut self, serial: &mut Serial) -> Result<(), NodeError> {
        if let Some(offer) = &mut self.offer {
            offer.feed(&mut serial.board, &mut self.watch);
        }
        serial.run_cycles(SLICE).map_err(|e| halted(&e))?;
        self.look(serial)
    }

    fn look(&mut self, serial: &mut Serial) -> Result<(), NodeError> {
        self.edges.extend(serial.board.take_edges());
        for frame in serial.board.take_sent() {
            self.watch.take(&frame);
            self.keeper.keep(&frame)?;
        }
        Ok(())
    }

    /// Whether the pin or the wire says that the trial is over.
    fn is_over(&self, now_ps: u64) -> bool {
        let pin_fell = self.edges.last().is_some_and(|edge| !edge.high);
        match (&self.offer, self.plan.resolved.trial.direction) {
            (None, _) => pin_fell,
            (Some(offer), Direction::Both) => {
                pin_fell && offer.is_done() && now_ps > offer.last_ps() + QUIET_PS
            }
            (Some(offer), _) => offer.is_done() && now_ps > offer.last_ps() + QUIET_PS,
        }
    }

    fn done(&self) -> u64 {
        match &self.offer {
            Some(offer) => offer.emitted(),
            None => self.watch.frames,
        }
    }
}

/// Run a trial to its end.
pub fn run(
    client: &mut Client<Serial>,
    plan: &Plan,
    address: [u8; 6],
    keeper: &mut Keeper,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Ran, NodeError> {
    let board = &mut client.transport().board;
    // What came before belongs to no trial.
    drop((board.take_sent(), board.take_edges()));
    let started = client
        .start(plan.start.clone())
        .map_err(|error| wirelab_control::refused::of_start(&error))?;
    let board = &client.transport().board;
    let (now_ps, before) = (board.time_ps(), board.instructions());
    let payload = u64::from(plan.resolved.sizes.payload);
    let stream = match plan.resolved.trial.direction {
        Direction::Echo => TO_NODE,
        _ => FROM_NODE,
    };
    let mut running = Running {
        plan,
        watch: Watch::new(address, stream, started.slots, payload),
        offer: plan
            .resolved
            .tester_sends()
            .then(|| Offer::new(plan, address, now_ps + LEAD_PS)),
        keeper,
        edges: Vec::new(),
        end_ps: now_ps.saturating_add(started.limit_ps),
    };
    let cancelled = until_over(client.transport(), &mut running, progress, cancel)?;
    let instructions = client.transport().board.instructions() - before;
    let status = settle(client, &started)?;
    running.look(client.transport())?;
    let told = NodeReport::ask(client, started.trial, plan.start.captures.is_some());
    let left = (running.watch.frames, running.watch.bad_fcs);
    let wire_ps = running.watch.wire_ps();
    let (sent, seen) = running.watch.finish();
    Ok(Ran {
        status,
        told,
        edges: running.edges,
        wire_ps,
        left,
        sent,
        seen,
        offered: running.offer.map(Offer::finish).unwrap_or_default(),
        instructions,
        cancelled,
    })
}

/// Let the board run until the trial is over; whether the user ended it.
fn until_over(
    serial: &mut Serial,
    running: &mut Running<'_>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<bool, NodeError> {
    let total = running.plan.frames();
    loop {
        running.slice(serial)?;
        let now_ps = serial.board.time_ps();
        if running.is_over(now_ps) || now_ps > running.end_ps {
            return Ok(false);
        }
        if cancel.is_cancelled() {
            return Ok(true);
        }
        progress.report(running.done().min(total), total, "frames");
    }
}

/// Have the firmware end its trial where it has not, and say how it ended.
fn settle(client: &mut Client<Serial>, started: &Started) -> Result<Status, NodeError> {
    let mut status = client
        .status(Some(started.trial))
        .map_err(|error| broken(&error))?;
    if status.state == State::Running {
        status = client.stop(started.trial).map_err(|error| broken(&error))?;
    }
    for _ in 0..MOST_LOOKS {
        if status.state != State::Running {
            return Ok(status);
        }
        let serial = client.transport();
        serial.run_cycles(10 * SLICE).map_err(|e| halted(&e))?;
        status = client
            .status(Some(started.trial))
            .map_err(|error| broken(&error))?;
    }
    Err(NodeError::Failed(
        "the firmware of board lpc1768 does not end its trial".to_owned(),
    ))
}

/// Time from the first rising edge to the last falling one, in ps.
pub fn pulse_ps(edges: &[Edge]) -> Option<u64> {
    let up = edges.iter().find(|edge| edge.high)?.cycle;
    let down = edges.iter().rfind(|edge| !edge.high)?.cycle;
    Some(down.checked_sub(up)? * CYCLE_PS)
}
