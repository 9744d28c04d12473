//! The options of `wirelab iperf --iperf3` that iperf 2 does not have.

use clap::Args;

/// What iperf3 has beside the shared options.
#[derive(Args, Debug)]
#[command(next_help_heading = "iperf3")]
pub struct Iperf3Args {
    /// One JSON event a line while the test runs: start, interval, end, error
    #[arg(long, requires = "iperf3", conflicts_with = "json")]
    pub json_stream: bool,
    /// Begin each line with this name; it is in the JSON of both ends too
    #[arg(short = 'T', long, value_name = "TEXT", requires_all = ["client", "iperf3"])]
    pub title: Option<String>,
    /// Text for the JSON of both ends
    #[arg(long, value_name = "TEXT", requires_all = ["client", "iperf3"])]
    pub extra_data: Option<String>,
    /// Show what the server prints of the test
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub get_server_output: bool,
    /// Number UDP datagrams with 64 bits, for tests of more than 2^31 datagrams
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub udp_counters_64bit: bool,
    /// Send the ten digits again and again, as iperf 2 does, not random bytes
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub repeating_payload: bool,
    /// Longest wait for the server's answer to the control connection; 10000 without it
    #[arg(long, value_name = "MS", requires_all = ["client", "iperf3"], value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub connect_timeout: Option<u64>,
}
