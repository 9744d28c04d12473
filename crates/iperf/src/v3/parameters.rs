//! The parameter exchange: the client's request as JSON.

use serde_json::{Map, Value, json};

use super::control::ControlError;
use super::json::{count, flag, text};

/// Most streams of a test, as in iperf3.
pub const MAX_STREAMS: u32 = 128;
/// Most bytes of a read or write over TCP, as in iperf3.
pub const MAX_TCP_LENGTH: u32 = 1 << 20;
/// Largest datagram in bytes over IPv4.
pub const MAX_UDP_LENGTH: u32 = 65_507;
/// Largest socket buffers, as in iperf3.
pub const MAX_WINDOW: u32 = 512 << 20;
/// Largest TCP segment, as in iperf3.
pub const MAX_MSS: u32 = 9 * 1024;
/// Longest test in iperf3, in s.
pub const MAX_SECONDS: u64 = 86_400;

/// A test as the client describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// UDP in place of TCP.
    pub udp: bool,
    /// The server sends.
    pub reverse: bool,
    /// Both ends send.
    pub bidirectional: bool,
    /// Streams in each direction.
    pub streams: u32,
    /// How long to send in s; 0 where an amount is requested.
    pub seconds: u64,
    /// Bytes to send in all; 0 for no limit.
    pub bytes: u64,
    /// Blocks to send in all; 0 for no limit.
    pub blocks: u64,
    /// Seconds at the start that the peer leaves out of its totals.
    pub omit_seconds: u64,
    /// Bytes of a write, or of a datagram.
    pub length_bytes: u32,
    /// Application bits per second of each stream; 0 for as much as possible.
    pub rate_bit_s: u64,
    /// Socket buffers at both ends in bytes; 0 for the system's default.
    pub window_bytes: u32,
    /// UDP datagrams carry 64-bit numbers.
    pub counters_64: bool,
    /// Largest TCP segment of a sender in bytes; 0 for the system's default.
    pub mss_bytes: u32,
    /// TCP sends small writes immediately.
    pub no_delay: bool,
    /// The congestion control of TCP senders; by default the system's.
    pub congestion: Option<String>,
    /// Type of service (IPv4) or traffic class (IPv6) of the packets of all streams.
    pub tos: u8,
    /// TCP senders use `sendfile`.
    pub zerocopy: bool,
    /// The payload is the repeated ten digits, not random bytes.
    pub repeating_payload: bool,
    /// The client's title of the test.
    pub title: Option<String>,
    /// Text that the client wants in the JSON of both ends.
    pub extra_data: Option<String>,
    /// The server must add its own output to its results.
    pub server_output: bool,
    /// The user, encrypted for the server; see [`super::auth`].
    pub auth_token: Option<String>,
    /// The client's version text.
    pub client_version: String,
}

impl Default for Parameters {
    /// The defaults of iperf3: one TCP stream for 10 s in writes of 128 KiB.
    fn default() -> Parameters {
        Parameters {
            udp: false,
            reverse: false,
            bidirectional: false,
            streams: 1,
            seconds: 10,
            bytes: 0,
            blocks: 0,
            omit_seconds: 0,
            length_bytes: 128 * 1024,
            rate_bit_s: 0,
            window_bytes: 0,
            counters_64: false,
            mss_bytes: 0,
            no_delay: false,
            congestion: None,
            tos: 0,
            zerocopy: false,
            repeating_payload: false,
            title: None,
            extra_data: None,
            server_output: false,
            auth_token: None,
            client_version: "3.12".to_owned(),
        }
    }
}

impl Parameters {
    /// The defaults of iperf3 for UDP: one stream of 2²⁰ bit/s for 10 s in datagrams of 1460 bytes.
    pub fn udp() -> Parameters {
        Parameters {
            udp: true,
            length_bytes: 1460,
            rate_bit_s: 1 << 20,
            ..Parameters::default()
        }
    }

