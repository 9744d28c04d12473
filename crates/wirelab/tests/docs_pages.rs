//! Every command that a page of the documentation shows is run as it is written; `docs.rs` runs those of the README.

use crate::typed::typed;

#[test]
fn the_pages_on_peers_are_run() {
    for name in ["docs/iperf.md", "docs/node.md", "docs/latency.md"] {
        typed(name);
    }
}

#[test]
fn the_page_on_the_datasheet_is_run() {
    typed("docs/datasheet.md");
}

#[test]
fn the_page_on_consoles_is_run() {
    typed("docs/console.md");
}

#[test]
fn the_pages_on_plans_and_reports_are_run() {
    for name in ["docs/plans.md", "docs/report.md"] {
        typed(name);
    }
}

#[test]
fn the_pages_on_boards_are_run() {
    for name in [
        "docs/board.md",
        "docs/board-lpc1768.md",
        "docs/real-lpc1768.md",
    ] {
        typed(name);
    }
}

#[test]
fn the_pages_on_ports_are_run() {
    for name in [
        "docs/by-hand.md",
        "docs/captures.md",
        "docs/lab.md",
        "docs/search.md",
    ] {
        typed(name);
    }
}

#[test]
fn the_pages_on_stages_are_run() {
    for name in [
        "docs/any-firmware.md",
        "docs/stages.md",
        "docs/fast-track.md",
        "docs/fit.md",
    ] {
        typed(name);
    }
}

#[test]
fn the_pages_on_hardware_are_run() {
    for name in ["docs/hdl.md", "docs/reference-node.md"] {
        typed(name);
    }
}

#[test]
fn the_pages_on_models_and_studies_are_run() {
    for name in [
        "docs/explain.md",
        "docs/whatif.md",
        "docs/compare.md",
        "docs/store.md",
        "docs/serve.md",
        "docs/studies.md",
        "docs/nodes/am263x.md",
        "docs/nodes/esp32-nuttx.md",
        "docs/nodes/ethernet-fmc.md",
        "docs/nodes/lpc1768.md",
        "docs/nodes/reference.md",
        "docs/nodes/zynq-emaclite.md",
        "docs/nodes/zynq-gem.md",
        "docs/nodes/zynq-temac.md",
    ] {
        typed(name);
    }
}
