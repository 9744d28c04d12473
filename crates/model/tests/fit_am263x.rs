//! The UDP tables of the AM263x page (TI mcupsdk-core, `enet_cpsw_performance_am263x.md`, 2023): what `fit` makes of a
//! published receive table whose smallest datagrams were larger than it says, and one of whose loads is wrong.

use crate::fit_support::{ObservationSpec, codes, fitted, off, parameter, warned};
use wirelab_trial::{Direction, Layer, Load};

/// Datagram, Mbit/s, CPU load and loss in percent, as printed.
const RECEIVE: [(u32, f64, f64, f64); 16] = [
    (64, 5.0, 37.0, 0.0),
    (64, 10.0, 67.0, 2.6),
    (64, 15.0, 96.0, 5.5),
    (64, 7.0, 51.0, 0.8),
    (256, 5.0, 18.0, 0.0),
    (256, 15.0, 50.0, 0.0),
    (256, 25.0, 73.0, 4.4),
    (256, 19.0, 60.0, 0.6),
    (512, 25.0, 44.0, 0.0),
    (512, 50.0, 80.0, 0.0),
    (512, 55.0, 88.0, 4.9),
    (512, 51.0, 64.0, 0.0),
    (1470, 50.0, 37.0, 0.0),
    (1470, 60.0, 44.0, 0.0),
    (1470, 95.0, 68.0, 0.0),
    (1470, 110.0, 78.0, 2.4),
];

/// The receive table; datagrams of 64 bytes taken as so many.
fn receive(small: u32) -> Vec<ObservationSpec> {
    let row = |(bytes, mbit_per_s, busy, loss): (u32, f64, f64, f64)| {
        let bytes = if bytes == 64 { small } else { bytes };
        let bits_per_s = mbit_per_s * 1e6;
        let delivered = bits_per_s / 8.0 / f64::from(bytes) * (1.0 - loss / 100.0);
        let mut seen = ObservationSpec::new(Layer::UdpIpv4, Direction::Receive, bytes, delivered);
        seen.loss_ratio = loss / 100.0;
        seen.busy(Load::BitRate { bits_per_s }, busy / 100.0)
    };
    RECEIVE.into_iter().map(row).collect()
}

#[test]
fn the_receive_loads_give_what_a_packet_costs_and_the_wrong_row_is_found() {
    let fit = fitted(&receive(112));
    let outliers = warned(&fit, "outlier");
    assert_eq!(outliers.len(), 1, "{:?}", fit.warnings);
    assert!(
        outliers[0].contains("512 B at 51M lies off: observed 64.0 %, the other cells say 84"),
        "{outliers:?}"
    );
    // Cycles at 400 MHz, from arithmetic on the same rows: idle 4.3 %, 22,481 cycles and 6.25 cycles/B.
    let cycles = |name: &str| parameter(&fit, name).value * 0.4;
    let idle = parameter(&fit, "udp4-receive-idle");
    assert!((idle.value - 4.3).abs() < 0.05, "{idle:?}");
    assert!(
        off(cycles("udp4-receive-cpu-packet"), 22_481.0) < 0.002,
        "{:?}",
        fit.parameters
    );
    assert!(
        off(cycles("udp4-receive-cpu-byte"), 6.25) < 0.01,
        "{:?}",
        fit.parameters
    );
    let interval = parameter(&fit, "udp4-receive-cpu-packet").interval.unwrap();
    assert!(
        interval.low * 0.4 > 20_000.0 && interval.high * 0.4 < 25_000.0,
        "{interval:?}"
    );
    let errors = &fit.leave_one_out[0];
    assert_eq!(
        (errors.cells.len(), errors.error_unit.as_str()),
        (16, "points")
    );
    assert!(errors.mean_error.unwrap() < 1.6, "{errors:?}");
    assert!(errors.max_error.unwrap() < 4.0, "{errors:?}");
    // Loss begins while the CPU has time left: no service rate and no ring can be taken from it.
    assert_eq!(
        codes(&fit),
        ["loss-without-load", "outlier", "ring-unknown"]
    );
}

#[test]
fn taken_as_64_bytes_the_smallest_rows_are_said_to_be_something_else() {
    for seen in [
        receive(64),
        receive(64)
            .into_iter()
            .filter(|s| s.busy != Some(0.64))
            .collect(),
    ] {
        let fit = fitted(&seen);
        let text = warned(&fit, "minimum-size");
        assert_eq!(text.len(), 1, "{:?}", fit.warnings);
        assert!(
            text[0].contains("64 B of datagram do not lie on the line"),
            "{text:?}"
        );
        let least = parameter(&fit, "minimum-datagram").value;
        assert!((108.0..=114.0).contains(&least), "{least}");
        assert_eq!(
            (fit.classes[0].from_bytes, fit.classes[0].packet_ns),
            (64, None)
        );
    }
}

#[test]
fn the_transmit_rates_give_one_time_for_each_packet_and_112_bytes() {
    let rates = [(64, 24.6), (256, 56.2), (512, 112.0), (1470, 323.0)];
    let row = |(bytes, mbit_per_s): (u32, f64)| {
        ObservationSpec::new(
            Layer::UdpIpv4,
            Direction::Transmit,
            bytes,
            mbit_per_s * 1e6 / 8.0 / f64::from(bytes),
        )
    };
    let fit = fitted(&rates.map(row));
    assert_eq!(parameter(&fit, "minimum-datagram").value, 112.0);
    let packet = parameter(&fit, "udp4-transmit-period-packet");
    assert!((36_300.0..36_600.0).contains(&packet.value), "{packet:?}");
    assert!(parameter(&fit, "udp4-transmit-period-byte").value < 0.1);
    assert!(fit.leave_one_out[0].max_error.unwrap() < 1.0);
}

#[test]
fn the_node_file_of_the_receive_table() {
    insta::assert_snapshot!(fitted(&receive(112)).node_toml);
}