    /// Reads the client's JSON. Keys that only some versions have may be absent, and unknown ones are ignored.
    pub fn parse(json: &[u8]) -> Result<Parameters, ControlError> {
        let wrong = |why: String| ControlError::Json {
            what: "parameters",
            why,
        };
        let value: Value = serde_json::from_slice(json).map_err(|e| wrong(e.to_string()))?;
        if !value.is_object() {
            return Err(wrong("they are not a JSON object".to_owned()));
        }
        if flag(&value, "sctp") {
            return Err(wrong("SCTP is requested, not TCP or UDP".to_owned()));
        }
        let udp = flag(&value, "udp");
        let default = Parameters::default();
        let narrow = |key: &str, absent: u32| match count(&value, key) {
            None | Some(0) => Ok(absent),
            Some(number) => u32::try_from(number)
                .map_err(|_| wrong(format!("{key} is {number}, which no test can have"))),
        };
        let parameters = Parameters {
            udp,
            reverse: flag(&value, "reverse"),
            bidirectional: flag(&value, "bidirectional"),
            streams: narrow("parallel", 1)?,
            seconds: count(&value, "time").unwrap_or(0),
            bytes: count(&value, "num").unwrap_or(0),
            blocks: count(&value, "blockcount").unwrap_or(0),
            omit_seconds: count(&value, "omit").unwrap_or(0),
            length_bytes: narrow("len", if udp { 1460 } else { default.length_bytes })?,
            rate_bit_s: count(&value, "bandwidth").unwrap_or(0),
            window_bytes: narrow("window", 0)?,
            counters_64: flag(&value, "udp_counters_64bit"),
            mss_bytes: narrow("MSS", 0)?,
            no_delay: flag(&value, "nodelay"),
            congestion: text(&value, "congestion"),
            tos: u8::try_from(narrow("TOS", 0)?)
                .map_err(|_| wrong("the type of service is more than 255".to_owned()))?,
            zerocopy: flag(&value, "zerocopy"),
            repeating_payload: flag(&value, "repeating_payload"),
            title: text(&value, "title"),
            extra_data: text(&value, "extra_data"),
            server_output: flag(&value, "get_server_output"),
            auth_token: text(&value, "authtoken"),
            client_version: text(&value, "client_version").unwrap_or_default(),
        };
        parameters.check().map_err(wrong)?;
        Ok(parameters)
    }

    /// Checks the limits of a test; the error names the one that it breaks.
    pub fn check(&self) -> Result<(), String> {
        let (least, most) = if self.udp {
            (
                super::datagram::head_bytes(self.counters_64) as u32,
                MAX_UDP_LENGTH,
            )
        } else {
            (1, MAX_TCP_LENGTH)
        };
        if !(least..=most).contains(&self.length_bytes) {
            let length = self.length_bytes;
            return Err(format!(
                "a length of {length} bytes is not within {least} to {most}"
            ));
        }
        if !(1..=MAX_STREAMS).contains(&self.streams) {
            return Err(format!(
                "{} streams are not within 1 to {MAX_STREAMS}",
                self.streams
            ));
        }
        if self.reverse && self.bidirectional {
            return Err("-R and --bidir exclude each other".to_owned());
        }
        if self.window_bytes > MAX_WINDOW {
            let window = self.window_bytes;
            return Err(format!(
                "a window of {window} bytes is more than {MAX_WINDOW}"
            ));
        }
        if self.mss_bytes > MAX_MSS {
            let mss = self.mss_bytes;
            return Err(format!("a segment of {mss} bytes is more than {MAX_MSS}"));
        }
        let seconds = self.seconds.max(self.omit_seconds);
        if seconds > MAX_SECONDS {
            return Err(format!("{seconds} s are more than {MAX_SECONDS} s"));
        }
        if self.seconds == 0 && self.bytes == 0 && self.blocks == 0 {
            return Err("neither a time nor an amount is given, so the test has no end".to_owned());
        }
        Ok(())
    }

