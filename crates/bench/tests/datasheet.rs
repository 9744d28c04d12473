//! The built-in datasheet plans: what they ask, and how long they can take.

use wirelab_bench::part::PartWork;
use wirelab_bench::{datasheet, parts, plan_estimate_ps};
use wirelab_trial::*;

const MINUTE_PS: u64 = 60_000_000_000_000;

fn names(quick: bool) -> Vec<String> {
    let parts = parts(&datasheet::plan(quick), 1).unwrap();
    parts.into_iter().map(|part| part.name).collect()
}

#[test]
fn it_asks_every_row_of_the_page() {
    let full = names(false);
    assert_eq!(
        full,
        [
            "Layer 2 latency",
            "Layer 2 throughput",
            "TCP",
            "UDP RX, datagram 64",
            "UDP RX, datagram 64, around",
            "UDP RX, datagram 256",
            "UDP RX, datagram 256, around",
            "UDP RX, datagram 512",
            "UDP RX, datagram 512, around",
            "UDP RX, datagram 1470",
            "UDP RX, datagram 1470, around",
            "UDP TX",
            "UDP echo"
        ]
    );
    assert_eq!(names(true), full, "quick asks the same parts");
    let plan = datasheet::plan(false);
    assert!(plan.datasheet);
    for part in parts(&plan, 1).unwrap() {
        match &part.what {
            PartWork::Steps(steps) => {
                assert!(steps.iter().all(|step| step.trial.ports == 1));
                if part.name == "UDP echo" {
                    let frames = Extent::Frames { frames: 512 };
                    assert!(steps.iter().all(|step| step.trial.extent == frames));
                }
            }
            PartWork::Rates(_, search) => {
                let loss: Vec<f64> = search.goals.iter().map(|g| g.loss_ratio).collect();
                assert_eq!(loss, [0.0, 0.025]);
            }
            PartWork::Around(_, shares, _) => assert_eq!(shares, &[0.5, 0.9, 1.1]),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_quick_one_takes_less_than_a_minute_on_every_kind_of_peer() {
    // The most that a node type takes beside a trial's own time, and the least.
    for overhead_ps in [300_000_000_000, 0] {
        for link_bits_per_s in [None, Some(10_000_000), Some(1_000_000_000)] {
            let able = Capabilities {
                ports: 1,
                link_bits_per_s,
                ..Capabilities::default()
            };
            let estimate =
                |quick| plan_estimate_ps(&datasheet::plan(quick), &able, overhead_ps).unwrap();
            let (quick, full) = (estimate(true), estimate(false));
            assert!(quick < MINUTE_PS, "{} s", quick / 1_000_000_000_000);
            assert!(full > 2 * quick && full < 20 * MINUTE_PS, "{full}");
        }
    }
}

#[test]
fn udp_and_tcp_go_over_the_ip_that_the_node_has() {
    let layers = |known: &[Layer]| {
        let mut plan = datasheet::plan(true);
        plan.use_layers(known);
        let matrices = plan.matrices().flat_map(|m| &m.framings);
        let searches = plan.searches().flat_map(|s| &s.framings);
        let mut layers: Vec<Layer> = matrices.chain(searches).map(|f| f.layer).collect();
        layers.dedup();
        layers
    };
    use Layer::*;
    assert_eq!(layers(&[UdpIpv6, TcpIpv6]), [Ethernet, TcpIpv6, UdpIpv6]);
    let both = [UdpIpv4, UdpIpv6, TcpIpv4, TcpIpv6];
    for known in [&both[..], &[]] {
        assert_eq!(layers(known), [Ethernet, TcpIpv4, UdpIpv4]);
    }
}
