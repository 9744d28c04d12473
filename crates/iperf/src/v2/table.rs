//! The text that iperf 2 prints: amounts, rates and the table of intervals, as 2.1.8 writes them.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::enhanced::{EnhancedColumns, Transit};

/// The unit of amounts and rates (`-f`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Rates in bits with a fitting prefix (`a`, the default).
    #[default]
    AutoBits,
    /// Rates in bytes with a fitting prefix (`A`).
    AutoBytes,
    /// kbit/s, Mbit/s or Gbit/s (`k`, `m`, `g`): the power of 1000, and of 1024 for amounts.
    Bits(u8),
    /// KiB/s, MiB/s or GiB/s (`K`, `M`, `G`): the power of 1024.
    Bytes(u8),
}

impl Format {
    /// The letter of `-f`; `None` where iperf does not have it.
    pub const fn from_letter(letter: char) -> Option<Format> {
        Some(match letter {
            'a' => Format::AutoBits,
            'A' => Format::AutoBytes,
            'b' => Format::Bits(0),
            'k' => Format::Bits(1),
            'm' => Format::Bits(2),
            'g' => Format::Bits(3),
            'B' => Format::Bytes(0),
            'K' => Format::Bytes(1),
            'M' => Format::Bytes(2),
            'G' => Format::Bytes(3),
            _ => return None,
        })
    }

    /// An amount of bytes, e.g. ` 131 KBytes`; the prefixes are powers of 1024.
    pub fn transfer(self, bytes: f64) -> String {
        let power = match self {
            Format::AutoBits | Format::AutoBytes => None,
            Format::Bits(power) | Format::Bytes(power) => Some(power),
        };
        scaled(bytes, 1024.0, power, "Bytes")
    }

    /// Text in place of an unknown rate.
    pub const fn no_rate(self) -> &'static str {
        match self {
            Format::AutoBits | Format::Bits(_) => "   - bits/sec",
            Format::AutoBytes | Format::Bytes(_) => "   - Bytes/sec",
        }
    }

    /// A rate, e.g. `1.07 Mbits/sec`; the prefixes are powers of 1000 for bits and of 1024 for bytes.
    pub fn rate(self, bytes_per_s: f64) -> String {
        match self {
            Format::AutoBits => scaled(bytes_per_s * 8.0, 1000.0, None, "bits/sec"),
            Format::Bits(power) => scaled(bytes_per_s * 8.0, 1000.0, Some(power), "bits/sec"),
            Format::AutoBytes => scaled(bytes_per_s, 1024.0, None, "Bytes/sec"),
            Format::Bytes(power) => scaled(bytes_per_s, 1024.0, Some(power), "Bytes/sec"),
        }
    }
}

/// Four characters, the prefix and the unit: 9.99, 99.9, 9999; three decimals below one.
fn scaled(value: f64, step: f64, power: Option<u8>, unit: &str) -> String {
    const PREFIXES: [&str; 5] = ["", "K", "M", "G", "T"];
    let mut value = value;
    let mut at = 0;
    while at + 1 < PREFIXES.len() && power.map_or(value >= step, |power| at < usize::from(power)) {
        value /= step;
        at += 1;
    }
    let places = match value {
        v if v < 0.9995 => 3,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:4.places$} {}{unit}", PREFIXES[at])
}

/// The text in the brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    /// A stream.
    Stream(u32),
    /// A stream that the server opened back.
    Back(u32),
    /// All streams.
    Sum,
    /// All streams that the server opened back.
    SumBack,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Stream(n) => write!(f, "[{n:3}]"),
            Id::Back(n) => write!(f, "[{:>3}]", format!("*{n}")),
            Id::Sum => f.write_str("[SUM]"),
            Id::SumBack => f.write_str("[*SUM]"),
        }
    }
}

/// The heading of lines without datagrams.
const HEADING: &str = "[ ID] Interval       Transfer     Bandwidth";
/// The heading of lines with datagrams.
const HEADING_UDP: &str =
    "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams";

/// The datagram columns of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagrams {
    /// Jitter in ms as iperf shows it, meaningful or not.
    pub jitter_ms: f64,
    /// Jitter in ps; `None` where the sender writes no times.
    pub jitter_ps: Option<u64>,
    /// Received, including duplicates.
    pub received: u64,
    /// Lost.
    pub lost: u64,
    /// Received plus lost.
    pub total: u64,
    /// Out of order; printed as an additional line.
    pub out_of_order: u64,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The owner of the line.
    pub id: Id,
    /// Start in s since the first data.
    pub start_s: f64,
    /// End in s.
    pub end_s: f64,
    /// Application bytes.
    pub bytes: u64,
    /// The columns of a receiver of datagrams.
    pub datagrams: Option<Datagrams>,
    /// What `-e` adds.
    pub more: Option<EnhancedColumns>,
    /// Number of streams in it.
    pub streams: u32,
}

