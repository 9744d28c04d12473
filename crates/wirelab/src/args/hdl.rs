//! The options of `wirelab hdl`.

use clap::Args;

use super::{FramingArgs, SizeArgs};

/// Join a port of hardware in simulation to an interface of this host (TAP), until Ctrl-C
#[derive(Args, Debug)]
#[command(after_help = "\
The interface is made, and goes when this ends. What the host sends out of it the packet checker in hardware judges; with \
--frames the packet generator in hardware sends as well. In one terminal, then in another:
  wirelab hdl tap0 --idle 2s                        wirelab send tap0 --frames 300 --payload 1000
  wirelab hdl tap0 --frames 300 --payload 1000      wirelab receive tap0 --sent 300, then Enter in the first
Time is simulated, a core does two to three million clocks of 8 ns a second: counts mean something, rates do not, and a host that \
sends more than is simulated loses frames in the interface's queue of 10,000. docs/hdl.md tells more.

Exit status: 0 every frame was good; 1 a frame was bad or lost, or not all was sent; 2 bad usage or missing privilege.")]
pub struct HdlArgs {
    /// The interface to make, [NAMESPACE/]INTERFACE, e.g. tap0
    pub port: String,
    /// Frames that the generator sends; without it, it is silent
    #[arg(long)]
    pub frames: Option<u64>,
    #[command(flatten)]
    pub size: SizeArgs,
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Load of the generator in simulated time: max, 95%, 50kpps, 800M (bit/s) or gap=96B
    #[arg(long, default_value = "max", requires = "frames")]
    pub load: String,
    /// A fault that the generator makes, with its probability, e.g. corrupt=0.1, or so many times a second, e.g. bad-fcs=10/s
    #[arg(long, value_name = "FAULT=P", requires = "frames")]
    pub inject: Option<String>,
    /// Destination MAC address of the generator's frames; the interface without it
    #[arg(long, value_name = "MAC", requires = "frames")]
    pub to: Option<String>,
    /// When the generator begins, e.g. 5s after the interface is up; at Enter without it
    #[arg(long, value_name = "TIME", requires = "frames")]
    pub after: Option<String>,
    /// Stream number of the generator's frames, and the only one that the checker takes
    #[arg(long, default_value_t = 0)]
    pub stream: u8,
    /// Source MAC address of the host's sender: frames of it with a damaged header are counted
    #[arg(long, value_name = "MAC")]
    pub from: Option<String>,
    /// Sequences that the host's sender used, so that losses at the end are found too
    #[arg(long)]
    pub sent: Option<u64>,
    /// MTU of the interface in bytes, 68 to 65521 [default: 1500, or the generator's payload]
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Stop after this time
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Stop when no frame of the flow has come or gone for this long, once one has
    #[arg(long, value_name = "TIME")]
    pub idle: Option<String>,
    /// JSON for scripts
    #[arg(long)]
    pub json: bool,
}
