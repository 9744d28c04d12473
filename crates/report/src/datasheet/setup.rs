//! Set-up tables: what a node reported about itself, under the names that published pages use.

use std::collections::BTreeSet;

use super::sheet::Sheet;
use crate::about::setup_key;
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

/// A key of a node's set-up, and how its value is shown.
#[derive(Clone, Copy)]
enum Key {
    /// As the node writes it.
    Text(&'static str),
    /// A number of Hz with its prefix; other text as the node writes it.
    Hertz(&'static str),
    /// An interface with the link's rate.
    Interface(&'static str),
    /// Both sides of a checksum, each under a key of its own; where the node has neither, the text of this key.
    Checksum(&'static str),
}

impl Key {
    const fn name(self) -> &'static str {
        match self {
            Key::Text(name) | Key::Hertz(name) | Key::Interface(name) | Key::Checksum(name) => name,
        }
    }
}

/// A row of the page, and the keys of `spec/node-control.md`, and further ones that node files use; the first that a node has.
type SetupRow = (&'static str, &'static [Key]);

const SOC: [SetupRow; 4] = [
    ("Core", &[Key::Text("core")]),
    ("Core Operating Speed", CLOCK),
    ("Memory Type", &[Key::Text("memory")]),
    ("Cache status", &[Key::Text("cache")]),
];
const CLOCK: &[Key] = &[
    Key::Hertz("core_clock_hz"),
    Key::Text("core_clock"),
    Key::Text("clock"),
];
const LAYER2: [SetupRow; 11] = [
    (
        "Processing Core",
        &[Key::Text("processing_core"), Key::Text("core")],
    ),
    ("Core Frequency", CLOCK),
    ("Ethernet Interface Type", &[Key::Interface("interface")]),
    ("PHY", &[Key::Text("phy")]),
    ("Packet buffer memory", &[Key::Text("buffer_memory")]),
    ("Scatter-gather TX", &[Key::Text("scatter_gather_tx")]),
    ("Scatter-gather RX", &[Key::Text("scatter_gather_rx")]),
    (
        "Interrupt pacing",
        &[Key::Text("interrupt_pacing"), Key::Text("pacing")],
    ),
    ("RTOS", &[Key::Text("os")]),
    ("RTOS application", &[Key::Text("application")]),
    ("Host PC tool version", &[Key::Text("tool")]),
];
const TCP_IP: [SetupRow; 14] = [
    (
        "Processing Core",
        &[Key::Text("processing_core"), Key::Text("core")],
    ),
    ("Core Frequency", CLOCK),
    ("Ethernet Interface Type", &[Key::Interface("interface")]),
    ("Packet buffer memory", &[Key::Text("buffer_memory")]),
    (
        "Hardware checksum offload",
        &[Key::Checksum("checksum"), Key::Text("offloads")],
    ),
    ("Scatter-gather TX", &[Key::Text("scatter_gather_tx")]),
    ("Scatter-gather RX", &[Key::Text("scatter_gather_rx")]),
    (
        "Interrupt pacing",
        &[Key::Text("interrupt_pacing"), Key::Text("pacing")],
    ),
    ("RTOS", &[Key::Text("os")]),
    ("RTOS application", &[Key::Text("application")]),
    ("TCP/IP stack", &[Key::Text("stack")]),
    ("Host PC tool version", &[Key::Text("tool")]),
    ("Number of Rx packet buffers", &[Key::Text("rx_buffers")]),
    ("Number of Tx packet buffers", &[Key::Text("tx_buffers")]),
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
    let rows: &[SetupRow] = match of {
        SetupTable::Soc => &SOC,
        SetupTable::Layer2 => &LAYER2,
        SetupTable::TcpIp => &TCP_IP,
    };
    let mut out: Vec<(String, String)> = rows
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
    let mut known: BTreeSet<&str> = tables
        .flat_map(|(_, keys)| keys.iter().map(|key| key.name()))
        .collect();
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
        .map(|(key, value)| (setup_key(key), value.clone()));
    named.chain(others).take(KEYS).collect()
}

/// The first key that is known; a key for only this table has priority.
fn value(sheet: &Sheet, of: SetupTable, keys: &[Key]) -> Option<String> {
    let prefix = match of {
        SetupTable::Soc => "soc_",
        SetupTable::Layer2 => "layer2_",
        SetupTable::TcpIp => "tcpip_",
    };
    let own = keys
        .iter()
        .map(|key| (key, format!("{prefix}{}", key.name())));
    let both = own.chain(keys.iter().map(|key| (key, key.name().to_owned())));
    let mut shown = both.filter_map(|(key, name)| {
        let text = sheet.setup.get(&name);
        Some(match key {
            Key::Text(_) => text?.clone(),
            Key::Hertz(_) => hertz(text?),
            Key::Interface(_) => interface(sheet, text?),
            Key::Checksum(_) => checksum(sheet).or_else(|| text.cloned())?,
        })
    });
    shown.next()
}

fn hertz(text: &str) -> String {
    match text.parse() {
        Ok(hz) => format::si(hz, "Hz"),
        Err(_) => text.to_owned(),
    }
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
