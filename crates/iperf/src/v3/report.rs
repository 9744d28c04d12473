//! A test as iperf3 prints it with `-J`: the same keys at the same places, so that scripts continue to work.
//!
//! Values that this end does not measure are absent: congestion window, round trip and path MTU of TCP,
//! `tcp_mss_default`, sizes of socket buffers; so are `system_info` and the time in words. `socket` is the number of
//! the stream. `wirelab` holds what iperf3 has no key for: losses that duplicates do not hide, possible drops by this
//! host's own queues (which are in no loss), and whether the sender kept its rate.

use serde_json::{Map, Value, json};

use super::parameters::Parameters;
use super::results::{ServerOutput, StreamResult};
use super::test::{Beginning, Ends, Interval, StreamCounts, StreamOutcome, TestOutcome};
use super::test::{StreamResults, both_sides, jitter_of, sum_of};

/// The whole object: `start`, `intervals`, `end`, and `error` where the test did not end normally.
pub fn to_json(outcome: &TestOutcome) -> Value {
    let streams: Vec<Ends> = outcome.streams.iter().map(|stream| stream.ends).collect();
    let beginning = Beginning {
        client: outcome.client,
        peer: outcome.peer,
        cookie: outcome.cookie,
        began_unix_s: outcome.began_unix_s,
        parameters: &outcome.parameters,
        streams: &streams,
    };
    let intervals = outcome.intervals.iter();
    let intervals = intervals.map(|i| interval(outcome.client, &outcome.parameters, &streams, i));
    let mut value = json!({
        "start": start(&beginning),
        "intervals": intervals.collect::<Vec<_>>(),
        "end": end(outcome),
    });
    for (key, text) in [
        ("title", &outcome.parameters.title),
        ("extra_data", &outcome.parameters.extra_data),
        ("error", &outcome.failure),
    ] {
        if let Some(text) = text {
            value[key] = json!(text);
        }
    }
    match outcome.server_output() {
        Some(ServerOutput::Text(text)) => value["server_output_text"] = json!(text),
        Some(ServerOutput::Json(object)) => value["server_output_json"] = object.clone(),
        None => {}
    }
    value
}

/// The facts known when data begins to flow.
pub fn start(test: &Beginning<'_>) -> Value {
    let parameters = test.parameters;
    let connected = test.streams.iter().map(|ends| {
        json!({
            "socket": ends.id,
            "local_host": ends.local.ip().to_string(),
            "local_port": ends.local.port(),
            "remote_host": ends.remote.ip().to_string(),
            "remote_port": ends.remote.port(),
        })
    });
    let peer = if test.client {
        "connecting_to"
    } else {
        "accepted_connection"
    };
    json!({
        "connected": connected.collect::<Vec<_>>(),
        "version": concat!("wirelab ", env!("CARGO_PKG_VERSION")),
        "timestamp": { "timesecs": test.began_unix_s },
        peer: { "host": test.peer.ip().to_string(), "port": test.peer.port() },
        "cookie": test.cookie.text(),
        "target_bitrate": parameters.rate_bit_s,
        "test_start": {
            "protocol": if parameters.udp { "UDP" } else { "TCP" },
            "num_streams": parameters.streams,
            "blksize": parameters.length_bytes,
            "omit": parameters.omit_seconds,
            "duration": parameters.seconds,
            "bytes": parameters.bytes,
            "blocks": parameters.blocks,
            "reverse": u8::from(parameters.reverse),
            "bidir": u8::from(parameters.bidirectional),
            "tos": parameters.tos,
            "target_bitrate": parameters.rate_bit_s,
        },
    })
}

/// The bytes of a span, the common beginning of iperf3's objects.
fn span(start_ns: u64, end_ns: u64, bytes: u64) -> Map<String, Value> {
    let seconds = end_ns.saturating_sub(start_ns) as f64 / 1e9;
    let rate = if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    };
    Map::from_iter([
        ("start".to_owned(), json!(start_ns as f64 / 1e9)),
        ("end".to_owned(), json!(end_ns as f64 / 1e9)),
        ("seconds".to_owned(), json!(seconds)),
        ("bytes".to_owned(), json!(bytes)),
        ("bits_per_second".to_owned(), json!(rate)),
    ])
}

