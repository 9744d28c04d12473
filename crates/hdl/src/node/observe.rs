//! From what the registers said to an observation, every figure with its unit or its reason.

use std::collections::BTreeMap;

use wirelab_trial::job::{self, CheckReport, FlowAsked, SendReport};
use wirelab_trial::{
    ClockKind, Description, Elapsed, Field, FlowObservation, Histogram, Observation, Spans, Status,
    TesterObservation, Warning, WarningCode,
};

use super::plan::{FlowPlan, Plan};
use super::run::{FlowResult, RunResult};
use crate::CLOCK_PS;

/// ns of a tick of the probe.
const PROBE_NS: u64 = 10;

/// The observation of a trial.
pub fn observation(
    plan: &Plan,
    node: Description,
    ran: RunResult,
    started_unix_ns: u64,
) -> Observation {
    let mut warnings = Vec::new();
    let mut sent = Vec::new();
    let flows = plan.flows.iter().zip(&ran.came).map(|(flow, came)| {
        let asked = asked(plan, flow, came);
        let (left, seen) = (left(came), seen(came));
        warnings.extend(job::flow_warnings(&asked, &left, &seen));
        warnings.extend(doubts(flow, came));
        warnings.extend(wrong_fcs(&asked, came));
        let observed = observed(plan, came, job::flow_observation(&asked, &left, seen));
        sent.push(left);
        observed
    });
    let flows: Vec<FlowObservation> = flows.collect();
    warnings.extend(job::below_rate(plan.resolved.frames_per_s, &sent));
    Observation {
        trial: plan.resolved.trial.clone(),
        sizes: plan.resolved.sizes,
        node,
        status: status(plan, &ran),
        started_unix_ns: Field::measured(started_unix_ns),
        flows,
        cpu_load: Field::absent("generator and checker are hardware: no CPU takes part"),
        series: Vec::new(),
        counters: BTreeMap::from([("simulated_clocks".to_owned(), Field::measured(ran.clocks))]),
        tester: TesterObservation::new(
            Field::absent("the tester takes no simulated time"),
            Field::measured(false),
        ),
        warnings,
    }
}

fn name(port: usize) -> String {
    format!("port {port}")
}

fn asked(plan: &Plan, flow: &FlowPlan, came: &FlowResult) -> FlowAsked {
    let own = match flow.direction {
        wirelab_trial::Direction::Receive => flow.to,
        _ => flow.from,
    };
    FlowAsked {
        port: name(own),
        direction: flow.direction,
        stream: flow.from as u8,
        layer: plan.resolved.trial.framing.layer,
        sizes: plan.resolved.sizes,
        link: plan.resolved.link,
        frames_per_s: plan.resolved.frames_per_s,
        from: name(flow.from),
        to: name(flow.to),
        sender_path: "packet_generator".to_owned(),
        receiver_path: "packet_checker".to_owned(),
        ledger: plan
            .fault
            .map(|fault| fault.ledger(came.sent.sequences, came.sent.injected)),
    }
}

/// What the sender did; its time is that of the probe at the MAC's input, to a tick of it.
fn left(came: &FlowResult) -> SendReport {
    let rate = &came.sent.rate;
    SendReport {
        emitted_frames: came.sent.frames,
        sequences: came.sent.sequences,
        first_ns: 0,
        last_ns: rate.total * PROBE_NS,
        gap: came
            .spacing
            .as_ref()
            .map_or_else(Histogram::default, |spacing| spacing.histogram.clone()),
        ..SendReport::default()
    }
}

/// What the checker saw. Its own count of losses is left out: what was sent after the last that came, only the sender
/// knows.
fn seen(came: &FlowResult) -> CheckReport {
    let mut counts = came.seen.counts;
    counts.lost_frames = 0;
    let frames = counts.received_frames;
    let times = came.seen.times_ns.filter(|_| frames > 0);
    CheckReport {
        counts,
        first: times.map(|(first, _)| (first, 0)),
        last: times.map(|(_, last)| (last, frames - 1)),
        ..CheckReport::default()
    }
}

/// What the registers tell beside the flow's own figures.
fn observed(plan: &Plan, came: &FlowResult, mut flow: FlowObservation) -> FlowObservation {
    let (sent, seen) = (&came.sent, &came.seen);
    let frames = seen.counts.received_frames;
    let times = seen
        .times_ns
        .filter(|(first, last)| frames > 1 && last > first);
    if let Some((first, last)) = times {
        // Integers: simulated time has no last digit to lose.
        let ps = u128::from(last - first) * 1000 * u128::from(frames) / u128::from(frames - 1);
        flow.elapsed = Field::measured(Elapsed {
            ps: u64::try_from(ps).unwrap_or(u64::MAX),
            spans: Spans::Wire,
            clock: ClockKind::Simulated,
        });
        let clocks = Field::measured((last - first) * 1000 / CLOCK_PS);
        flow.counters
            .insert("clocks_first_to_last".to_owned(), clocks);
    }
    flow.series.extend(came.spacing.clone());
    let mut count = |name: &str, value| {
        flow.counters
            .insert(name.to_owned(), Field::measured(value));
    };
    count("period_clocks", plan.period_clocks);
    count("bad_fcs_frames", seen.bad_fcs);
    count("damaged_frames", seen.damaged);
    if sent.rate.periods > 0 {
        count("probe_shortest_ticks", sent.rate.shortest);
        count("probe_last_ticks", sent.rate.last);
        count("probe_longest_ticks", sent.rate.longest);
    }
    flow
}

