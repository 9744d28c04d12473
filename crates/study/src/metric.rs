//! The metrics of published figures.

use std::fmt;
use std::str::FromStr;

use wirelab_trial::nearest::unknown;

use crate::quantity::Dimension;

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $dimension:ident),+ $(,)?) => {
        /// The metric of a published figure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Metric { $($(#[$doc])* $variant),+ }

        impl Metric {
            /// All of them.
            pub const ALL: &[Metric] = &[$(Metric::$variant),+];

            /// Its name in files and JSON.
            pub fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name),+ }
            }

            /// The dimension of its units.
            pub fn dimension(self) -> Dimension {
                match self { $(Metric::$variant => Dimension::$dimension),+ }
            }
        }
    };
}

metrics! {
    /// Elapsed time of the trial.
    Time = "time": Time,
    /// Payload (Ethernet) or application (UDP, TCP) data per second of one flow.
    Throughput = "throughput": Rate,
    /// Data per second of the receiving flow of a trial with both directions.
    ThroughputReceive = "throughput_receive": Rate,
    /// Data per second of the transmitting flow of such a trial.
    ThroughputTransmit = "throughput_transmit": Rate,
    /// Data per second of both flows of such a trial together.
    ThroughputSum = "throughput_sum": Rate,
    /// Payload rate over the highest payload rate of the link at this size.
    ShareOfLimit = "share_of_limit": Share,
    /// Payload bits over link bits.
    Efficiency = "efficiency": Share,
    /// Frames per second of one flow.
    FramesPerS = "frames_per_s": FrameRate,
    /// Time from one frame to the next.
    TimePerFrame = "time_per_frame": Time,
    /// Busy share of the CPU.
    CpuLoad = "cpu_load": Share,
    /// Share of frames lost.
    Loss = "loss": Share,
    /// RFC 3550 jitter.
    Jitter = "jitter": Time,
    /// Mean latency at a capture point.
    Latency = "latency": Time,
    /// Three standard deviations of the latency at a capture point.
    Latency3Sigma = "latency_3sigma": Time,
    /// The least latency at a capture point.
    LatencyMin = "latency_min": Time,
    /// Median latency at a capture point.
    LatencyMedian = "latency_median": Time,
    /// 90th percentile of the latency at a capture point.
    LatencyP90 = "latency_p90": Time,
    /// 99th percentile of the latency at a capture point.
    LatencyP99 = "latency_p99": Time,
    /// 99.9th percentile of the latency at a capture point.
    LatencyP999 = "latency_p99_9": Time,
    /// The largest latency at a capture point.
    LatencyMax = "latency_max": Time,
    /// Spacing of frames at a probe.
    Spacing = "spacing": Time,
    /// Payload of a frame over the shortest interval at a probe: the most that a single reading suggests.
    IntervalThroughput = "interval_throughput": Rate,
    /// The rate of [`Metric::IntervalThroughput`] over the link's rate.
    IntervalEfficiency = "interval_efficiency": Share,
    /// Data of a report interval.
    Transfer = "transfer": Bytes,
    /// Data per second of a report interval.
    Bandwidth = "bandwidth": Rate,
    /// Datagrams that a server counted as lost in a report interval.
    Lost = "lost": Count,
    /// Datagrams of a report interval, by their ids.
    Datagrams = "datagrams": Count,
    /// Frames of the trial.
    Frames = "frames": Count,
    /// Payload of one frame.
    Payload = "payload": Bytes,
    /// Payload of all frames of the trial.
    Data = "data": Bytes,
    /// A frame on the link with preamble, FCS and gap.
    FrameBits = "frame_bits": Bits,
    /// Stated for the set-up, not for a trial: clocks of an operation.
    Clocks = "clocks": Count,
    /// Stated for the set-up: a clock.
    ClockRate = "clock_rate": Frequency,
    /// Stated for the set-up: a link.
    LinkRate = "link_rate": Rate,
    /// Stated for the set-up: the resolution of a measurement.
    Resolution = "resolution": Time,
}

impl Metric {
    /// Whether it follows from the link alone, for any node.
    pub const fn is_of_a_link(self) -> bool {
        use Metric::{
            Efficiency, FrameBits, FramesPerS, Payload, ShareOfLimit, Throughput, TimePerFrame,
        };
        matches!(
            self,
            Throughput
                | ShareOfLimit
                | Efficiency
                | FramesPerS
                | TimePerFrame
                | FrameBits
                | Payload
        )
    }

    /// Whether a server's report interval has it.
    pub const fn is_of_an_interval(self) -> bool {
        use Metric::{Bandwidth, Datagrams, Jitter, Loss, Lost, Transfer};
        matches!(
            self,
            Transfer | Bandwidth | Jitter | Lost | Datagrams | Loss
        )
    }

    /// Whether it follows from the trial alone, so no node is needed.
    pub const fn is_of_the_trial(self) -> bool {
        use Metric::{Data, FrameBits, Frames, Payload};
        matches!(self, Frames | Payload | Data | FrameBits) || self.is_stated()
    }

    /// Whether the document states it of its set-up: a condition, not the result of a trial.
    pub const fn is_stated(self) -> bool {
        use Metric::{ClockRate, Clocks, LinkRate, Resolution};
        matches!(self, Clocks | ClockRate | LinkRate | Resolution)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Metric, String> {
        let found = Metric::ALL.iter().find(|m| m.name() == text);
        found
            .copied()
            .ok_or_else(|| unknown("metric", text, Metric::ALL.iter().map(|m| m.name())))
    }
}