/// An unknown jitter is `null`.
fn put_loss(object: &mut Map<String, Value>, jitter_s: Option<f64>, lost: u64, packets: u64) {
    let percent = if packets > 0 {
        lost as f64 * 100.0 / packets as f64
    } else {
        0.0
    };
    object.insert("jitter_ms".to_owned(), json!(jitter_s.map(|s| s * 1e3)));
    object.insert("lost_packets".to_owned(), json!(lost));
    object.insert("packets".to_owned(), json!(packets));
    object.insert("lost_percent".to_owned(), json!(percent));
}

fn put(object: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    object.insert(key.to_owned(), value.into());
}

/// An interval of the streams of a test, with the sum of each direction.
pub fn interval(
    client: bool,
    parameters: &Parameters,
    streams: &[Ends],
    interval: &Interval,
) -> Value {
    let udp = parameters.udp;
    let one = |pairs: &[(StreamCounts, StreamCounts)], sender: bool, socket: Option<u32>| {
        let added = |get: fn(&StreamCounts) -> u64| {
            pairs
                .iter()
                .map(|(before, now)| get(now).saturating_sub(get(before)))
                .sum::<u64>()
        };
        let mut object = span(interval.start_ns, interval.end_ns, added(|c| c.bytes));
        if let Some(socket) = socket {
            put(&mut object, "socket", socket);
        }
        if udp && sender {
            put(&mut object, "packets", added(|c| c.packets));
        } else if udp {
            let jitter_s = jitter_of(pairs, interval, parameters.omit_seconds);
            let lost = added(|c| c.received.shown_lost());
            put_loss(&mut object, jitter_s, lost, added(|c| c.packets));
        }
        put(&mut object, "omitted", interval.omitted);
        put(&mut object, "sender", sender);
        Value::Object(object)
    };
    let streams = streams.iter().zip(&interval.streams);
    let listed = streams
        .clone()
        .map(|(ends, pair)| one(&[*pair], ends.sender, Some(ends.id)));
    let mut value = json!({ "streams": listed.collect::<Vec<_>>() });
    for (suffix, sender) in directions(client, parameters) {
        let pairs: Vec<_> = streams
            .clone()
            .filter(|(ends, _)| ends.sender == sender)
            .map(|(_, pair)| *pair)
            .collect();
        value[format!("sum{suffix}")] = one(&pairs, sender, None);
    }
    value
}

/// The name of a sum, and whether this end sends the summed streams; with both directions the second sum is the
/// server's traffic.
pub(super) fn directions(client: bool, parameters: &Parameters) -> Vec<(&'static str, bool)> {
    match parameters.bidirectional {
        true => vec![("", client), ("_bidir_reverse", !client)],
        false => vec![("", client != parameters.reverse)],
    }
}

fn span_of(result: Option<&StreamResult>) -> Map<String, Value> {
    let (bytes, end_s) = result.map_or((0, 0.0), |result| (result.bytes, result.end_s));
    span(0, (end_s.max(0.0) * 1e9) as u64, bytes)
}

/// The result of a test.
pub fn end(outcome: &TestOutcome) -> Value {
    let udp = outcome.parameters.udp;
    let streams = both_sides(outcome);
    let listed: Vec<Value> = streams.iter().map(|one| end_stream(one, udp)).collect();
    let mut value = json!({
        "streams": listed,
        "cpu_utilization_percent": cpu(outcome),
        "wirelab": ours_alone(outcome),
    });
    for (suffix, sender) in directions(outcome.client, &outcome.parameters) {
        let of_direction: Vec<&StreamResults> =
            streams.iter().filter(|s| s.sender == sender).collect();
        value[format!("sum_sent{suffix}")] = sum(&of_direction, udp, true, sender);
        for (end, used) in congestions(outcome, sender) {
            if let Some(used) = used {
                value[format!("{end}_tcp_congestion{suffix}")] = json!(used);
            }
        }
        value[format!("sum_received{suffix}")] = sum(&of_direction, udp, false, sender);
        if udp {
            // The older key, for both at once: the receiver's values.
            value[format!("sum{suffix}")] = sum(&of_direction, udp, false, sender);
        }
    }
    value
}

