//! Judges trials that a host disturbed.
//!
//! A hold is time in which a sender or checker was ready and did not run: a busy core, a stopped process, a virtual
//! machine that waited for its processor. Back-pressure is not a hold: the rate that the path took is a load that was
//! achieved.

use crate::clock::ClockKind;
use crate::counter::Counter;
use crate::field::Field;
use crate::interval::FlowIntervals;
use crate::load::Load;
use crate::observation::{FlowObservation, Observation, Status, Warning};
use crate::trial::{Direction, Extent};
use crate::warning_code::WarningCode;

/// A trial is void if its sender or checker was paused for more than this share of its time. A tenth is twice what the
/// kernel itself takes from a thread of real-time priority (50 ms of each second, `sched_rt_runtime_us`), so that a
/// sender with a core of its own never exceeds it.
pub const HELD_SHARE: f64 = 0.1;
/// Consecutive holds shorter than this in ps are the pace of a slow sender, not a pause by its host.
pub const LEAST_HOLD_PS: u64 = 1_000_000_000;
/// From this share of the time by which a sender was late, the path is the reason.
const EXPLAINED: f64 = 0.5;
/// The counter in which a node reports for how long its host paused its sender, in ns.
pub const NODE_SENDER_HELD: &str = "node_sent_held_up_ns";

impl FlowObservation {
    /// Whether its sender fell behind because the path took no more: then the achieved rate is that of the path. If
    /// pauses by its host explain as much, the rate of the path is unknown: the burst that catches up after a pause
    /// fills a queue at once, and is blocked by it.
    pub fn was_held_back(&self) -> bool {
        let Some(sender) = self.sender.value() else {
            return false;
        };
        let (requested, achieved) = (&sender.asked_frames_per_s, &sender.achieved_frames_per_s);
        let (Some(requested), Some(achieved)) = (requested.value(), achieved.value()) else {
            return false;
        };
        let (Some(blocked), Some(lasted)) = (sender.blocked_ps.value(), self.sent_for_ps()) else {
            return false;
        };
        let short = 1.0 - achieved / requested;
        let explains = |ps: u64| ps as f64 >= EXPLAINED * short * lasted as f64;
        let slipped = sender.slipped_ps.value().copied().unwrap_or(0);
        sender.kept_rate.value() == Some(&false) && explains(*blocked) && !explains(slipped)
    }

    /// Whether its sender waited for the path for most of its time, at any load.
    pub fn waited_for_the_path(&self) -> bool {
        let blocked = self.sender.value().and_then(|s| s.blocked_ps.value());
        let times = blocked.zip(self.sent_for_ps());
        times.is_some_and(|(blocked, lasted)| *blocked as f64 >= EXPLAINED * lasted as f64)
    }

    /// How long its sender worked in ps, by its own rate.
    fn sent_for_ps(&self) -> Option<u64> {
        let rate = self.sender.value()?.achieved_frames_per_s.value()?;
        let sent = self.sent_frames.value().filter(|sent| **sent > 1)?;
        (*rate > 0.0).then(|| (*sent as f64 / rate * 1e12) as u64)
    }

    /// Time in ps in which its host paused its sender, in a trial of `requested_ps`.
    fn sender_held_ps(&self, requested_ps: Option<u64>) -> u64 {
        let Some(sender) = self.sender.value() else {
            return 0;
        };
        // A sender that cannot distinguish back-pressure from a pause may have counted one as the other.
        let tells = sender.blocked_ps.value().is_some();
        let slipped = sender.slipped_ps.value().filter(|_| tells);
        let slipped = slipped.copied().unwrap_or(0);
        let slipped = match sender.gap.value() {
            // A slow sender has many short gaps.
            Some(gap) => {
                let shared = self.counters.get(Counter::SHARED_TIME.word());
                let frames = shared.and_then(|frames| frames.value().copied());
                let tick_ps = gap.tick_ps.unwrap_or(0);
                slipped.min(long_gaps_ps(
                    &gap.buckets,
                    tick_ps.saturating_mul(frames.unwrap_or(1)),
                ))
            }
            None => slipped,
        };
        slipped.max(self.sender_idle_ps(requested_ps))
    }

