//! The plan that fills a node's datasheet: latency, throughput, TCP, UDP by size and rate, echo.
//!
//! The rows are those of the AM263x page of TI's MCU+ SDK ("Ethernet Performance on AM263x").

use wirelab_trial::{Framing, Layer};

use crate::plan::{Plan, Section};

/// `plans/datasheet.toml`.
const FULL: &str = include_str!("../../../plans/datasheet.toml");
/// `plans/datasheet-quick.toml`.
const QUICK: &str = include_str!("../../../plans/datasheet-quick.toml");

/// The built-in plan; `quick` takes less than a minute, with shorter trials and coarser searches.
pub fn plan(quick: bool) -> Plan {
    let (text, file) = match quick {
        false => (FULL, "plans/datasheet.toml"),
        true => (QUICK, "plans/datasheet-quick.toml"),
    };
    Plan::parse(text, file).expect("a test reads both files")
}

impl Plan {
    /// Uses this link rate in all trials, where none of them has its own.
    pub fn use_link(&mut self, bits_per_s: u64) {
        for section in &mut self.sections {
            let shared = match section {
                Section::Matrix(matrix) => &mut matrix.shared,
                Section::Search(search) => &mut search.shared,
            };
            shared.link_bits_per_s = shared.link_bits_per_s.or(Some(bits_per_s));
        }
    }

    /// Uses the IP version of the node for UDP and TCP, where it has only the other one.
    pub fn use_layers(&mut self, known: &[Layer]) {
        for section in &mut self.sections {
            let framings = match section {
                Section::Matrix(matrix) => &mut matrix.framings,
                Section::Search(search) => &mut search.framings,
            };
            for Framing { layer, .. } in framings {
                let other = match layer {
                    Layer::Ethernet => continue,
                    Layer::UdpIpv4 => Layer::UdpIpv6,
                    Layer::UdpIpv6 => Layer::UdpIpv4,
                    Layer::TcpIpv4 => Layer::TcpIpv6,
                    Layer::TcpIpv6 => Layer::TcpIpv4,
                };
                if !known.contains(layer) && known.contains(&other) {
                    *layer = other;
                }
            }
        }
    }
}
