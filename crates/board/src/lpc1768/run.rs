//! Runs a trial on the board: requested over the serial line, then left alone until its pin, its wire or its time shows
//! that it is over. A request in between would cost the firmware time during the measurement.

use std::io;

use wirelab_control::client::{Client, ClientError};
use wirelab_control::message::{Started, Status};
use wirelab_control::node_report::NodeReport;
use wirelab_control::value::State;
use wirelab_emulator::emac::CYCLE_PS;
use wirelab_emulator::gpio::Edge;
use wirelab_trial::{Cancel, Direction, NodeError, Progress};

use super::keep::Keeper;
use super::plan::{BoardTrial, FROM_NODE, TO_NODE};
use super::serial::Serial;
use super::traffic::{FrameChecker, Offer};
use wirelab_trial::job::{CheckReport, SendReport};

/// Cycles between two checks of pin and wire: 0.1 ms of simulated time.
const SLICE: u64 = 10_000;
/// Simulated time from the board's reply to the tester's first frame, in which the firmware opens its ring.
const LEAD_PS: u64 = 2_000_000_000;
/// How long the tester waits for the last frames after its own, in ps: 20 ms.
const QUIET_PS: u64 = 20_000_000_000;
/// Most status requests to a node that ends its trial.
const MOST_LOOKS: u32 = 100;

/// The result of a trial.
pub struct TrialResult {
    /// Its last status.
    pub status: Status,
    /// Its report afterwards.
    pub report: NodeReport,
    /// Edges of P0.0 during the trial.
    pub edges: Vec<Edge>,
    /// First preamble to the end of the last gap of what the board sent, in ps.
    pub wire_ps: Option<u64>,
    /// Sent frames, and how many of these had a wrong FCS.
    pub left: (u64, u64),
    /// How the board sent, measured on the wire.
    pub sent: SendReport,
    /// What the tester's checker saw.
    pub received: CheckReport,
    /// What the tester offered.
    pub offered: SendReport,
    /// Instructions that the board executed in the trial.
    pub instructions: u64,
    /// Whether the user cancelled it.
    pub cancelled: bool,
}

/// The error for a failed exchange with the firmware.
pub fn broken(why: &ClientError) -> NodeError {
    NodeError::Failed(format!("the firmware of board lpc1768: {why}"))
}

fn halted(error: &io::Error) -> NodeError {
    NodeError::Failed(format!(
        "board lpc1768: {error}; fix: repair the firmware at that place"
    ))
}

/// A running trial.
struct Running<'a> {
    plan: &'a BoardTrial,
    watch: FrameChecker,
    offer: Option<Offer<'a>>,
    keeper: &'a mut Keeper,
    edges: Vec<Edge>,
    end_ps: u64,
}

impl Running<'_> {
    /// Runs the board for a slice, and processes what it did.
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

    /// Whether the pin or the wire shows that the trial is over.
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

/// Runs a trial to its end.
pub fn run(
    client: &mut Client<Serial>,
    plan: &BoardTrial,
    address: [u8; 6],
    keeper: &mut Keeper,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<TrialResult, NodeError> {
    let board = &mut client.transport().board;
    // Earlier frames and edges do not belong to a trial.
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
        watch: FrameChecker::new(address, stream, started.slots, payload),
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
    let report = NodeReport::ask(client, started.trial, plan.start.captures.is_some());
    let left = (running.watch.frames, running.watch.bad_fcs);
    let wire_ps = running.watch.wire_ps();
    let (sent, received) = running.watch.finish();
    Ok(TrialResult {
        status,
        report,
        edges: running.edges,
        wire_ps,
        left,
        sent,
        received,
        offered: running.offer.map(Offer::finish).unwrap_or_default(),
        instructions,
        cancelled,
    })
}

/// Runs the board until the trial is over; returns whether the user cancelled it.
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

/// Ends the firmware's trial if it still runs, and returns how it ended.
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
        "the firmware of board lpc1768 does not end its trial; fix: give other firmware with --image".to_owned(),
    ))
}

/// Time from the first rising edge to the last falling one, in ps.
pub fn pulse_ps(edges: &[Edge]) -> Option<u64> {
    let up = edges.iter().find(|edge| edge.high)?.cycle;
    let down = edges.iter().rfind(|edge| !edge.high)?.cycle;
    Some(down.checked_sub(up)? * CYCLE_PS)
}
