//! A warning for shapers that frames of the fast path bypass.

use std::collections::BTreeSet;

use wirelab_port::iface::{PortName, shaper_of};
use wirelab_trial::{Warning, WarningCode};

use crate::Path;

/// One warning for each of these sending ports that has a shaper. Frames that XDP redirects go to the driver past it,
/// so the figures do not include its rate or delay. If `path` is automatic, it is unknown before the run whether the
/// fast path is taken.
pub fn bypassed_shapers<'a>(
    ports: impl IntoIterator<Item = &'a PortName>,
    path: Path,
) -> Vec<Warning> {
    let mut listed = BTreeSet::new();
    let condition = match path {
        Path::Packet => return Vec::new(),
        Path::Xdp => "",
        Path::Auto => "; each trial reports its path",
    };
    ports
        .into_iter()
        .filter(|port| listed.insert(port.to_string()))
        .filter_map(|port| {
            // A port that cannot be queried does not prevent the rest.
            let kind = shaper_of(port).ok().flatten()?;
            Some(Warning::new(
                WarningCode::SHAPER_BYPASSED,
                format!("{port} has a queueing discipline ({kind}), which frames of the fast path (XDP) bypass{condition}"),
                "give --path packet, which sends through it",
            ))
        })
        .collect()
}
