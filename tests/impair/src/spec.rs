//! What the impairer does in each direction.

use super::ImpairError;

/// Picoseconds in a second: durations are integer picoseconds.
const SECOND: u64 = 1_000_000_000_000;

/// Longest delay in seconds; more would only fill the memory.
const LONGEST_S: u64 = 60;

/// Which frames are met.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FramesHit {
    /// None.
    #[default]
    Never,
    /// Each with this probability, 0 to 1, by the seed.
    Probability(f64),
    /// Every Nth: the frames with the numbers N − 1, 2 N − 1, …
    Every(u64),
    /// Those with these numbers, in ascending order.
    Frames(Vec<u64>),
}

/// Bits that are inverted in a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct BitErrors {
    /// Which frames.
    pub when: FramesHit,
    /// How many bits of such a frame, all different, 1 to 64.
    pub bits: u32,
    /// First byte that may be hit, counted from the destination address. 14 spares the Ethernet header, so
    /// that the frame still arrives at its receiver.
    pub first_byte: u32,
}

impl Default for BitErrors {
    fn default() -> BitErrors {
        BitErrors {
            when: FramesHit::Never,
            bits: 1,
            first_byte: 14,
        }
    }
}

/// A delay of every frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The least delay in picoseconds.
    pub fixed_ps: u64,
    /// What is added to it: uniform between 0 and this, in picoseconds, by the seed.
    pub jitter_ps: u64,
    /// Whether frames keep their order, a frame waiting for the one before it. Otherwise jitter reorders.
    pub keep_order: bool,
}

/// What happens one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionSpec {
    /// Frames that are not forwarded.
    pub drop: FramesHit,
    /// Frames that are forwarded twice, one copy after the other.
    pub duplicate: FramesHit,
    /// Frames that are held back until the next one has been forwarded. A frame that comes while another is
    /// held is that next one and is not held itself.
    pub swap: FramesHit,
    /// Frames that are damaged.
    pub bit_errors: BitErrors,
    /// Delay of all frames; `None` forwards at once.
    pub delay: Option<Delay>,
}

/// What holds for both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Common {
    pub only_ethertype: Option<u16>,
    pub swap_timeout_ps: u64,
    pub record: bool,
    pub queue_bytes: usize,
    pub receive_bytes: u32,
}

/// What the impairer shall do.
#[derive(Clone, Debug, PartialEq)]
pub struct ImpairSpec {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// From the first port to the second.
    pub forward: DirectionSpec,
    /// From the second port to the first.
    pub backward: DirectionSpec,
    pub(super) common: Common,
}

impl ImpairSpec {
    /// Forwards everything as it is; set `forward` and `backward` for more. A held frame whose successor does
    /// not come goes on after 100 ms; at most 64 MiB of delayed frames wait in each direction.
    pub fn new(seed: u64) -> ImpairSpec {
        ImpairSpec {
            seed,
            forward: DirectionSpec::default(),
            backward: DirectionSpec::default(),
            common: Common {
                only_ethertype: None,
                swap_timeout_ps: SECOND / 10,
                record: false,
                queue_bytes: 64 << 20,
                receive_bytes: 64 << 20,
            },
        }
    }

    /// The same impairments in both directions, each with its own random numbers, so not of the same frames.
    #[must_use]
    pub fn both(mut self, direction: DirectionSpec) -> ImpairSpec {
        self.backward = direction.clone();
        self.forward = direction;
        self
    }

    /// Impairs and numbers only frames of this EtherType (behind VLAN tags, if there are any) and forwards the
    /// others untouched, so that an ARP request does not shift the numbers.
    #[must_use]
    pub fn only_ethertype(mut self, ethertype: u16) -> ImpairSpec {
        self.common.only_ethertype = Some(ethertype);
        self
    }

    /// Lets a held frame go on after this many picoseconds if no other comes.
    #[must_use]
    pub fn swap_timeout(mut self, ps: u64) -> ImpairSpec {
        self.common.swap_timeout_ps = ps;
        self
    }

