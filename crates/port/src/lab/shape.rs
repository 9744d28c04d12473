//! A link rate for an interface without one: a token bucket (TBF, else HTB), set by `tc`.
//!
//! The shaper counts the length of a frame (without FCS). To shape link bits, it adds 24 bytes a frame (FCS 4,
//! preamble 8, gap 12) and counts no frame as less than 84 (64 + 20), as on a wire.

use super::LabError;
use crate::iface::PortName;
use crate::netns::{NetNsError, Tool, ToolError};

/// Bytes on the wire that the length does not count: FCS 4, preamble with SFD 8, inter-packet gap 12.
const OVERHEAD: u64 = 24;

/// The smallest frame with preamble and gap: 64 + 20.
const SMALLEST: u64 = 84;

/// Ethernet header and VLAN tag, which the MTU does not count.
const HEADER: u64 = 18;

/// Depth of the bucket in fractions of a second: a timer or softirq of the host may be this late without lowering the
/// rate. One millisecond is far above the delays of an idle host and, at 8 frames of 1514 bytes at 100 Mbit/s, still
/// a small burst.
const BURSTS_PER_S: u64 = 1000;

/// Length of the queue in fractions of a second.
const QUEUES_PER_S: u64 = 20;

/// The queue holds at least this many bytes: more than the socket buffer of one sender (212,992 bytes by default,
/// which includes the kernel's overhead for each frame). So the sender blocks before the queue drops its frames.
const SMALLEST_QUEUE: u64 = 256 * 1024;

/// The parameters of a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rate in link bits per second.
    pub rate_bits_per_s: u64,
    /// Depth of the bucket in link bytes: 1 ms of the rate, and never less than two of the largest frames.
    pub burst_bytes: u64,
    /// Length of the queue in bytes: 50 ms of the rate, and never less than 256 KiB.
    pub queue_bytes: u64,
}

impl Shape {
    /// The shaper for a rate in link bits per second on an interface with this MTU.
    pub fn new(rate_bits_per_s: u64, mtu: u32) -> Shape {
        let largest = u64::from(mtu) + HEADER + OVERHEAD;
        Shape {
            rate_bits_per_s,
            burst_bytes: (rate_bits_per_s / 8 / BURSTS_PER_S).max(2 * largest),
            queue_bytes: (rate_bits_per_s / 8 / QUEUES_PER_S).max(SMALLEST_QUEUE),
        }
    }

    fn tbf(&self, interface: &str) -> Vec<String> {
        words(&format!(
            "qdisc replace dev {interface} root tbf rate {}bit burst {}b limit {}b mpu {SMALLEST} overhead {OVERHEAD}",
            self.rate_bits_per_s, self.burst_bytes, self.queue_bytes
        ))
    }

    fn htb(&self, interface: &str) -> [Vec<String>; 3] {
        let (rate, burst) = (self.rate_bits_per_s, self.burst_bytes);
        [
            words(&format!(
                "qdisc replace dev {interface} root handle 1: htb default 1"
            )),
            words(&format!(
                "class replace dev {interface} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst}b cburst {burst}b mpu {SMALLEST} overhead {OVERHEAD}"
            )),
            words(&format!(
                "qdisc replace dev {interface} parent 1:1 bfifo limit {}b",
                self.queue_bytes
            )),
        ]
    }
}

/// Sets or removes the shaper of a port.
pub(super) fn set(port: &PortName, mtu: u32, bits_per_s: Option<u64>) -> Result<(), LabError> {
    match bits_per_s {
        None => take_away(port),
        Some(0) => Err(LabError::Spec {
            why: format!("a link rate of 0 for {port}; fix: give one above 0, or none"),
        }),
        Some(rate) => put(port, &Shape::new(rate, mtu)),
    }
}

fn put(port: &PortName, shape: &Shape) -> Result<(), LabError> {
    take_away(port)?;
    match tc(port, &shape.tbf(&port.interface)) {
        Err(NetNsError::Tool(error)) if is_unknown_kind(&error) => {}
        result => return Ok(result.map(drop)?),
    }
    put_htb(port, shape)
}

fn put_htb(port: &PortName, shape: &Shape) -> Result<(), LabError> {
    for command in shape.htb(&port.interface) {
        match tc(port, &command) {
            Err(NetNsError::Tool(error)) if is_unknown_kind(&error) => {
                return Err(LabError::NoShaper {
                    port: port.to_string(),
                });
            }
            result => result.map(drop)?,
        }
    }
    Ok(())
}

fn take_away(port: &PortName) -> Result<(), LabError> {
    match tc(
        port,
        &words(&format!("qdisc del dev {} root", port.interface)),
    ) {
        // Without a shaper the interface has the kernel's default queue, which cannot be deleted.
        Err(NetNsError::Tool(ToolError::Failed { said, .. }))
            if said.contains("handle of zero") || said.contains("No such file") =>
        {
            Ok(())
        }
        result => Ok(result.map(drop)?),
    }
}

fn is_unknown_kind(error: &ToolError) -> bool {
    let ToolError::Failed { said, .. } = error else {
        return false;
    };
    ["qdisc kind is unknown", "qdisc not found", "Unknown qdisc"]
        .iter()
        .any(|words| said.contains(words))
}

fn tc(port: &PortName, arguments: &[String]) -> Result<String, NetNsError> {
    let all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    port.netns()?.run_tool(Tool::Tc, &all, "")
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_holds_a_millisecond_or_two_frames() {
        assert_eq!(Shape::new(100_000_000, 1500).burst_bytes, 12_500);
        assert_eq!(Shape::new(1_000_000_000, 1500).burst_bytes, 125_000);
        assert_eq!(Shape::new(10_000_000, 1500).burst_bytes, 2 * 1542);
        assert_eq!(Shape::new(10_000_000, 1500).queue_bytes, 262_144);
        assert_eq!(Shape::new(1_000_000_000, 1500).queue_bytes, 6_250_000);
    }

    #[test]
    fn the_rate_is_one_of_link_bits() {
        let command = Shape::new(100_000_000, 1500).tbf("n0").join(" ");
        assert!(
            command.ends_with("rate 100000000bit burst 12500b limit 625000b mpu 84 overhead 24"),
            "{command}"
        );
    }
    #[test]
    fn htb_takes_the_same_parameters_where_tbf_is_missing() {
        use crate::lab::{EphemeralLab, LabSpec, Side};
        if !crate::netns::may_test() {
            return;
        }
        let lab = EphemeralLab::up(&LabSpec::unique("wlt", 1)).unwrap();
        let port = lab.port(0, Side::Node).unwrap();
        put_htb(&port, &Shape::new(100_000_000, 1500)).unwrap();
        let classes = tc(&port, &words("-d class show dev n0")).unwrap();
        for part in ["rate 100Mbit ", "burst 12500b", "mpu 84b", "overhead 24"] {
            assert!(classes.contains(part), "{part}: {classes}");
        }
        take_away(&port).unwrap();
        assert_eq!(tc(&port, &words("class show dev n0")).unwrap(), "");
    }

    #[test]
    fn a_kernel_without_a_shaper_is_recognised() {
        let said = |text: &str| ToolError::Failed {
            command: "tc".to_owned(),
            said: text.to_owned(),
        };
        assert!(is_unknown_kind(&said(
            "Error: Specified qdisc kind is unknown."
        )));
        assert!(is_unknown_kind(&said("Error: Specified qdisc not found.")));
        assert!(!is_unknown_kind(&said("Cannot find device \"n0\"")));
    }
}
