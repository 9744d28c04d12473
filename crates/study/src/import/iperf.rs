//! The reports of iperf 2 and iperf3, as servers and clients print them.

use wirelab_trial::Layer;

use super::grid::{Grid, GridCell};
use super::words::LabelFacts;

/// The heading of each column that a report may have.
const HEADS: [&str; 6] = [
    "Interval",
    "Transfer",
    "Bandwidth",
    "Jitter",
    "Lost",
    "Datagrams",
];

/// A line of a report.
struct ReportLine {
    interval: String,
    transfer: String,
    rate: String,
    jitter: Option<String>,
    counts: Option<(String, String)>,
}

/// The lines of a report that begins here, without the sum at its end, and the line after them.
pub fn report(lines: &[&str], at: usize, mut context: Vec<String>) -> Option<(Grid, usize)> {
    line(lines[at])?;
    let mut found = Vec::new();
    let mut end = at;
    while end < lines.len() {
        match line(lines[end]) {
            Some(line) => found.push((end + 1, line)),
            None if is_of_report(lines[end]) => {}
            None => break,
        }
        end += 1;
    }
    let above = lines[..at].iter().rev().take(12);
    let above = above.rev().map(|line| line.trim());
    // Lines of the report itself add nothing to its context.
    context.extend(
        above
            .filter(|line| !line.starts_with('['))
            .map(str::to_owned),
    );
    let udp = found.iter().any(|(_, line)| line.counts.is_some());
    let columns = if udp { HEADS.len() } else { 3 };
    let head = |text: &str| GridCell {
        text: text.to_owned(),
        line: at + 1,
        head: true,
    };
    let mut grid = Grid {
        context,
        rows: vec![HEADS[..columns].iter().map(|text| head(text)).collect()],
        heads: Some(1),
        iperf: true,
    };
    // The whole of a report repeats its parts.
    if found.len() > 2 {
        let length = |line: &ReportLine| ends(&line.interval).map_or(0.0, |(a, b)| b - a);
        let first = length(&found[0].1);
        found.retain(|(_, line)| length(line) <= 1.5 * first);
    }
    for (at, line) in found {
        let (lost, all) = line.counts.unwrap_or_default();
        let jitter = line.jitter.unwrap_or_default();
        let texts = [line.interval, line.transfer, line.rate, jitter, lost, all];
        let cell = |text| GridCell {
            text,
            line: at,
            head: false,
        };
        grid.rows
            .push(texts.into_iter().take(columns).map(cell).collect());
    }
    Some((grid, end))
}

/// Whether a line may stand between the lines of a report.
fn is_of_report(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("[ ID]") || line.starts_with("- - -")
}

/// What the report says of its trial: UDP where it counts datagrams, and what the commands above it ask for.
pub fn said(grid: &Grid) -> LabelFacts {
    let udp = grid.width() > 3;
    let mut said = LabelFacts {
        layer: Some(if udp { Layer::UdpIpv4 } else { Layer::TcpIpv4 }),
        ..LabelFacts::default()
    };
    for line in grid.context.iter().filter(|line| line.contains("iperf")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let value = |flag: &str| {
            let at = words.iter().position(|word| word.starts_with(flag))?;
            let own = &words[at][flag.len()..];
            if own.is_empty() {
                words.get(at + 1).copied()
            } else {
                Some(own)
            }
        };
        let bytes = value("-l").and_then(|text| text.parse().ok());
        said.size = bytes.map(|bytes| (bytes, Some("datagram"))).or(said.size);
        let load = value("-b").and_then(|text| text.strip_suffix(['M', 'm']));
        let load = load.filter(|text| text.parse::<f64>().is_ok());
        said.load = load
            .map(|text| (text.to_owned(), "Mbit/s"))
            .or(said.load.take());
    }
    said
}

/// The ends of an interval in seconds.
pub fn ends(interval: &str) -> Option<(f64, f64)> {
    let (from, to) = interval.split_once('-')?;
    let to = to.split_whitespace().next()?;
    Some((from.trim().parse().ok()?, to.parse().ok()?))
}

/// Which report an interval is, from 1: its end over its length.
pub fn number(interval: &str) -> Option<u32> {
    let (from, to) = ends(interval)?;
    Some((from / (to - from).max(1e-3)).round().clamp(0.0, 1e6) as u32 + 1)
}

/// `[  3]  0.0- 1.0 sec  3.85 MBytes  32.3 Mbits/sec   0.250 ms    1/ 4035 (0.025%)`
fn line(text: &str) -> Option<ReportLine> {
    let text = text.trim();
    let (id, rest) = text.strip_prefix('[')?.split_once(']')?;
    if !id.trim().bytes().all(|b| b.is_ascii_digit() || b == b'*') && id.trim() != "SUM" {
        return None;
    }
    let (interval, rest) = rest.split_once("sec")?;
    ends(interval)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [amount, of_amount, rate, of_rate, others @ ..] = words.as_slice() else {
        return None;
    };
    if !of_amount.ends_with("ytes") || !of_rate.ends_with("/sec") {
        return None;
    }
    let jitter = match others {
        [jitter, "ms", ..] => Some(format!("{jitter} ms")),
        _ => None,
    };
    let counts = jitter.is_some().then(|| others[2..].concat());
    let counts = counts.and_then(|text| {
        let text = text.split('(').next()?.to_owned();
        let (lost, all) = text.split_once('/')?;
        Some((lost.to_owned(), all.to_owned()))
    });
    Some(ReportLine {
        interval: format!("{} sec", interval.trim()),
        transfer: format!("{amount} {}", binary(of_amount)),
        rate: format!("{rate} {of_rate}"),
        jitter,
        counts,
    })
}

/// iperf's kilobytes and megabytes are powers of two; its bits are powers of ten.
fn binary(unit: &str) -> String {
    match unit {
        "KBytes" => "KiB".to_owned(),
        "MBytes" => "MiB".to_owned(),
        other => other.to_owned(),
    }
}
