//! The options of `wirelab node`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wirelab_socket::prefix::Prefix;

/// Make this host a node under test
#[derive(Args, Debug)]
pub struct NodeArgs {
    #[command(subcommand)]
    pub command: NodeCommand,
}

#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    Serve(NodeServeArgs),
}

/// Serve as a node until Ctrl-C: test frames over UDP, TCP and Ethernet, CPU load, and iperf 2 and iperf3 beside
#[derive(Args, Debug)]
#[command(after_help = "\
A tester then runs 'wirelab measure node:ADDRESS', or 'wirelab measure iperf:ADDRESS'. Test frames go only to the \
address that asked for them, each trial has an end, and one runs at a time. CPU load is that of the cores of --cpus \
alone: the node's threads and the receive work of its interface are kept there, and put back at the end.

Exit status: 0 ended by Ctrl-C or termination; 1 its sockets failed; 2 bad usage, address or port not to be had.")]
pub struct NodeServeArgs {
    /// Address to listen on, and no other; only this host reaches the one without it
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1")]
    pub listen: String,
    /// Interface of the trials; the one that has the address without it
    #[arg(long)]
    pub interface: Option<String>,
    /// Cores that do the node's work, e.g. 1 or 2-3; the last core without it
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Name of the node: small letters, digits, '-'; the host's name without it
    #[arg(long)]
    pub name: Option<String>,
    /// A set-up key that the system does not know, e.g. phy=DP83869HM or phy_rx_ps=193000; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Who may use the node, e.g. 192.0.2.0/24; everybody without it; may be given again
    #[arg(long, value_name = "PREFIX")]
    pub allow: Vec<Prefix>,
    /// File with a secret that testers have to show: wirelab measure node:ADDRESS,token=FILE
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Most bit/s that the node sends, e.g. 100M; what its link carries without it
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<String>,
    /// Longest trial, e.g. 600s; a minute and 10 s for its ends without it
    #[arg(long, value_name = "TIME", default_value = "70s")]
    pub max_time: String,
    /// Link-layer address that Ethernet trials may send to beside the asking host's own; may be given again
    #[arg(long, value_name = "MAC")]
    pub allow_mac: Vec<String>,
    /// Who gets datagrams back from the iperf 2 server without a TCP connection before, e.g. 192.0.2.0/24; may be given again
    #[arg(long, value_name = "PREFIX")]
    pub allow_reverse: Vec<Prefix>,
    /// Where the interface's receive work is done: steer (to the cores of --cpus) or leave (where it comes)
    #[arg(long, default_value = "steer", value_name = "HOW")]
    pub receive_work: String,
    /// Where XDP programs may sit, for the driver's capture point and the ways past the stack: auto, native, generic
    /// or off
    #[arg(long, default_value = "auto", value_name = "MODE")]
    pub xdp: String,
    /// Serve no iperf 2 and no iperf3
    #[arg(long)]
    pub no_iperf: bool,
    /// One line of JSON when it is ready
    #[arg(long)]
    pub json: bool,
}
