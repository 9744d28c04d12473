//! What `-e` adds to a line: writes, reads and their sizes, and one-way times, in iperf's columns.
//!
//! The congestion window and the ratio that iperf calls NetPwr are not included.

/// Bins for the sizes of reads, each an eighth of the buffer, as in iperf.
pub const READ_BINS: usize = 8;

/// The heading of lines of a TCP sender.
pub const HEADING_WRITES: &str =
    "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry";
/// The heading of lines of a TCP receiver.
pub const HEADING_READS: &str = "[ ID] Interval            Transfer    Bandwidth       Reads=Dist";
/// The heading of lines of a TCP receiver with one-way times of writes.
pub const HEADING_BURSTS: &str = "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size)  Reads=Dist";
/// The heading of lines of a UDP sender.
pub const HEADING_PACKETS: &str =
    "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS";
/// The heading of lines of a UDP receiver.
pub const HEADING_LATENCY: &str = "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx";

/// What `-e` adds to a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EnhancedColumns {
    /// A TCP sender.
    Writes {
        /// Writes.
        writes: u64,
        /// Retransmitted segments; `None` where the system does not report them.
        retransmits: Option<u64>,
    },
    /// A UDP sender; datagrams that the system refused are errors.
    Packets {
        /// Sent datagrams.
        writes: u64,
        /// Datagrams that the system's buffers did not take.
        errors: u64,
    },
    /// A TCP receiver with one-way times of writes; `None` where no write ended.
    Reads(Reads),
    /// A TCP receiver whose writes have times; nothing where no write ended.
    Bursts(Reads, Option<Transit>),
    /// A UDP receiver; `None` where the times are invalid.
    Latency(Option<Transit>),
}

/// Reads of a TCP receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Number of reads.
    pub count: u64,
    /// Number of each size: from 0, 1/8, 2/8 … of the buffer on.
    pub sizes: [u64; READ_BINS],
}

impl Reads {
    /// Adds a read of `bytes` into a buffer of `buffer_bytes`.
    pub fn add(&mut self, bytes: usize, buffer_bytes: usize) {
        let bin = bytes.saturating_sub(1) * READ_BINS / buffer_bytes.max(1);
        self.count += 1;
        self.sizes[bin.min(READ_BINS - 1)] += 1;
    }

    /// The sum of two streams.
    #[must_use]
    pub fn and(&self, other: &Reads) -> Reads {
        let mut all = *self;
        all.count += other.count;
        for (size, more) in all.sizes.iter_mut().zip(other.sizes) {
            *size += more;
        }
        all
    }

    pub(super) fn columns(&self) -> String {
        let sizes = self.sizes.map(|size| size.to_string()).join(":");
        format!("  {}={sizes}", self.count)
    }

    /// The difference to `before`.
    #[must_use]
    pub fn since(&self, before: &Reads) -> Reads {
        let mut sizes = self.sizes;
        for (size, before) in sizes.iter_mut().zip(&before.sizes) {
            *size -= before;
        }
        Reads {
            count: self.count - before.count,
            sizes,
        }
    }
}

/// One-way times by the sender's and the receiver's wall clocks: valid if both are synchronized, and negative where the
/// receiver's is behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transit {
    /// Datagrams.
    pub count: u64,
    /// The least in µs.
    pub min_us: i64,
    /// The most in µs.
    pub max_us: i64,
    /// The mean in µs.
    pub mean_us: f64,
    /// Sum of the squared distances from the mean, in µs².
    pub m2_us2: f64,
}

impl Transit {
    /// A single time.
    pub const fn of(us: i64) -> Transit {
        Transit {
            count: 1,
            min_us: us,
            max_us: us,
            mean_us: us as f64,
            m2_us2: 0.0,
        }
    }

