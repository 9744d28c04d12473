//! The meaning of a page's words: layer, direction, size and load of a trial, metric and unit of a column, the rate of
//! the link, clocks.

use wirelab_trial::{Direction, Layer};

use super::figure::{figures, number, unit};
use crate::metric::Metric;
use crate::quantity::{Dimension, UNITS};
use crate::table::Forwarding;

/// What a label, a heading or a caption says about the trials below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelFacts {
    /// The layer of the trials.
    pub layer: Option<Layer>,
    /// The direction, as the node sees it.
    pub direction: Option<Direction>,
    /// Whether it means the most that the node reaches.
    pub max: bool,
    /// A size in bytes, and the word for what it is the size of.
    pub size: Option<(u32, Option<&'static str>)>,
    /// A load, as a token with its unit.
    pub load: Option<(String, &'static str)>,
    /// Whether the figures are of a data sheet.
    pub datasheet: bool,
    /// How a node forwards.
    pub forwarding: Option<Forwarding>,
    /// The rate of the link in bit/s.
    pub link: Option<u64>,
}

impl LabelFacts {
    /// Filled with what `other` says.
    pub fn or(&self, other: &LabelFacts) -> LabelFacts {
        LabelFacts {
            layer: self.layer.or(other.layer),
            direction: self.direction.or(other.direction),
            max: self.max || other.max,
            size: self.size.or(other.size),
            load: self.load.clone().or_else(|| other.load.clone()),
            datasheet: self.datasheet || other.datasheet,
            forwarding: self.forwarding.or(other.forwarding),
            link: self.link.or(other.link),
        }
    }
}

/// The words of a text in small letters.
pub fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '%'));
    let parts = parts.map(|word| word.trim_matches('.'));
    parts
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn any(words: &[String], wanted: &[&str]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}

/// Words for what is sized, and the key of a trial for each; a packet may be any of them.
const SIZED: [(&str, &str); 6] = [
    ("datagram", "datagram"),
    ("message", "datagram"),
    ("payload", "payload"),
    ("frame", "frame"),
    ("packet", "packet"),
    ("buffer", "datagram"),
];

/// The word of a text for what is sized.
pub fn sized(words: &[String]) -> Option<&'static str> {
    let is = |word: &str| words.iter().any(|w| w.trim_end_matches('s') == word);
    SIZED.iter().find(|(word, _)| is(word)).map(|(_, key)| *key)
}

/// What a text says about trials.
pub fn said(text: &str) -> LabelFacts {
    let plain = text
        .to_lowercase()
        .replace("tcp/ip", "")
        .replace("udp/ip", "udp");
    let words = words(&plain);
    let quantity = |of: Dimension| {
        quantities(text)
            .into_iter()
            .find(|(_, unit)| dimension(unit) == Some(of))
    };
    let size = quantity(Dimension::Bytes).filter(|(_, unit)| ["B", "kB", "KiB"].contains(unit));
    let size = size.and_then(|(token, unit)| {
        let scale = UNITS.iter().find(|known| known.name == unit)?.scale / 8.0;
        let bytes = token.parse::<f64>().ok()? * scale;
        ((1.0..=1e9).contains(&bytes) && bytes.fract() == 0.0)
            .then_some((bytes as u32, sized(&words)))
    });
    // "at 100 Mbps link" names the link, not the load.
    let link = any(&words, &["link"])
        .then(|| {
            links(&[(0, text.to_owned())])
                .first()
                .map(|(rate, _, _)| *rate)
        })
        .flatten();
    let load = quantity(Dimension::Rate).filter(|_| link.is_none());
    let load = load.or_else(|| quantity(Dimension::FrameRate));
    LabelFacts {
        layer: layer(&plain, &words),
        direction: direction(&plain, &words),
        max: any(&words, &["max", "maximum", "peak", "max."]),
        size,
        load,
        datasheet: plain.contains("datasheet") || plain.contains("data sheet"),
        forwarding: forwarding(&plain.replace('-', " ")),
        link,
    }
}