    /// Lists every single thing done in the report, see [`super::DirectionReport::events`].
    #[must_use]
    pub fn record(mut self) -> ImpairSpec {
        self.common.record = true;
        self
    }

    /// Bounds the bytes of frames that wait in each direction; what does not fit is lost and counted as the impairer's own.
    #[must_use]
    pub fn queue_bytes(mut self, bytes: usize) -> ImpairSpec {
        self.common.queue_bytes = bytes;
        self
    }

    /// Size of each receive buffer in bytes, as the kernel counts them (a small frame counts about 800). The
    /// 64 MiB of the default hold a burst of some ten thousand frames while the other port is held back.
    #[must_use]
    pub fn receive_bytes(mut self, bytes: u32) -> ImpairSpec {
        self.common.receive_bytes = bytes;
        self
    }

    /// Refuses what cannot be done.
    pub(super) fn check(&self) -> Result<(), ImpairError> {
        for direction in [&self.forward, &self.backward] {
            direction.drop.check("drop")?;
            direction.duplicate.check("duplicate")?;
            direction.swap.check("swap")?;
            direction.bit_errors.check()?;
            if let Some(delay) = direction.delay {
                delay.check()?;
            }
        }
        if self.common.swap_timeout_ps > LONGEST_S * SECOND {
            return bad(
                "swap",
                format!("the time a frame is held is at most {LONGEST_S} s"),
            );
        }
        Ok(())
    }
}

impl FramesHit {
    fn check(&self, field: &'static str) -> Result<(), ImpairError> {
        match self {
            FramesHit::Probability(p) if !(0.0..=1.0).contains(p) => {
                bad(field, format!("a probability is from 0 to 1, not {p}"))
            }
            FramesHit::Every(0) => bad(field, "every 0th frame; the least is every 1st".to_owned()),
            FramesHit::Frames(list) if !list.is_sorted() => bad(
                field,
                "the frame numbers are not in ascending order".to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

impl BitErrors {
    fn check(&self) -> Result<(), ImpairError> {
        self.when.check("bit errors")?;
        if (1..=64).contains(&self.bits) {
            return Ok(());
        }
        bad(
            "bit errors",
            format!("1 to 64 bits of a frame can be hit, not {}", self.bits),
        )
    }
}

impl Delay {
    fn check(self) -> Result<(), ImpairError> {
        let longest = LONGEST_S * SECOND;
        if self.fixed_ps.saturating_add(self.jitter_ps) <= longest {
            return Ok(());
        }
        bad(
            "delay",
            format!("delay and jitter together are at most {LONGEST_S} s"),
        )
    }
}

fn bad(field: &'static str, why: String) -> Result<(), ImpairError> {
    Err(ImpairError::Spec { field, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_and_named() {
        let with = |direction| {
            ImpairSpec::new(0)
                .both(direction)
                .check()
                .unwrap_err()
                .to_string()
        };
        let drop = |when| {
            with(DirectionSpec {
                drop: when,
                ..Default::default()
            })
        };
        assert!(drop(FramesHit::Probability(1.5)).contains("'drop': a probability is from 0 to 1"));
        assert!(drop(FramesHit::Probability(f64::NAN)).contains("probability"));
        assert!(drop(FramesHit::Every(0)).contains("every 1st"));
        assert!(drop(FramesHit::Frames(vec![2, 1])).contains("ascending"));
        let bit_errors = BitErrors {
            bits: 0,
            ..Default::default()
        };
        assert!(
            with(DirectionSpec {
                bit_errors,
                ..Default::default()
            })
            .contains("1 to 64 bits")
        );
        let delay = Some(Delay {
            fixed_ps: u64::MAX,
            jitter_ps: 1,
            keep_order: true,
        });
        assert!(
            with(DirectionSpec {
                delay,
                ..Default::default()
            })
            .contains("at most 60 s")
        );
    }
}
