//! The result exchange: each end's results as JSON.

use serde_json::{Value, json};

use super::control::ControlError;
use super::json::{count, figure, text};
use super::parameters::MAX_STREAMS;

/// The value of an unknown jitter.
pub const UNKNOWN_JITTER: f64 = -1.0;

/// One stream, as the reporting end saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamResult {
    /// Its number; see [`super::parameters::stream_id`].
    pub id: u32,
    /// Application bytes sent or received.
    pub bytes: u64,
    /// Retransmitted TCP segments; `None` where the end does not know.
    pub retransmits: Option<u64>,
    /// Reported jitter of RFC 3550 in s; [`UNKNOWN_JITTER`] where that is not a number.
    pub jitter_s: f64,
    /// Datagrams lost, in iperf3's count; including the omitted start.
    pub errors: u64,
    /// Datagrams sent, or the highest number received; including the omitted start.
    pub packets: u64,
    /// Losses in the omitted start; 0 from versions that do not report them.
    pub omitted_errors: u64,
    /// Datagrams in the omitted start; 0 from versions that do not report them.
    pub omitted_packets: u64,
    /// Arrival of its first byte, in s after the test began.
    pub start_s: f64,
    /// Arrival of its last byte, in s after the test began; 0 where the peer does not report it.
    pub end_s: f64,
}

impl StreamResult {
    /// The jitter in s, if it is possible in a test of `seconds`.
    pub fn jitter_within(&self, seconds: f64) -> Option<f64> {
        Some(self.jitter_s).filter(|jitter_s| (0.0..=seconds).contains(jitter_s))
    }

    /// Losses without those of the omitted start.
    pub const fn counted_errors(&self) -> u64 {
        self.errors.saturating_sub(self.omitted_errors)
    }

    /// Datagrams without those of the omitted start.
    pub const fn counted_packets(&self) -> u64 {
        self.packets.saturating_sub(self.omitted_packets)
    }
}

/// The server's own output of a test.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOutput {
    /// Its lines.
    Text(String),
    /// Its object, where it runs with `-J`.
    Json(Value),
}

/// One end's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Busy share of a CPU in percent: total, user, system.
    pub cpu_percent: [f64; 3],
    /// Whether the sender knows its retransmissions; `None` from the receiver.
    pub has_retransmits: Option<bool>,
    /// The congestion control in use.
    pub congestion: Option<String>,
    /// The server's own output, where the client requested it.
    pub server_output: Option<ServerOutput>,
    /// The streams.
    pub streams: Vec<StreamResult>,
}

impl Results {
    /// Reads a peer's JSON. A stream must have a number and bytes; everything else may be absent.
    pub fn parse(json: &[u8]) -> Result<Results, ControlError> {
        let wrong = |why: String| ControlError::Json {
            what: "results",
            why,
        };
        let value: Value = serde_json::from_slice(json).map_err(|e| wrong(e.to_string()))?;
        let server_output = match value.get("server_output_json") {
            Some(object) => Some(ServerOutput::Json(object.clone())),
            None => text(&value, "server_output_text").map(ServerOutput::Text),
        };
        let streams = value.get("streams").and_then(Value::as_array);
        let streams = streams.ok_or_else(|| wrong("the list of streams is missing".to_owned()))?;
        // With both directions the list has both.
        let most = 2 * MAX_STREAMS as usize;
        if streams.len() > most {
            let given = streams.len();
            return Err(wrong(format!(
                "{given} streams are listed, at most {most} can be"
            )));
        }
        let streams = streams.iter().map(|stream| {
            let need = |key: &str| {
                count(stream, key).ok_or_else(|| wrong(format!("a stream has no {key}")))
            };
            let id = need("id")?;
            Ok(StreamResult {
                id: u32::try_from(id).map_err(|_| wrong(format!("a stream has number {id}")))?,
                bytes: need("bytes")?,
                retransmits: count(stream, "retransmits"),
                jitter_s: figure(stream, "jitter").unwrap_or(UNKNOWN_JITTER),
                errors: count(stream, "errors").unwrap_or(0),
                packets: count(stream, "packets").unwrap_or(0),
                omitted_errors: count(stream, "omitted_errors").unwrap_or(0),
                omitted_packets: count(stream, "omitted_packets").unwrap_or(0),
                start_s: figure(stream, "start_time").unwrap_or(0.0),
                end_s: figure(stream, "end_time").unwrap_or(0.0),
            })
        });
        Ok(Results {
            cpu_percent: ["cpu_util_total", "cpu_util_user", "cpu_util_system"]
                .map(|key| figure(&value, key).unwrap_or(0.0)),
            has_retransmits: count(&value, "sender_has_retransmits").map(|has| has != 0),
            congestion: text(&value, "congestion_used"),
            server_output,
            streams: streams.collect::<Result<_, _>>()?,
        })
    }

