//! An iperf 2 test as JSON: units in the names, and the counting side of each figure.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};
use wirelab_trial::Holds;

use super::enhanced::{EnhancedColumns, Transit};
use super::intervals::Span;
use super::outcome::Trouble;
use super::send::Sent;
use super::stream::Pace;
use super::table::{Id, Row};
use super::{Amount, ClientConfig, Leg, Mode, Outcome, Protocol, Rate, ServerReport, UdpReceived};

/// The result of a client.
pub fn test(config: &ClientConfig, outcome: &Outcome, interrupted: bool) -> Value {
    let legs = outcome.legs.iter().map(|(id, leg)| {
        let rows: Vec<&Row> = outcome.rows.iter().filter(|row| row.id == *id).collect();
        self::leg(*id, leg, &rows)
    });
    json!({
        "program": concat!("wirelab ", env!("CARGO_PKG_VERSION")),
        "speaks": "iperf 2",
        "kind": "measured",
        "server": config.server.to_string(),
        "asked": request(config),
        "legs": legs.collect::<Vec<_>>(),
        "sums": outcome.sums().iter().map(sum).collect::<Vec<_>>(),
        "interrupted": interrupted,
        "error": outcome.trouble.as_ref().map(ToString::to_string),
    })
}

/// The addresses of a server: its first line.
pub fn listening(tcp: SocketAddr, udp: SocketAddr) -> Value {
    json!({
        "program": concat!("wirelab ", env!("CARGO_PKG_VERSION")),
        "speaks": "iperf 2",
        "listening": { "tcp": tcp.to_string(), "udp": udp.to_string() },
    })
}

/// One leg at a server.
pub fn served(
    peer: SocketAddr,
    id: Id,
    leg: &Leg,
    rows: &[Row],
    trouble: Option<&Trouble>,
) -> Value {
    let rows: Vec<&Row> = rows.iter().collect();
    json!({
        "peer": peer.to_string(),
        "leg": self::leg(id, leg, &rows),
        "error": trouble.map(ToString::to_string),
    })
}

fn request(config: &ClientConfig) -> Value {
    let mode = match config.mode {
        Mode::Forward => "forward",
        Mode::Tradeoff => "tradeoff",
        Mode::Dual => "dualtest",
        Mode::Reverse => "reverse",
        Mode::FullDuplex => "full-duplex",
    };
    let protocol = match config.protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
    };
    let mut request = json!({
        "protocol": protocol,
        "mode": mode,
        "streams": config.streams,
        "length_bytes": config.call_bytes(),
        "interval_ns": config.interval.as_nanos() as u64,
    });
    let (name, value) = rate(config.rate);
    request[name] = json!(value);
    match config.amount {
        Amount::Bytes(bytes) => request["bytes"] = json!(bytes),
        Amount::Time { .. } => request["time_ns"] = json!(config.amount.ns()),
    }
    request
}

/// A rate with its JSON name.
fn rate(rate: Rate) -> (&'static str, Option<u64>) {
    match rate {
        Rate::BitsPerS(bits) => ("rate_bits_per_s", Some(bits)),
        Rate::PacketsPerS(packets) => ("rate_packets_per_s", Some(packets)),
        Rate::Max => ("rate_bits_per_s", None),
    }
}

fn bits_per_s(bytes: u64, ns: u64) -> Value {
    match ns {
        0 => Value::Null,
        ns => json!(bytes as f64 * 8e9 / ns as f64),
    }
}

fn number(id: Id) -> String {
    id.to_string().trim_matches(['[', ']', ' ']).to_owned()
}