fn layer(plain: &str, words: &[String]) -> Option<Layer> {
    let six = any(words, &["ipv6", "udp6", "tcp6"]);
    if any(words, &["udp", "udp4", "udp6"]) {
        Some(if six { Layer::UdpIpv6 } else { Layer::UdpIpv4 })
    } else if any(words, &["tcp", "tcp4", "tcp6"]) {
        Some(if six { Layer::TcpIpv6 } else { Layer::TcpIpv4 })
    } else if plain.contains("layer 2") || any(words, &["l2", "layer2", "raw"]) {
        Some(Layer::Ethernet)
    } else {
        None
    }
}

/// The words of a node that receives.
const RECEIVE: [&str; 9] = [
    "rx",
    "receive",
    "receiving",
    "reception",
    "received",
    "receiver",
    "download",
    "incoming",
    "ingress",
];
/// The words of a node that sends.
const TRANSMIT: [&str; 10] = [
    "tx",
    "transmit",
    "transmission",
    "transmitting",
    "send",
    "sending",
    "sender",
    "upload",
    "outgoing",
    "egress",
];

fn direction(plain: &str, words: &[String]) -> Option<Direction> {
    let both = ["bidirectional", "bidir", "duplex", "both", "bi"];
    match (any(words, &RECEIVE), any(words, &TRANSMIT)) {
        (true, true) => Some(Direction::Both),
        _ if any(words, &both) => Some(Direction::Both),
        (true, false) => Some(Direction::Receive),
        (false, true) => Some(Direction::Transmit),
        _ if any(words, &["echo", "ping", "loopback"]) || plain.contains("round trip") => {
            Some(Direction::Echo)
        }
        _ => None,
    }
}

/// How a node forwards, by small letters without hyphens.
fn forwarding(plain: &str) -> Option<Forwarding> {
    let cut = plain.contains("cut through");
    let not = ["without cut through", "no cut through", "non cut through"];
    if plain.contains("store and forward") || not.iter().any(|words| plain.contains(words)) {
        Some(Forwarding::StoreAndForward)
    } else {
        cut.then_some(Forwarding::CutThrough)
    }
}

fn dimension(name: &str) -> Option<Dimension> {
    UNITS
        .iter()
        .find(|unit| unit.name == name)
        .map(|unit| unit.dimension)
}

/// All numbers of a text that have a unit.
pub fn quantities(text: &str) -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        before = rest[..at].chars().next_back().unwrap_or(before);
        rest = &rest[at..];
        let Some((token, after)) = number(rest) else {
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            rest = &rest[end..];
            continue;
        };
        let alone = !(before.is_alphanumeric() || before == '.' || before == '_');
        let behind = after.trim_start_matches([' ', '-', '\u{a0}']);
        let end = behind
            .find(|c: char| !(c.is_alphabetic() || c == '/' || c == '%'))
            .unwrap_or(behind.len());
        if let (true, Some(unit)) = (alone, unit(&behind[..end])) {
            all.push((token, unit));
        }
        before = rest[..rest.len() - after.len()]
            .chars()
            .next_back()
            .unwrap_or(' ');
        rest = after;
    }
    all
}

/// What the figures of a column are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnMeaning {
    /// Figures of a metric.
    Metric(Metric),
    /// A data rate that the page does not call offered or carried.
    Rate,
    /// The offered load.
    Offered,
    /// A size, with the word for what it is the size of.
    Size(Option<&'static str>),
    /// The TCP window.
    Window,
    /// The interval of a report.
    Interval,
    /// Words: a direction, a protocol, a test.
    Words,
    /// Not known from the heading.
    Unknown,
}