    /// Adds one time (Welford: Technometrics 4, 1962, 419–420).
    pub fn add(&mut self, us: i64) {
        self.count += 1;
        self.min_us = self.min_us.min(us);
        self.max_us = self.max_us.max(us);
        let distance = us as f64 - self.mean_us;
        self.mean_us += distance / self.count as f64;
        self.m2_us2 += distance * (us as f64 - self.mean_us);
    }

    /// The union of two flows (Chan, Golub, LeVeque: Stanford STAN-CS-79-773, 2.1).
    #[must_use]
    pub fn and(&self, other: &Transit) -> Transit {
        let (a, b) = (self.count as f64, other.count as f64);
        let all = (a + b).max(1.0);
        let distance = other.mean_us - self.mean_us;
        Transit {
            count: self.count + other.count,
            min_us: self.min_us.min(other.min_us),
            max_us: self.max_us.max(other.max_us),
            mean_us: self.mean_us + distance * b / all,
            m2_us2: self.m2_us2 + other.m2_us2 + distance * distance * a * b / all,
        }
    }

    /// The standard deviation of the sample in µs; 0 for a single time.
    pub fn stdev_us(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => (self.m2_us2 / (count - 1) as f64).sqrt(),
        }
    }
}

impl EnhancedColumns {
    /// The sum of two streams.
    #[must_use]
    pub fn and(&self, other: &EnhancedColumns) -> EnhancedColumns {
        match (*self, *other) {
            (
                EnhancedColumns::Writes {
                    writes,
                    retransmits,
                },
                EnhancedColumns::Writes {
                    writes: more,
                    retransmits: again,
                },
            ) => EnhancedColumns::Writes {
                writes: writes + more,
                retransmits: retransmits.zip(again).map(|(a, b)| a + b),
            },
            (
                EnhancedColumns::Packets { writes, errors },
                EnhancedColumns::Packets {
                    writes: more,
                    errors: failed,
                },
            ) => EnhancedColumns::Packets {
                writes: writes + more,
                errors: errors + failed,
            },
            (EnhancedColumns::Reads(a), EnhancedColumns::Reads(b)) => {
                EnhancedColumns::Reads(a.and(&b))
            }
            (EnhancedColumns::Bursts(a, Some(one)), EnhancedColumns::Bursts(b, Some(two))) => {
                EnhancedColumns::Bursts(a.and(&b), Some(one.and(&two)))
            }
            (EnhancedColumns::Bursts(a, one), EnhancedColumns::Bursts(b, two)) => {
                EnhancedColumns::Bursts(a.and(&b), one.or(two))
            }
            (EnhancedColumns::Latency(Some(a)), EnhancedColumns::Latency(Some(b))) => {
                EnhancedColumns::Latency(Some(a.and(&b)))
            }
            (one, _) => one,
        }
    }