impl Row {
    /// A line without traffic.
    pub const fn new(id: Id, start_s: f64, end_s: f64) -> Row {
        Row {
            id,
            start_s,
            end_s,
            bytes: 0,
            datagrams: None,
            more: None,
            streams: 1,
        }
    }

    /// The line with what `-e` adds.
    pub fn enhanced_line(&self, format: Format) -> String {
        let mut out = self.first_line(format);
        if let Some(more) = &self.more {
            out += &self.more_columns(more);
        }
        out + &self.out_of_order_line()
    }

    /// What `-e` adds to the line.
    fn more_columns(&self, more: &EnhancedColumns) -> String {
        let per_s = |count: u64| match self.per_s(count as f64) {
            Some(rate) => format!("{rate:.0}"),
            None => "-".to_owned(),
        };
        match more {
            EnhancedColumns::Writes {
                writes,
                retransmits,
            } => {
                let again = retransmits.map_or("-".to_owned(), |again| again.to_string());
                format!("  {writes}/0 {again:>10}")
            }
            EnhancedColumns::Packets { writes, errors } => {
                format!("  {writes}/{errors} {:>8} pps", per_s(*writes))
            }
            EnhancedColumns::Reads(reads) => reads.columns(),
            EnhancedColumns::Bursts(reads, transit) => {
                let count = transit.map_or(0, |t| t.count);
                let size = self.bytes.checked_div(count).unwrap_or(0);
                let latency = latency(transit.as_ref());
                format!("  {latency} ms ({count}/{size}){}", reads.columns())
            }
            EnhancedColumns::Latency(transit) => {
                let received = self.datagrams.map_or(0, |d| d.received);
                let latency = latency(transit.as_ref());
                format!(" {latency} ms {} pps {received} pkts", per_s(received))
            }
        }
    }

    /// The heading of its line.
    pub fn heading(&self, enhanced: bool) -> &'static str {
        match (&self.more, self.datagrams) {
            (Some(more), _) if enhanced => more.heading(),
            (_, Some(_)) => HEADING_UDP,
            (_, None) => HEADING,
        }
    }

    /// The heading of its line of `--sum-only`.
    pub const fn sum_heading(&self, enhanced: bool) -> &'static str {
        match (&self.datagrams, &self.more) {
            (Some(_), _) => "[SUM-cnt] Interval     Transfer     Bandwidth       Lost/Total    PPS",
            (None, Some(EnhancedColumns::Writes { .. })) if enhanced => {
                "[SUM-cnt] Interval            Transfer    Bandwidth       Write/Err  Rtry"
            }
            (None, Some(EnhancedColumns::Reads(_))) if enhanced => {
                "[SUM-cnt] Interval            Transfer    Bandwidth       Reads=Dist"
            }
            (None, Some(EnhancedColumns::Bursts(..))) if enhanced => {
                "[SUM-cnt] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size)  Reads=Dist"
            }
            (None, Some(EnhancedColumns::Packets { .. })) if enhanced => {
                "[SUM-cnt] Interval            Transfer     Bandwidth      Write/Err  PPS"
            }
            _ => "[SUM-cnt] Interval       Transfer     Bandwidth",
        }
    }

    /// The line of `--sum-only`, with the number of streams in its brackets.
    pub fn sum_line(&self, format: Format, enhanced: bool) -> String {
        let mut out = self.moved(format);
        match (&self.datagrams, &self.more) {
            (Some(d), _) => {
                let rate = self.per_s(d.total as f64);
                let rate = rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
                let _ = write!(out, "  {}/{} {rate:>8} pps", d.lost, d.total);
            }
            (None, Some(more)) if enhanced => out += &self.more_columns(more),
            _ => {}
        }
        let own = self.id.to_string();
        let all = |text: &str| text.replacen(&own, &self.sum_id(), 2);
        all(&(out + &self.out_of_order_line()))
    }

    /// The text in the brackets of a sum, with the number of streams.
    pub fn sum_id(&self) -> String {
        let mark = match self.id {
            Id::Back(_) | Id::SumBack => "*",
            Id::Stream(_) | Id::Sum => "",
        };
        format!("[{mark}SUM-{}]", self.streams)
    }

    /// The line, or two if datagrams arrived out of order, without a line end.
    pub fn line(&self, format: Format) -> String {
        self.first_line(format) + &self.out_of_order_line()
    }

    /// Whether the line spans a whole interval of `every`, not a partial one.
    pub fn is_whole(&self, every: Duration) -> bool {
        // Times of lines are multiples of the interval, except for rounding.
        self.end_s - self.start_s > every.as_secs_f64() * 0.999_999
    }

    /// `count` per second over the time of the line; `None` for a line without time, such as that of a single datagram.
    pub fn per_s(&self, count: f64) -> Option<f64> {
        let rate = count / (self.end_s - self.start_s);
        rate.is_finite().then_some(rate)
    }

    fn span(&self) -> String {
        format!("{} {:.4}-{:.4} sec", self.id, self.start_s, self.end_s)
    }

    fn out_of_order_line(&self) -> String {
        match self.datagrams.map_or(0, |d| d.out_of_order) {
            0 => String::new(),
            count => format!("\n{}  {count} datagrams received out-of-order", self.span()),
        }
    }

    /// The beginning of each line: amount and rate.
    fn moved(&self, format: Format) -> String {
        let span = self.span();
        let bytes = self.bytes as f64;
        let rate = match self.per_s(bytes) {
            Some(rate) => format.rate(rate),
            None => format.no_rate().to_owned(),
        };
        format!("{span}  {}  {rate}", format.transfer(bytes))
    }

    fn first_line(&self, format: Format) -> String {
        let mut out = self.moved(format);
        if let Some(d) = &self.datagrams {
            let (lost, total) = (d.lost, d.total);
            let percent = match total {
                0 => "-".to_owned(),
                total => general(lost as f64 * 100.0 / total as f64),
            };
            // iperf shows no jitter for a sum.
            let jitter = match self.id {
                Id::Sum | Id::SumBack => String::new(),
                Id::Stream(_) | Id::Back(_) => format!("{:6.3} ms ", d.jitter_ms),
            };
            let _ = write!(out, "  {jitter}{lost}/{total} ({percent}%)");
        }
        out
    }
}

