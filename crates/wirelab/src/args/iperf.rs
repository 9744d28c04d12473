//! The options of `wirelab iperf`: the letters of iperf 2 and, with `--iperf3`, those of iperf3.

use std::path::PathBuf;

use clap::Args;
use wirelab_socket::prefix::Prefix;

use super::Iperf3Args;

/// iperf 2 and iperf3, server and client, with their own flags and their own table
#[derive(Args, Debug)]
#[command(disable_version_flag = true, args_override_self = true)]
#[command(after_help = "\
Bytes (-l, -n, -w): K, M, G are powers of 1024, k, m, g of 1000. Rates (-b): 5M is 5·2^20 bit/s and 5m is 5·10^6 bit/s, \
as iperf 2 has it; with --iperf3 both are 5·10^6 bit/s, as iperf3 has it.

Exit status: 0 done; 1 the test failed or was interrupted, what was measured is printed; 2 bad usage.")]
pub struct IperfArgs {
    /// Serve, TCP and UDP on one port number, until Ctrl-C
    #[arg(short, long, required_unless_present = "client")]
    pub server: bool,
    /// Run a test against the server on this host
    #[arg(short, long, value_name = "HOST", conflicts_with = "server")]
    pub client: Option<String>,
    /// Speak iperf3 in place of iperf 2
    #[arg(short = '3', long)]
    pub iperf3: bool,
    /// Port of the server; 5001, with --iperf3 5201
    #[arg(short, long)]
    pub port: Option<u16>,
    /// Address to listen on, all addresses without it; of a client the one to send from, with a port where one is given
    #[arg(short = 'B', long, value_name = "ADDRESS[:PORT][%DEVICE]")]
    pub bind: Option<String>,
    /// IPv4 alone
    #[arg(short = '4', visible_alias = "version4", long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// IPv6: connect over it, or listen on it too
    #[arg(
        short = 'V',
        short_alias = '6',
        visible_aliases = ["version6", "ipv6_domain"],
        long
    )]
    pub ipv6: bool,
    /// Seconds from one line of the table to the next; none without it, with --iperf3 1
    #[arg(short, long, value_name = "SECONDS")]
    pub interval: Option<f64>,
    /// Unit of the rates: a, k, m, g for bits, A, K, M, G for bytes
    #[arg(short, long, value_name = "LETTER", default_value_t = 'a')]
    pub format: char,
    /// Socket buffers in bytes
    #[arg(short, long, value_name = "BYTES")]
    pub window: Option<String>,
    /// Without a rate, hand datagrams to the system one by one, not many in one piece
    #[arg(long)]
    pub no_segmentation: bool,
    /// Keep the distance between packets after a hold of this host: what was due meanwhile is not made up for in a burst
    #[arg(long)]
    pub strict_gaps: bool,
    /// More about each leg: packets per second, gaps of the sender, the kind of peer
    #[arg(short, long)]
    pub enhanced: bool,
    /// JSON for scripts; of a server one line for each test
    #[arg(short = 'J', long)]
    pub json: bool,
    /// C: a line of comma-separated values for each line of the table, in iperf 2.1.8's columns
    #[arg(
        short = 'y',
        long,
        value_name = "STYLE",
        conflicts_with = "json",
        ignore_case = true,
        value_parser = ["C"]
    )]
    pub reportstyle: Option<String>,
    /// Of several streams the sums alone
    #[arg(long)]
    pub sum_only: bool,
    /// Write to this file what would be printed; iperf 2 begins the file anew, --iperf3 writes behind what it has
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

/// What the system is asked for on each socket.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sockets")]
pub struct IperfSocketArgs {
    /// Most bytes of a TCP segment
    #[arg(short = 'M', long, visible_alias = "set-mss", value_name = "BYTES")]
    pub mss: Option<String>,
    /// Send short TCP segments at once (Nagle's algorithm off)
    #[arg(short = 'N', long = "nodelay", visible_alias = "no-delay")]
    pub no_delay: bool,
    /// Type of service of what is sent: a name such as EF, CS1 or AF41, or the byte of the IP header
    #[arg(short = 'S', long, value_name = "VALUE", overrides_with = "dscp")]
    pub tos: Option<String>,
    /// The same by its code point, the upper six bits: a name or 0 to 63
    #[arg(long, value_name = "VALUE", overrides_with = "tos")]
    pub dscp: Option<String>,
    /// TCP's congestion control, such as reno, cubic or bbr; with --iperf3 the letter is -C, as iperf3 has it
    #[arg(
        long,
        visible_aliases = ["tcp-congestion", "linux-congestion"],
        value_name = "ALGORITHM"
    )]
    pub congestion: Option<String>,
    /// --congestion ALGORITHM; with --iperf3, where it has no value, --zerocopy
    #[arg(short = 'Z', value_name = "ALGORITHM", num_args = 0..=1)]
    pub z: Option<Option<String>>,
    /// Port to send from, and the ones that follow it for further streams
    #[arg(long, value_name = "PORT", requires = "client", value_parser = clap::value_parser!(u16).range(1..))]
    pub cport: Option<u16>,
}

