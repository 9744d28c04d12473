//! The C drivers of `firmware/drivers` on a port in simulation: their examples, and what these do not cover.

mod ffi;

use ffi::{examples, run, tests};
use wirelab_hdl::Bench;
use wirelab_hdl::registers as reg;

fn loopback() -> Option<Bench> {
    Some(Bench::new(1, &[(0, 0)]).unwrap())
}

/// Runs a C test on a port, and returns the port.
fn pass(name: &str) -> Bench {
    let (line, bench) = run(tests::ALL, name, loopback());
    assert_eq!(
        line, 0,
        "{name}: firmware/drivers/tests/driver_tests.c:{line}"
    );
    bench.unwrap()
}

#[test]
fn every_example_does_what_it_says() {
    for (name, _) in examples::ALL {
        let (good, bench) = run(examples::ALL, name, loopback());
        assert!(good, "{name}");
        // Its result is true: frames were on the line.
        assert!(bench.unwrap().read(0, reg::MAC_SENT).unwrap() > 0, "{name}");
    }
}

#[test]
fn the_pages_of_the_blocks_show_lines_of_the_examples() {
    let tree = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (page, example) in [
        ("packet_generator", "example_generator"),
        ("packet_checker", "example_checker"),
        ("capture_unit", "example_capture_unit"),
        ("packet_identifier", "example_packet_identifier"),
        ("rate_meter", "example_rate_meter"),
        ("mac_rx", "example_port_mac"),
    ] {
        let text = std::fs::read_to_string(tree.join(format!("docs/blocks/{page}.md"))).unwrap();
        let source = tree.join(format!("firmware/drivers/examples/{example}.c"));
        let source = std::fs::read_to_string(source).unwrap();
        let (_, shown) = text.split_once("```c\n").expect(page);
        let (shown, _) = shown.split_once("```").expect(page);
        assert!(shown.lines().count() >= 3, "{page}");
        for line in shown.lines() {
            let found = source.lines().any(|it| it.trim() == line.trim());
            assert!(
                found,
                "docs/blocks/{page}.md shows a line that {example}.c has not: {line}"
            );
        }
    }
}

#[test]
fn a_port_is_known_and_its_clock_set() {
    let mut bench = pass("test_port");
    assert_eq!(bench.read(0, reg::CLOCK_STEP).unwrap(), 10);
}

#[test]
fn each_setting_of_the_generator_is_in_its_register() {
    let mut bench = pass("test_generator_writes_all_it_is_told");
    let control = reg::GENERATOR_CONTROL_ENABLE.of(1)
        | reg::GENERATOR_CONTROL_UDP_MODE.of(1)
        | reg::GENERATOR_CONTROL_VLAN_ENABLE.of(1)
        | reg::GENERATOR_CONTROL_TIME_VALID.of(1)
        | reg::GENERATOR_CONTROL_FAULT_KIND.of(7);
    for (register, expected) in [
        (reg::GENERATOR_CONTROL, control),
        (reg::GENERATOR_DESTINATION, 0x0304_0506),
        (reg::GENERATOR_DESTINATION + 4, 0x0102),
        (reg::GENERATOR_SOURCE, 0x1314_1516),
        (reg::GENERATOR_SOURCE + 4, 0x1112),
        (reg::GENERATOR_PAYLOAD_BYTES, 8982),
        (reg::GENERATOR_GAP_CYCLES, 0xAB_CDEF),
        (reg::GENERATOR_FRAME_COUNT, 0xDEAD_BEEF),
        (reg::GENERATOR_FLOW, 0x005A_E123),
        (reg::GENERATOR_IPV4_SOURCE, 0x0A37_0001),
        (reg::GENERATOR_IPV4_DESTINATION, 0x0A37_0002),
        (reg::GENERATOR_UDP_PORTS, 1234 << 16 | 5678),
        (reg::GENERATOR_FAULT_EVERY, 0x8765_4321),
        (reg::GENERATOR_FAULT_INTERVAL, 0x7FFF_FFFF),
        (reg::GENERATOR_FAULT_POSITION, 0x1_FFFF),
        (reg::GENERATOR_FAULT_CUT, 0x3FFF),
    ] {
        assert_eq!(
            bench.read(0, register).unwrap(),
            expected,
            "register 0x{register:03X}"
        );
    }
}

#[test]
fn the_generator_is_not_given_what_it_cannot_do() {
    pass("test_generator_refuses");
}

#[test]
fn a_run_without_end_is_stopped_and_its_counts_agree_with_the_checker() {
    pass("test_generator_goes_on_until_it_is_stopped");
}

#[test]
fn each_setting_of_the_checker_is_in_its_register() {
    let mut bench = pass("test_checker_forgets");
    for (register, expected) in [
        (reg::CHECKER_CONTROL, 0b1101),
        (reg::CHECKER_FLOW, 0x00A5_BEEF),
        (reg::CHECKER_SOURCE, 0x2324_2526),
        (reg::CHECKER_SOURCE + 4, 0x2122),
    ] {
        assert_eq!(
            bench.read(0, register).unwrap(),
            expected,
            "register 0x{register:03X}"
        );
    }
}

#[test]
fn slots_of_a_flow_that_repeats_are_followed() {
    let mut bench = pass("test_checker_follows_slots");
    assert_eq!(bench.read(0, reg::CHECKER_SLOTS).unwrap(), 5);
}

#[test]
fn marks_of_software_are_edges() {
    let mut bench = pass("test_capture_unit_edges");
    // The edges of the last start.
    let control = reg::CAPTURE_CONTROL_ENABLE.of(1)
        | reg::CAPTURE_CONTROL_START.of(4)
        | reg::CAPTURE_CONTROL_STOP.of(1);
    assert_eq!(bench.read(0, reg::CAPTURE_CONTROL).unwrap(), control);
}

#[test]
fn each_setting_of_the_identifier_is_in_its_register() {
    let mut bench = pass("test_identifier_writes_all_it_is_told");
    for (register, expected) in [
        (reg::IDENTIFIER_OWN, 0x3334_3536),
        (reg::IDENTIFIER_OWN + 4, 0x3132),
        (reg::IDENTIFIER_ADDRESS_ENABLE, 0b11),
        (reg::IDENTIFIER_ADDRESS0_WORD0, 0x0A37_0002),
        (reg::IDENTIFIER_ADDRESS0_WORD1, 0xFFFF),
        (reg::IDENTIFIER_ADDRESS0_WORD2, 0),
        (reg::IDENTIFIER_ADDRESS1_WORD0, 2),
        (reg::IDENTIFIER_ADDRESS1_WORD2, 0x55),
        (reg::IDENTIFIER_ADDRESS1_WORD3, 0xFD00_0000),
        (reg::IDENTIFIER_RULE2_WHAT, 0x9_051F),
        (reg::IDENTIFIER_RULE2_VALUES, 0x11_86DD),
        (reg::IDENTIFIER_RULE3_WHAT, 0),
        (reg::IDENTIFIER_UDP_PORT3, 0xFFFE_0402),
    ] {
        assert_eq!(
            bench.read(0, register).unwrap(),
            expected,
            "register 0x{register:03X}"
        );
    }
}

#[test]
fn each_count_is_read_from_its_place() {
    // Without a port each register reads as its own address.
    let (line, _) = run(tests::ALL, "test_counts_are_read_from_their_places", None);
    assert_eq!(line, 0, "firmware/drivers/tests/driver_tests.c:{line}");
}
