//! The options of `wirelab hdl`.

use clap::Args;

use super::{FramingArgs, SizeArgs, Words, in_words, one_size};

/// What the shared options mean for the generator.
const OF_HDL: Words = &[
    (
        "frame",
        "Size of the generator's frames in bytes, destination address through FCS [default: 64]",
    ),
    (
        "length",
        "Their length in bytes: the frame without FCS, as a capture shows it",
    ),
    (
        "payload",
        "Their payload in bytes: what follows the Ethernet header, without FCS",
    ),
    ("datagram", "Their datagram in bytes: UDP payload"),
    (
        "layer",
        "Layer of the generator's frames: ethernet, udp4, udp6, tcp4 or tcp6 [default: ethernet]",
    ),
    (
        "vlan",
        "Number of VLAN tags of the generator's frames, 0 to 2",
    ),
];

/// Connect a simulated hardware port to a TAP interface of this host, until Ctrl-C
#[derive(Args, Debug)]
#[command(mut_args(|arg| one_size(in_words(arg, OF_HDL))), after_help = "\
This command makes the interface and removes it at the end. The simulated packet checker verifies what the host sends; with \
--frames the simulated packet generator sends too. In one terminal, then in another:
  wirelab hdl tap0 --idle 2s                        wirelab send tap0 --frames 300 --payload 1000
  wirelab hdl tap0 --frames 300 --payload 1000      wirelab receive tap0 --sent 300, then Enter in the first
Time is simulated: a core runs two to three million clocks of 8 ns per second. Counts are valid, rates are not. A host that \
sends faster than the simulation loses frames in the interface's queue of 10,000. See docs/hdl.md.

Exit status: 0 every frame was good; 1 a frame was bad or lost, or not all was sent; 2 bad usage or missing privilege.")]
pub struct HdlArgs {
    /// The interface to make, [NAMESPACE/]INTERFACE, e.g. tap0
    pub port: String,
    /// Number of frames that the generator sends [default: none]
    #[arg(long)]
    pub frames: Option<u64>,
    #[command(flatten)]
    pub size: SizeArgs,
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Load of the generator in simulated time: max, 95%, 50kpps, 800M (bit/s) or gap=96B
    #[arg(long, default_value = "max", requires = "frames")]
    pub load: String,
    /// Fault that the generator injects, with a probability, e.g. corrupt=0.1, or a rate, e.g. bad-fcs=10/s
    #[arg(long, value_name = "FAULT=P", requires = "frames")]
    pub inject: Option<String>,
    /// Destination MAC address of the generator's frames [default: the interface]
    #[arg(long, value_name = "MAC", requires = "frames")]
    pub to: Option<String>,
    /// Start the generator this long after the interface is up, e.g. 5s [default: at Enter]
    #[arg(long, value_name = "TIME", requires = "frames")]
    pub after: Option<String>,
    /// Stream number of the generator's frames, and the only one that the checker accepts
    #[arg(long, default_value_t = 0)]
    pub stream: u8,
    /// Source MAC address of the host's sender; counts its frames with a damaged header
    #[arg(long, value_name = "MAC")]
    pub from: Option<String>,
    /// Number of frames that the host sent, to count losses at the end too
    #[arg(long)]
    pub sent: Option<u64>,
    /// MTU of the interface in bytes, 68 to 65521 [default: 1500, or the generator's payload]
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Stop after this time
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Stop when the flow had no frame for this long, after the first one
    #[arg(long, value_name = "TIME")]
    pub idle: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