/// What a server does.
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
    /// Serve in the background: this process ends when the other one listens
    #[arg(short = 'D', long, conflicts_with = "client")]
    pub daemon: bool,
    /// Receive alone: send nothing back whatever a client asks
    #[arg(long, requires = "server")]
    pub receive_only: bool,
    /// Who gets datagrams back beside the hosts on the link, e.g. 192.0.2.0/24; may be given again
    #[arg(long, requires = "server", value_name = "PREFIX")]
    pub allow_reverse: Vec<Prefix>,
}

/// What a client asks for.
#[derive(Args, Debug)]
#[command(next_help_heading = "Client")]
pub struct IperfClientArgs {
    /// UDP in place of TCP
    #[arg(short, long)]
    pub udp: bool,
    /// Seconds to send; 10 without it; of a server, seconds to serve
    #[arg(short, long, value_name = "SECONDS", overrides_with = "num")]
    pub time: Option<f64>,
    /// Bytes to send in place of a time; of both the last counts
    #[arg(
        short,
        long,
        visible_alias = "bytes",
        value_name = "BYTES",
        overrides_with = "time",
        requires = "client"
    )]
    pub num: Option<String>,
    /// Blocks to send in place of a time (iperf3)
    #[arg(short = 'k', long, value_name = "N", conflicts_with_all = ["num", "time"], requires_all = ["client", "iperf3"])]
    pub blockcount: Option<String>,
    /// Bytes of a datagram or a write; 1470 over UDP (1450 over IPv6), 128K over TCP, with --iperf3 1460 over UDP
    #[arg(short, long = "len", visible_alias = "length", value_name = "BYTES")]
    pub len: Option<String>,
    /// Rate of each stream in bit/s, or packets/s with pps; 0 for as fast as it goes; over UDP 1M without it
    #[arg(
        short,
        long,
        visible_alias = "bitrate",
        value_name = "RATE",
        requires = "client"
    )]
    pub bandwidth: Option<String>,
    /// Streams at once
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub parallel: u32,
    /// Port for traffic back with -r and -d; any free one without it
    #[arg(short = 'L', long, value_name = "PORT", requires = "client")]
    pub listenport: Option<u16>,
    /// Test both directions, one after the other
    #[arg(short = 'r', long, group = "mode", requires = "client")]
    pub tradeoff: bool,
    /// With -r, open the test with a single datagram or byte: only the server's traffic is measured, also of one
    /// that does not know -R
    #[arg(long, requires_all = ["client", "tradeoff"])]
    pub back_only: bool,
    /// Test both directions at once, on a connection or port of its own each
    #[arg(short, long, group = "mode", requires = "client")]
    pub dualtest: bool,
    /// The server sends, on the client's connection or port
    #[arg(short = 'R', long, group = "mode", requires = "client")]
    pub reverse: bool,
    /// Both directions at once on one connection or port
    #[arg(long, group = "mode", requires = "client")]
    pub full_duplex: bool,
    /// Both directions at once (iperf3)
    #[arg(long, group = "mode", requires_all = ["client", "iperf3"])]
    pub bidir: bool,
    /// Seconds at the start that do not count (iperf3)
    #[arg(short = 'O', long, value_name = "SECONDS", requires_all = ["client", "iperf3"])]
    pub omit: Option<u64>,
    /// Ask for one-way times, of datagrams and of writes: they hold as far as the clocks of both hosts are set alike
    #[arg(long, requires = "client")]
    pub trip_times: bool,
    /// Send no client header: for servers that read 12-byte heads alone (ESP-IDF, NuttX); with --iperf3 -C ALGORITHM is
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
