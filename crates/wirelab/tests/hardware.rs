//! Ports of hardware in simulation, as a user asks for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::common::{json, refused, scratch, stderr, stdout, wirelab};
use serde_json::Value;
use wirelab_hdl::{HdlNode, HdlOptions};
use wirelab_study::library;
use wirelab_study::run::{NodeSource, run};
use wirelab_trial::{Cancel, Description, Node, NodeError, Observation, Progress, Trial};

fn figure<'a>(figures: &'a Value, row: &str, metric: &str) -> &'a Value {
    let all = figures.as_array().expect("a list of figures");
    let found = all
        .iter()
        .find(|f| f["row"] == row && f["metric"] == metric);
    found.unwrap_or_else(|| panic!("{row} has {metric}"))
}

#[test]
fn four_ports_are_full_duplex_unless_asked_otherwise_and_their_frames_can_be_judged() {
    let capture = scratch("hdl.pcapng");
    let path = capture.to_str().expect("a path of letters");
    let asked = [
        "measure",
        "hdl:4",
        "--payload",
        "66",
        "--load",
        "max",
        "--frames",
        "50",
        "--json",
        "--capture",
    ];
    let results = json(&[&asked[..], &[path]].concat());
    let observation = &results["observations"][0];
    assert_eq!(observation["trial"]["direction"], "both");
    assert_eq!(observation["trial"]["ports"], 4);
    assert_eq!(observation["node"]["kind"], "hdl");
    assert_eq!(observation["tester"]["was_limit"]["value"], false);
    let flows = observation["flows"].as_array().expect("a list of flows");
    assert_eq!(flows.len(), 4);
    for flow in flows {
        assert_eq!(flow["counts"]["value"]["good_frames"], 50);
        assert_eq!(flow["elapsed"]["value"]["clock"], "simulated");
        let efficiency = flow["efficiency"]["value"].as_f64().expect("a share");
        assert!((efficiency - 66.0 / 104.0).abs() < 1e-12, "{efficiency}");
    }
    let judged = wirelab(&["verify", path]);
    assert!(judged.status.success(), "{}", stderr(&judged));
    let _ = std::fs::remove_file(capture);
}

#[test]
fn the_ethernet_fmc_is_published_predicted_and_measured_side_by_side() {
    let figures = json(&["study", "run", "ethernet-fmc", "--node", "hdl:4", "--json"]);
    for (row, payload) in [
        ("66 B", 66.0),
        ("438 B", 438.0),
        ("810 B", 810.0),
        ("1182 B", 1182.0),
        ("1498 B", 1498.0),
    ] {
        let efficiency = figure(&figures, row, "efficiency");
        let limit = 100.0 * payload / (payload + 38.0);
        for (value, kind) in [
            (&efficiency["value"], &efficiency["kind"]),
            (&efficiency["model"]["value"], &efficiency["model"]["kind"]),
        ] {
            let value = value.as_f64().unwrap_or_else(|| panic!("{efficiency}"));
            assert!((value - limit).abs() < 1e-6, "{row}: {value}, {kind}");
        }
        assert_eq!(efficiency["kind"], "measured");
        assert_eq!(efficiency["model"]["kind"], "predicted");
    }
    // A single interval of 83 clocks of 10 ns prints more than the link carries.
    let single = figure(&figures, "66 B, one interval", "interval_efficiency");
    let value = single["value"].as_f64().expect("a share");
    assert!((value - 100.0 * 528.0 / 830.0).abs() < 1e-6, "{single}");
    assert!(value > 100.0 * 66.0 / 104.0);
}

/// Four ports that keep the result of each trial.
struct Watched {
    node: HdlNode,
    seen: Arc<Mutex<Vec<Observation>>>,
}

impl Node for Watched {
    fn describe(&self) -> Description {
        self.node.describe()
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let came = self.node.run(trial, progress, cancel)?;
        self.seen
            .lock()
            .expect("nobody panicked")
            .push(came.clone());
        Ok(came)
    }
}

#[derive(Default)]
struct Watch(Arc<Mutex<Vec<Observation>>>);

impl NodeSource for Watch {
    fn node(&mut self, name: &str, _: &BTreeMap<String, String>) -> Result<Box<dyn Node>, String> {
        let options = HdlOptions::parse("4").map_err(|e| e.to_string())?;
        let node = HdlNode::start(name, options).map_err(|error| error.to_string())?;
        let seen = Arc::clone(&self.0);
        Ok(Box::new(Watched { node, seen }))
    }
}

#[test]
fn the_reason_that_the_study_gives_is_what_the_probe_saw_in_the_same_run() {
    let study = library::open("ethernet-fmc").expect("it comes with the tool");
    let mut watch = Watch::default();
    let ran = run(&study, Some("hdl:4"), &mut watch, &(), &Cancel::new()).expect("it runs");
    let mut figures = ran.rows.iter();
    let single = figures.find(|figure| figure.row == "66 B, one interval");
    let reason = single.and_then(|figure| figure.reason.as_deref());
    let reason = reason.expect("it says why");
    let named = reason.split("counts whole ones: ").nth(1);
    let named = named.and_then(|words| words.split('.').next());
    let named: BTreeSet<u64> = named
        .expect("it names the ticks")
        .split(" or ")
        .map(|ticks| ticks.parse().expect("a number"))
        .collect();
    let seen = watch.0.lock().expect("nobody panicked");
    let short = seen.iter().filter(|came| came.sizes.payload == 66);
    let flows: Vec<_> = short.flat_map(|came| &came.flows).collect();
    assert_eq!(flows.len(), 4);
    for flow in flows {
        let ticks = &flow.series[0].raw_ticks;
        assert_eq!(flow.series[0].name, "spacing: AXI4-Stream input");
        assert_eq!(ticks.iter().copied().collect::<BTreeSet<u64>>(), named);
        // 83.2 on average, to a tick of the sum.
        let mean = ticks.iter().sum::<u64>() as f64 / ticks.len() as f64;
        assert!((mean - 83.2).abs() < 1.0 / ticks.len() as f64, "{mean}");
    }
}

#[test]
fn a_study_of_which_a_node_can_be_asked_no_row_is_refused() {
    for asked in [&["ethernet-fmc"][..], &["ethernet-fmc", "--json"]] {
        let asked = [&["study", "run", "--node", "hdl:2"], asked].concat();
        let output = wirelab(&asked);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("ethernet-fmc: hdl:2 supports none of the rows"),
            "{told}"
        );
        assert!(
            told.contains("4 requested, and the bench has 2; fix: choose 1 to 2 ports"),
            "{told}"
        );
        assert_eq!(stdout(&output), "", "no table without a value");
    }
}

#[test]
fn what_cannot_be_asked_says_what_can() {
    refused(&["measure", "hdl:5"], "hdl:5,loopback");
    refused(&["measure", "hdl:four"], "write hdl:N");
    for (option, words) in [
        (&["--layer", "udp6"][..], "request ethernet or udp4"),
        (
            &["--direction", "echo"],
            "request transmit, receive or both",
        ),
        (&["--rate", "100M"], "leave --rate out"),
        (&["--ports", "3"], "the bench has 2"),
        (&["--time", "60s"], "frames or fewer"),
    ] {
        refused(
            &[&["measure", "hdl:2", "--no-ceiling"], option].concat(),
            words,
        );
    }
}
