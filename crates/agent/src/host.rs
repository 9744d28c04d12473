//! What the node's host did during a trial: traffic of the interface, and the kernel's interrupt work.

use std::time::Instant;
use std::{fs, ops::RangeInclusive};

use wirelab_cores::Cores;
use wirelab_cores::busy::tick_ns;
use wirelab_port::iface::{Egress, Interface};
use wirelab_trial::held::LEAST_HOLD_PS;
use wirelab_trial::job::SendReport;

/// Columns of a core's line in `/proc/stat`: time in interrupts, and in the kernel's network work after them (proc(5)).
const INTERRUPTS: RangeInclusive<usize> = 5..=6;

/// The host's counters at the beginning of a trial.
#[derive(Debug)]
pub struct Host {
    egress: Option<Egress>,
    begun: Instant,
    cores: Cores,
    interrupts_ns: u64,
}

/// Their change during the trial.
#[derive(Debug, Default)]
pub struct HostChange {
    /// Counters, by their names in the protocol.
    pub counters: Vec<(&'static str, u64)>,
    /// Time in ns in which the node's cores worked for interrupts.
    pub interrupts_ns: u64,
}

impl Host {
    /// Begin to watch. The loopback interface has no drops to count.
    pub fn begin(interface: &Interface, cores: &Cores) -> Host {
        let link = (!interface.loopback).then(|| Egress::begin(&interface.port));
        Host {
            egress: link.flatten(),
            begun: Instant::now(),
            cores: cores.clone(),
            interrupts_ns: interrupts_ns(cores),
        }
    }

    /// The counters' change so far, in a trial whose sender emitted this many frames.
    pub fn end(self, emitted: u64) -> HostChange {
        let interrupts_ns = interrupts_ns(&self.cores).saturating_sub(self.interrupts_ns);
        let watched = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let departed = self.egress.as_ref().map(|egress| egress.end(emitted));
        // After the link changed, the counters cannot be compared.
        let departed = departed.filter(|departed| departed.fault.is_none());
        let counters = departed.map_or_else(Vec::new, |departed| {
            vec![
                ("watched_ns", watched),
                ("interface_sent_frames", departed.transmitted),
                ("interface_dropped_frames", departed.dropped),
                ("interface_received_frames", departed.received),
            ]
        });
        HostChange {
            counters,
            interrupts_ns,
        }
    }
}

/// Time in ns in which the host did not run the sender. A sender that is only slow has many short gaps.
pub fn sender_held_ns(sent: &SendReport) -> u64 {
    let Some(tick_ps) = sent.gap.tick_ps.filter(|_| sent.gap.count > 0) else {
        return sent.slipped_ns;
    };
    let gaps = sent.gap.buckets.iter();
    let gaps = gaps.map(|(gap, count)| (gap.saturating_mul(tick_ps), *count));
    let long = gaps.filter(|(ps, _)| *ps >= LEAST_HOLD_PS);
    let long_ps = long.fold(0u64, |sum, (ps, count)| {
        sum.saturating_add(ps.saturating_mul(count))
    });
    sent.slipped_ns.min(long_ps / 1000)
}

fn interrupts_ns(cores: &Cores) -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    interrupt_ticks(&text, cores).saturating_mul(tick_ns())
}

fn interrupt_ticks(text: &str, cores: &Cores) -> u64 {
    let of = |core: usize| {
        let name = format!("cpu{core} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name))?;
        let columns = line.split_whitespace().skip(*INTERRUPTS.start());
        let columns = columns.take(INTERRUPTS.count());
        Some(columns.filter_map(|n| n.parse::<u64>().ok()).sum::<u64>())
    };
    cores.numbers().iter().filter_map(|core| of(*core)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::series::Histogram;

    #[test]
    fn a_sender_that_is_only_slow_was_not_held_up() {
        let sent = |gaps_ns: &[u64]| SendReport {
            slipped_ns: 700_000_000,
            gap: Histogram::of(Some(1_000), gaps_ns.iter().copied()),
            ..SendReport::default()
        };
        assert_eq!(sender_held_ns(&sent(&[700_000; 1_000])), 0);
        // Long gaps are known to a few parts in a thousand.
        let held = sender_held_ns(&sent(&[5_000, 300_000_000]));
        assert!((290_000_000..=310_000_000).contains(&held), "{held}");
        assert_eq!(sender_held_ns(&sent(&[900_000_000])), 700_000_000);
        assert_eq!(sender_held_ns(&sent(&[])), 700_000_000, "without long gaps");
    }

    #[test]
    fn interrupts_are_those_of_the_nodes_cores() {
        let text =
            "cpu  1 1 1 1 1 100 100 1\ncpu1 1 2 3 4 5 60 7 8\ncpu12 1 1 1 1 1 30 3 1\nintr 7\n";
        let ticks = |cores: &str| interrupt_ticks(text, &cores.parse().unwrap());
        assert_eq!((ticks("1"), ticks("12"), ticks("1,12")), (67, 33, 100));
        assert_eq!(ticks("2"), 0);
    }
}