/// TCP's congestion control at both ends of what our end sends, or receives.
fn congestions(outcome: &TestOutcome, we_send: bool) -> [(&'static str, Option<String>); 2] {
    let theirs = outcome.peer_results.as_ref();
    let theirs = theirs.and_then(|results| results.congestion.clone());
    let ours = outcome.congestion();
    match we_send {
        true => [("sender", ours), ("receiver", theirs)],
        false => [("sender", theirs), ("receiver", ours)],
    }
}

fn end_stream(stream: &StreamResults, udp: bool) -> Value {
    let object = |result: Option<&StreamResult>| {
        let mut object = span_of(result);
        put(&mut object, "socket", stream.id);
        put(&mut object, "sender", stream.sender);
        object
    };
    let (sent, received) = (stream.sent.as_ref(), stream.received.as_ref());
    if udp {
        let mut object = object(sent.or(received));
        let measured = received.map_or((Some(0.0), 0, 0), |r| {
            let jitter_s = r.jitter_within(f64::MAX);
            (jitter_s, r.counted_errors(), r.counted_packets())
        });
        let packets = sent.map_or(measured.2, |sent| sent.counted_packets().max(measured.2));
        put_loss(&mut object, measured.0, measured.1, packets);
        put(&mut object, "out_of_order", stream.out_of_order);
        return json!({ "udp": object });
    }
    let mut sending = object(sent);
    if let Some(retransmits) = sent.and_then(|sent| sent.retransmits) {
        put(&mut sending, "retransmits", retransmits);
    }
    json!({ "sender": sending, "receiver": object(received) })
}

/// All streams together, as their senders (`sent`) or their receivers counted them.
fn sum(streams: &[&StreamResults], udp: bool, sent: bool, sender: bool) -> Value {
    let total = sum_of(streams, sent);
    let mut object = span_of(Some(&total));
    if udp {
        let (jitter_s, lost) = match sent {
            true => (Some(0.0), 0),
            false => (total.jitter_within(f64::MAX), total.counted_errors()),
        };
        put_loss(&mut object, jitter_s, lost, total.counted_packets());
    } else if let Some(again) = total.retransmits.filter(|_| sent) {
        put(&mut object, "retransmits", again);
    }
    put(&mut object, "sender", if udp { sent } else { sender });
    Value::Object(object)
}

fn cpu(outcome: &TestOutcome) -> Value {
    let remote = outcome
        .peer_results
        .as_ref()
        .map_or([0.0; 3], |results| results.cpu_percent);
    json!({
        "host_total": outcome.cpu_percent[0],
        "host_user": outcome.cpu_percent[1],
        "host_system": outcome.cpu_percent[2],
        "remote_total": remote[0],
        "remote_user": remote[1],
        "remote_system": remote[2],
    })
}

/// Datagrams that the peer sent, by its report, and that did not arrive, including those after the last arrival. Absent
/// without such a report, and at a sender.
fn missing(outcome: &TestOutcome, stream: &StreamOutcome) -> Option<u64> {
    let peer_stream = outcome.peer_results.as_ref()?.stream(stream.ends.id)?;
    let all = (outcome.parameters.udp && !stream.ends.sender).then_some(peer_stream.packets)?;
    let distinct = stream.counted.received.distinct + stream.omitted.received.distinct;
    Some(all.saturating_sub(distinct))
}

fn ours_alone(outcome: &TestOutcome) -> Value {
    let streams = outcome.streams.iter().map(|stream| {
        let received = stream.counted.received;
        json!({
            "socket": stream.ends.id,
            "distinct": received.distinct,
            "lost": received.lost,
            "lost_or_missed": received.lost_or_missed,
            "duplicated": received.duplicated,
            "reordered": received.reordered,
            "too_late": received.too_late,
            "ignored": received.ignored,
            "missing_of_sent": missing(outcome, stream),
            "sender_slips": stream.slips,
            "sender_slipped_ns": stream.slipped_ns,
            "longest_burst": stream.longest_burst,
            "held_up_ns": stream.holds.held_ns,
            "blocked_ns": stream.ends.sender.then_some(stream.holds.blocked_ns),
            "segmented": stream.segmented,
            "sender_gap": stream.gaps,
        })
    });
    json!({
        "peer_results": outcome.peer_results.is_some(),
        "streams": streams.collect::<Vec<_>>(),
        "notes": outcome.notes(),
    })
}
