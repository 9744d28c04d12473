//! The flow for a fast track: its rules can match the frames. Found by a test of the rules on a frame of each possible
//! flow.

use wirelab_trial::{Background, Framing, Layer, Size, SizeUnit};
use wirelab_wire::header::{Flags, Header, UDP_PORT};
use wirelab_wire::rule::{PortAddresses, Rule, Rules};
use wirelab_wire::{FrameSpec, Transport};

/// The VLAN of a flow with a tag.
const VLAN: u16 = 100;
/// Addresses of the test frame; any do, as long as they are the node's own.
const NODE: [u8; 6] = [2, 0, 0, 0, 0, 2];
const TESTER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ADDRESSES: [[u8; 4]; 2] = [[198, 18, 0, 1], [198, 18, 0, 2]];
/// The port of a background; the real one differs if the rules name this one.
const BACKGROUND_PORT: u16 = 5013;

/// A flow that can be sent.
#[derive(Clone, Copy)]
struct Flow {
    layer: Layer,
    /// The priority of its VLAN tag, where it has one.
    priority: Option<u8>,
    port: u16,
}

impl Flow {
    fn framing(&self) -> Framing {
        Framing {
            layer: self.layer,
            vlan_tags: u8::from(self.priority.is_some()),
        }
    }

    /// Whether one of the rules matches its frames.
    fn is_wanted(&self, rules: &[Rule]) -> bool {
        let frame = self.frame();
        let mut own = PortAddresses {
            mac: NODE,
            ..PortAddresses::default()
        };
        own.addresses.push(PortAddresses::mapped(ADDRESSES[1]));
        rules.iter().any(|rule| rule.matches(&frame, &own))
    }

    fn frame(&self) -> Vec<u8> {
        let tag = self.priority.map(|p| u16::from(p) << 13 | VLAN);
        let [from, to] = ADDRESSES.map(Into::into);
        let spec = FrameSpec {
            destination: NODE,
            source: TESTER,
            vlans: [tag, None],
            transport: match self.layer {
                Layer::Ethernet => Transport::Ethernet,
                _ => Transport::UdpIpv4 {
                    addresses: [from, to],
                    ports: [UDP_PORT, self.port],
                },
            },
            dscp: 0,
        };
        let size = Size::new(SizeUnit::Length, 128);
        let sizes = size
            .resolve_test(spec.framing())
            .expect("128 bytes hold any test frame");
        let header = Header {
            flags: Flags::default(),
            stream: 0,
            sequence: 0,
            time_ns: 0,
            lfsr_len: 0,
        };
        let mut frame = vec![0; sizes.length as usize];
        spec.build(&sizes, &header, &mut frame);
        frame
    }

    fn words(&self) -> String {
        let tag = match self.priority {
            Some(priority) => format!(", with a VLAN tag of priority {priority}"),
            None => ", without a VLAN tag".to_owned(),
        };
        match self.layer {
            Layer::Ethernet => format!("Ethernet of EtherType 0x88b5{tag}"),
            _ => format!("UDP over IPv4 to port {}{tag}", self.port),
        }
    }
}

/// The framing of a flow whose frames one of the rules matches: UDP if possible, else Ethernet, with a VLAN tag if a
/// rule has a priority. `may_add_tag` says that the path to the node may add tags, which this host does not see.
///
/// # Errors
/// Which part of which rule no flow can match, and the fix.
pub fn matching(rules: &Rules, may_add_tag: bool) -> Result<Framing, String> {
    let rules = &rules.0[..];
    let port = rules
        .iter()
        .find_map(|rule| rule.udp_ports.first().copied());
    let priority = rules.iter().find_map(|rule| rule.priority);
    let udp = Flow {
        layer: Layer::UdpIpv4,
        priority: None,
        port: port.unwrap_or(UDP_PORT),
    };
    let ethernet = Flow {
        layer: Layer::Ethernet,
        ..udp
    };
    if udp.is_wanted(rules) {
        return Ok(udp.framing());
    }
    // A VLAN interface of this host tags its frames, and the flow stays UDP.
    if may_add_tag && (Flow { priority, ..udp }).is_wanted(rules) {
        return Ok(udp.framing());
    }
    let tagged = Flow {
        priority,
        ..ethernet
    };
    for flow in [ethernet, tagged] {
        if flow.is_wanted(rules) {
            return Ok(flow.framing());
        }
    }
    let refusals: Vec<String> = rules
        .iter()
        .map(|rule| why_not(rule, udp, tagged))
        .collect();
    Err(refusals.join("; "))
}

/// The part of a rule that keeps it from matching the frames of either flow.
fn why_not(rule: &Rule, udp: Flow, ethernet: Flow) -> String {
    let parts = parts(rule);
    let cannot = |flow: Flow| -> Vec<String> {
        let refuses = parts.iter().filter(|part| !flow.is_wanted(&[**part]));
        refuses.map(ToString::to_string).collect()
    };
    let (by_udp, by_ethernet) = (cannot(udp), cannot(ethernet));
    // The flow that matches more is the intended one.
    let (flow, parts) = match by_ethernet.len() < by_udp.len() {
        true => (ethernet, by_ethernet),
        false => (udp, by_udp),
    };
    format!(
        "{} of the rule {rule} can match no frame of the flow, which is {}; fix: leave that part out, or make it a separate \
         rule after a ';' (without IP a flow is Ethernet: ethertype=0x88b5, also with priority=6)",
        parts.join(" and "),
        flow.words()
    )
}

