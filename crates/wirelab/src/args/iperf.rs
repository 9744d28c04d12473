//! The options of `wirelab iperf`: the letters of iperf 2 and, with `--iperf3`, those of iperf3.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use wirelab_socket::prefix::Prefix;

use super::Iperf3Args;

/// Run iperf 2 or iperf3, as a server or client, with their flags and their table
#[derive(Args, Debug)]
#[command(disable_version_flag = true, args_override_self = true)]
#[command(group(ArgGroup::new("end").required(true).args(["server", "client"])))]
#[command(after_help = "\
Bytes (-l, -n, -w): K, M, G are powers of 1024, k, m, g of 1000. Rates (-b): 5M is 5·2^20 bit/s and 5m is 5·10^6 bit/s, \
as in iperf 2; with --iperf3 both are 5·10^6 bit/s, as in iperf3.

Exit status: 0 done; 1 the test failed or was interrupted (prints what was measured); 2 bad usage.")]
pub struct IperfArgs {
    /// Serve TCP and UDP on one port number, until Ctrl-C
    #[arg(short, long)]
    pub server: bool,
    /// Run a test against the server on this host
    #[arg(short, long, value_name = "HOST[%DEVICE]")]
    pub client: Option<String>,
    /// Use iperf3 in place of iperf 2
    #[arg(short = '3', long)]
    pub iperf3: bool,
    /// Port of the server [default: 5001; with --iperf3 5201]
    #[arg(short, long)]
    pub port: Option<u16>,
    /// Address to listen on [default: all]; of a client the address to send from, optionally with a port
    #[arg(short = 'B', long, value_name = "ADDRESS[:PORT][%DEVICE]")]
    pub bind: Option<String>,
    /// Use IPv4 only
    #[arg(short = '4', visible_alias = "version4", long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Connect over IPv6, or listen on it too
    #[arg(
        short = 'V',
        short_alias = '6',
        visible_aliases = ["version6", "ipv6_domain"],
        long
    )]
    pub ipv6: bool,
    /// Interval between lines of the table in seconds [default: none; with --iperf3 1]
    #[arg(short, long, value_name = "SECONDS")]
    pub interval: Option<f64>,
    /// Unit of the rates: a, k, m, g for bits, A, K, M, G for bytes
    #[arg(short, long, value_name = "LETTER", default_value_t = 'a')]
    pub format: char,
    /// Socket buffers in bytes
    #[arg(short, long, value_name = "BYTES")]
    pub window: Option<String>,
    /// Without a rate, pass datagrams to the kernel one by one, not several in one segmented write
    #[arg(long)]
    pub no_segmentation: bool,
    /// Keep the gap between packets after a pause of this host; do not catch up in a burst
    #[arg(long)]
    pub strict_gaps: bool,
    /// Report more of each direction: packets per second, gaps of the sender, the type of peer
    #[arg(short, long)]
    pub enhanced: bool,
    /// Print JSON; a server prints one line for each test
    #[arg(short = 'J', long)]
    pub json: bool,
    /// C: print each line of the table as comma-separated values, in the columns of iperf 2.1.8
    #[arg(
        short = 'y',
        long,
        value_name = "STYLE",
        conflicts_with = "json",
        ignore_case = true,
        value_parser = ["C"]
    )]
    pub reportstyle: Option<String>,
    /// With several streams, print the sums only
    #[arg(long)]
    pub sum_only: bool,
    /// Write the output to FILE; iperf 2 replaces the file, --iperf3 appends to it
    #[arg(short, long, visible_alias = "logfile", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub socket: IperfSocketArgs,
    #[command(flatten)]
    pub serve: IperfServerArgs,
    #[command(flatten)]
    pub test: IperfClientArgs,
    #[command(flatten)]
    pub three: Iperf3Args,
}

/// Options of each socket.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sockets")]
pub struct IperfSocketArgs {
    /// Maximum TCP segment size in bytes
    #[arg(short = 'M', long, visible_alias = "set-mss", value_name = "BYTES")]
    pub mss: Option<String>,
    /// Send short TCP segments immediately (disables Nagle's algorithm)
    #[arg(short = 'N', long = "nodelay", visible_alias = "no-delay")]
    pub no_delay: bool,
    /// Type of service: a name such as EF, CS1 or AF41, or the byte of the IP header
    #[arg(short = 'S', long, value_name = "VALUE", overrides_with = "dscp")]
    pub tos: Option<String>,
    /// Type of service by its code point, the upper six bits: a name or 0 to 63
    #[arg(long, value_name = "VALUE", overrides_with = "tos")]
    pub dscp: Option<String>,
    /// TCP congestion control, such as reno, cubic or bbr; with --iperf3 also -C, as in iperf3
    #[arg(
        long,
        visible_aliases = ["tcp-congestion", "linux-congestion"],
        value_name = "ALGORITHM"
    )]
    pub congestion: Option<String>,
    /// Same as --congestion ALGORITHM; with --iperf3 and no value, same as --zerocopy
    #[arg(short = 'Z', value_name = "ALGORITHM", num_args = 0..=1)]
    pub z: Option<Option<String>>,
    /// Port to send from; further streams use the ports after it
    #[arg(long, value_name = "PORT", requires = "client", value_parser = clap::value_parser!(u16).range(1..))]
    pub cport: Option<u16>,
}

