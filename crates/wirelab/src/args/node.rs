//! The options of `wirelab node`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use wirelab_socket::prefix::Prefix;

use super::{Headings, under_its_heading};

const HEADINGS: Headings = &[
    ("Description", &["name", "set"]),
    (
        "Access and limits",
        &[
            "allow",
            "token",
            "allow_mac",
            "allow_reverse",
            "max_rate",
            "max_time",
            "no_iperf",
        ],
    ),
    ("Cores and kernel", &["cpus", "receive_work", "xdp"]),
];

/// The cores for the interface's receive work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReceiveWork {
    /// Those of --cpus
    Steer,
    /// Unchanged
    Leave,
}

/// Run this host as a node, so that another host can measure it
#[derive(Args, Debug)]
pub struct NodeArgs {
    #[command(subcommand)]
    pub command: NodeCommand,
}

#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    Serve(NodeServeArgs),
}

/// Serve trials until Ctrl-C: test frames over UDP, TCP and Ethernet, CPU load, also iperf 2 and iperf3
#[derive(Args, Debug)]
#[command(mut_args(|arg| under_its_heading(arg, HEADINGS)))]
#[command(after_help = "\
A tester then runs 'wirelab measure node:ADDRESS' or 'wirelab measure iperf:ADDRESS'. The node sends test frames only to \
the address that requested them. Each trial has an end, and one trial runs at a time. CPU load covers the cores of \
--cpus only: the node pins its threads and the receive work of its interface there, and restores both at the end.

Exit status: 0 ended by Ctrl-C or termination; 1 its sockets failed; 2 bad usage, or address or port not available.")]
pub struct NodeServeArgs {
    /// Address to listen on; the default is reachable from this host only
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1")]
    pub listen: String,
    /// Interface of the trials [default: the one with the address]
    #[arg(long)]
    pub interface: Option<String>,
    /// Cores for the node's work, e.g. 1 or 2-3 [default: the last core]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Name of the node: lower-case letters, digits, '-' [default: the host name]
    #[arg(long)]
    pub name: Option<String>,
    /// Add a set-up key that the system cannot report, e.g. phy=DP83869HM or phy_rx_ps=193000; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Addresses that may use the node, e.g. 192.0.2.0/24 [default: all]; may be given several times
    #[arg(long, value_name = "PREFIX")]
    pub allow: Vec<Prefix>,
    /// File with a secret that testers must know: wirelab measure node:ADDRESS,token=FILE
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Highest rate that the node sends in bit/s, e.g. 100M [default: the link rate]
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<String>,
    /// Longest trial, including 10 s for its ends, e.g. 600s
    #[arg(long, value_name = "TIME", default_value = "70s")]
    pub max_time: String,
    /// Further MAC address that Ethernet trials may send to, beside the tester's; may be given several times
    #[arg(long, value_name = "MAC")]
    pub allow_mac: Vec<String>,
    /// Addresses that get datagrams from the iperf 2 server without a TCP connection first, e.g. 192.0.2.0/24; may be given
    /// several times
    #[arg(long, value_name = "PREFIX")]
    pub allow_reverse: Vec<Prefix>,
    /// Cores for the interface's receive work: steer (to the cores of --cpus) or leave (unchanged)
    #[arg(long, value_enum, default_value_t = ReceiveWork::Steer, value_name = "HOW", hide_possible_values = true)]
    pub receive_work: ReceiveWork,
    /// Mode of XDP programs, for the driver's capture point and the paths past the stack: auto, native, generic or off
    #[arg(long, default_value = "auto", value_name = "MODE")]
    pub xdp: String,
    /// Do not serve iperf 2 and iperf3
    #[arg(long, conflicts_with = "allow_reverse")]
    pub no_iperf: bool,
    /// Print one line of JSON when the node is ready
    #[arg(long)]
    pub json: bool,
}
