//! The options of `wirelab iperf --iperf3` that iperf 2 does not have.

use std::path::PathBuf;

use clap::Args;

/// Options of iperf3 beside the common ones.
#[derive(Args, Debug)]
#[command(next_help_heading = "iperf3")]
pub struct Iperf3Args {
    /// Print one JSON event per line during the test: start, interval, end, error
    #[arg(long, requires = "iperf3", conflicts_with = "json")]
    pub json_stream: bool,
    /// Start each line with this text; the JSON of both ends has it too
    #[arg(short = 'T', long, value_name = "TEXT", requires_all = ["client", "iperf3"])]
    pub title: Option<String>,
    /// Add this text to the JSON of both ends
    #[arg(long, value_name = "TEXT", requires_all = ["client", "iperf3"])]
    pub extra_data: Option<String>,
    /// Print the server's output too
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub get_server_output: bool,
    /// Number UDP datagrams with 64 bits, for tests of more than 2^31 datagrams
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub udp_counters_64bit: bool,
    /// Send repeated digits, as iperf 2 does, not random bytes
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub repeating_payload: bool,
    /// TCP senders of both ends use sendfile; same as -Z without a value
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub zerocopy: bool,
    /// User name, for servers that require one; the password comes from IPERF3_PASSWORD or the terminal
    #[arg(long, value_name = "NAME", requires_all = ["client", "iperf3", "rsa_public_key_path"])]
    pub username: Option<String>,
    /// Public key of the server (PEM)
    #[arg(long, value_name = "FILE", requires = "username")]
    pub rsa_public_key_path: Option<PathBuf>,
    /// Private key of this server (PEM); admits listed users only
    #[arg(long, value_name = "FILE", requires_all = ["server", "iperf3", "authorized_users_path"])]
    pub rsa_private_key_path: Option<PathBuf>,
    /// Users of this server, one per line: NAME,SHA-256 of {NAME}PASSWORD
    #[arg(long, value_name = "FILE", requires = "rsa_private_key_path")]
    pub authorized_users_path: Option<PathBuf>,
    /// Largest difference between the clocks of a user and this server [default: 10]
    #[arg(long, value_name = "SECONDS", requires = "rsa_private_key_path")]
    pub time_skew_threshold: Option<u64>,
    /// Encrypt the password as iperf3 did until 3.16 (PKCS #1 v1.5); both ends must do the same
    #[arg(long, requires = "iperf3")]
    pub use_pkcs1_padding: bool,
    /// Flush each line; always done, accepted for scripts written for iperf3
    #[arg(long, requires = "iperf3")]
    pub forceflush: bool,
    /// Timeout of the control connection in ms [default: 10000]
    #[arg(long, value_name = "MS", requires_all = ["client", "iperf3"], value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub connect_timeout: Option<u64>,
}
