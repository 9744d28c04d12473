//! The path through the node that a trial requests: its fields in the request, and the background to send.

use wirelab_control::message::Start;
use wirelab_trial::job::Pace;
use wirelab_trial::{Direction, Framing, Layer, NodeError, Resolved, Sizes, Trial, TrialOption};
use wirelab_wire::header::UDP_PORT;
use wirelab_wire::rule::Rules;

/// Stream of the background's frames.
pub const BACKGROUND: u8 = 2;
/// The first UDP port tried for a background.
const FIRST_PORT: u16 = 5013;

/// The background beside the flow.
#[derive(Clone, Copy, Debug)]
pub struct Background {
    /// Its UDP port at the node.
    pub port: u16,
    /// The sizes of its frames.
    pub sizes: Sizes,
    /// Its pace.
    pub pace: Pace,
    /// Frames/s.
    pub frames_per_s: f64,
}

/// Whether the trial can have the background that it requests.
///
/// # Errors
/// [`NodeError::Unsupported`] names the trials that can.
pub fn check(trial: &Trial) -> Result<(), NodeError> {
    let Some(background) = trial.background else {
        return Ok(());
    };
    let inward = matches!(trial.direction, Direction::Receive | Direction::Echo);
    if !inward || trial.framing.layer.is_tcp() {
        let why = "it needs a flow that the node receives or returns by UDP or Ethernet; fix: use --direction rx or echo without TCP";
        return Err(NodeError::unsupported(TrialOption::Background, why));
    }
    let framing = framing(trial.framing.layer);
    background
        .size
        .resolve_test(framing)
        .map(drop)
        .map_err(|why| NodeError::BadTrial(format!("the background {background}: {why}")))
}

/// The background of a trial whose own frames have a rate, if any.
///
/// # Errors
/// [`NodeError::BadTrial`] where it has no rate, or the flow leaves it no time.
pub fn background(resolved: &Resolved) -> Result<Option<Background>, NodeError> {
    let trial = &resolved.trial;
    let Some(requested) = trial.background else {
        return Ok(None);
    };
    if resolved.frames_per_s.is_none() {
        return Err(NodeError::bad(
            "at load max the flow leaves no time for a background; fix: give a load with a rate, e.g. --load 10kpps",
        ));
    }
    let framing = framing(trial.framing.layer);
    let sizes = requested
        .size
        .resolve_test(framing)
        .map_err(NodeError::bad)?;
    let rate = requested
        .load
        .frames_per_s(&sizes, framing.layer, resolved.link);
    let rate = rate.map_err(|why| NodeError::BadTrial(format!("the background: {why}")))?;
    let Some(frames_per_s) = rate.filter(|rate| *rate > 0.0) else {
        return Err(NodeError::bad(
            "the background has no rate; fix: give one, e.g. 50kpps",
        ));
    };
    Ok(Some(Background {
        port: free_port(&rule_ports(trial)?, FIRST_PORT),
        sizes,
        pace: Pace::of(Some(frames_per_s)),
        frames_per_s,
    }))
}

/// The UDP port of the frames through the stack, if two paths are measured in turn: no rule and no background uses it.
///
/// # Errors
/// [`NodeError::BadTrial`] for an invalid rule.
pub fn stack_port(trial: &Trial, background: &Background) -> Result<u16, NodeError> {
    Ok(free_port(&rule_ports(trial)?, background.port + 1))
}

/// The first port from `first` on that neither the usual flow nor a rule uses.
fn free_port(named: &[u16], first: u16) -> u16 {
    let flow = named.first().copied().unwrap_or(UDP_PORT);
    let free = (first..).find(|port| *port != flow && !named.contains(port));
    free.unwrap_or(first)
}

/// Adds the path to the request. The flow uses the first port of a rule on every path, so that two paths differ in
/// nothing else.
///
/// # Errors
/// [`NodeError::BadTrial`] for an invalid rule.
pub fn request(trial: &Trial, start: &mut Start) -> Result<(), NodeError> {
    start.path = trial.path.map(Into::into);
    start.wait = trial.wait;
    let node_sends = matches!(trial.direction, Direction::Transmit | Direction::Both);
    start.strict_gaps = (trial.strict_gaps && node_sends).then_some(true);
    start.probes = trial.probes.filter(|_| start.captures.is_some());
    start.rule = trial
        .rule
        .clone()
        .filter(|_| trial.path == Some(wirelab_trial::Path::FastTrack));
    let ports = rule_ports(trial)?;
    if trial.framing.layer != Layer::Ethernet {
        start.node_port = ports.first().copied();
    }
    Ok(())
}

/// UDP ports that the trial's rules match.
///
/// # Errors
/// [`NodeError::BadTrial`] for an invalid rule.
pub fn rule_ports(trial: &Trial) -> Result<Vec<u16>, NodeError> {
    let Some(text) = &trial.rule else {
        return Ok(Vec::new());
    };
    let rules: Rules = text
        .parse()
        .map_err(|why| NodeError::BadTrial(format!("the rule {text}: {why}")))?;
    Ok(rules
        .0
        .iter()
        .flat_map(|rule| rule.udp_ports.iter().copied())
        .collect())
}

/// A background is UDP, of the flow's IP version.
fn framing(flow: Layer) -> Framing {
    Framing {
        layer: match flow {
            Layer::UdpIpv6 | Layer::TcpIpv6 => Layer::UdpIpv6,
            _ => Layer::UdpIpv4,
        },
        vlan_tags: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::{Extent, Link, Path, Size, SizeUnit};

    fn planned(
        load: &str,
        rule: Option<&str>,
        background: Option<&str>,
    ) -> Result<Option<Background>, NodeError> {
        let trial = Trial {
            path: Some(Path::Stack),
            rule: rule.map(str::to_owned),
            background: background.map(|text| text.parse().unwrap()),
            ..Trial::new(
                framing(Layer::UdpIpv4),
                Direction::Receive,
                Size::new(SizeUnit::Length, 64),
                load.parse().unwrap(),
                Extent::Frames { frames: 512 },
            )
        };
        let sizes = trial.sizes().unwrap();
        super::background(&Resolved::of_sizes(&trial, sizes, Link::Carrier(None))?)
    }

    #[test]
    fn a_background_keeps_off_the_flows_port_and_those_of_the_rules() {
        let port = |rule| {
            let background = planned("1kpps", rule, Some("50kpps")).unwrap();
            background.unwrap().port
        };
        assert_eq!(port(None), 5013);
        assert_eq!(port(Some("port=5013:5014")), 5015);
    }

    #[test]
    fn what_cannot_be_a_background_is_said_with_the_fix() {
        let error = planned("max", None, Some("50kpps")).unwrap_err();
        assert!(error.to_string().contains("--load 10kpps"), "{error}");
        let share = planned("1pps", None, Some("50%")).unwrap_err();
        assert!(share.to_string().contains("--rate"), "{share}");
        let rule = planned("1pps", Some("prot=1026"), Some("1kpps"));
        assert!(rule.unwrap_err().to_string().contains("prot=1026"));
        assert!(planned("max", None, None).unwrap().is_none());
    }
}