    /// Time in ps of `requested_ps` in which its sender neither sent nor was held back.
    fn sender_idle_ps(&self, requested_ps: Option<u64>) -> u64 {
        let sender = self.sender.value();
        let blocked = sender.and_then(|sender| sender.blocked_ps.value());
        let idle = requested_ps
            .zip(self.sent_for_ps())
            .map(|(requested, sent)| {
                let blocked = blocked.copied().unwrap_or(0);
                requested.saturating_sub(sent).saturating_sub(blocked)
            });
        idle.unwrap_or(0)
    }
}

fn long_gaps_ps(buckets: &[(u64, u64)], tick_ps: u64) -> u64 {
    let ps = |ticks: u64| ticks.saturating_mul(tick_ps);
    let long = buckets.iter().filter(|(gap, _)| ps(*gap) >= LEAST_HOLD_PS);
    long.fold(0, |sum, (gap, count)| {
        sum.saturating_add(ps(*gap).saturating_mul(*count))
    })
}

fn is_beyond(held_ps: u64, lasted_ps: u64) -> bool {
    held_ps >= LEAST_HOLD_PS && held_ps as f64 > HELD_SHARE * lasted_ps as f64
}

fn ms(ps: u64) -> String {
    crate::format::decimal(ps as f64 / 1e9, 0)
}

impl Observation {
    /// Whether the tester, not the node, sends a flow.
    pub fn tester_sends(&self, flow: &FlowObservation) -> bool {
        self.node.is_testers_own() || flow.direction != Direction::Transmit
    }

    fn tester_checks(&self, flow: &FlowObservation) -> bool {
        self.node.is_testers_own() || flow.direction != Direction::Receive
    }

    /// Why the tester's own host spoilt this trial: it paused a sender or checker for more than [`HELD_SHARE`] of the
    /// time, at any load. Unknown times do not count.
    pub fn tester_held_up(&self) -> Option<String> {
        if self.status != Status::Complete {
            return None;
        }
        self.flows.iter().find_map(|flow| self.held_up(flow))
    }

    /// Why the host of a node that reports its pauses spoilt this trial: it paused the node's sender or receiver for
    /// more than [`HELD_SHARE`] of the time. The speed of a slow node is a result; a node that was stopped, or shared
    /// its processor, shows the other work of its host.
    pub fn node_held_up(&self) -> Option<String> {
        if self.status != Status::Complete || self.node.is_testers_own() {
            return None;
        }
        self.flows.iter().find_map(|flow| self.node_holds(flow))
    }

    fn node_holds(&self, flow: &FlowObservation) -> Option<String> {
        let (who, held) = match flow.direction {
            Direction::Transmit => {
                let held_ns = self.counters.get(NODE_SENDER_HELD)?.value()?;
                let idle = flow.sender_idle_ps(self.requested_ps());
                ("sender", held_ns.saturating_mul(1000).max(idle))
            }
            _ if self.node_kept_all(flow) => return None,
            Direction::Receive => ("receiver", *flow.checker_held_up_ps.value()?),
            _ => return None,
        };
        let lasted = self.lasted_ps(flow)?;
        is_beyond(held, lasted).then(|| {
            format!(
                "the node's own host held its {who} up for {} ms of {} ms",
                ms(held),
                ms(lasted)
            )
        })
    }

    /// Whether everything that arrived during a pause of a node's receiver was queued.
    fn node_kept_all(&self, flow: &FlowObservation) -> bool {
        let lost = flow.counts.value().map(|c| c.lost_frames);
        !self.trial.framing.layer.is_tcp() && lost == Some(0)
    }

    fn requested_ps(&self) -> Option<u64> {
        match self.trial.extent {
            Extent::Time { time_ps } => Some(time_ps),
            Extent::Frames { .. } => None,
        }
    }

