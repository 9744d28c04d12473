//! How a request routes frames through the node, how the application waits for them, and what traces them.

use wirelab_control::message::Start;
use wirelab_control::value::Path;
use wirelab_control::{Code, Refusal};
use wirelab_trial::{Direction, Probes, Wait};
use wirelab_wire::Layer;
use wirelab_wire::rule::{FixedList, Rule, RuleError, Rules};

/// IP protocol number of UDP.
const UDP: u8 = 17;

/// The options of a request for the inside of the node.
#[derive(Clone, Copy, Debug)]
pub struct PathOptions {
    pub path: Path,
    /// How to wait, if the peer says so.
    pub wait: Option<Wait>,
    pub probes: Probes,
    /// Which frames take the fast track, if the peer says so.
    pub rules: Option<Rules>,
    /// A second UDP port, for the background.
    pub background_port: Option<u16>,
}

impl PathOptions {
    /// Read and check them.
    ///
    /// # Errors
    /// [`Refusal`] names the field that is not supported in this combination.
    pub fn of(start: &Start) -> Result<PathOptions, Refusal> {
        let options = PathOptions {
            path: start.path.unwrap_or_default(),
            wait: start.wait,
            probes: start.probes.unwrap_or(Probes::Auto),
            rules: start.rule.as_deref().map(rules).transpose()?,
            background_port: start.background_port,
        };
        options.check(start)?;
        Ok(options)
    }

    fn check(&self, start: &Start) -> Result<(), Refusal> {
        let no = |field, why| Err(Refusal::unsupported(field, why));
        let direction = start.direction;
        if self.path != Path::Stack && start.layer.is_tcp() {
            return no("path", "a TCP stream needs the stack");
        }
        match self.path {
            Path::FastTrack if direction != Direction::Receive => {
                return no(
                    "path",
                    "the fast track is for trials in which the node receives",
                );
            }
            Path::Driver if !matches!(direction, Direction::Transmit | Direction::Echo) => {
                return no(
                    "path",
                    "the driver sends and echoes; to receive, request path=stack or path=fast-track",
                );
            }
            Path::Driver if start.buffers.is_some() => {
                return no("buffers", "the driver uses its own; request path=stack");
            }
            Path::Driver if start.captures.is_some_and(|n| n > 0) => {
                return no(
                    "captures",
                    "the driver's path has no capture points; request path=stack",
                );
            }
            Path::Driver if self.wait.is_some() => {
                return no(
                    "wait",
                    "the driver's path has no application that waits; request path=stack",
                );
            }
            _ => {}
        }
        if self.rules.is_some() && self.path != Path::FastTrack {
            return no("rule", "only with path=fast-track");
        }
        if self.wait.is_some() && start.layer.is_tcp() {
            return no("wait", "only for UDP and Ethernet");
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
            return no("only beside UDP and Ethernet trials that receive or echo");
        }
        match port {
            0 => no("0 is not a port"),
            _ if start.layer != Layer::Ethernet && Some(port) == start.node_port => {
                no("the flow uses this port; request another")
            }
            _ => Ok(()),
        }
    }

    /// How the application waits; it sleeps by default.
    pub fn waits(&self) -> Wait {
        self.wait.unwrap_or(Wait::Sleep)
    }

    /// The first UDP port of the rules, if they name ports and not the flow's. Frames of the flow may go to either
    /// port; the rules choose their path.
    pub fn other_port(&self, flow: u16) -> Option<u16> {
        let rules = self.rules.as_ref()?;
        let mut ports = rules.0.iter().flat_map(|rule| rule.udp_ports.iter());
        let first = *ports.clone().next()?;
        (!ports.any(|port| *port == flow)).then_some(first)
    }

    /// Which frames take the fast track: those of the request's rules, else those of the flow.
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
                udp_ports: FixedList::of(&[port]).unwrap_or_default(),
                ..own
            },
        };
        Rules(FixedList::of(&[flow]).unwrap_or_default())
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
