//! The node's description of itself: its identity, and the set-up keys that the system knows.

use std::fs;

use wirelab_control::message::Identity;
use wirelab_control::refusal::MAX_WHY;
use wirelab_control::value::{Path, Traffic};
use wirelab_cores::{clock_id, host_id};
use wirelab_port::host::environment;
use wirelab_port::iface::Interface;
use wirelab_trial::{Buffers, Direction, Probes};
use wirelab_wire::{Framing, Layer};

use crate::inside::Allowed;
use crate::location::Location;
use crate::options::Options;
use crate::sys::ethtool::{Ethtool, RingSizes};

/// Bytes of the Ethernet header and the FCS, which an MTU does not count (IEEE 802.3).
const AROUND: u32 = 14 + 4;

/// Most records of a capture point. A client reads no more (section 7 of the protocol).
pub const MOST_CAPTURES: u32 = 65_536;

/// What the node is and allows.
pub fn identity(
    options: &Options,
    location: &Location,
    allowed: &Allowed,
    setup: usize,
) -> Identity {
    let mut layers = match location.ip.is_ipv4() {
        true => vec![Layer::UdpIpv4, Layer::TcpIpv4],
        false => vec![Layer::UdpIpv6, Layer::TcpIpv6],
    };
    let mut buffers = Vec::new();
    if location.ethernet {
        layers.insert(0, Layer::Ethernet);
        buffers = vec![
            Buffers::Prefilled,
            Buffers::Copied,
            Buffers::CopiedAhead,
            Buffers::InPlace,
        ];
    }
    let largest = layers.iter().map(|layer| {
        let framing = Framing {
            layer: *layer,
            vlan_tags: 0,
        };
        framing.max_test_frame()
    });
    let mtu_frame = location.interface.mtu.saturating_add(AROUND);
    Identity {
        name: options.name.clone().unwrap_or_else(host_name),
        setup: setup as u32,
        directions: vec![
            Direction::Transmit,
            Direction::Receive,
            Direction::Both,
            Direction::Echo,
        ],
        layers: layers.clone(),
        buffers,
        traffic: vec![Traffic::Test],
        paths: paths(location, allowed),
        ports: 1,
        min_frame_bytes: 64,
        max_frame_bytes: largest.max().unwrap_or(mtu_frame).min(mtu_frame),
        max_frames: options.limits.frames,
        max_time_ps: options.limits.time_ps,
        max_captures: options.limits.captures.min(MOST_CAPTURES),
        idle_ms: options.limits.idle_ms,
    }
}

/// The paths through the node. Those past the stack need the link layer and XDP programs.
fn paths(location: &Location, allowed: &Allowed) -> Vec<Path> {
    match location.ethernet && allowed.xdp.is_ok() {
        true => vec![Path::Stack, Path::Driver, Path::FastTrack],
        false => vec![Path::Stack],
    }
}

/// What the kernel's tracer can do on this host, as attaching it has shown.
fn inside_keys(location: &Location, allowed: &Allowed) -> Vec<(String, String)> {
    let mut keys = vec![(
        "receive_cpus".to_owned(),
        match &location.receive_cores {
            Some(cores) => cores.to_string(),
            None => "any".to_owned(),
        },
    )];
    let mut put = |key: &str, value: &str| keys.push((key.to_owned(), short(value)));
    match &allowed.probes {
        Ok(set) => {
            put("probes", &set.to_string());
            put("probes_why", why_this_set(allowed, Probes::Auto));
        }
        Err(why) => {
            put("probes", "none");
            put("probes_why", why);
        }
    }
    match &allowed.xdp {
        Ok(mode) => put("xdp", mode),
        Err(why) => put("xdp", &format!("none: {why}")),
    }
    for (point, function) in &allowed.functions {
        put(&format!("function.{point}"), function);
    }
    // The program that records this point is attached for a trial, not with the tracer.
    if let (false, Ok(mode)) = (allowed.functions.is_empty(), &allowed.xdp) {
        put(DRIVER, &driver(mode));
    }
    keys
}