/// Two significant digits as C's `%.2g` writes them: `0.5`, `17`, `1e+02`.
pub(crate) fn general(value: f64) -> String {
    if value.is_nan() {
        return "-nan".to_owned();
    }
    let text = format!("{value:.1e}");
    let exponent: i32 = text
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    let trim = |number: &str| match number.contains('.') {
        true => number
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => number.to_owned(),
    };
    if (-4..2).contains(&exponent) {
        let places = usize::try_from(1 - exponent).unwrap_or(0);
        return trim(&format!("{value:.places$}"));
    }
    let mantissa = trim(text.split('e').next().unwrap_or_default());
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Mean, minimum, maximum and deviation in ms.
fn latency(transit: Option<&Transit>) -> String {
    transit.map_or("-/-/-/-".to_owned(), |t| {
        let ms = [t.mean_us, t.min_us as f64, t.max_us as f64, t.stdev_us()];
        ms.map(|us| format!("{:.3}", us / 1000.0)).join("/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(start_s: f64, end_s: f64, bytes: u64) -> Row {
        Row {
            bytes,
            ..Row::new(Id::Stream(1), start_s, end_s)
        }
    }

    // iperf 2.1.8 printed every line below.
    #[test]
    fn lines_as_the_binary_prints_them() {
        let auto = Format::AutoBits;
        for (start, end, bytes, line) in [
            (
                0.0,
                1.0,
                91 * 1470,
                "[  1] 0.0000-1.0000 sec   131 KBytes  1.07 Mbits/sec",
            ),
            (
                0.0,
                2.0189,
                182 * 1470,
                "[  1] 0.0000-2.0189 sec   261 KBytes  1.06 Mbits/sec",
            ),
            (
                0.0,
                1.1203,
                16 * 500,
                "[  1] 0.0000-1.1203 sec  7.81 KBytes  57.1 Kbits/sec",
            ),
            (
                0.0,
                0.5010,
                60,
                "[  1] 0.0000-0.5010 sec  60.0 Bytes   958 bits/sec",
            ),
            (
                4.0,
                5.0,
                0,
                "[  1] 4.0000-5.0000 sec  0.000 Bytes  0.000 bits/sec",
            ),
            (
                0.0,
                0.0018,
                1000,
                "[  1] 0.0000-0.0018 sec  1000 Bytes  4.44 Mbits/sec",
            ),
            (
                0.0,
                1.0,
                1007 << 20,
                "[  1] 0.0000-1.0000 sec  1007 MBytes  8.45 Gbits/sec",
            ),
        ] {
            assert_eq!(row(start, end, bytes).line(auto), line);
        }
    }

    #[test]
    fn units_as_the_binary_prints_them() {
        for (letter, end, text) in [
            ('k', "1.0001", " 640 KBytes  5244 Kbits/sec"),
            ('m', "1.0001", "0.625 MBytes  5.24 Mbits/sec"),
            ('K', "1.0000", " 640 KBytes   640 KBytes/sec"),
            ('M', "1.0002", "0.625 MBytes  0.625 MBytes/sec"),
            ('a', "1.0000", " 640 KBytes  5.24 Mbits/sec"),
            ('g', "1.0002", "0.001 GBytes  0.005 Gbits/sec"),
            ('A', "1.0000", " 640 KBytes   640 KBytes/sec"),
        ] {
            let line = row(0.0, end.parse().unwrap(), 10_243 * 64);
            let format = Format::from_letter(letter).unwrap();
            assert_eq!(line.line(format), format!("[  1] 0.0000-{end} sec  {text}"));
        }
        assert_eq!(Format::from_letter('x'), None);
    }

    // As the binary prints them, except that unknown values, there -nan or inf, are a dash here.
    #[test]
    fn datagrams_as_the_binary_prints_them() {
        let datagrams = |jitter_ms, lost, total, out_of_order| Datagrams {
            jitter_ms,
            jitter_ps: None,
            received: total - lost,
            lost,
            total,
            out_of_order,
        };
        for (end, bytes, d, line) in [
            (
                1.0,
                91 * 1470,
                datagrams(0.0051, 0, 91, 0),
                "1.07 Mbits/sec   0.005 ms 0/91 (0%)",
            ),
            (
                1.0,
                2 * 1470,
                datagrams(61.147, 0, 2, 1),
                "23.5 Kbits/sec  61.147 ms 0/2 (0%)\n[  1] 0.0000-1.0000 sec  1 datagrams received out-of-order",
            ),
            (
                1.0,
                0,
                datagrams(0.0, 0, 0, 0),
                "0.000 bits/sec   0.000 ms 0/0 (-%)",
            ),
            (
                1.0,
                1000,
                datagrams(0.01, 1, 6, 0),
                "8.00 Kbits/sec   0.010 ms 1/6 (17%)",
            ),
            (
                0.0,
                0,
                datagrams(0.009, 199_998, 200_001, 0),
                "   - bits/sec   0.009 ms 199998/200001 (1e+02%)",
            ),
        ] {
            let line_of = Row {
                datagrams: Some(d),
                ..row(0.0, end, bytes)
            }
            .line(Format::AutoBits);
            assert!(
                line_of.ends_with(line),
                "{line_of} does not end with {line}"
            );
        }
    }

    // As iperf 2.1.8 printed them with --sum-only.
    #[test]
    fn sums_of_streams_alone() {
        let mut sum = Row {
            id: Id::Sum,
            streams: 2,
            ..row(0.0, 0.5, 124 << 10)
        };
        let line = "[SUM-2] 0.0000-0.5000 sec   124 KBytes  2.03 Mbits/sec";
        assert_eq!(sum.sum_line(Format::AutoBits, false), line);
        sum.datagrams = Some(Datagrams {
            jitter_ms: 0.0,
            jitter_ps: None,
            received: 254,
            lost: 0,
            total: 254,
            out_of_order: 1,
        });
        let late = "[SUM-2] 0.0000-0.5000 sec  1 datagrams received out-of-order";
        let lines = format!("{line}  0/254      508 pps\n{late}");
        assert_eq!(sum.sum_line(Format::AutoBits, false), lines);
        let single = Row {
            streams: 1,
            id: Id::Back(1),
            datagrams: None,
            ..sum
        };
        assert!(
            single
                .sum_line(Format::AutoBits, false)
                .starts_with("[*SUM-1] 0.0")
        );
    }

    #[test]
    fn a_line_without_time_has_no_rate() {
        let mut single = row(2.0, 2.0, 1470);
        let line = "[  1] 2.0000-2.0000 sec  1.44 KBytes     - bits/sec";
        assert_eq!(single.line(Format::AutoBits), line);
        single.more = Some(EnhancedColumns::Packets {
            writes: 1,
            errors: 0,
        });
        let enhanced = single.enhanced_line(Format::AutoBits);
        assert_eq!(enhanced, format!("{line}  1/0        - pps"));
        assert_eq!(single.per_s(1.0), None);
        single.end_s = 2.5;
        assert_eq!(single.per_s(1.0), Some(2.0));
        let every = Duration::from_millis;
        assert!(single.is_whole(every(500)) && !single.is_whole(every(501)));
    }

    #[test]
    fn percent_as_c_writes_it() {
        for (value, text) in [
            (0.55, "0.55"),
            (9.96, "10"),
            (99.4, "99"),
            (0.00012, "0.00012"),
            (0.000012, "1.2e-05"),
            (5.0, "5"),
            (33.3, "33"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn brackets() {
        assert_eq!(Id::Back(3).to_string(), "[ *3]");
        assert_eq!(Id::Sum.to_string(), "[SUM]");
        assert_eq!(Id::SumBack.to_string(), "[*SUM]");
        assert_eq!(Id::Stream(12).to_string(), "[ 12]");
    }
}
