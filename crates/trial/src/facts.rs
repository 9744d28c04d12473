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

impl Facts {
    /// The facts of a node in a results file that does not store them: those that its type had until then.
    pub(crate) fn before_they_were_stored(name: &str, node_type: &str) -> Facts {
        let name = name.parse::<NodeName>();
        let is_a = |node_type: &str| {
            name.as_ref()
                .is_ok_and(|name| name.node_type() == node_type)
        };
        let facts = match node_type {
            "ports" => Facts {
                is_testers_own: true,
                unverified: Unverified::None,
                ..Facts::default()
            },
            "hdl" => Facts {
                unverified: Unverified::None,
                ..Facts::default()
            },
            "board" => Facts {
                unverified: Unverified::Received,
                ..Facts::default()
            },
            MODEL => Facts {
                is_computed: true,
                ..Facts::default()
            },
            _ => Facts::default(),
        };
        let made_anew = is_a("lab").then(|| "ports".to_owned());
        Facts {
            answers_iperf: is_a("iperf"),
            made_anew: made_anew.into_iter().collect(),
            ..facts
        }
    }
}