    /// The JSON to send. iperf3 interprets the presence of a flag as its being set, so unset flags are left out.
    pub fn to_json(&self) -> String {
        let mut object = Map::new();
        object.insert(if self.udp { "udp" } else { "tcp" }.to_owned(), json!(true));
        let mut put = |key: &str, value: Value, set: bool| {
            if set {
                object.insert(key.to_owned(), value);
            }
        };
        let truths = [
            ("reverse", self.reverse),
            ("bidirectional", self.bidirectional),
            ("nodelay", self.no_delay),
        ];
        for (key, set) in truths {
            put(key, json!(true), set);
        }
        // Versions since 3.18 accept these only as numbers.
        let ones = [
            ("udp_counters_64bit", self.counters_64),
            ("repeating_payload", self.repeating_payload),
            ("zerocopy", self.zerocopy),
            ("get_server_output", self.server_output),
        ];
        for (key, set) in ones {
            put(key, json!(1), set);
        }
        let texts = [
            ("title", &self.title),
            ("extra_data", &self.extra_data),
            ("congestion", &self.congestion),
            ("authtoken", &self.auth_token),
        ];
        for (key, text) in texts {
            put(key, json!(text), text.is_some());
        }
        let amounts = [
            ("window", u64::from(self.window_bytes)),
            ("bandwidth", self.rate_bit_s),
            ("MSS", u64::from(self.mss_bytes)),
            ("TOS", u64::from(self.tos)),
        ];
        for (key, amount) in amounts {
            put(key, json!(amount), amount > 0);
        }
        let numbers = [
            ("omit", self.omit_seconds),
            ("time", self.seconds),
            ("num", self.bytes),
            ("blockcount", self.blocks),
            ("parallel", u64::from(self.streams)),
            ("len", u64::from(self.length_bytes)),
            ("pacing_timer", 1000),
        ];
        for (key, number) in numbers {
            object.insert(key.to_owned(), json!(number));
        }
        object.insert("client_version".to_owned(), json!(self.client_version));
        Value::Object(object).to_string()
    }

    /// Bytes of all streams together after which the test is over, in both directions where both send; `None` where a
    /// time ends it.
    pub fn wanted_bytes(&self) -> Option<u64> {
        let blocks = self.blocks.checked_mul(u64::from(self.length_bytes));
        let each_direction = match (self.bytes, self.blocks) {
            (0, 0) => return None,
            (0, _) => blocks.unwrap_or(u64::MAX),
            (bytes, _) => bytes,
        };
        Some(each_direction.saturating_mul(if self.bidirectional { 2 } else { 1 }))
    }

    /// All streams of the test, in the order in which they are opened.
    pub const fn all_streams(&self) -> u32 {
        if self.bidirectional {
            self.streams * 2
        } else {
            self.streams
        }
    }

    /// Whether the client sends on the stream with an index from 0; with both directions it sends on the first half.
    pub const fn client_sends(&self, index: u32) -> bool {
        if self.bidirectional {
            index < self.streams
        } else {
            !self.reverse
        }
    }

    /// Limits the total rate of all streams that the server sends, in bit/s.
    pub fn bound_rate(&mut self, most_bit_s: u64) {
        let share = (most_bit_s / u64::from(self.streams.max(1))).max(1);
        if self.reverse || self.bidirectional {
            self.rate_bit_s = match self.rate_bit_s {
                0 => share,
                requested => requested.min(share),
            };
        }
    }

    /// The time between two writes of one stream in ps at the requested rate; `None` for as fast as possible.
    pub fn interval_ps(&self) -> Option<u64> {
        let bits = u128::from(self.length_bytes) * 8;
        (self.rate_bit_s > 0).then(|| {
            let ps = bits * 1_000_000_000_000 / u128::from(self.rate_bit_s);
            u64::try_from(ps).unwrap_or(u64::MAX)
        })
    }
}

