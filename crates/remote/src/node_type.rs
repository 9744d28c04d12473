//! Names of peers: `iperf:`, `iperf3:` and `node:` by their hosts, `lab:` by a lab on this host.

use std::path::Path;

use wirelab_control::token::Token;
use wirelab_trial::node_type::{StageOption, StageProfile};
use wirelab_trial::{
    NameError, Node, NodeName, NodeType, OpenError, OpenOptions, Profile, Purpose,
};

use crate::iperf::Opening;
use crate::lab::LabNode;
use crate::{ControlNode, IperfNode};

/// The target of a host.
const HOST: &str = "HOST[:PORT][,token=FILE]";
/// The target of an iperf 2 server.
const IPERF_HOST: &str = "HOST[:PORT][,token=FILE][,silent]";

/// Trials of the whole datasheet, for a peer.
const PEER: Profile = Profile {
    datasheet: true,
    stages: StageProfile {
        more: &[StageOption::Routed],
        ..Profile::USUAL.stages
    },
    ..Profile::USUAL
};

/// The same for a board whose test program may be started by a console.
const IPERF_PEER: Profile = Profile {
    takes_console: true,
    takes_ports: false,
    ..PEER
};

/// The node type of `lab:`.
pub static LAB: NodeType = NodeType {
    about: "N veth pairs made for the run, or an existing lab",
    target: "N|NAME",
    examples: &["lab:1", "lab:4"],
    with_stages: &["lab:1", "lab:NAME"],
    profile: |_| Profile {
        stages: StageProfile {
            more: &[StageOption::Xdp],
            lengths_limited_by: Some("a lab's interfaces carry"),
            // Nothing adds a tag in a private lab.
            may_add_tag: false,
            ..Profile::USUAL.stages
        },
        ..Profile::USUAL
    },
    ..NodeType::new("lab", |name, options| {
        name.only_options(&[], "leave it out")?;
        let serve = match &options.purpose {
            Purpose::Trials => return Ok(Box::new(wirelab_ports::lab(name, options)?)),
            Purpose::Echoes => Vec::new(),
            // With receive steering, the stack's work would move to another core but the fast track's would not. On
            // that core it would interrupt a running process, which on some hosts prevents tracing programs from
            // running.
            Purpose::Stages { xdp, .. } => vec!["--xdp", xdp, "--receive-work", "leave"],
        };
        let serve: Vec<String> = serve.into_iter().map(str::to_owned).collect();
        Ok(Box::new(LabNode::start(name, options.payload, &serve)?))
    })
};

/// The node type of `iperf:`.
pub static IPERF: NodeType = NodeType {
    about: "an iperf 2 server; silent: one that never answers",
    target: IPERF_HOST,
    examples: &["iperf:192.168.1.10"],
    profile: |_| IPERF_PEER,
    ..NodeType::new("iperf", |name, options| iperf(name, options, false))
};

/// The node type of `iperf3:`.
pub static IPERF3: NodeType = NodeType {
    about: "an iperf3 server",
    target: HOST,
    examples: &["iperf3:192.168.1.10"],
    profile: |_| IPERF_PEER,
    ..NodeType::new("iperf3", |name, options| iperf(name, options, true))
};

/// The node type of `node:`.
pub static NODE: NodeType = NodeType {
    about: "'wirelab node serve' on Linux, or firmware with its protocol",
    target: HOST,
    examples: &["node:192.168.1.10"],
    with_stages: &["node:HOST[:PORT]"],
    profile: |_| PEER,
    ..NodeType::new("node", |name, options: &OpenOptions| {
        let token = token(name, &["token"])?;
        let node = ControlNode::open_with(&name.to_string(), name.target(), token, options.routed)?;
        Ok(Box::new(node.with_ports(options.ports)))
    })
};

/// The server of an iperf's name.
fn iperf(name: &NodeName, options: &OpenOptions, three: bool) -> Result<Box<dyn Node>, OpenError> {
    let known: &[&str] = match three {
        true => &["token"],
        false => &["token", "silent"],
    };
    let opening = Opening {
        three,
        token: token(name, known)?,
        // Some servers end after one connection; the console shows whether one runs.
        silent: name.option("silent").is_some() || options.console.is_some(),
        routed: options.routed,
    };
    let node = IperfNode::open_with(&name.to_string(), name.target(), opening)?;
    Ok(match &options.console {
        Some(console) => Box::new(node.with_console(console)?),
        None => Box::new(node),
    })
}

/// The token in a host's name, which may have the `known` options.
fn token(name: &NodeName, known: &[&str]) -> Result<Option<Token>, OpenError> {
    const KNOWN: &str = "write HOST, HOST:PORT, or either with ,token=FILE";
    name.only_options(known, KNOWN)?;
    match name.option("token") {
        None => Ok(None),
        Some(None) => {
            Err(NameError::new(name, format!("the token has no file; fix: {KNOWN}")).into())
        }
        Some(Some(file)) => Token::read(Path::new(file))
            .map(Some)
            .map_err(OpenError::usage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_none_are_refused() {
        for (node_type, text, words) in [
            (&IPERF, "iperf:", "invalid host"),
            (&IPERF3, "iperf3:board:http", "a port is a number"),
            (&NODE, "node:[::1", "']' is missing"),
            (
                &NODE,
                "node:host,tokn=x",
                "unknown option 'tokn'; did you mean 'token'? fix: write HOST",
            ),
            (&NODE, "node:host,token", "the token has no file"),
            (&IPERF, "iperf:host,token=/no/such/file", "/no/such/file"),
        ] {
            let name: NodeName = text.parse().unwrap();
            match (node_type.open)(&name, &OpenOptions::default())
                .err()
                .unwrap()
            {
                OpenError::Usage(why) => assert!(why.contains(words), "{why}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