/// What speaks against the figures of a flow.
fn doubts(flow: &FlowPlan, came: &FlowResult) -> Vec<Warning> {
    let (sent, seen) = (&came.sent, &came.seen);
    let (from, to) = (name(flow.from), name(flow.to));
    let mut warnings = Vec::new();
    let mut warn = |code: WarningCode, text: String, way_out: &str| {
        warnings.push(Warning::new(code, text, way_out));
    };
    let report = "do not use these figures; report it";
    for (port, sticky) in [(&from, &sent.sticky), (&to, &seen.sticky)] {
        if !sticky.is_empty() {
            let names: Vec<&str> = sticky.iter().map(|sticky| sticky.name).collect();
            let text = format!("{port}: sticky bits are set: {}", names.join(", "));
            warn(
                WarningCode::STICKY,
                text,
                "docs/blocks/ethernet_port.md says what each of them means",
            );
        }
    }
    if sent.mac_frames != seen.mac_frames {
        let text = format!(
            "{} frames left {from} and {} arrived at {to}, through a cable that loses none",
            sent.mac_frames, seen.mac_frames
        );
        warn(WarningCode::IDENTITY, text, report);
    }
    // The checker counts what is missing in the middle, the sender knows the end.
    let behind = sent.sequences.saturating_sub(seen.next_sequence);
    let distinct = seen.counts.distinct_sequences;
    if seen.counts.lost_frames + behind + distinct != sent.sequences && distinct > 0 {
        let text = format!(
            "{to}: the checker counts {} lost and {distinct} distinct, and {behind} were sent behind these: that is not \
             {}",
            seen.counts.lost_frames, sent.sequences
        );
        warn(WarningCode::IDENTITY, text, report);
    }
    if came.missed_periods > 0 {
        let text = format!(
            "{from}: {} intervals of the probe were not read in time and are not in the series",
            came.missed_periods
        );
        warn(
            WarningCode::PROBE,
            text,
            "shortest, longest and total are of all intervals",
        );
    }
    if seen.counts.reordered_frames > 0 {
        let text = format!("{to}: the checker does not count how far frames were reordered");
        warn(
            WarningCode::REORDERING_EXTENT,
            text,
            "the extent is shown as 0 and means nothing",
        );
    }
    warnings
}

/// Where the MAC found other than the generator made. The checker does not see these frames, so its counts cannot tell.
fn wrong_fcs(asked: &FlowAsked, came: &FlowResult) -> Option<Warning> {
    let injected = asked.ledger.map_or(0, |ledger| ledger.bad_fcs_frames);
    let counted = came.seen.bad_fcs;
    (injected != counted).then(|| {
        let text = format!(
            "{}: bad_fcs_frames: injected {injected}, counted {counted}",
            asked.to
        );
        Warning::new(
            WarningCode::LEDGER,
            text,
            "the path under test added or hid faults of its own",
        )
    })
}

