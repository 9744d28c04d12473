//! A CPU that is full shows an upper bound of its costs, and no idle load; what a fit used is in the node file.

use crate::fit_support::{ObservationSpec, fitted, off, parameter};
use wirelab_model::file::NodeFile;
use wirelab_trial::{Direction, Layer, Load};

/// A node that sends with a full CPU: 10 us and 5 ns a byte for a frame.
fn full() -> Vec<ObservationSpec> {
    let row = |bytes: u32| {
        let per_s = 1.0 / (10e-6 + 5e-9 * f64::from(bytes));
        ObservationSpec::new(Layer::UdpIpv4, Direction::Transmit, bytes, per_s).busy(Load::Max, 1.0)
    };
    [64, 256, 512, 1024, 1470].map(row).to_vec()
}

#[test]
fn a_full_cpu_bounds_the_cost_and_leaves_the_idle_load_open() {
    let fit = fitted(&full());
    let idle = parameter(&fit, "udp4-transmit-idle");
    let range = idle.interval.expect("a range");
    assert_eq!((idle.value, range.low, range.high), (0.0, 0.0, 100.0));
    assert!(
        idle.how.contains("idle load is not known: 0 to 100 %"),
        "{idle:?}"
    );
    assert!(off(parameter(&fit, "udp4-transmit-cpu-packet").value, 10_000.0) < 0.01);
    assert!(
        fit.node_toml.contains("the idle load is not known"),
        "{}",
        fit.node_toml
    );
}

#[test]
fn a_row_with_time_left_bounds_the_idle_load() {
    let mut rows = full();
    let calm = ObservationSpec::new(Layer::UdpIpv4, Direction::Transmit, 512, 2_000.0);
    rows.push(calm.busy(
        Load::FrameRate {
            frames_per_s: 2_000.0,
        },
        0.09,
    ));
    let fit = fitted(&rows);
    let range = parameter(&fit, "udp4-transmit-idle")
        .interval
        .expect("a range");
    assert!((range.high - 9.0).abs() < 1e-9, "{range:?}");
}

#[test]
fn each_trial_of_a_fit_is_in_the_file_and_no_other_one() {
    let fit = fitted(&full());
    let file = NodeFile::parse(&fit.node_toml, "fitted").unwrap();
    let of = |metric: &str| {
        let trials = file
            .calibrations
            .values()
            .filter(|c| c.metric.map(|of| of.word()) == Some(metric));
        let mut sizes: Vec<u32> = trials
            .map(|c| c.trial.as_ref().unwrap().size.bytes)
            .collect();
        sizes.sort_unstable();
        sizes
    };
    assert_eq!(of("time"), [64, 256, 512, 1024, 1470]);
    assert_eq!(of("cpu_load"), [64, 256, 512, 1024, 1470]);
}