/// The unit that a heading gives: in brackets, after `in`, or as its last word.
pub fn unit_of(text: &str) -> Option<&'static str> {
    let brackets = text.split(['(', '[']).skip(1);
    let brackets = brackets.filter_map(|part| unit(part.split([')', ']']).next()?));
    let mut words = text.split_whitespace().peekable();
    let mut behind = None;
    while let Some(word) = words.next() {
        if matches!(word, "in" | "/" | "–" | "-") {
            behind = words
                .peek()
                .and_then(|word| unit(word.trim_matches([',', ')', '('])))
                .or(behind);
        }
    }
    let last = text
        .split_whitespace()
        .next_back()
        .and_then(|word| unit(word.trim_matches([',', ')', '('])));
    // "PPS" alone is a heading; "s" at the end of a heading is rarely a unit.
    let last = last.filter(|unit| !["s", "B"].contains(unit) || text.trim().len() == unit.len());
    brackets.last().or(behind).or(last)
}

/// Which latency a heading speaks of.
fn statistic(words: &[String]) -> Option<Metric> {
    let is = |wanted: &[&str]| any(words, wanted);
    if is(&["3σ", "3sigma"]) {
        Some(Metric::Latency3Sigma)
    } else if is(&["p99.9", "99.9th", "99.9%", "99.9", "p999"]) {
        Some(Metric::LatencyP999)
    } else if is(&["p99", "99th", "99%", "99"]) {
        Some(Metric::LatencyP99)
    } else if is(&["p90", "90th", "90%", "90"]) {
        Some(Metric::LatencyP90)
    } else if is(&["median", "p50", "50th", "50%"]) {
        Some(Metric::LatencyMedian)
    } else if is(&["min", "minimum", "best"]) {
        Some(Metric::LatencyMin)
    } else if is(&["max", "maximum", "worst"]) {
        Some(Metric::LatencyMax)
    } else if is(&["avg", "average", "mean", "typ", "typical"]) {
        Some(Metric::Latency)
    } else {
        None
    }
}

/// What a heading says about its column.
pub fn what(text: &str) -> ColumnMeaning {
    let lower = text.to_lowercase();
    let words = words(text);
    let unit = unit_of(text);
    let dimension = unit.and_then(dimension);
    let is = |wanted: &[&str]| any(&words, wanted);
    let time = dimension == Some(Dimension::Time);
    let share = dimension == Some(Dimension::Share) || lower.contains('%');
    if dimension == Some(Dimension::Frequency) {
        ColumnMeaning::Unknown
    } else if is(&["jitter"]) {
        ColumnMeaning::Metric(Metric::Jitter)
    } else if is(&["latency", "latencies", "delay", "rtt"]) || (lower.contains("latency") && time) {
        ColumnMeaning::Metric(statistic(&words).unwrap_or(Metric::Latency))
    } else if is(&["cpu", "processor"]) && !time && dimension != Some(Dimension::Frequency) {
        ColumnMeaning::Metric(Metric::CpuLoad)
    } else if is(&["loss", "lost", "drop", "drops", "dropped"]) {
        let count = !share && is(&["lost", "dropped", "drops"]);
        ColumnMeaning::Metric(if count { Metric::Lost } else { Metric::Loss })
    } else if is(&["efficiency"]) {
        ColumnMeaning::Metric(Metric::Efficiency)
    } else if share && (is(&["relative", "line", "limit", "wire"]) || lower.contains("of max")) {
        ColumnMeaning::Metric(Metric::ShareOfLimit)
    } else if share && is(&["load", "utilization", "utilisation", "usage"]) {
        ColumnMeaning::Metric(Metric::CpuLoad)
    } else if dimension == Some(Dimension::FrameRate) || (is(&["rate"]) && is(&["frame", "packet"]))
    {
        ColumnMeaning::Metric(Metric::FramesPerS)
    } else if is(&["window"]) {
        ColumnMeaning::Window
    } else if is(&["interval"]) {
        ColumnMeaning::Interval
    } else if is(&["transfer"]) && dimension != Some(Dimension::Rate) {
        ColumnMeaning::Metric(Metric::Transfer)
    } else if is(&[
        "bandwidth",
        "throughput",
        "bitrate",
        "goodput",
        "speed",
        "rate",
        "offered",
    ]) || dimension == Some(Dimension::Rate)
    {
        rate(&words)
    } else if lower.trim() == "datagrams" || lower.trim() == "total datagrams" {
        ColumnMeaning::Metric(Metric::Datagrams)
    } else if let Some(size) = size(&words, dimension) {
        size
    } else if is(&[
        "direction",
        "protocol",
        "layer",
        "test",
        "mode",
        "parameter",
        "scenario",
    ]) {
        ColumnMeaning::Words
    } else if time {
        ColumnMeaning::Metric(statistic(&words).unwrap_or(Metric::Time))
    } else {
        ColumnMeaning::Unknown
    }
}

