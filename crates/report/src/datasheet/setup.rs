//! Set-up tables: what a node reported about itself, under the names that published pages use.

use std::collections::BTreeSet;

use super::sheet::Sheet;
use crate::format;

/// Most keys shown.
const KEYS: usize = 100;

/// The subject of a set-up table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupTable {
    /// The chip.
    Soc,
    /// Layer 2 trials.
    Layer2,
    /// TCP and UDP trials.
    TcpIp,
}

/// Names of the page with the keys of `spec/node-control.md`, and further ones that node files use.
const SOC: [(&str, &[&str]); 4] = [
    ("Core", &["core"]),
    ("Core Operating Speed", CLOCK),
    ("Memory Type", &["memory"]),
    ("Cache status", &["cache"]),
];
const CLOCK: &[&str] = &["core_clock_hz", "core_clock", "clock"];
const LAYER2: [(&str, &[&str]); 11] = [
    ("Processing Core", &["processing_core", "core"]),
    ("Core Frequency", CLOCK),
    ("Ethernet Interface Type", &["interface"]),
    ("PHY", &["phy"]),
    ("Packet buffer memory", &["buffer_memory"]),
    ("Scatter-gather TX", &["scatter_gather_tx"]),
    ("Scatter-gather RX", &["scatter_gather_rx"]),
    ("Interrupt pacing", &["interrupt_pacing", "pacing"]),
    ("RTOS", &["os"]),
    ("RTOS application", &["application"]),
    ("Host PC tool version", &["tool"]),
];
const TCP_IP: [(&str, &[&str]); 14] = [
    ("Processing Core", &["processing_core", "core"]),
    ("Core Frequency", CLOCK),
    ("Ethernet Interface Type", &["interface"]),
    ("Packet buffer memory", &["buffer_memory"]),
    ("Hardware checksum offload", &["checksum", "offloads"]),
    ("Scatter-gather TX", &["scatter_gather_tx"]),
    ("Scatter-gather RX", &["scatter_gather_rx"]),
    ("Interrupt pacing", &["interrupt_pacing", "pacing"]),
    ("RTOS", &["os"]),
    ("RTOS application", &["application"]),
    ("TCP/IP stack", &["stack"]),
    ("Host PC tool version", &["tool"]),
    ("Number of Rx packet buffers", &["rx_buffers"]),
    ("Number of Tx packet buffers", &["tx_buffers"]),
];
/// What a Linux node also reports, in the order of the page.
const FURTHER: [(&str, &str); 9] = [
    ("cores", "Cores of the host"),
    ("cpus", "Cores that do the node's work"),
    ("virtual_machine", "Virtual machine"),
    ("software", "Software"),
    ("ip", "IP address"),
    ("mac", "Ethernet address"),
    ("mtu_bytes", "MTU in bytes"),
    ("segmentation_tx", "Segmentation offload TX"),
    ("joining_rx", "Joining of received segments"),
];
/// Keys that stand in other places of the page, and `host`, by which only programs know a host.
const ELSEWHERE: [&str; 6] = [
    "host",
    "phy_rx_ps",
    "phy_tx_ps",
    "checksum_tx",
    "checksum_rx",
    "link_bits_per_s",
];

/// The rows of a set-up table that are known.
pub fn table(sheet: &Sheet, of: SetupTable) -> Vec<(String, String)> {
    let names: &[(&str, &[&str])] = match of {
        SetupTable::Soc => &SOC,
        SetupTable::Layer2 => &LAYER2,
        SetupTable::TcpIp => &TCP_IP,
    };
    let mut out: Vec<(String, String)> = names
        .iter()
        .filter_map(|(name, keys)| Some(((*name).to_owned(), value(sheet, of, keys)?)))
        .collect();
    if of == SetupTable::Layer2 {
        lengths(sheet, &mut out);
    }
    out
}

/// Set-up keys that none of the tables has.
pub fn further(sheet: &Sheet) -> Vec<(String, String)> {
    let tables = SOC.iter().chain(&LAYER2).chain(&TCP_IP);
    let mut known: BTreeSet<&str> = tables.flat_map(|(_, keys)| keys.iter().copied()).collect();
    known.extend(ELSEWHERE);
    let plain = |key: &str| {
        key.trim_start_matches("layer2_")
            .trim_start_matches("tcpip_")
            .to_owned()
    };
    let named = FURTHER.iter().filter_map(|(key, name)| {
        let value = sheet.setup.get(*key)?;
        Some(((*name).to_owned(), value.clone()))
    });
    let is_named = |key: &str| FURTHER.iter().any(|(named, _)| *named == key);
    let others = sheet
        .setup
        .iter()
        .filter(|(key, _)| !known.contains(plain(key).as_str()) && !is_named(key))
        .map(|(key, value)| (key.clone(), value.clone()));
    named.chain(others).take(KEYS).collect()
}

/// The first key that is known; a key for only this table has priority.
fn value(sheet: &Sheet, of: SetupTable, keys: &[&str]) -> Option<String> {
    let prefix = match of {
        SetupTable::Soc => "soc_",
        SetupTable::Layer2 => "layer2_",
        SetupTable::TcpIp => "tcpip_",
    };
    if keys.first() == Some(&"checksum") {
        if let Some(text) = checksum(sheet) {
            return Some(text);
        }
    }
    let own = keys.iter().map(|key| format!("{prefix}{key}"));
    let both = own.chain(keys.iter().map(|key| (*key).to_owned()));
    let (key, text) = both
        .filter_map(|key| Some((key.clone(), sheet.setup.get(&key)?)))
        .next()?;
    Some(match (key.as_str(), text.parse::<f64>()) {
        (key, Ok(hz)) if key.ends_with("core_clock_hz") => format::si(hz, "Hz"),
        (key, _) if key.ends_with("interface") => interface(sheet, text),
        _ => text.clone(),
    })
}

/// The interface with its rate, where the text does not say it.
fn interface(sheet: &Sheet, text: &str) -> String {
    match sheet.link_bits_per_s {
        Some(rate) if !text.contains("bit/s") && !text.contains("bps") => {
            format!("{text} at {}", format::si(rate as f64, "bit/s"))
        }
        _ => text.to_owned(),
    }
}

fn checksum(sheet: &Sheet) -> Option<String> {
    let side = |key: &str, side: &str| {
        let word = match sheet.setup.get(key)?.as_str() {
            "hardware" => "Enabled",
            "software" => "Disabled",
            other => other,
        };
        Some(format!("{word} on {side} side"))
    };
    let sides = [side("checksum_tx", "Tx"), side("checksum_rx", "Rx")];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    (!sides.is_empty()).then(|| sides.join(", "))
}

/// Lengths of the frames of the latency trials.
fn lengths(sheet: &Sheet, out: &mut Vec<(String, String)>) {
    use wirelab_trial::Direction::{Receive, Transmit};
    for (name, direction) in [
        ("Rx packet length", Receive),
        ("Tx packet length", Transmit),
    ] {
        let of = sheet
            .layer2_latency
            .iter()
            .filter(|l| l.direction == direction);
        let lengths: BTreeSet<u32> = of.map(|l| l.length_bytes).collect();
        let lengths: Vec<String> = lengths.iter().map(|l| format!("{l} B")).collect();
        if !lengths.is_empty() {
            out.push((name.to_owned(), lengths.join(", ")));
        }
    }
}
