//! The options of `wirelab iperf --iperf3` that iperf 2 does not have.

use std::path::PathBuf;

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
    /// TCP senders of both ends let the system take what they send out of a file (sendfile); -Z without a value is the same
    #[arg(long, requires_all = ["client", "iperf3"])]
    pub zerocopy: bool,
    /// Name of a user, for servers that ask for one; the password is in IPERF3_PASSWORD, or asked on the terminal
    #[arg(long, value_name = "NAME", requires_all = ["client", "iperf3", "rsa_public_key_path"])]
    pub username: Option<String>,
    /// The server's public key, in PEM
    #[arg(long, value_name = "FILE", requires = "username")]
    pub rsa_public_key_path: Option<PathBuf>,
    /// The private key of this server, in PEM: it lets users in alone
    #[arg(long, value_name = "FILE", requires_all = ["server", "iperf3", "authorized_users_path"])]
    pub rsa_private_key_path: Option<PathBuf>,
    /// The users of this server, a line each: NAME,SHA-256 of {NAME}PASSWORD
    #[arg(long, value_name = "FILE", requires = "rsa_private_key_path")]
    pub authorized_users_path: Option<PathBuf>,
    /// How far the clocks of a user and this server may be apart; 10 without it
    #[arg(long, value_name = "SECONDS", requires = "rsa_private_key_path")]
    pub time_skew_threshold: Option<u64>,
    /// Hide the password as iperf3 did until 3.16 (PKCS #1 v1.5); both ends must do the same
    #[arg(long, requires = "iperf3")]
    pub use_pkcs1_padding: bool,
    /// Print each line when it is known; that is always done, and scripts for iperf3 ask for it
    #[arg(long, requires = "iperf3")]
    pub forceflush: bool,
    /// Longest wait for the server's answer to the control connection; 10000 without it
    #[arg(long, value_name = "MS", requires_all = ["client", "iperf3"], value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub connect_timeout: Option<u64>,
}
