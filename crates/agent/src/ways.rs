//! The way of a trial's frames through the node, how its application waits for them, and what looks at them.

use wirelab_control::message::Start;
use wirelab_control::value::Path;
use wirelab_control::{Code, Refusal};
use wirelab_trial::{Direction, Probes, Wait};
use wirelab_wire::Layer;
use wirelab_wire::rule::{Few, Rule, RuleError, Rules};

/// IP protocol number of UDP.
const UDP: u8 = 17;

/// What a request says about the inside of the node.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    pub path: Path,
    /// How to wait, where the peer says so.
    pub wait: Option<Wait>,
    pub probes: Probes,
    /// Which frames take the fast track, where the peer says so.
    pub rules: Option<Rules>,
    /// A second UDP port beside the flow's.
    pub background_port: Option<u16>,
}

impl Ways {
    /// Take a request apart.
    ///
    /// # Errors
    /// [`Refusal`] names the field that cannot be, with the others as they are.
    pub fn of(start: &Start) -> Result<Ways, Refusal> {
        let ways = Ways {
            path: start.path.unwrap_or_default(),
            wait: start.wait,
            probes: start.probes.unwrap_or(Probes::Auto),
            rules: start.rule.as_deref().map(rules).transpose()?,
            background_port: start.background_port,
        };
        ways.check(start)?;
        Ok(ways)
    }

    fn check(&self, start: &Start) -> Result<(), Refusal> {
        let no = |field, why| Err(Refusal::unsupported(field, why));
        let direction = start.direction;
        if self.path != Path::Stack && start.layer.is_tcp() {
            return no("path", "a TCP stream needs the stack");
        }
        match self.path {
            Path::FastTrack if direction != Direction::Receive => {
                return no("path", "the fast track is of trials that receive");
            }
            Path::Driver if !matches!(direction, Direction::Transmit | Direction::Echo) => {
                return no(
                    "path",
                    "the driver sends and echoes; ask stack or fast-track to receive",
                );
            }
            Path::Driver if start.buffers.is_some() => {
                return no("buffers", "the driver has its own; ask path=stack");
            }
            Path::Driver if start.captures.is_some_and(|n| n > 0) => {
                return no("captures", "past the stack there is nothing to look at");
            }
            Path::Driver if self.wait.is_some() => {
                return no("wait", "no application waits where the driver does all");
            }
            _ => {}
        }
        if self.rules.is_some() && self.path != Path::FastTrack {
            return no("rule", "goes with path=fast-track");
        }
        if self.wait.is_some() && start.layer.is_tcp() {
            return no("wait", "of UDP and Ethernet");
        }
        self.check_background(start)
    }

    fn check_background(&self, start: &Start) -> Result<(), Refusal> {
        let Some(port) = self.background_port else {
            return Ok(());
        };
        let no = |why| Err(Refusal::unsupported("background_port", why));
        let inward = matches!(start.direction, Direction::Receive | Direction::Echo);
        if start.layer.is_tcp() || !inward {
            return no("goes beside UDP and Ethernet trials that receive or echo");
        }
        match port {
            0 => no("port 0 is none"),
            _ if start.layer != Layer::Ethernet && Some(port) == start.node_port => {
                no("the flow has this port")
            }
            _ => Ok(()),
        }
    }

    /// How to wait.
    pub fn waits(&self) -> Wait {
        self.wait.unwrap_or(Wait::Sleep)
    }

    /// A UDP port that the rules name, where they name some and the flow's is none of them: frames of the flow may go to
    /// either, and take the way that is theirs.
    pub fn other_port(&self, flow: u16) -> Option<u16> {
        let rules = self.rules.as_ref()?;
        let mut ports = rules.0.iter().flat_map(|rule| rule.udp_ports.iter());
        let first = *ports.clone().next()?;
        (!ports.any(|port| *port == flow)).then_some(first)
    }

    /// Which frames take the fast track: those asked, else the flow's own.
    pub fn rules_for(&self, layer: Layer, port: u16) -> Rules {
        if let Some(rules) = self.rules {
            return rules;
        }
        let own = Rule {
            own_address: true,
            ..Rule::default()
        };
        let flow = match layer {
            Layer::Ethernet => Rule {
                ether_type: Some(wirelab_wire::header::ETHERTYPE),
                ..own
            },
            _ => Rule {
                protocol: Some(UDP),
                udp_ports: Few::of(&[port]).unwrap_or_default(),
                ..own
            },
        };
        Rules(Few::of(&[flow]).unwrap_or_default())
    }
}

fn rules(text: &str) -> Result<Rules, Refusal> {
    let bad = || Refusal {
        field: Some("rule".to_owned()),
        ..Refusal::new(Code::BadValue)
    };
    text.parse()
        .map_err(|error: RuleError| bad().because(&error.to_string()))
}
