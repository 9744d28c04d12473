//! What checks and reports need to know of a node's type, as the node states it in its description.

use serde::{Deserialize, Serialize};

use crate::node_name::{MODEL, NodeName};

/// Flows whose counts may lack the number of verified bytes, since the node counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unverified {
    /// All.
    #[default]
    All,
    /// Those that the node receives, and all of a trial in both directions.
    Received,
    /// None: the number is always there.
    None,
}

/// What holds for each node of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Facts {
    /// Whether both ends of its flows are ports of the tester, which sends and checks everything itself.
    pub is_testers_own: bool,
    /// Whether its figures are computed, and nothing was sent.
    pub is_computed: bool,
    /// Whether an iperf 2 client can measure it by its target.
    pub answers_iperf: bool,
    /// Flows whose counts may lack the number of verified bytes.
    pub unverified: Unverified,
    /// Set-up keys that name what is made for each run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made_anew: Vec<String>,
}

/// What a results file calls the nodes whose facts it does not store, by their description or their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredLater {
    Ports,
    Hdl,
    Board,
    Model,
    Lab,
    Iperf,
}

impl StoredLater {
    fn parse(node_type: &str) -> Option<StoredLater> {
        Some(match node_type {
            "ports" => StoredLater::Ports,
            "hdl" => StoredLater::Hdl,
            "board" => StoredLater::Board,
            MODEL => StoredLater::Model,
            "lab" => StoredLater::Lab,
            "iperf" => StoredLater::Iperf,
            _ => return None,
        })
    }
}

impl Facts {
    /// The facts of a node in a results file that does not store them: those that its type had until then.
    pub(crate) fn before_they_were_stored(name: &str, node_type: &str) -> Facts {
        let (described, name) = (StoredLater::parse(node_type), name.parse::<NodeName>().ok());
        let named = name.and_then(|name| StoredLater::parse(name.node_type()));
        Facts {
            is_testers_own: described == Some(StoredLater::Ports),
            is_computed: described == Some(StoredLater::Model),
            answers_iperf: named == Some(StoredLater::Iperf),
            unverified: match described {
                Some(StoredLater::Ports | StoredLater::Hdl) => Unverified::None,
                Some(StoredLater::Board) => Unverified::Received,
                _ => Unverified::All,
            },
            made_anew: match named {
                Some(StoredLater::Lab) => vec!["ports".to_owned()],
                _ => Vec::new(),
            },
        }
    }
}
