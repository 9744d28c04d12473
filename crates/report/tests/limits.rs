//! The head of a page says for each figure what limited it: the wire, the node's CPU, the tester, or why that is not known.

use crate::common::{file, flow, observation, page, trial};
use wirelab_report::Format;
use wirelab_trial::{CpuLoad, Direction, Field, Load, Observation};
use wirelab_wire::LineRate;

const LINK: u64 = 100_000_000;

/// A trial at maximum load with this share of the link, where it has one, and this CPU load.
fn at(link: Option<u64>, share: f64, busy: Option<f64>, tester: Option<bool>) -> Observation {
    let asked = trial(1498, Direction::Receive, 1, link);
    let mut o = observation(asked, "node:192.0.2.7", "node");
    let fps = LineRate::new(LINK).unwrap().frames_per_s(&o.sizes) * share;
    let flow = flow("eth0", Direction::Receive, &o.sizes, fps, link);
    o.flows.push(flow);
    if let Some(busy_ratio) = busy {
        o.cpu_load = Field::measured(CpuLoad {
            busy_ratio,
            idle_baseline_ratio: None,
            shared: false,
            interval: None,
        });
    }
    o.tester.was_limit = Field::measured_or(tester, "not requested (--no-ceiling)");
    o
}

/// A text shows the same in its head and in the table of all rates.
#[test]
fn a_text_names_the_limits_in_its_head_and_beside_each_rate() {
    let mut o = at(Some(LINK), 0.5, Some(0.99), Some(false));
    o.trial.direction = Direction::Receive;
    let unknown = at(Some(LINK), 0.4, None, None);
    let file = file(vec![o, unknown]);
    for format in [Format::Datasheet, Format::DatasheetMarkdown] {
        let all = page::text(&file, format);
        for words in [
            "Of 2 rates, the CPU limited 1, what limited 1 is not known.",
            "limited by the CPU: it works 99",
            "the CPU",
            "not known, because the wire had reserves; the node reports no CPU load; the tester's ceiling was not measured",
        ] {
            let told = all.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(told.contains(words), "{format:?} {words}: {all}");
        }
    }
}

/// What the head says of the highest data rate.
fn limit(o: Observation) -> String {
    let html = page::text(&file(vec![o]), Format::Html);
    let head = html.split("Highest data rate").nth(1).expect("a rate");
    let limit = head.split("<span class=\"limit\">").nth(1).unwrap();
    limit.split("</span>").next().unwrap().to_owned()
}

#[test]
fn each_limit_is_named_at_its_threshold() {
    let (link, no) = (Some(LINK), Some(false));
    for (o, words) in [
        (at(link, 0.981, Some(0.5), no), "limited by the wire: 98.1"),
        (
            at(link, 0.979, Some(0.5), no),
            "not known, because the link carries 97.9",
        ),
        (
            at(link, 0.5, Some(0.95), no),
            "limited by the CPU: it works 95",
        ),
        (at(link, 0.5, Some(0.949), no), "the CPU works 94.9"),
        (
            at(link, 0.99, Some(0.99), Some(true)),
            "limited by the tester",
        ),
    ] {
        let told = limit(o);
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn a_node_that_spins_is_not_limited_by_its_cpu_where_all_that_was_asked_came() {
    let asked = |lost: u64| {
        let mut o = at(Some(LINK), 0.1, Some(1.0), Some(false));
        let fps = *o.flows[0].frames_per_s.value().unwrap();
        o.trial.load = Load::FrameRate { frames_per_s: fps };
        if let Field::Observed { value, .. } = &mut o.flows[0].sender {
            value.asked_frames_per_s = Field::measured(fps);
            value.achieved_frames_per_s = Field::measured(fps);
        }
        let sent = *o.flows[0].sent_frames.value().unwrap();
        o.flows[0].loss_ratio = Field::measured(lost as f64 / sent as f64);
        if let Field::Observed { value, .. } = &mut o.flows[0].counts {
            value.lost_frames = lost;
        }
        limit(o)
    };
    assert_eq!(asked(0), "▷ limited by the load: no more was requested");
    assert!(asked(5).contains("limited by the CPU"), "{}", asked(5));
}

#[test]
fn what_is_not_known_says_why() {
    for (o, words) in [
        (
            at(None, 0.5, None, Some(false)),
            "not known, because the link's rate is unknown (fix: give --rate); the node reports no CPU load; the tester can do more",
        ),
        (
            at(Some(LINK), 0.5, Some(0.25), None),
            "the tester's ceiling was not measured (not requested (--no-ceiling))",
        ),
    ] {
        let told = limit(o);
        assert!(
            told.contains(words) || told.contains(&words.replace('\'', "&#39;")),
            "{words}: {told}"
        );
    }
}
