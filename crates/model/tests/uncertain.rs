//! The intervals of predictions: what they are of parameters that move alone, and together.

use wirelab_model::file::NodeFile;
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, IntervalBasis, Layer, Load, Node, Observation, Size,
    SizeUnit, Trial,
};

fn observe(file: NodeFile, datagram: u32, load: Load, direction: Direction) -> Observation {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let size = Size::new(SizeUnit::Datagram, datagram);
    let extent = Extent::Time {
        time_ps: 250_000_000_000,
    };
    let trial = Trial::new(framing, direction, size, load, extent);
    let mut node = ModelNode::new(file);
    node.run(&trial, &(), &Cancel::new()).expect("a prediction")
}

fn received(file: NodeFile, datagram: u32, megabits_per_s: f64) -> Observation {
    let bits_per_s = megabits_per_s * 1e6;
    observe(
        file,
        datagram,
        Load::BitRate { bits_per_s },
        Direction::Receive,
    )
}

/// Each calibrated load is known to the rounding of its cell, 0.475 of the last digit, though no parameter is.
#[test]
fn what_parameters_have_in_common_cancels_where_they_were_calibrated() {
    for (datagram, load, cell) in [(64, 5.0, 0.37), (1470, 50.0, 0.37), (1470, 95.0, 0.68)] {
        let observation = received(library::open("am263x").unwrap(), datagram, load);
        let cpu = observation.cpu_load.value().unwrap();
        let interval = cpu.interval.expect("an interval");
        assert_eq!(interval.over, IntervalBasis::Parameters);
        assert!((cpu.busy_ratio - cell).abs() < 0.001);
        for (end, expected) in [
            (interval.low, cell - 0.00475),
            (interval.high, cell + 0.00475),
        ] {
            assert!(
                (end - expected).abs() < 0.0006,
                "{datagram} at {load}: {interval:?}"
            );
        }
    }
    // Further away the loads are known less well.
    let far = received(library::open("am263x").unwrap(), 512, 50.0);
    let interval = far.cpu_load.value().unwrap().interval.unwrap();
    assert!(interval.high - interval.low > 0.02, "{interval:?}");
}

#[test]
fn rates_have_the_relative_uncertainty_of_the_cost_that_limits_them() {
    let file = library::open("am263x").unwrap();
    let cost = &file.parameters["tx-packet"];
    let share = cost.plus_minus[""] / cost.value;
    let flow = &observe(file.clone(), 512, Load::Max, Direction::Transmit).flows[0];
    let rate = flow.frames_per_s.value().unwrap();
    let interval = flow.intervals.frames_per_s.unwrap();
    assert!(
        (interval.high / rate - 1.0 - share).abs() < 0.05 * share,
        "{interval:?}"
    );
    let goodput = flow.intervals.goodput_bits_per_s.unwrap();
    assert!((goodput.high / interval.high / (512.0 * 8.0) - 1.0).abs() < 1e-9);
    // What is set by hand is exact.
    let mut exact = file;
    exact.set("tx-packet=14563").unwrap();
    let flow = &observe(exact, 512, Load::Max, Direction::Transmit).flows[0];
    assert!(flow.intervals.frames_per_s.is_none());
}

#[test]
fn an_uncertainty_that_makes_no_sense_is_refused_at_its_place() {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../nodes/am263x.toml"
    ))
    .unwrap();
    let broken = text.replace("plus_minus      = 21.4", "plus_minus      = -1");
    let error = NodeFile::parse(&broken, "a.toml").unwrap_err().to_string();
    assert!(
        error.contains("parameter.tx-packet.plus_minus")
            && error.contains("half of its 95 % interval"),
        "{error}"
    );
}