    /// The JSON to send; −1 stands for unknown values, as in iperf3.
    pub fn to_json(&self) -> String {
        let or_minus_one = |known: Option<u64>| known.map_or(json!(-1), |number| json!(number));
        let streams = self.streams.iter().map(|stream| {
            json!({
                "id": stream.id,
                "bytes": stream.bytes,
                "retransmits": or_minus_one(stream.retransmits),
                "jitter": stream.jitter_s,
                "errors": stream.errors,
                "packets": stream.packets,
                "start_time": stream.start_s,
                "end_time": stream.end_s,
                // Versions since 3.14 read these two.
                "omitted_errors": stream.omitted_errors,
                "omitted_packets": stream.omitted_packets,
            })
        });
        let mut value = json!({
            "cpu_util_total": self.cpu_percent[0],
            "cpu_util_user": self.cpu_percent[1],
            "cpu_util_system": self.cpu_percent[2],
            "sender_has_retransmits": or_minus_one(self.has_retransmits.map(u64::from)),
            "streams": streams.collect::<Vec<_>>(),
        });
        if let Some(congestion) = &self.congestion {
            value["congestion_used"] = json!(congestion);
        }
        match &self.server_output {
            Some(ServerOutput::Text(text)) => value["server_output_text"] = json!(text),
            Some(ServerOutput::Json(object)) => value["server_output_json"] = object.clone(),
            None => {}
        }
        value.to_string()
    }

    /// The stream with a number.
    pub fn stream(&self, id: u32) -> Option<&StreamResult> {
        self.streams.iter().find(|stream| stream.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a real iperf3 3.12 sends them.
    const REAL: &str = r#"{"cpu_util_total":36.25,"cpu_util_user":0,"cpu_util_system":36.25,"sender_has_retransmits":1,"congestion_used":"bbr","streams":[{"id":1,"bytes":837550080,"retransmits":7,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1.001348}]}"#;
    const UNKNOWN: &str = r#"{"cpu_util_total":1,"cpu_util_user":0.5,"cpu_util_system":0.5,"sender_has_retransmits":18446744073709551615,"streams":[{"id":3,"bytes":131072,"retransmits":18446744073709551615,"jitter":7.84e-06,"errors":2,"packets":4}]}"#;

    #[test]
    fn those_of_a_real_peer() {
        let real = Results::parse(REAL.as_bytes()).unwrap();
        let stream = real.stream(1).unwrap();
        assert_eq!((stream.bytes, stream.retransmits), (837_550_080, Some(7)));
        assert_eq!((stream.end_s, real.has_retransmits), (1.001348, Some(true)));
        let unknown = Results::parse(UNKNOWN.as_bytes()).unwrap();
        assert_eq!(unknown.has_retransmits, None);
        assert_eq!(unknown.streams[0].retransmits, None);
        let mut with_text = real.clone();
        with_text.server_output = Some(ServerOutput::Text("a\nb\n".to_owned()));
        let mut with_json = real.clone();
        with_json.server_output = Some(ServerOutput::Json(json!({ "end": {} })));
        for results in [real, unknown, with_text, with_json] {
            assert_eq!(Results::parse(results.to_json().as_bytes()), Ok(results));
        }
    }

    #[test]
    fn bad_ones_are_refused() {
        let many = format!("{{\"streams\":[{}0]}}", "0,".repeat(256));
        let wrong = [
            "{}",
            r#"{"streams":[{"id":1}]}"#,
            r#"{"streams":[{"id":-1}]}"#,
            &many,
            "nul",
        ];
        let wrong = wrong.map(|text| Results::parse(text.as_bytes()).unwrap_err().to_string());
        insta::assert_snapshot!(wrong.join("\n"), @r"
        the peer's results cannot be used: the list of streams is missing; fix: check that it is an iperf3, and its options
        the peer's results cannot be used: a stream has no bytes; fix: check that it is an iperf3, and its options
        the peer's results cannot be used: a stream has no id; fix: check that it is an iperf3, and its options
        the peer's results cannot be used: 257 streams are listed, at most 256 can be; fix: check that it is an iperf3, and its options
        the peer's results cannot be used: EOF while parsing a value at line 1 column 3; fix: check that it is an iperf3, and its options
        ");
    }
}