fn status(plan: &Plan, ran: &RunResult) -> Status {
    if ran.cancelled {
        return Status::cancelled();
    }
    if ran.stuck {
        return Status::Partial {
            why: format!(
                "a generator had not sent its {} frames after {} clocks",
                plan.frames, ran.clocks
            ),
        };
    }
    let mut sticky = ran
        .came
        .iter()
        .flat_map(|came| came.sent.sticky.iter().chain(&came.seen.sticky));
    match sticky.find(|sticky| sticky.voids) {
        Some(sticky) => Status::Void {
            why: format!(
                "{} is set: a counter wrapped around, or the MAC was not given a byte in time (see the warnings)",
                sticky.name
            ),
        },
        None => Status::Complete,
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::HdlOptions;
    use super::super::plan;
    use super::super::read::{CheckerReading, Sent, Sticky};
    use super::*;
    use wirelab_trial::{Counts, Direction, Extent, Framing, Load, Size, SizeUnit, Trial};

    const FRAMES: u64 = 10;

    fn plan() -> Plan {
        let trial = Trial::new(
            Framing::default(),
            Direction::Transmit,
            Size::new(SizeUnit::Payload, 66),
            Load::Max,
            Extent::Frames { frames: FRAMES },
        );
        plan::plan(&trial, &HdlOptions::parse("2").unwrap()).unwrap()
    }

    /// A flow of which every frame arrived.
    fn whole() -> FlowResult {
        FlowResult {
            sent: Sent {
                frames: FRAMES,
                sequences: FRAMES,
                mac_frames: FRAMES,
                ..Sent::default()
            },
            seen: CheckerReading {
                counts: Counts {
                    received_frames: FRAMES,
                    good_frames: FRAMES,
                    distinct_sequences: FRAMES,
                    ..Counts::default()
                },
                next_sequence: FRAMES,
                mac_frames: FRAMES,
                ..CheckerReading::default()
            },
            spacing: None,
            missed_periods: 0,
        }
    }

    /// Codes and texts of what speaks against a flow, and what becomes of its trial.
    fn judged(change: impl FnOnce(&mut FlowResult)) -> (Vec<(String, String)>, Status) {
        let (plan, mut came) = (plan(), whole());
        change(&mut came);
        let doubts = doubts(&plan.flows[0], &came).into_iter();
        let doubts = doubts.map(|doubt| (doubt.code, doubt.text)).collect();
        let ran = RunResult {
            came: vec![came],
            cancelled: false,
            stuck: false,
            clocks: 1,
        };
        (doubts, status(&plan, &ran))
    }

    fn told(doubts: &[(String, String)], code: &str, words: &str) {
        let [(found, text)] = doubts else {
            panic!("one doubt, of {code}: {doubts:?}");
        };
        assert_eq!(found, code);
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn a_whole_flow_leaves_no_doubt() {
        assert_eq!(judged(|_| ()), (vec![], Status::Complete));
    }

    #[test]
    fn counts_of_generator_macs_and_checker_that_do_not_add_up_are_told() {
        let (doubts, _) = judged(|came| came.seen.mac_frames -= 1);
        told(&doubts, "identity", "10 frames left port 0 and 9 arrived");
        let (doubts, _) = judged(|came| came.seen.counts.distinct_sequences -= 1);
        told(&doubts, "identity", "0 lost and 9 distinct");
        // What was lost behind the last that came is known by the sequence that the checker waits for.
        let (doubts, _) = judged(|came| {
            came.seen.counts.distinct_sequences -= 3;
            came.seen.counts.lost_frames = 1;
            came.seen.next_sequence -= 2;
        });
        assert_eq!(doubts, []);
    }

    #[test]
    fn a_wrong_fcs_that_nobody_made_and_one_that_nobody_found_are_told() {
        let mut plan = plan();
        let mut came = whole();
        let told = |plan: &Plan, came: &FlowResult| {
            let asked = asked(plan, &plan.flows[0], came);
            wrong_fcs(&asked, came).map(|warning| warning.text)
        };
        assert_eq!(told(&plan, &came), None);
        came.seen.bad_fcs = 1;
        let text = told(&plan, &came).unwrap();
        assert!(text.contains("injected 0, counted 1"), "{text}");
        plan.resolved.trial.faults.bad_fcs = 0.2;
        let plan = plan::plan(&plan.resolved.trial, &HdlOptions::parse("2").unwrap()).unwrap();
        came.sent.injected = 2;
        let text = told(&plan, &came).unwrap();
        assert!(text.contains("injected 2, counted 1"), "{text}");
        came.seen.bad_fcs = 2;
        assert_eq!(told(&plan, &came), None);
    }

    #[test]
    fn intervals_that_were_not_read_and_extents_that_are_not_counted_are_told() {
        let (doubts, status) = judged(|came| came.missed_periods = 3);
        told(&doubts, "probe", "port 0: 3 intervals");
        assert_eq!(status, Status::Complete);
        let (doubts, _) = judged(|came| came.seen.counts.reordered_frames = 1);
        told(&doubts, "reordering-extent", "port 1: ");
    }

    #[test]
    fn what_is_sticky_is_told_and_voids_where_no_figure_can_be_used() {
        let of = |name, voids| Sticky { name, voids };
        let (doubts, status) = judged(|came| came.sent.sticky.push(of("mac.underruns", true)));
        told(
            &doubts,
            "sticky",
            "port 0: sticky bits are set: mac.underruns",
        );
        assert!(
            matches!(&status, Status::Void { why } if why.contains("mac.underruns")),
            "{status:?}"
        );
        let (doubts, status) = judged(|came| {
            came.seen.sticky.extend([
                of("checker.search_overrun", false),
                of("mac.overflow", true),
            ]);
        });
        told(
            &doubts,
            "sticky",
            "port 1: sticky bits are set: checker.search_overrun, mac.overflow",
        );
        assert!(
            matches!(&status, Status::Void { why } if why.contains("mac.overflow")),
            "{status:?}"
        );
        let (doubts, status) =
            judged(|came| came.seen.sticky.push(of("checker.search_overrun", false)));
        told(&doubts, "sticky", "checker.search_overrun");
        assert_eq!(status, Status::Complete);
    }

    #[test]
    fn a_trial_that_did_not_end_by_itself_is_partial() {
        let plan = plan();
        let ran = |cancelled, stuck| RunResult {
            came: vec![whole()],
            cancelled,
            stuck,
            clocks: 7,
        };
        assert_eq!(status(&plan, &ran(true, false)), Status::cancelled());
        let stuck = status(&plan, &ran(false, true));
        assert!(
            matches!(&stuck, Status::Partial { why } if why.contains("10 frames after 7 clocks")),
            "{stuck:?}"
        );
    }
}