fn rate(words: &[String]) -> ColumnMeaning {
    if any(
        words,
        &[
            "offered",
            "target",
            "requested",
            "configured",
            "nominal",
            "input",
            "attempted",
        ],
    ) {
        ColumnMeaning::Offered
    } else if any(
        words,
        &[
            "throughput",
            "goodput",
            "achieved",
            "received",
            "actual",
            "measured",
            "output",
            "effective",
        ],
    ) {
        ColumnMeaning::Metric(Metric::Throughput)
    } else {
        ColumnMeaning::Rate
    }
}

fn size(words: &[String], dimension: Option<Dimension>) -> Option<ColumnMeaning> {
    let named = sized(words);
    let bytes =
        dimension == Some(Dimension::Bytes) || any(words, &["bytes", "octets", "size", "length"]);
    let of_size = named.is_some() || any(words, &["size", "length"]);
    (bytes && of_size || any(words, &["bytes", "octets"])).then_some(ColumnMeaning::Size(named))
}

/// The rates that links have, in bit/s.
const LINKS: [u64; 8] = [
    10_000_000,
    100_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    25_000_000_000,
    100_000_000_000,
];
/// Words of a line that is about a link.
const OF_LINK: [&str; 14] = [
    "ethernet",
    "link",
    "rgmii",
    "sgmii",
    "rmii",
    "mii",
    "gmii",
    "phy",
    "interface",
    "lan",
    "port",
    "channel",
    "network",
    "speed",
];

/// The rates that lines give to a link, each with its line.
pub fn links(lines: &[(usize, String)]) -> Vec<(u64, usize, String)> {
    let mut found: Vec<(u64, usize, String)> = Vec::new();
    for (line, text) in lines {
        let words = words(text);
        let mut rates: Vec<u64> = Vec::new();
        if any(&words, &OF_LINK) {
            rates.extend(quantities(text).into_iter().filter_map(|(token, unit)| {
                let known = UNITS
                    .iter()
                    .find(|u| u.name == unit && u.dimension == Dimension::Rate)?;
                // "100 MB/s" of a link is the same slip on every page that has it.
                let scale = known.scale / if unit.contains('B') { 8.0 } else { 1.0 };
                Some((token.parse::<f64>().ok()? * scale) as u64)
            }));
        }
        let lower = text.to_lowercase();
        let names = [
            ("10base-t", 10_000_000),
            ("100base-tx", 100_000_000),
            ("fast ethernet", 100_000_000),
            ("1000base-t", 1_000_000_000),
            ("gigabit ethernet", 1_000_000_000),
        ];
        for (name, rate) in names {
            let at = lower.find(name);
            if at.is_some_and(|at| !lower[..at].ends_with(|c: char| c.is_ascii_digit())) {
                rates.push(rate);
            }
        }
        for rate in rates.into_iter().filter(|rate| LINKS.contains(rate)) {
            if !found.iter().any(|(known, _, _)| *known == rate) {
                found.push((rate, *line, text.chars().take(80).collect()));
            }
        }
    }
    found
}

