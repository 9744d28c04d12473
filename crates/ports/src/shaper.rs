//! Shapers that frames of the fast path do not pass, as a warning before and with the figures.

use std::collections::BTreeSet;

use wirelab_port::iface::{PortName, shaper_of};
use wirelab_trial::{Warning, WarningCode};

use crate::Path;

/// One warning for each of these sending ports that has a shaper: frames that XDP redirects go to the driver past it,
/// so that the rate or delay which it stands for is not in the figures. Where `path` is left to the run, nobody knows before
/// it whether the fast one is taken.
pub fn bypassed_shapers<'a>(
    ports: impl IntoIterator<Item = &'a PortName>,
    path: Path,
) -> Vec<Warning> {
    let mut seen = BTreeSet::new();
    let condition = match path {
        Path::Packet => return Vec::new(),
        Path::Xdp => "",
        Path::Auto => "; each trial says whether it took that path",
    };
    ports
        .into_iter()
        .filter(|port| seen.insert(port.to_string()))
        .filter_map(|port| {
            // A port that cannot be asked is no reason to refuse what can be done with it.
            let kind = shaper_of(port).ok().flatten()?;
            Some(Warning::new(
                WarningCode::SHAPER_BYPASSED,
                format!("{port} has a queueing discipline ({kind}), which frames of the fast path (XDP) do not pass{condition}"),
                "--path packet sends through it",
            ))
        })
        .collect()
}
