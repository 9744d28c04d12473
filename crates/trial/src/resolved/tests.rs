use super::*;
use wirelab_wire::{Framing, Size, SizeUnit};

use crate::load::Load;

/// A node that declares only frames.
const PLAIN: Accepts<'_> = Accepts {
    layers: &[Layer::Ethernet, Layer::UdpIpv4, Layer::TcpIpv4],
    directions: &[
        Direction::Transmit,
        Direction::Receive,
        Direction::Both,
        Direction::Echo,
    ],
    vlan_tags: 1,
    ports: 2,
    buffers: &[],
    paths: &[],
    options: &[],
    sizes: SizeLimits::TestFrame,
    reasons: &[
        (TrialField::Option(TrialOption::Wait), "it never waits"),
        (TrialField::Layer, "give udp4"),
    ],
    otherwise: "leave it out",
};

fn trial() -> Trial {
    let framing = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    let size = Size::new(SizeUnit::Datagram, 1000);
    let extent = Extent::Frames { frames: 10 };
    Trial::new(framing, Direction::Both, size, Load::Max, extent)
}

fn refused(trial: &Trial, accepts: &Accepts<'_>) -> String {
    match accepts.check(trial) {
        Err(NodeError::Unsupported(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_field_of_a_trial_is_refused_until_a_kind_declares_it() {
    assert!(PLAIN.check(&trial()).is_ok());
    // The fields of the schema, so that a new field that is forgotten here fails this test.
    let schema = serde_json::to_value(schemars::schema_for!(Trial)).unwrap();
    let all = schema["properties"].as_object().unwrap();
    let required = schema["required"].as_array().unwrap();
    let optional = all
        .keys()
        .filter(|key| !required.contains(&serde_json::json!(key)));
    let mut optional: Vec<&str> = optional.map(String::as_str).collect();
    let mut options: Vec<&str> = TrialOption::ALL.iter().map(|o| o.name()).collect();
    optional.sort_unstable();
    options.sort_unstable();
    assert_eq!(options, optional);
    for option in TrialOption::ALL {
        let chosen = trial().with_option(*option);
        let set: Vec<_> = chosen.options().map(|(set, _)| set).collect();
        assert_eq!(set, [*option]);
        let why = if *option == TrialOption::Wait {
            "it never waits"
        } else {
            "leave it out"
        };
        assert_eq!(
            refused(&chosen, &PLAIN),
            format!("{}: {why}", option.name())
        );
        let declared = Accepts {
            options: &[*option],
            buffers: &[Buffers::Copied],
            paths: &[Path::Stack],
            ..PLAIN
        };
        assert!(declared.check(&chosen).is_ok(), "{option:?}");
    }
}

#[test]
fn what_every_trial_has_is_refused_with_what_the_node_does() {
    let changed = |change: fn(&mut Trial)| {
        let mut trial = trial();
        change(&mut trial);
        let accepts = Accepts {
            options: &[TrialOption::Buffers, TrialOption::Path],
            buffers: &[Buffers::Prefilled],
            directions: &[Direction::Receive, Direction::Both],
            ..PLAIN
        };
        refused(&trial, &accepts)
    };
    let layer = changed(|trial| trial.framing.layer = Layer::UdpIpv6);
    assert_eq!(layer, "layer: give udp4");
    let direction = changed(|trial| trial.direction = Direction::Echo);
    assert_eq!(
        direction,
        "direction: this node does not support echo; fix: request one of receive, both"
    );
    let tags = changed(|trial| trial.framing.vlan_tags = 2);
    assert_eq!(
        tags,
        "vlan_tags: it supports 1 tags at most; fix: leave --vlan out"
    );
    for ports in [0, 3] {
        let accepts = PLAIN;
        let trial = Trial { ports, ..trial() };
        let why = format!("ports: {ports} requested, and the node has 2; fix: choose 1 to 2 ports");
        assert_eq!(refused(&trial, &accepts), why);
    }
    let buffers = changed(|trial| trial.buffers = Some(Buffers::DmaCopied));
    assert_eq!(
        buffers,
        "buffers: this node does not support dma-copied; fix: request one of prefilled"
    );
    let path = changed(|trial| trial.path = Some(Path::Driver));
    assert_eq!(
        path,
        "path: this node supports none of these; fix: leave it out"
    );
}

#[test]
fn a_code_point_is_of_ipv4_alone() {
    let accepts = Accepts {
        options: &[TrialOption::Dscp],
        ..PLAIN
    };
    let mut marked = trial().with_option(TrialOption::Dscp);
    assert!(accepts.check(&marked).is_ok());
    marked.framing.layer = Layer::Ethernet;
    let why = refused(&marked, &accepts);
    assert!(why.starts_with("dscp: ") && why.contains("udp4"), "{why}");
}

#[test]
fn a_link_rate_that_is_given_paces_what_nothing_else_would() {
    let accepts = Accepts {
        options: &[TrialOption::Link],
        ..PLAIN
    };
    let given = Trial {
        link_bits_per_s: Some(10_000_000),
        ..trial()
    };
    let rate = |trial: &Trial, link| Resolved::new(trial, &accepts, link).unwrap().frames_per_s;
    // 1000 + 28 + 38 bytes of the link for each datagram.
    let paced = rate(&given, Link::Carrier(None)).unwrap();
    assert!((paced - 10e6 / (8.0 * 1066.0)).abs() < 1e-6);
    assert_eq!(
        rate(&trial(), Link::Carrier(LineRate::new(10_000_000))),
        None
    );
    assert_eq!(rate(&given, Link::Modelled(None)), None);
    assert_eq!(rate(&given, Link::Fixed(10_000_000)), None);
    let mut stream = given.clone();
    stream.framing.layer = Layer::TcpIpv4;
    assert_eq!(rate(&stream, Link::Carrier(None)), None);
    let other = Resolved::new(&given, &accepts, Link::Fixed(1_000_000_000));
    assert_eq!(
        other.unwrap_err().to_string(),
        "unsupported by this node: link_bits_per_s: its link carries 1000000000 bit/s; fix: leave --rate out"
    );
    let none = Trial {
        link_bits_per_s: Some(0),
        ..trial()
    };
    let error = Resolved::new(&none, &accepts, Link::Carrier(None)).unwrap_err();
    assert!(error.to_string().contains("carries nothing"), "{error}");
}

#[test]
fn times_and_flows_follow_from_load_extent_and_direction() {
    let of = |direction, load: &str| {
        let load = load.parse().unwrap();
        let trial = Trial {
            direction,
            load,
            ..trial()
        };
        Resolved::new(&trial, &PLAIN, Link::Carrier(None)).unwrap()
    };
    assert_eq!(of(Direction::Both, "max").expected_ps(), None);
    let paced = of(Direction::Both, "100pps");
    assert_eq!(paced.expected_ps(), Some(100_000_000_000));
    assert_eq!(paced.pace(), Pace::Interval { ps: 10_000_000_000 });
    let both = [Direction::Transmit, Direction::Receive];
    assert_eq!(paced.flows().collect::<Vec<_>>(), both);
    let out = of(Direction::Transmit, "100pps");
    assert_eq!(out.flows().collect::<Vec<_>>(), [Direction::Transmit]);
    assert!(out.node_sends() && !out.tester_sends());
    let echo = of(Direction::Echo, "max");
    assert_eq!(echo.flows().count(), 0);
    assert!(echo.tester_sends() && !echo.node_sends());
    assert!(echo.with_echo_rate().is_err());
    assert!(of(Direction::Echo, "1kpps").with_echo_rate().is_ok());
}