fn leg(id: Id, leg: &Leg, rows: &[&Row]) -> Value {
    let mut object = match leg {
        Leg::TcpSent {
            span,
            bytes,
            writes,
            retransmits,
            pace,
            holds,
            stall,
            ..
        } => {
            let mut object = tcp("sent", *span, *bytes, ("writes", *writes));
            object.insert("retransmits".to_owned(), json!(retransmits));
            object.insert(
                "longest_stall".to_owned(),
                stall.map_or(
                    Value::Null,
                    |stall| json!({"from_ns": stall.from_ns, "lasted_ns": stall.lasted_ns}),
                ),
            );
            for (name, value) in paced(pace.as_deref()) {
                object.insert(name.to_owned(), value);
            }
            held(&mut object, holds);
            object
        }
        Leg::TcpReceived {
            span,
            bytes,
            reads,
            transit,
            held_up_ns,
            slices: _,
        } => {
            let mut object = tcp("received", *span, *bytes, ("reads", reads.count));
            object.insert("one_way".to_owned(), json!(transit.as_ref().map(one_way)));
            object.insert("held_up_ns".to_owned(), json!(held_up_ns));
            object
        }
        Leg::UdpSent(sent) => udp_sent(sent),
        Leg::UdpReceived(received) => udp_received(received),
    };
    let intervals: Vec<Value> = rows.iter().map(|row| interval(row)).collect();
    object.insert("id".to_owned(), json!(number(id)));
    object.insert("kind".to_owned(), json!("measured"));
    object.insert("notes".to_owned(), json!(leg.notes()));
    object.insert("intervals".to_owned(), json!(intervals));
    Value::Object(object)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn span_ns(span: Span) -> u64 {
    span.end_ns.saturating_sub(span.start_ns)
}

fn tcp(direction: &str, span: Span, bytes: u64, calls: (&str, u64)) -> Map<String, Value> {
    let ns = span_ns(span);
    object(json!({
        "protocol": "tcp", "direction": direction, "duration_ns": ns, "bytes": bytes,
        "bits_per_s": bits_per_s(bytes, ns), calls.0: calls.1,
    }))
}

/// How well a rate was kept; `null` where none was requested.
fn paced(pace: Option<&Pace>) -> [(&'static str, Value); 5] {
    [
        ("kept_rate", json!(pace.map(|pace| pace.slips == 0))),
        ("slips", json!(pace.map(|pace| pace.slips))),
        ("slipped_ns", json!(pace.map(|pace| pace.slipped_ns))),
        ("gap", json!(pace.map(|pace| &pace.gaps))),
        (
            "longest_burst_writes",
            json!(pace.map(|pace| pace.longest_burst)),
        ),
    ]
}

/// Pauses of a sender: by its own host, which a paced sender reports as slips, or by the path.
fn held(object: &mut Map<String, Value>, holds: &Holds) {
    object.insert("held_up_ns".to_owned(), json!(holds.held_ns));
    object.insert("blocked_ns".to_owned(), json!(holds.blocked_ns));
}

fn udp_sent(sent: &Sent) -> Map<String, Value> {
    let ns = sent.duration_ns;
    let mut object = object(json!({
        "protocol": "udp", "direction": "sent", "duration_ns": ns, "bytes": sent.bytes,
        "bits_per_s": bits_per_s(sent.bytes, ns),
        "datagrams": sent.datagrams,
        "refused": sent.refused,
        "segmented": sent.segmented,
        "kept_rate": sent.kept_rate(),
        "kept_rate_ratio": sent.kept_ratio(),
        "slips": sent.slips,
        "slipped_ns": sent.slipped_ns,
        "gap": sent.gaps,
        "path_mtu_bytes": sent.mtu_bytes,
        "packets_per_datagram": sent.fragments,
        "final_tries": sent.final_tries,
        "longest_burst_datagrams": sent.longest_burst,
        "server_report": sent.report.as_ref().map(server_report),
    }));
    held(&mut object, &sent.holds);
    object
}

fn server_report(report: &ServerReport) -> Value {
    let ns = report.duration_us.saturating_mul(1000);
    json!({
        "kind": "measured",
        "counted_by": "server",
        "duration_ns": ns,
        "bytes": report.bytes,
        "bits_per_s": bits_per_s(report.bytes, ns),
        "datagrams": report.datagrams,
        "lost": report.lost,
        "loss_ratio": ratio(report.lost, report.datagrams),
        "out_of_order": report.out_of_order,
        "jitter_ps": report.jitter_us.saturating_mul(1_000_000),
    })
}

fn ratio(part: u64, all: u64) -> Value {
    match all {
        0 => Value::Null,
        all => json!(part as f64 / all as f64),
    }
}

fn udp_received(udp: &UdpReceived) -> Map<String, Value> {
    let (ns, received) = (span_ns(udp.span), udp.received);
    object(json!({
        "protocol": "udp", "direction": "received", "duration_ns": ns, "bytes": received.bytes,
        "bits_per_s": bits_per_s(received.bytes, ns),
        "datagrams": received.datagrams,
        "distinct": received.distinct,
        "lost": received.lost,
        "lost_or_missed": received.lost_or_missed,
        "missed": received.missed,
        "loss_ratio": ratio(received.lost, received.sent()),
        "loss_ratio_at_most": ratio(received.lost + received.lost_or_missed, received.sent()),
        "duplicated": received.duplicated,
        "reordered": received.reordered,
        "too_late": received.too_late,
        "ignored": received.ignored,
        "unattributed": udp.unattributed,
        "foreign": udp.foreign,
        "jitter_ps": udp.jitter_ps,
        "one_way": udp.transit.as_ref().map(one_way),
        "clock_steps": udp.clock_steps,
        "longest_bytes": udp.longest_bytes,
        "path_mtu_bytes": udp.mtu_bytes,
        "packets_per_datagram": udp.fragments,
        "finished": udp.finished,
        "held_up_ns": udp.held_up_ns,
        "sender": format!("{:?}", udp.generation),
    }))
}

/// One-way times are valid if both clocks are synchronized.
fn one_way(transit: &Transit) -> Value {
    json!({
        "clocks": "both ends'",
        "samples": transit.count,
        "min_us": transit.min_us,
        "max_us": transit.max_us,
        "mean_us": transit.mean_us,
        "stddev_us": transit.stdev_us(),
    })
}

/// All streams of one direction.
fn sum(row: &Row) -> Value {
    let mut value = interval(row);
    value["direction"] = json!(if row.id == Id::SumBack {
        "received"
    } else {
        "sent"
    });
    value["kind"] = json!("measured");
    value
}

fn interval(row: &Row) -> Value {
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let (start_ns, end_ns) = (ns(row.start_s), ns(row.end_s));
    let mut value = json!({
        "start_ns": start_ns, "end_ns": end_ns, "bytes": row.bytes,
        "bits_per_s": bits_per_s(row.bytes, end_ns.saturating_sub(start_ns)),
    });
    if let Some(EnhancedColumns::Writes { retransmits, .. }) = row.more {
        value["retransmits"] = json!(retransmits);
    }
    if let Some(datagrams) = &row.datagrams {
        value["datagrams"] = json!(datagrams.total);
        value["lost"] = json!(datagrams.lost);
        value["out_of_order"] = json!(datagrams.out_of_order);
        value["jitter_ps"] = json!(datagrams.jitter_ps);
    }
    value
}