/// The reason for the probe set of a trial that requested these probes.
pub fn why_this_set(allowed: &Allowed, requested: Probes) -> &str {
    match (requested, &allowed.remark) {
        (Probes::Raw | Probes::Fentry, _) => "requested",
        (_, Some(why)) => why,
        (_, None) => "the better one",
    }
}

/// The set-up key of the program that records the point `driver` of received frames.
pub const DRIVER: &str = "function.in.driver";

/// The program that records that point, for an XDP program in this mode.
pub fn driver(mode: &str) -> String {
    format!("XDP program ({mode})")
}

/// Cuts a text at a word to the length that a set-up key or a note can hold.
pub fn short(text: &str) -> String {
    const MORE: &str = "…";
    if text.len() <= MAX_WHY {
        return text.to_owned();
    }
    let mut end = MAX_WHY - MORE.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let words = text[..end].rfind(' ').unwrap_or(end);
    format!(
        "{}{MORE}",
        text[..words].trim_end_matches([' ', ',', ':', ';'])
    )
}

/// Set-up keys: the user's first, then what the system knows.
pub fn setup(options: &Options, location: &Location, allowed: &Allowed) -> Vec<(String, String)> {
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            keys.push((key.to_owned(), value));
        }
    };
    let host = environment();
    put("core", host.cpu.value().cloned());
    put("core_clock_hz", core_clock_hz(location.cores.numbers()[0]));
    put("cores", host.cpus.value().map(ToString::to_string));
    put("cpus", Some(location.cores.to_string()));
    put(
        "memory",
        host.memory_bytes
            .value()
            .map(|bytes| format!("{} MiB RAM", bytes >> 20)),
    );
    put("cache", caches(location.cores.numbers()[0]));
    put("buffer_memory", Some("RAM, cached".to_owned()));
    let interface = &location.interface;
    let driver = interface.driver.as_deref().unwrap_or("no driver");
    put(
        "interface",
        Some(format!("{} ({driver})", interface.port.interface)),
    );
    put(
        "link_bits_per_s",
        interface.link_rate.map(|rate| rate.to_string()),
    );
    put("mtu_bytes", Some(interface.mtu.to_string()));
    for (key, value) in Settings::of(interface).keys() {
        put(key, Some(value));
    }
    put(
        "stack",
        host.kernel.value().map(|kernel| short_release(kernel)),
    );
    put("os", os_name());
    put(
        "virtual_machine",
        host.virtual_machine.value().map(|v| yes(*v)),
    );
    put("application", Some("wirelab node serve".to_owned()));
    put(
        "software",
        Some(format!("wirelab {}", env!("CARGO_PKG_VERSION"))),
    );
    put(
        "mac",
        (!interface.loopback).then(|| interface.mac.to_string()),
    );
    put("ip", Some(location.ip.to_string()));
    put("host", host_id());
    put("clock_id", clock_id());
    keys.extend(inside_keys(location, allowed));
    for (key, value) in &options.set {
        keys.retain(|(other, _)| other != key);
        keys.push((key.clone(), value.clone()));
    }
    keys
}

/// A flag as the protocol writes it.
pub fn yes(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

/// `Linux 6.18` of `Linux 6.18.44-distribution`: the version of the stack, without the build.
fn short_release(kernel: &str) -> String {
    let mut parts = kernel.splitn(3, '.');
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ => kernel.to_owned(),
    }
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The host's name as a word of the protocol, or `node`.
fn host_name() -> String {
    let name = first_line("/proc/sys/kernel/hostname").unwrap_or_default();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let word: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .skip_while(|c| !c.is_ascii_lowercase())
        .take(32)
        .collect();
    if word.is_empty() {
        "node".to_owned()
    } else {
        word
    }
}

/// The maximum clock of a core from its frequency driver, else its present clock.
fn core_clock_hz(core: usize) -> Option<String> {
    let greatest = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/cpuinfo_max_freq");
    if let Some(khz) = first_line(&greatest).and_then(|text| text.parse::<u64>().ok()) {
        return Some((khz * 1000).to_string());
    }
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("cpu MHz"))?;
    let mhz: f64 = line.split_once(':')?.1.trim().parse().ok()?;
    (mhz.is_finite() && mhz > 0.0).then(|| format!("{:.0}", mhz * 1e6))
}