/// Each part of a rule as a rule.
fn parts(rule: &Rule) -> Vec<Rule> {
    let none = Rule::default();
    let all = [
        Rule {
            ether_type: rule.ether_type,
            ..none
        },
        Rule {
            own_address: rule.own_address,
            ..none
        },
        Rule {
            protocol: rule.protocol,
            ..none
        },
        Rule {
            udp_ports: rule.udp_ports,
            ..none
        },
        Rule {
            priority: rule.priority,
            ..none
        },
    ];
    all.into_iter().filter(|part| *part != none).collect()
}

/// Refuses rules that match the background too: it would bypass the stack with the flow, and not be a background.
///
/// # Errors
/// Which rule, and the fix.
pub fn keeps_off(rules: &Rules, background: &Background) -> Result<(), String> {
    let named = |port: &u16| rules.0.iter().any(|rule| rule.udp_ports.contains(port));
    let port = (BACKGROUND_PORT..).find(|port| !named(port));
    let flow = Flow {
        layer: Layer::UdpIpv4,
        priority: None,
        port: port.unwrap_or(BACKGROUND_PORT),
    };
    match rules.0.iter().find(|rule| flow.is_wanted(&[**rule])) {
        None => Ok(()),
        Some(rule) => Err(format!(
            "the rule {rule} also wants the frames of the background {background}, which is UDP over IPv4 to another \
             port of the node; fix: name the flow's port in the rule, e.g. {rule},port=1026"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(rules: &str) -> Result<(Layer, u8), String> {
        let rules: Rules = rules.parse().unwrap();
        let framing = matching(&rules, false)?;
        Ok((framing.layer, framing.vlan_tags))
    }

    #[test]
    fn the_flow_is_one_that_the_rules_want() {
        for (rules, wanted) in [
            ("port=1026", (Layer::UdpIpv4, 0)),
            ("own,protocol=17,port=7:8", (Layer::UdpIpv4, 0)),
            ("ethertype=0x0800", (Layer::UdpIpv4, 0)),
            ("own", (Layer::UdpIpv4, 0)),
            ("ethertype=0x88b5", (Layer::Ethernet, 0)),
            ("ethertype=0x88b5,own", (Layer::Ethernet, 0)),
            ("priority=6", (Layer::Ethernet, 1)),
            ("ethertype=0x88b5,priority=0", (Layer::Ethernet, 1)),
            // One of several rules is enough.
            ("protocol=6;port=1026", (Layer::UdpIpv4, 0)),
            ("priority=3;ethertype=0x0806", (Layer::Ethernet, 1)),
        ] {
            assert_eq!(flow(rules), Ok(wanted), "{rules}");
        }
    }

    #[test]
    fn a_rule_that_no_flow_can_match_is_reported_by_its_part() {
        for (rules, part) in [
            ("protocol=6", "protocol=6 of the rule"),
            ("port=1026,priority=6", "priority=6 of the rule"),
            ("ethertype=0x0806", "ethertype=0x0806 of the rule"),
            (
                "ethertype=0x88b5,port=1026",
                "ethertype=0x88b5 of the rule ethertype=0x88b5,port=1026",
            ),
            (
                "own,protocol=1;protocol=6",
                "protocol=1 of the rule own,protocol=1",
            ),
            (
                "own,protocol=1;protocol=6",
                "protocol=6 of the rule protocol=6",
            ),
        ] {
            let why = flow(rules).unwrap_err();
            assert!(why.contains(part), "{rules}: {why}");
            assert!(why.contains("leave that part out"), "{why}");
        }
    }

    #[test]
    fn a_way_that_may_add_tags_is_believed_to() {
        let rules: Rules = "port=1026,priority=6".parse().unwrap();
        let framing = matching(&rules, true).unwrap();
        assert_eq!((framing.layer, framing.vlan_tags), (Layer::UdpIpv4, 0));
        let rules: Rules = "port=1026,protocol=6".parse().unwrap();
        assert!(matching(&rules, true).is_err());
    }

    #[test]
    fn rules_that_want_the_background_too_are_refused() {
        let background: Background = "50kpps".parse().unwrap();
        let keeps = |rules: &str| keeps_off(&rules.parse().unwrap(), &background);
        for rules in ["port=1026", "port=5013", "ethertype=0x88b5", "priority=6"] {
            assert_eq!(keeps(rules), Ok(()), "{rules}");
        }
        for rules in ["own", "protocol=17", "port=1026;ethertype=0x0800"] {
            let why = keeps(rules).unwrap_err();
            assert!(why.contains("port=1026"), "{rules}: {why}");
        }
    }
}
