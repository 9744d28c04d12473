//! From the values of registers to an observation, every figure with its unit or its reason.

use std::collections::BTreeMap;

use wirelab_trial::job::{self, CheckReport, FlowRequest, SendReport};
use wirelab_trial::{
    ClockKind, Description, Elapsed, Field, FlowObservation, Histogram, Observation, Spans, Status,
    TesterObservation, Warning, WarningCode,
};

use super::plan::{FlowPlan, HdlTrial};
use super::run::{FlowResult, RunResult};
use crate::CLOCK_PS;

/// ns for each tick of the probe.
const PROBE_NS: u64 = 10;

/// The observation of a trial.
pub fn observation(
    plan: &HdlTrial,
    node: Description,
    result: RunResult,
    started_unix_ns: u64,
) -> Observation {
    let mut warnings = Vec::new();
    let mut sent = Vec::new();
    let flows = plan.flows.iter().zip(&result.flows).map(|(flow, result)| {
        let request = request(plan, flow, result);
        let (sent_flow, check) = (sent_report(result), check_report(result));
        warnings.extend(job::flow_warnings(&request, &sent_flow, &check));
        warnings.extend(doubts(flow, result));
        warnings.extend(wrong_fcs(&request, result));
        let observed = observed(
            plan,
            result,
            job::flow_observation(&request, &sent_flow, check),
        );
        sent.push(sent_flow);
        observed
    });
    let flows: Vec<FlowObservation> = flows.collect();
    warnings.extend(job::below_rate(plan.resolved.frames_per_s, &sent));
    Observation {
        trial: plan.resolved.trial.clone(),
        sizes: plan.resolved.sizes,
        node,
        status: status(plan, &result),
        started_unix_ns: Field::measured(started_unix_ns),
        flows,
        cpu_load: Field::absent("generator and checker are hardware: no CPU takes part"),
        busy_over_time: Vec::new(),
        series: Vec::new(),
        counters: BTreeMap::from([(
            "simulated_clocks".to_owned(),
            Field::measured(result.clocks),
        )]),
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

fn request(plan: &HdlTrial, flow: &FlowPlan, result: &FlowResult) -> FlowRequest {
    let own = match flow.direction {
        wirelab_trial::Direction::Receive => flow.to,
        _ => flow.from,
    };
    FlowRequest {
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
            .map(|fault| fault.ledger(result.sent.sequences, result.sent.injected)),
    }
}

/// The sender's report; its time is that of the probe at the MAC's input, exact to a tick.
fn sent_report(result: &FlowResult) -> SendReport {
    let rate = &result.sent.rate;
    SendReport {
        emitted_frames: result.sent.frames,
        sequences: result.sent.sequences,
        first_ns: 0,
        last_ns: rate.total * PROBE_NS,
        gap: result
            .spacing
            .as_ref()
            .map_or_else(Histogram::default, |spacing| spacing.histogram.clone()),
        ..SendReport::default()
    }
}

/// The checker's report. Its own count of losses is left out, because only the sender knows what was sent after the
/// last received frame.
fn check_report(result: &FlowResult) -> CheckReport {
    let mut counts = result.checker.counts;
    counts.lost_frames = 0;
    let frames = counts.received_frames;
    let times = result.checker.times_ns.filter(|_| frames > 0);
    CheckReport {
        counts,
        first: times.map(|(first, _)| (first, 0)),
        last: times.map(|(_, last)| (last, frames - 1)),
        ..CheckReport::default()
    }
}

/// Further figures of the flow from registers.
fn observed(plan: &HdlTrial, result: &FlowResult, mut flow: FlowObservation) -> FlowObservation {
    let (sent, checker) = (&result.sent, &result.checker);
    let frames = checker.counts.received_frames;
    let times = checker
        .times_ns
        .filter(|(first, last)| frames > 1 && last > first);
    if let Some((first, last)) = times {
        // Integers, because simulated time is exact.
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
    flow.series.extend(result.spacing.clone());
    let mut count = |name: &str, value| {
        flow.counters
            .insert(name.to_owned(), Field::measured(value));
    };
    count("period_clocks", plan.period_clocks);
    count("bad_fcs_frames", checker.bad_fcs);
    count("damaged_frames", checker.damaged);
    if sent.rate.periods > 0 {
        count("probe_shortest_ticks", sent.rate.shortest);
        count("probe_last_ticks", sent.rate.last);
        count("probe_longest_ticks", sent.rate.longest);
    }
    flow
}

/// Reasons to doubt the figures of a flow.
fn doubts(flow: &FlowPlan, result: &FlowResult) -> Vec<Warning> {
    let (sent, checker) = (&result.sent, &result.checker);
    let (from, to) = (name(flow.from), name(flow.to));
    let mut warnings = Vec::new();
    let mut warn = |code: WarningCode, text: String, fix: &str| {
        warnings.push(Warning::new(code, text, fix));
    };
    let report = "do not use these figures; report it";
    for (port, sticky) in [(&from, &sent.sticky), (&to, &checker.sticky)] {
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
    if sent.mac_frames != checker.mac_frames {
        let text = format!(
            "{} frames left {from} and {} arrived at {to}, through a cable that loses none",
            sent.mac_frames, checker.mac_frames
        );
        warn(WarningCode::IDENTITY, text, report);
    }
    // The checker counts what is missing in the middle, the sender knows the end.
    let behind = sent.sequences.saturating_sub(checker.next_sequence);
    let distinct = checker.counts.distinct_sequences;
    if checker.counts.lost_frames + behind + distinct != sent.sequences && distinct > 0 {
        let text = format!(
            "{to}: the checker counts {} lost and {distinct} distinct, and {behind} were sent after these: that is not \
             {}",
            checker.counts.lost_frames, sent.sequences
        );
        warn(WarningCode::IDENTITY, text, report);
    }
    if result.missed_periods > 0 {
        let text = format!(
            "{from}: {} intervals of the probe were not read in time and are not in the series",
            result.missed_periods
        );
        warn(
            WarningCode::PROBE,
            text,
            "shortest, longest and total are of all intervals",
        );
    }
    if checker.counts.reordered_frames > 0 {
        let text = format!("{to}: the checker does not count how far frames were reordered");
        warn(
            WarningCode::REORDERING_EXTENT,
            text,
            "the extent is shown as 0; ignore it",
        );
    }
    warnings
}

/// Whether the MAC found another number of faults than the generator made. The checker does not see these frames, so
/// it cannot count them.
fn wrong_fcs(request: &FlowRequest, result: &FlowResult) -> Option<Warning> {
    let injected = request.ledger.map_or(0, |ledger| ledger.bad_fcs_frames);
    let counted = result.checker.bad_fcs;
    (injected != counted).then(|| {
        let text = format!(
            "{}: bad_fcs_frames: injected {injected}, counted {counted}",
            request.to
        );
        Warning::new(
            WarningCode::LEDGER,
            text,
            "the path under test added or hid faults of its own",
        )
    })
}

fn status(plan: &HdlTrial, result: &RunResult) -> Status {
    if result.cancelled {
        return Status::cancelled();
    }
    if result.stuck {
        return Status::Partial {
            why: format!(
                "a generator did not send its {} frames within {} clocks",
                plan.frames, result.clocks
            ),
        };
    }
    let mut sticky = result
        .flows
        .iter()
        .flat_map(|result| result.sent.sticky.iter().chain(&result.checker.sticky));
    match sticky.find(|sticky| sticky.voids) {
        Some(sticky) => Status::Void {
            why: format!(
                "{} is set: a counter wrapped around, or the MAC did not get a byte in time (see the warnings)",
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

    fn plan() -> HdlTrial {
        let trial = Trial::new(
            Framing::default(),
            Direction::Transmit,
            Size::new(SizeUnit::Payload, 66),
            Load::Max,
            Extent::Frames { frames: FRAMES },
        );
        plan::plan(&trial, &HdlOptions::parse("2").unwrap()).unwrap()
    }

    /// A flow in which every frame arrived.
    fn whole() -> FlowResult {
        FlowResult {
            sent: Sent {
                frames: FRAMES,
                sequences: FRAMES,
                mac_frames: FRAMES,
                ..Sent::default()
            },
            checker: CheckerReading {
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

    /// Codes and texts of the warnings of a flow, and its trial's status.
    fn judged(change: impl FnOnce(&mut FlowResult)) -> (Vec<(String, String)>, Status) {
        let (plan, mut result) = (plan(), whole());
        change(&mut result);
        let doubts = doubts(&plan.flows[0], &result).into_iter();
        let doubts = doubts.map(|doubt| (doubt.code, doubt.text)).collect();
        let result = RunResult {
            flows: vec![result],
            cancelled: false,
            stuck: false,
            clocks: 1,
        };
        (doubts, status(&plan, &result))
    }

    fn assert_warned(doubts: &[(String, String)], code: &str, words: &str) {
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
    fn counts_of_generator_macs_and_checker_that_do_not_add_up_are_reported() {
        let (doubts, _) = judged(|result| result.checker.mac_frames -= 1);
        assert_warned(&doubts, "identity", "10 frames left port 0 and 9 arrived");
        let (doubts, _) = judged(|result| result.checker.counts.distinct_sequences -= 1);
        assert_warned(&doubts, "identity", "0 lost and 9 distinct");
        // The sequence that the checker expects shows losses after the last received frame.
        let (doubts, _) = judged(|result| {
            result.checker.counts.distinct_sequences -= 3;
            result.checker.counts.lost_frames = 1;
            result.checker.next_sequence -= 2;
        });
        assert_eq!(doubts, []);
    }

    #[test]
    fn a_wrong_fcs_that_was_not_made_and_one_that_was_not_found_are_reported() {
        let mut plan = plan();
        let mut result = whole();
        let warning_text = |plan: &HdlTrial, result: &FlowResult| {
            let request = request(plan, &plan.flows[0], result);
            wrong_fcs(&request, result).map(|warning| warning.text)
        };
        assert_eq!(warning_text(&plan, &result), None);
        result.checker.bad_fcs = 1;
        let text = warning_text(&plan, &result).unwrap();
        assert!(text.contains("injected 0, counted 1"), "{text}");
        plan.resolved.trial.faults.bad_fcs = 0.2;
        let plan = plan::plan(&plan.resolved.trial, &HdlOptions::parse("2").unwrap()).unwrap();
        result.sent.injected = 2;
        let text = warning_text(&plan, &result).unwrap();
        assert!(text.contains("injected 2, counted 1"), "{text}");
        result.checker.bad_fcs = 2;
        assert_eq!(warning_text(&plan, &result), None);
    }

    #[test]
    fn intervals_that_were_not_read_and_extents_that_are_not_counted_are_reported() {
        let (doubts, status) = judged(|result| result.missed_periods = 3);
        assert_warned(&doubts, "probe", "port 0: 3 intervals");
        assert_eq!(status, Status::Complete);
        let (doubts, _) = judged(|result| result.checker.counts.reordered_frames = 1);
        assert_warned(&doubts, "reordering-extent", "port 1: ");
    }

    #[test]
    fn what_is_sticky_is_reported_and_voids_where_no_figure_can_be_used() {
        let of = |name, voids| Sticky { name, voids };
        let (doubts, status) = judged(|result| result.sent.sticky.push(of("mac.underruns", true)));
        assert_warned(
            &doubts,
            "sticky",
            "port 0: sticky bits are set: mac.underruns",
        );
        assert!(
            matches!(&status, Status::Void { why } if why.contains("mac.underruns")),
            "{status:?}"
        );
        let (doubts, status) = judged(|result| {
            result.checker.sticky.extend([
                of("checker.search_overrun", false),
                of("mac.overflow", true),
            ]);
        });
        assert_warned(
            &doubts,
            "sticky",
            "port 1: sticky bits are set: checker.search_overrun, mac.overflow",
        );
        assert!(
            matches!(&status, Status::Void { why } if why.contains("mac.overflow")),
            "{status:?}"
        );
        let (doubts, status) = judged(|result| {
            result
                .checker
                .sticky
                .push(of("checker.search_overrun", false))
        });
        assert_warned(&doubts, "sticky", "checker.search_overrun");
        assert_eq!(status, Status::Complete);
    }

    #[test]
    fn a_trial_that_was_ended_is_partial() {
        let plan = plan();
        let result = |cancelled, stuck| RunResult {
            flows: vec![whole()],
            cancelled,
            stuck,
            clocks: 7,
        };
        assert_eq!(status(&plan, &result(true, false)), Status::cancelled());
        let stuck = status(&plan, &result(false, true));
        assert!(
            matches!(&stuck, Status::Partial { why } if why.contains("10 frames within 7 clocks")),
            "{stuck:?}"
        );
    }
}
