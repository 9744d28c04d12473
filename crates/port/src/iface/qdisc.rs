//! Queueing disciplines that hold back or delay the frames that a port sends. XDP frames bypass them.

use super::{IfaceError, PortName};
use crate::netns::Tool;

/// Disciplines that send as fast as the port. `clsact` and `ingress` have no queue.
const PLAIN: [&str; 8] = [
    "noqueue",
    "mq",
    "pfifo_fast",
    "fq_codel",
    "fq",
    "noop",
    "clsact",
    "ingress",
];

/// The kind of a port's first queueing discipline, if the user configured it: a shaper, an emulated delay. `None` if
/// there is none, or if `tc` is not installed.
///
/// # Errors
/// Errors of the namespace.
pub fn shaper_of(port: &PortName) -> Result<Option<String>, IfaceError> {
    let arguments = ["qdisc", "show", "dev", &port.interface];
    let namespace = port.netns()?;
    let shown = namespace.run_tool(Tool::Tc, &arguments, "");
    Ok(shown.ok().and_then(|text| first_of(&text)))
}

/// Each line of tc(8) begins with `qdisc KIND HANDLE:`.
fn first_of(shown: &str) -> Option<String> {
    let kinds = shown
        .lines()
        .filter_map(|line| line.strip_prefix("qdisc ")?.split_whitespace().next());
    kinds
        .filter(|kind| !PLAIN.contains(kind))
        .map(str::to_owned)
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{EphemeralLab, LabSpec, Side};

    #[test]
    fn what_the_kernel_chose_is_no_shaper() {
        for plain in [
            "",
            "qdisc noqueue 0: root refcnt 2 \n",
            "qdisc mq 0: root \nqdisc fq_codel 0: parent :1 limit 10240p\n",
            "garbage",
        ] {
            assert_eq!(first_of(plain), None, "{plain}");
        }
        let shown = "qdisc mq 1: root \nqdisc netem 8003: parent 1:1 limit 1000 delay 1ms\n";
        assert_eq!(first_of(shown).as_deref(), Some("netem"));
    }

    #[test]
    fn a_shaper_of_a_lab_is_found() {
        if !crate::netns::may_test() {
            return;
        }
        let lab = EphemeralLab::up(&LabSpec::unique("wlt-qdisc", 1)).unwrap();
        let port = lab.port(0, Side::Node).unwrap();
        assert_eq!(shaper_of(&port).unwrap(), None);
        lab.set_link_rate(0, Side::Node, Some(10_000_000)).unwrap();
        let kind = shaper_of(&port).unwrap();
        assert!(kind.is_some_and(|kind| kind == "tbf" || kind == "htb"));
        let other = lab.port(0, Side::Tester).unwrap();
        assert_eq!(shaper_of(&other).unwrap(), None);
    }
}
