//! The description of a pair of ports: capabilities and set-up keys.

use std::collections::BTreeMap;

use wirelab_port::iface::Interface;
use wirelab_port::xdp;
use wirelab_trial::facts::{Facts, Unverified};
use wirelab_trial::{Buffers, Capabilities, Description, Direction, Layer};
use wirelab_wire::Framing;

use crate::{Pair, Path};

/// Set-up key of the names of the ports.
const NAMES: &str = "ports";

/// Describe the pairs. Interface settings that cannot be read are left out.
pub fn describe(name: &str, pairs: &[Pair], path: Path, is_made_anew: bool) -> Description {
    let known: Vec<Interface> = pairs
        .iter()
        .flat_map(|p| [&p.node, &p.tester])
        .filter_map(|p| Interface::query(p).ok())
        .collect();
    let mtu = known.iter().map(|i| i.mtu).min().unwrap_or(0);
    let rates: Option<Vec<u64>> = known.iter().map(|i| i.link_rate).collect();
    let longest = Framing::default().max_test_frame().min(mtu + 18);
    Description {
        name: name.to_owned(),
        node_type: "ports".to_owned(),
        capabilities: Capabilities {
            layers: vec![Layer::Ethernet, Layer::UdpIpv4, Layer::UdpIpv6],
            directions: vec![Direction::Transmit, Direction::Receive, Direction::Both],
            buffers: vec![
                Buffers::Prefilled,
                Buffers::Copied,
                Buffers::CopiedAhead,
                Buffers::InPlace,
            ],
            paths: Vec::new(),
            ports: pairs.len() as u32,
            min_frame_bytes: Framing::default().min_test_frame(),
            max_frame_bytes: if path == Path::Xdp {
                longest.min(xdp::MAX_LENGTH + 4)
            } else {
                longest
            },
            link_bits_per_s: rates.and_then(|r| r.into_iter().min()),
        },
        setup: setup(pairs, &known),
        facts: Some(Facts {
            is_testers_own: true,
            unverified: Unverified::None,
            made_anew: is_made_anew.then(|| NAMES.to_owned()).into_iter().collect(),
            ..Facts::default()
        }),
    }
}

fn setup(pairs: &[Pair], known: &[Interface]) -> BTreeMap<String, String> {
    let names: Vec<String> = pairs
        .iter()
        .map(|p| format!("{} to {}", p.node, p.tester))
        .collect();
    let mut drivers: Vec<&str> = known.iter().filter_map(|i| i.driver.as_deref()).collect();
    drivers.sort_unstable();
    drivers.dedup();
    let mut setup = BTreeMap::new();
    setup.insert(NAMES.to_owned(), names.join(", "));
    if !drivers.is_empty() {
        setup.insert("interface".to_owned(), drivers.join(", "));
    }
    if let Some(mtu) = known.iter().map(|i| i.mtu).min() {
        setup.insert("mtu".to_owned(), format!("{mtu} B"));
    }
    setup
}
