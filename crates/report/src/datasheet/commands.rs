//! The commands that measure a page's figures again, one by one.

use wirelab_trial::host_port::HostPort;
use wirelab_trial::{Load, NodeName};

use super::sheet::{Datasheet, Sheet};
use crate::repeat::harmless;

/// The port of iperf 2 that its client takes without `-p`.
const IPERF_PORT: u16 = 5001;

/// A test, and the command that runs it.
pub type Command = (String, String);

/// The commands of the TCP tests.
pub fn tcp(sheet: &Sheet) -> Vec<Command> {
    if sheet.tcp.is_empty() {
        return Vec::new();
    }
    match iperf(sheet) {
        Some(client) => vec![
            (
                "TCP RX and TX, one after the other".to_owned(),
                format!("{client} -r"),
            ),
            ("TCP RX and TX at once".to_owned(), format!("{client} -d")),
        ],
        None => ["rx", "tx", "both"]
            .map(|direction| {
                let options = format!(
                    "--layer {} --direction {direction}",
                    sheet.tcp[0].layer.word()
                );
                (format!("TCP {direction}"), measure(sheet, &options))
            })
            .into(),
    }
}

/// The commands of the UDP tests, one for each size.
pub fn udp(sheet: &Sheet) -> Vec<Command> {
    let each = sheet.udp.iter().map(|u| {
        let mut loads: Vec<Load> = u
            .receive
            .iter()
            .filter_map(|r| r.load.requested())
            .collect();
        loads.sort_by(|a, b| bits_per_s(a).total_cmp(&bits_per_s(b)));
        loads.dedup();
        let bytes = u.datagram_bytes;
        let name = format!("datagram length of {bytes} B");
        let client = iperf(sheet);
        let written = if client.is_some() { iperf_rate } else { short };
        let rates: Vec<String> = loads.iter().take(8).map(written).collect();
        match client {
            Some(client) => {
                let rates = match rates.as_slice() {
                    [] => String::new(),
                    rates => format!(", where BW is {}", rates.join(", ")),
                };
                (
                    format!("{name}{rates}"),
                    format!("{client} -u -l {bytes} -b BW -r"),
                )
            }
            None => {
                let load = if rates.is_empty() {
                    "max".to_owned()
                } else {
                    rates.join(",")
                };
                let layer = u.layer.word();
                let options =
                    format!("--layer {layer} --datagram {bytes} --direction rx --load {load}");
                (name, measure(sheet, &options))
            }
        }
    });
    each.collect()
}

/// The command that fills the whole page.
pub fn page(sheet: &Datasheet) -> Option<String> {
    let words: Vec<String> = sheet.command.iter().map(|word| quoted(word)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// A load as `iperf -b` takes it: there `M` is 2²⁰ and only `m` is a million.
fn iperf_rate(load: &Load) -> String {
    match load {
        Load::Max => "0".to_owned(),
        load => short(load).replace('M', "m"),
    }
}

/// A load as it is written on the command line: bit/s with their prefix.
fn short(load: &Load) -> String {
    match *load {
        Load::BitRate { bits_per_s: bits } if bits >= 1e6 && bits % 1e3 == 0.0 => {
            format!("{}M", bits / 1e6)
        }
        Load::BitRate { bits_per_s: bits } if bits >= 1e3 => format!("{}k", bits / 1e3),
        load => load.to_string(),
    }
}

/// For the order of loads: those in other units are last.
const fn bits_per_s(load: &Load) -> f64 {
    match load {
        Load::BitRate { bits_per_s } => *bits_per_s,
        _ => f64::MAX,
    }
}

fn measure(sheet: &Sheet, options: &str) -> String {
    let node = if harmless(&sheet.node) {
        &sheet.node
    } else {
        "NODE"
    };
    format!("wirelab measure {node} {options}")
}

/// The iperf client of a node that has a server of iperf 2.
fn iperf(sheet: &Sheet) -> Option<String> {
    if !sheet.answers_iperf {
        return None;
    }
    let name: NodeName = sheet.node.parse().ok()?;
    let peer = HostPort::parse(name.target(), IPERF_PORT).ok();
    let Some(HostPort { host, port }) = peer.filter(|peer| harmless(&peer.host)) else {
        return Some("wirelab iperf -c HOST".to_owned());
    };
    let port = match port {
        IPERF_PORT => String::new(),
        port => format!(" -p {port}"),
    };
    Some(format!("wirelab iperf -c {host}{port}"))
}

/// A word of a command line as a POSIX shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".:_-=/,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(node: &str) -> Option<String> {
        iperf(&Sheet {
            node: node.to_owned(),
            answers_iperf: true,
            ..Sheet::default()
        })
    }

    #[test]
    fn addresses_become_options() {
        for (node, command) in [
            ("iperf:192.0.2.7", "wirelab iperf -c 192.0.2.7"),
            ("iperf:board.lan:5002", "wirelab iperf -c board.lan -p 5002"),
            ("iperf:[fe80::1%eth0]:5001", "wirelab iperf -c fe80::1%eth0"),
            ("iperf:fe80::1", "wirelab iperf -c fe80::1"),
            ("iperf:x;rm -rf ~", "wirelab iperf -c HOST"),
            (
                "iperf:192.0.2.7:5002,token=FILE",
                "wirelab iperf -c 192.0.2.7 -p 5002",
            ),
        ] {
            assert_eq!(client(node).as_deref(), Some(command));
        }
        let other = Sheet {
            node: "node:192.0.2.7".to_owned(),
            ..Sheet::default()
        };
        assert_eq!(iperf(&other), None);
    }

    #[test]
    fn loads_and_words_as_a_shell_takes_them() {
        let rate = |bits_per_s| Load::BitRate { bits_per_s };
        let loads = [rate(5e6), rate(12.5e6), rate(64e3), rate(12.0), Load::Max];
        assert_eq!(
            loads.map(|load| short(&load)),
            ["5M", "12.5M", "64k", "12bit/s", "max"]
        );
        assert_eq!(
            [rate(12.5e6), rate(64e3), Load::Max].map(|load| iperf_rate(&load)),
            ["12.5m", "64k", "0"]
        );
        assert_eq!(quoted("a'b $(c)"), "'a'\\''b $(c)'");
        assert_eq!(quoted("--load=5M,10M"), "--load=5M,10M");
    }
}