/// Options of a server.
#[derive(Args, Debug)]
#[command(next_help_heading = "Server")]
pub struct IperfServerArgs {
    /// End after one test
    #[arg(
        short = '1',
        long = "one",
        visible_aliases = ["one-off", "singleclient"],
        requires = "server"
    )]
    pub one: bool,
    /// Serve in the background; this process ends when the server listens
    #[arg(short = 'D', long, conflicts_with = "client")]
    pub daemon: bool,
    /// Only receive; send nothing, whatever a client requests
    #[arg(long, requires = "server")]
    pub receive_only: bool,
    /// Addresses that get datagrams back, beside the hosts on the link, e.g. 192.0.2.0/24; may be given several times
    #[arg(long, requires = "server", value_name = "PREFIX")]
    pub allow_reverse: Vec<Prefix>,
}

/// Options of a client.
#[derive(Args, Debug)]
#[command(next_help_heading = "Client")]
pub struct IperfClientArgs {
    /// Use UDP in place of TCP
    #[arg(short, long)]
    pub udp: bool,
    /// Seconds to send [default: 10]; of a server, seconds to serve
    #[arg(short, long, value_name = "SECONDS", overrides_with = "num")]
    pub time: Option<f64>,
    /// Bytes to send, in place of --time; the last of the two counts
    #[arg(
        short,
        long,
        visible_alias = "bytes",
        value_name = "BYTES",
        overrides_with = "time",
        requires = "client"
    )]
    pub num: Option<String>,
    /// Blocks to send, in place of --time (iperf3)
    #[arg(short = 'k', long, value_name = "N", conflicts_with_all = ["num", "time"], requires_all = ["client", "iperf3"])]
    pub blockcount: Option<String>,
    /// Bytes of a datagram or a write [default: UDP 1470, over IPv6 1450, with --iperf3 1460; TCP 128K]
    #[arg(short, long = "len", visible_alias = "length", value_name = "BYTES")]
    pub len: Option<String>,
    /// Rate of each stream in bit/s, or in packets/s with pps; 0 is unlimited [default: UDP 1M, TCP 0]
    #[arg(
        short,
        long,
        visible_alias = "bitrate",
        value_name = "RATE",
        requires = "client"
    )]
    pub bandwidth: Option<String>,
    /// Number of parallel streams [default: 1]
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=128))]
    pub parallel: Option<u32>,
    /// Port for the return traffic of -r and -d [default: any free port]
    #[arg(short = 'L', long, value_name = "PORT", requires = "client")]
    pub listenport: Option<u16>,
    /// Test both directions, one after the other
    #[arg(short = 'r', long, group = "mode", requires = "client")]
    pub tradeoff: bool,
    /// With -r, start the test with one datagram or byte: measures the server's traffic only, also of a server without -R
    #[arg(long, requires_all = ["client", "tradeoff"])]
    pub back_only: bool,
    /// Test both directions at once, each on its own connection or port
    #[arg(short, long, group = "mode", requires = "client")]
    pub dualtest: bool,
    /// Let the server send, on the client's connection or port
    #[arg(short = 'R', long, group = "mode", requires = "client")]
    pub reverse: bool,
    /// Test both directions at once on one connection or port
    #[arg(long, group = "mode", requires = "client")]
    pub full_duplex: bool,
    /// Test both directions at once (iperf3)
    #[arg(long, group = "mode", requires_all = ["client", "iperf3"])]
    pub bidir: bool,
    /// Omit the first seconds from the results (iperf3)
    #[arg(short = 'O', long, value_name = "SECONDS", requires_all = ["client", "iperf3"])]
    pub omit: Option<u64>,
    /// Measure one-way times of datagrams and writes; the clocks of both hosts must be synchronized
    #[arg(long, requires = "client")]
    pub trip_times: bool,
    /// Send no client header, for servers that read 12-byte headers only (ESP-IDF, NuttX); with --iperf3, -C ALGORITHM is
    /// --congestion
    #[arg(
        short = 'C',
        long,
        value_name = "ALGORITHM",
        num_args = 0..=1,
        requires = "client"
    )]
    pub compatibility: Option<Option<String>>,
}
