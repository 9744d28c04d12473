//! The names of pairs of ports: `ports:[NS/]A:[NS/]B,…`, and those of a lab.

use wirelab_port::iface::PortName;
use wirelab_port::lab::{Lab, LabSpec, MOST_PAIRS};
use wirelab_trial::{NameError, NodeName, NodeType, OpenError, OpenOptions};

use crate::{Pair, PortsNode, pairs_of};

/// The node type `ports:`.
pub static PORTS: NodeType = NodeType {
    about: "pairs of ports of this host; the first of a pair is the node's side",
    target: "[NS/]A:[NS/]B,…",
    examples: &["ports:eth0:eth1"],
    ..NodeType::new("ports", |name, options| {
        let node = PortsNode::new(&name.to_string(), pairs(name)?, options.ports);
        Ok(Box::new(node.map_err(OpenError::usage)?))
    })
};

/// The ports of the lab that a name's target stands for: a number of pairs in a new lab, or a lab that exists.
///
/// # Errors
/// [`OpenError`] if there is no such lab, or none can be made.
pub fn lab(name: &NodeName, options: &OpenOptions) -> Result<PortsNode, OpenError> {
    match name.target().parse::<u8>() {
        Ok(pairs) if (1..=MOST_PAIRS).contains(&pairs) => {
            let mut spec = LabSpec::unique("measure", pairs);
            spec.mtu = spec.mtu.max(options.payload);
            Ok(PortsNode::in_lab(&spec, options.ports)?)
        }
        Ok(_) => {
            let why = format!(
                "a lab has 1 to {MOST_PAIRS} pairs; fix: write lab:1, or lab:4 for four pairs"
            );
            Err(NameError::new(name, why).into())
        }
        Err(_) => {
            let pairs = pairs_of(&Lab::open(name.target())?)?;
            PortsNode::new(&name.to_string(), pairs, options.ports).map_err(OpenError::usage)
        }
    }
}

/// The pairs of `ports:`.
fn pairs(name: &NodeName) -> Result<Vec<Pair>, NameError> {
    let bad = |why: String| NameError::new(name, why);
    let pair = |text: &str| {
        let (node, tester) = text.split_once(':').ok_or_else(|| {
            bad(format!(
                "invalid pair of ports '{text}'; fix: write A:B, each as [NAMESPACE/]INTERFACE"
            ))
        })?;
        let port = |text: &str| text.parse::<PortName>().map_err(|e| bad(e.to_string()));
        let (node, tester) = (port(node)?, port(tester)?);
        if node == tester {
            return Err(bad(format!(
                "'{text}' names one port twice; fix: name the two ends of a cable"
            )));
        }
        Ok(Pair { node, tester })
    };
    name.items().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_refused() {
        let read = |text: &str| pairs(&text.parse().unwrap());
        let both = read("ports:a/n0:b/t0,eth0:eth1").unwrap();
        assert_eq!(both.len(), 2);
        assert_eq!(both[0].node.to_string(), "a/n0");
        assert_eq!(both[1].tester.to_string(), "eth1");
        for (text, words) in [
            ("ports:eth0", "write A:B"),
            ("ports:", "write A:B"),
            ("ports:a:b,eth0", "invalid pair of ports 'eth0'"),
            ("ports:eth0:eth0", "one port twice"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