/// The clocks of cores that lines name, as texts such as `400 MHz`.
pub fn clocks(lines: &[(usize, String)]) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for (line, text) in lines {
        for (token, unit) in quantities(text) {
            let mega = matches!(unit, "MHz" | "GHz");
            let clock = format!("{token} {unit}");
            let positive = token.parse::<f64>().is_ok_and(|n| n > 0.0);
            if mega && positive && !found.iter().any(|(known, _)| *known == clock) {
                found.push((clock, *line));
            }
        }
    }
    found
}

/// The rate in the short form that studies use: `100M`, `1G`.
pub fn short_rate(bits_per_s: u64) -> String {
    match bits_per_s {
        n if n % 1_000_000_000 == 0 => format!("{}G", n / 1_000_000_000),
        n if n % 1_000_000 == 0 => format!("{}M", n / 1_000_000),
        n => n.to_string(),
    }
}

/// Whether a text is one figure.
pub fn is_figure(text: &str) -> bool {
    figures(text).is_ok_and(|all| all.iter().any(|figure| figure.token != "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_say_metric_and_unit() {
        let metric = |text: &str| match what(text) {
            ColumnMeaning::Metric(metric) => metric.name().to_owned(),
            other => format!("{other:?}"),
        };
        for (text, wanted, unit) in [
            ("Bandwidth (Mbps)", "Rate", Some("Mbit/s")),
            ("CPU Load (%)", "cpu_load", Some("%")),
            ("Packet Loss (%)", "loss", Some("%")),
            ("Packet Size (bytes)", "Size(Some(\"packet\"))", Some("B")),
            ("Frame size", "Size(Some(\"frame\"))", None),
            ("Throughput [MB/s]", "throughput", Some("MB/s")),
            ("Offered load, Mbps", "Offered", Some("Mbit/s")),
            ("Min latency (us)", "latency_min", Some("us")),
            ("99th percentile latency in us", "latency_p99", Some("us")),
            ("Avg (us)", "latency", Some("us")),
            ("CPU<->CPSW Latency Value (ns)", "latency", Some("ns")),
            ("Time (msec)", "time", Some("ms")),
            ("Packets/s", "frames_per_s", Some("frames/s")),
            ("TCP window (KiB)", "Window", Some("KiB")),
            ("% of line rate", "share_of_limit", None),
            ("Test", "Words", None),
            ("Jitter (ms)", "jitter", Some("ms")),
        ] {
            assert_eq!(
                (metric(text).as_str(), unit_of(text)),
                (wanted, unit),
                "{text}"
            );
        }
    }

    #[test]
    fn labels_say_layer_direction_size_and_load() {
        let of = said("UDP RX (Max), Datagram Length = 64B at 5 Mbps");
        assert_eq!(
            (of.layer, of.direction, of.max),
            (Some(Layer::UdpIpv4), Some(Direction::Receive), true)
        );
        assert_eq!(of.size, Some((64, Some("datagram"))));
        assert_eq!(of.load, Some(("5".to_owned(), "Mbit/s")));
        assert_eq!(said("TCP/IP Performance").layer, None);
        assert_eq!(said("TCP Bidirectional").direction, Some(Direction::Both));
        assert_eq!(said("DP83869HM latency (from datasheet)").size, None);
        assert!(said("DP83869HM latency (from datasheet)").datasheet);
    }

    #[test]
    fn the_rate_of_a_link_is_in_words() {
        let of = |text: &str| {
            let found = links(&[(7, text.to_owned())]);
            found
                .iter()
                .map(|(rate, _, _)| short_rate(*rate))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(of("Ethernet Interface Type | RGMII at 1 Gbps |"), "1G");
        assert_eq!(of("a 100BASE-TX PHY"), "100M");
        assert_eq!(of("the Bandwidth is 100 Mbps"), "");
        assert_eq!(of("Gigabit Ethernet"), "1G");
        assert_eq!(
            of("runs at both 10 Mbps and 100 Mbps (10/100 Ethernet)"),
            "10M 100M"
        );
    }
}
