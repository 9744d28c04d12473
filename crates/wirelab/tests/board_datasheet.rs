//! The whole datasheet of an emulated board: every section of the page has figures that were measured, with CPU load, and
//! the distribution's iperf 2 has its say.

use crate::board_common::{can_run, can_tap, skip};
use crate::common::{scratch, stderr, stdout, wirelab};

#[test]
fn the_page_of_the_zynq_board_is_filled() {
    if !can_run("zynq7000") || !can_tap() {
        return;
    }
    let path = scratch("board-datasheet.json");
    let path = path.to_str().unwrap();
    let output = wirelab(&[
        "measure",
        "board:zynq7000",
        "--quick",
        "--no-ceiling",
        "-o",
        path,
    ]);
    let page = stdout(&output);
    assert!(!page.is_empty(), "{}", stderr(&output));
    let text = std::fs::read_to_string(path).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    for part in [
        "Layer 2 Transmission",
        "Layer 2 Reception",
        "Processing Core              Arm Cortex-A9",
        "TCP/IP stack                 lwIP",
        "TCP Bidirectional",
        "UDP RX (Max)",
        "UDP TX (Max)",
        "Round trip",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let observations = results["observations"].as_array().unwrap();
    let of = |layer: &str, direction: &str| {
        let mut all = observations.iter();
        all.find(|o| {
            let trial = &o["trial"];
            let same = trial["framing"]["layer"] == layer && trial["direction"] == direction;
            same && o["cpu_load"]["value"]["busy_ratio"].is_number()
        })
    };
    for layer in ["ethernet", "tcp_ipv4", "udp_ipv4"] {
        for direction in ["receive", "transmit"] {
            // Where other work held the tester up in every attempt there is no figure, and that is said.
            let held_up = observations.iter().any(|o| {
                let trial = &o["trial"];
                trial["framing"]["layer"] == layer
                    && trial["direction"] == direction
                    && o["why"].as_str().is_some_and(|why| why.contains("held up"))
            });
            assert!(
                of(layer, direction).is_some() || held_up,
                "{layer} {direction}: no CPU load: {page}"
            );
        }
    }
    // What arrived is intact, whatever a busy host loses.
    for counts in observations
        .iter()
        .flat_map(|o| o["flows"].as_array().unwrap())
    {
        let counts = &counts["counts"]["value"];
        assert_eq!(counts["good_frames"], counts["received_frames"], "{counts}");
    }
    if wirelab_remote::opinion::version().is_none() {
        skip("iperf", "the distribution's iperf 2 is not installed");
        return;
    }
    let told = |code: &str| {
        let warnings = observations
            .iter()
            .flat_map(|o| o["warnings"].as_array().unwrap());
        warnings.filter(|w| w["code"] == code).count()
    };
    // Whether they agree depends on what else the host does; that both were tried does not.
    assert_eq!(told("no-second-opinion"), 0, "{page}");
    assert!(
        told("second-opinion") + told("second-opinion-differs") >= 1,
        "{page}"
    );
}