    /// The heading of lines with these columns.
    pub const fn heading(&self) -> &'static str {
        match self {
            EnhancedColumns::Writes { .. } => HEADING_WRITES,
            EnhancedColumns::Packets { .. } => HEADING_PACKETS,
            EnhancedColumns::Reads(_) => HEADING_READS,
            EnhancedColumns::Bursts(..) => HEADING_BURSTS,
            EnhancedColumns::Latency(_) => HEADING_LATENCY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v2::table::{Datagrams, Format, Id, Row};

    fn line(seconds: f64, bytes: u64, more: EnhancedColumns) -> String {
        let row = Row {
            bytes,
            more: Some(more),
            ..Row::new(Id::Stream(1), 0.0, seconds)
        };
        row.enhanced_line(Format::AutoBits)
    }

    // The beginnings of lines that iperf 2.1.8 printed with -e; its further columns are left out.
    #[test]
    fn lines_as_the_binary_begins_them() {
        assert_eq!(
            line(
                0.5,
                888 << 20,
                EnhancedColumns::Writes {
                    writes: 7105,
                    retransmits: Some(3)
                }
            ),
            "[  1] 0.0000-0.5000 sec   888 MBytes  14.9 Gbits/sec  7105/0          3"
        );
        let packets = EnhancedColumns::Packets {
            writes: 45,
            errors: 0,
        };
        assert_eq!(
            line(0.5, 46 * 1470, packets),
            "[  1] 0.0000-0.5000 sec  66.0 KBytes  1.08 Mbits/sec  45/0       90 pps"
        );
        let reads = Reads {
            count: 8,
            sizes: [3, 0, 0, 0, 0, 0, 0, 5],
        };
        assert_eq!(
            line(0.5, 640 << 10, EnhancedColumns::Reads(reads)),
            "[  1] 0.0000-0.5000 sec   640 KBytes  10.5 Mbits/sec  8=3:0:0:0:0:0:0:5"
        );
    }

    #[test]
    fn one_way_times() {
        let mut transit = Transit::of(2);
        for us in [106, 20, 20] {
            transit.add(us);
        }
        let row = Row {
            datagrams: Some(Datagrams {
                jitter_ms: 0.012,
                jitter_ps: Some(12_000_000),
                received: 4,
                lost: 0,
                total: 4,
                out_of_order: 0,
            }),
            more: Some(EnhancedColumns::Latency(Some(transit))),
            bytes: 4 * 1470,
            ..Row::new(Id::Stream(1), 0.0, 0.0226)
        };
        // The variance of 2, 106, 20, 20 is 2198.7 µs².
        assert!(
            row.enhanced_line(Format::AutoBits)
                .ends_with("0.012 ms 0/4 (0%) 0.037/0.002/0.106/0.047 ms 177 pps 4 pkts")
        );
        let absent = Row {
            more: Some(EnhancedColumns::Latency(None)),
            ..row
        };
        let absent = absent.enhanced_line(Format::AutoBits);
        assert!(absent.contains(" -/-/-/- ms"), "{absent}");
    }

    // The columns of such a line of iperf 2.1.8, without the two that need unmeasured values.
    #[test]
    fn one_way_times_of_writes() {
        let reads = Reads {
            count: 3,
            sizes: [3, 0, 0, 0, 0, 0, 0, 0],
        };
        let mut transit = Transit::of(20);
        transit.add(40);
        let text = line(1.0, 1000, EnhancedColumns::Bursts(reads, Some(transit)));
        assert!(
            text.ends_with("  0.030/0.020/0.040/0.014 ms (2/500)  3=3:0:0:0:0:0:0:0"),
            "{text}"
        );
        let both = EnhancedColumns::Bursts(reads, Some(transit))
            .and(&EnhancedColumns::Bursts(reads, None));
        let EnhancedColumns::Bursts(all, Some(times)) = both else {
            panic!("{both:?}");
        };
        assert_eq!((all.count, times.count), (6, 2));
        let none = line(1.0, 1000, EnhancedColumns::Bursts(reads, None));
        assert!(none.contains("  -/-/-/- ms (0/0)  3=3:"), "{none}");
    }

    #[test]
    fn two_streams_are_as_good_as_one() {
        let mut all = Transit::of(5);
        let (mut a, mut b) = (Transit::of(5), Transit::of(-3));
        for us in [9, 1] {
            a.add(us);
            all.add(us);
        }
        b.add(700);
        for us in [-3, 700] {
            all.add(us);
        }
        let both = a.and(&b);
        assert_eq!((both.count, both.min_us, both.max_us), (5, -3, 700));
        assert!((both.mean_us - all.mean_us).abs() < 1e-9);
        assert!((both.stdev_us() - all.stdev_us()).abs() < 1e-9);
    }

    #[test]
    fn sizes_of_reads() {
        let mut reads = Reads::default();
        for bytes in [1, 16 << 10, (16 << 10) + 1, 128 << 10, 1 << 20] {
            reads.add(bytes, 128 << 10);
        }
        assert_eq!(reads.sizes, [2, 1, 0, 0, 0, 0, 0, 2]);
        assert_eq!(reads.since(&reads), Reads::default());
    }
}