/// Each cache of a core: level, kind and size.
fn caches(core: usize) -> Option<String> {
    let of = |index: usize| {
        let path = |name| format!("/sys/devices/system/cpu/cpu{core}/cache/index{index}/{name}");
        let kind = match first_line(&path("type"))?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let (level, size) = (first_line(&path("level"))?, first_line(&path("size"))?);
        Some(format!(
            "L{level}{kind} {}",
            size.replace('K', " KiB").replace('M', " MiB")
        ))
    };
    let all: Vec<String> = (0..8).map_while(of).collect();
    (!all.is_empty()).then(|| format!("enabled: {}", all.join(", ")))
}

fn os_name() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// Settings of an interface; `None` where the driver does not report them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    checksum_tx: Option<bool>,
    checksum_rx: Option<bool>,
    scatter_gather: Option<bool>,
    segmentation_tx: Option<bool>,
    joining_rx: Option<bool>,
    ring: Option<RingSizes>,
    pacing_us: Option<u32>,
}

impl Settings {
    /// Ask the driver, in the network namespace of the calling thread.
    pub fn of(interface: &Interface) -> Settings {
        let Ok(ethtool) = Ethtool::open(&interface.port.interface) else {
            return Settings::default();
        };
        Settings {
            checksum_tx: ethtool.checksum_tx(),
            checksum_rx: ethtool.checksum_rx(),
            scatter_gather: ethtool.scatter_gather(),
            segmentation_tx: ethtool.segmentation_tx(),
            joining_rx: ethtool.joining_rx(),
            ring: ethtool.ring(),
            pacing_us: ethtool.interrupt_pacing_us(),
        }
    }

    /// As set-up keys.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let by = |hardware: bool| if hardware { "hardware" } else { "software" }.to_owned();
        let number = |n: u32| n.to_string();
        let all = [
            ("checksum_tx", self.checksum_tx.map(by)),
            ("checksum_rx", self.checksum_rx.map(by)),
            ("scatter_gather_tx", self.scatter_gather.map(yes)),
            ("segmentation_tx", self.segmentation_tx.map(yes)),
            ("joining_rx", self.joining_rx.map(yes)),
            ("rx_descriptors", self.ring.map(|ring| number(ring.rx))),
            ("tx_descriptors", self.ring.map(|ring| number(ring.tx))),
            ("interrupt_pacing", self.pacing_us.map(|us| yes(us > 0))),
            (
                "interrupt_pacing_us",
                self.pacing_us.filter(|us| *us > 0).map(number),
            ),
        ];
        all.into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_is_named_by_its_version_alone() {
        assert_eq!(short_release("Linux 6.18.44-fc"), "Linux 6.18");
        assert_eq!(short_release("Linux 7"), "Linux 7");
    }

    #[test]
    fn a_long_text_is_cut_between_words() {
        let long = "needs a word: ".repeat(20);
        let cut = short(&long);
        assert!(cut.len() <= MAX_WHY && cut.ends_with("word…"), "{cut}");
        assert_eq!(short("as it is"), "as it is");
        assert!(short(&"ä".repeat(100)).len() <= MAX_WHY);
    }

    #[test]
    fn the_name_of_this_host_is_a_word() {
        let name = host_name();
        assert!(
            wirelab_control::line::word(name.as_bytes()).is_some(),
            "{name}"
        );
    }
}
