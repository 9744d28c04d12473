//! Limits of what a peer can request.

use wirelab_control::Refusal;
use wirelab_control::message::Start;
use wirelab_control::value::Load;

/// Bounds of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Frames of a flow.
    pub frames: u64,
    /// Time of a trial in ps.
    pub time_ps: u64,
    /// Records of a capture point.
    pub captures: u32,
    /// Most bit/s that the node sends: link bits on Ethernet, datagram bits on UDP; `None` for the rate of its link.
    pub bits_per_s: Option<u64>,
    /// A trial is abandoned when its peer is silent for this long, in ms.
    pub idle_ms: u32,
}

impl Default for Limits {
    /// 10¹⁰ frames, 512 records, the rate of the link, 10 s of silence, and one minute plus the time of starting and
    /// ending.
    fn default() -> Limits {
        Limits {
            frames: 10_000_000_000,
            time_ps: 70_000_000_000_000,
            captures: 512,
            bits_per_s: None,
            idle_ms: 10_000,
        }
    }
}

impl Limits {
    /// Refuse a load above the limit. `frames_per_s` is its rate, `bits_a_frame` what a frame counts.
    pub(crate) fn check_rate(
        &self,
        start: &Start,
        frames_per_s: Option<f64>,
        bits_a_frame: f64,
    ) -> Result<(), Refusal> {
        let Some(limit) = self.bits_per_s else {
            return Ok(());
        };
        let frames_limit = limit as f64 / bits_a_frame;
        match (start.load, frames_per_s) {
            (None, _) => Ok(()),
            (_, Some(rate)) if rate <= frames_limit * 1.000_001 => Ok(()),
            (Some(Load::Max), _) => Err(Refusal::limit("load", limit)
                .because("this node sends no faster than the limit in bit/s; request a rate")),
            (Some(Load::MilliframesPerS(_)), _) => Err(Refusal::limit(
                "load_milliframes_per_s",
                (frames_limit * 1000.0) as u64,
            )),
            (Some(_), _) => Err(Refusal::limit("load_bits_per_s", limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_control::value::Extent;
    use wirelab_trial::Direction;
    use wirelab_wire::Layer;

    fn start(load: Load) -> Start {
        Start {
            load: Some(load),
            ..Start::new(Direction::Transmit, Layer::UdpIpv4, Extent::Frames(1))
        }
    }

    #[test]
    fn a_rate_beyond_the_limit_is_refused_with_the_limit() {
        let limits = Limits {
            bits_per_s: Some(8_000_000),
            ..Limits::default()
        };
        let check = |load, rate| limits.check_rate(&start(load), rate, 8000.0);
        assert_eq!(check(Load::BitsPerS(8_000_000), Some(1000.0)), Ok(()));
        let refused = check(Load::BitsPerS(9_000_000), Some(1125.0)).unwrap_err();
        assert_eq!(refused.limit, Some(8_000_000));
        let refused = check(Load::MilliframesPerS(2_000_000), Some(2000.0)).unwrap_err();
        assert_eq!(refused.limit, Some(1_000_000));
        assert!(check(Load::Max, None).is_err());
        let free = Limits::default();
        assert_eq!(free.check_rate(&start(Load::Max), None, 8000.0), Ok(()));
    }
}