/// The number of the stream with an index from 0: 1, 3, 4, 5 … as iperf3 counts.
pub const fn stream_id(index: u32) -> u32 {
    if index == 0 { 1 } else { index + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a real iperf3 3.12 sends them.
    const UDP: &str = r#"{"udp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":2,"reverse":true,"len":32768,"bandwidth":1048576,"pacing_timer":1000,"udp_counters_64bit":1,"client_version":"3.12"}"#;
    const TCP: &str = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.12"}"#;

    #[test]
    fn those_of_a_real_client() {
        let udp = Parameters::parse(UDP.as_bytes()).unwrap();
        assert!(udp.udp && udp.reverse && udp.counters_64 && !udp.bidirectional);
        assert_eq!((udp.streams, udp.length_bytes, udp.seconds), (2, 32_768, 1));
        assert_eq!(
            udp.interval_ps(),
            Some(250_000_000_000),
            "32768 · 8 / 2^20 s"
        );
        let tcp = Parameters::parse(TCP.as_bytes()).unwrap();
        let seconds = 1;
        assert_eq!(
            tcp,
            Parameters {
                seconds,
                ..Parameters::default()
            }
        );
        for parameters in [udp, tcp] {
            assert_eq!(
                Parameters::parse(parameters.to_json().as_bytes()),
                Ok(parameters)
            );
        }
    }

    #[test]
    fn all_that_a_real_client_can_ask() {
        let all = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"MSS":1000,"nodelay":true,"parallel":1,"len":131072,"pacing_timer":1000,"TOS":184,"title":"T","extra_data":"X","congestion":"reno","get_server_output":1,"repeating_payload":1,"zerocopy":1,"authtoken":"QUJD","client_version":"3.12"}"#;
        let parameters = Parameters::parse(all.as_bytes()).unwrap();
        let text = |text: &str| Some(text.to_owned());
        let expected = Parameters {
            seconds: 1,
            mss_bytes: 1000,
            no_delay: true,
            congestion: text("reno"),
            tos: 184,
            zerocopy: true,
            repeating_payload: true,
            title: text("T"),
            extra_data: text("X"),
            server_output: true,
            auth_token: text("QUJD"),
            ..Parameters::default()
        };
        assert_eq!(parameters, expected);
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&parameters.to_json()), value(all));
    }

    #[test]
    fn other_versions_are_tolerated() {
        // 3.1 has no blockcount and no 64-bit flag; later ones add keys, and numbers may be floating point.
        let old = br#"{"tcp":true,"omit":0,"time":10,"parallel":1,"len":131072,"client_version":"3.1.3"}"#;
        assert_eq!(Parameters::parse(old).unwrap().seconds, 10);
        let new = br#"{"udp":true,"time":10,"num":0,"parallel":1,"len":1460.0,"bandwidth":1e9,"dont_fragment":1,"gro":1,"cntl_ka":{"a":[]},"client_version":"3.18"}"#;
        let new = Parameters::parse(new).unwrap();
        assert_eq!((new.length_bytes, new.rate_bit_s), (1460, 1_000_000_000));
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        let wrong = [
            r#"{"udp":true,"time":1,"len":65508}"#,
            r#"{"udp":true,"time":1,"len":12,"udp_counters_64bit":1}"#,
            r#"{"tcp":true,"time":1,"parallel":129}"#,
            r#"{"tcp":true,"time":1,"parallel":4294967297}"#,
            r#"{"sctp":true,"time":1}"#,
            r#"{"tcp":true}"#,
            r#"{"tcp":true,"time":86401}"#,
            r#"{"tcp":true,"time":1,"TOS":256}"#,
            r#"{"tcp":true,"time":1,"MSS":9217}"#,
            "[]",
        ]
        .map(|text| Parameters::parse(text.as_bytes()).unwrap_err().to_string())
        .join("\n");
        insta::assert_snapshot!(wrong, @r"
        the peer's parameters cannot be used: a length of 65508 bytes is not within 12 to 65507; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: a length of 12 bytes is not within 16 to 65507; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: 129 streams are not within 1 to 128; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: parallel is 4294967297, which no test can have; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: SCTP is requested, not TCP or UDP; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: neither a time nor an amount is given, so the test has no end; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: 86401 s are more than 86400 s; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: the type of service is more than 255; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: a segment of 9217 bytes is more than 9216; fix: check that it is an iperf3, and its options
        the peer's parameters cannot be used: they are not a JSON object; fix: check that it is an iperf3, and its options
        ");
    }

    #[test]
    fn stream_numbers_leave_out_two() {
        assert_eq!([0, 1, 2].map(stream_id), [1, 3, 4]);
    }
}