    /// Longest time that a flow took in ps; `None` where there is no such time.
    fn lasted_ps(&self, flow: &FlowObservation) -> Option<u64> {
        let elapsed = flow.elapsed.value();
        if elapsed.is_some_and(|elapsed| elapsed.clock != ClockKind::Wall) {
            return None;
        }
        let lasted = [
            self.requested_ps(),
            flow.sent_for_ps(),
            elapsed.map(|e| e.ps),
        ];
        lasted.into_iter().flatten().max()
    }

    fn held_up(&self, flow: &FlowObservation) -> Option<String> {
        let lasted = self.lasted_ps(flow)?;
        let requested_ps = self.requested_ps();
        let beyond = |held: u64| is_beyond(held, lasted);
        // The port of a flow between two ports is the tester's own, otherwise it is the node's.
        let own = self.node.is_testers_own();
        let says = |who: &str, preposition: &str, held: u64| {
            format!(
                "the tester's {who} ({}{}) was held up by its own host for {} ms of {} ms",
                if own { "" } else { preposition },
                flow.port,
                ms(held),
                ms(lasted)
            )
        };
        if self.tester_sends(flow) {
            let held = flow.sender_held_ps(requested_ps);
            if beyond(held) {
                return Some(says("sender", "to ", held));
            }
        }
        let held = flow.checker_held_up_ps.value().copied().unwrap_or(0);
        let spoils = self.tester_checks(flow) && !self.waited_in_a_queue(flow);
        (spoils && beyond(held)).then(|| says("checker", "from ", held))
    }

    /// Whether everything that arrived during a pause of a checker was queued, with its arrival time. A stream is
    /// different: a full queue holds its sender back.
    fn waited_in_a_queue(&self, flow: &FlowObservation) -> bool {
        let is_known = flow.counts.value().is_some()
            || flow.counters.contains_key(Counter::CHECKER_MISSED.word());
        !self.trial.framing.layer.is_tcp() && is_known && !flow.tester_dropped()
    }

    /// Whether the tester missed the rate by less than a pause, and there is no finding that must be kept.
    pub(crate) fn missed_its_rate(&self) -> bool {
        let slow = |flow: &FlowObservation| self.tester_sends(flow) && flow.sender_was_slow();
        let clean =
            |flow: &FlowObservation| flow.loss_ratio.value().is_none_or(|loss| *loss == 0.0);
        self.trial.load != Load::Max
            && self.passed()
            && self.flows.iter().any(slow)
            && self.flows.iter().all(clean)
    }

    /// Whether the tester's own queues dropped what the node sent. Where the tester sends too, a lower load does
    /// not help: the question is how a node behaves under all of it.
    pub(crate) fn dropped_arrivals(&self) -> bool {
        self.status == Status::Complete
            && !self.node.is_testers_own()
            && self.trial.direction == Direction::Transmit
            && self.flows.iter().any(FlowObservation::tester_dropped)
    }

    pub(crate) fn arrived_whole(&self) -> bool {
        self.status == Status::Complete && !self.dropped_arrivals()
    }

    /// Frames/s that arrived, of the slowest flow, where each has it.
    pub fn slowest_frames_per_s(&self) -> Option<f64> {
        let flows = self.flows.iter();
        let rates: Option<Vec<f64>> = flows.map(|f| f.frames_per_s.value().copied()).collect();
        rates?.into_iter().reduce(f64::min)
    }

    /// Removes everything that could be read as a figure of the node or of its limit, and says why.
    pub fn make_void(&mut self, why: &str) {
        self.status = Status::Void {
            why: why.to_owned(),
        };
        for flow in &mut self.flows {
            flow.without_rates(why);
            flow.counts = Field::absent(why);
            flow.loss_ratio = Field::absent(why);
            flow.loss_ratio_at_most = None;
            flow.intervals = FlowIntervals::default();
            flow.jitter_ps = Field::absent(why);
            flow.series.clear();
        }
        self.series.clear();
        self.cpu_load = Field::absent(why);
        self.tester.was_limit = Field::absent(why);
    }

    /// Whether it is void because of pauses of the tester.
    pub fn is_void_by_tester(&self) -> bool {
        let held = |warning: &Warning| warning.is(WarningCode::TESTER_HELD_UP);
        matches!(self.status, Status::Void { .. }) && self.warnings.iter().any(held)
    }
}
