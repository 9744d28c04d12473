//! Whether a fast track does what it is for, as far as a run can tell: yes, no, or not decided.

use serde::Serialize;
use wirelab_trial::{Ratio, Wait};

use super::Beside;

/// Frames of each way that are asked where a 99 % is to be judged: 32 blocks of [`FRAMES_OF_A_P99`].
pub const FRAMES_FOR_P99: u64 = 8_192;
/// Frames of each path in a block that has its own 99th percentile: two lie beyond it, so it is the third largest.
pub const FRAMES_OF_A_P99: u64 = 256;
/// Fewest frames of which a 99 % is judged: ten lie beyond it. With fewer it is not much else than the largest.
pub const LEAST_FRAMES_FOR_P99: u64 = 1_000;
/// Fewest pairs of blocks of which an interval is believed: that all of them lie on one side by chance has a probability
/// of one in 32.
pub const LEAST_BLOCKS: u64 = 6;

/// What is claimed of a fast track beside the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Unloaded, spinning: its median is at most half of the stack's.
    MedianAtMostHalf,
    /// Unloaded, sleeping: its median is not above the stack's. To wake the application takes longer than either way.
    MedianNotAbove,
    /// Beside a background: neither median nor 99 % is above the stack's.
    MedianAndP99NotAbove,
}

impl Claim {
    /// The most that a ratio may be.
    pub const fn most(self) -> f64 {
        match self {
            Claim::MedianAtMostHalf => 0.5,
            Claim::MedianNotAbove | Claim::MedianAndP99NotAbove => 1.0,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Claim::MedianAtMostHalf => "median at most half of the stack's",
            Claim::MedianNotAbove => "median not above the stack's",
            Claim::MedianAndP99NotAbove => "median and 99 % not above the stack's",
        }
    }
}

/// Why a run does not decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NotDecided {
    /// An interval holds the most that the ratio may be.
    Interval {
        /// Of what: `median` or `99 %`.
        of: &'static str,
    },
    /// Too few pairs of blocks for an interval.
    FewBlocks {
        /// Pairs of blocks.
        blocks: u64,
    },
    /// Too few frames for a 99 %.
    FewFrames {
        /// Frames of the way that has fewer.
        frames: u64,
    },
    /// The background was not the same beside both ways.
    Unlike {
        /// Frames/s beside the stack.
        stack_frames_per_s: f64,
        /// Frames/s beside the fast track.
        fast_track_frames_per_s: f64,
    },
    /// There is no ratio: a way has no figure above 0.
    NoRatio,
}

/// What a run says of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Every interval lies within.
    Holds,
    /// An interval lies beyond.
    DoesNotHold,
    /// Neither.
    NotDecided {
        /// Why.
        why: NotDecided,
    },
}

/// A claim, and what a run says of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What is claimed.
    pub claim: Claim,
    /// What the run says.
    #[serde(flatten)]
    pub answer: Answer,
    /// Whether it counts for another background than the one asked, since that missed its rate.
    pub background_missed_its_rate: bool,
}

impl Verdict {
    /// Nothing yet.
    pub(super) const fn none() -> Verdict {
        let why = NotDecided::NoRatio;
        Verdict {
            claim: Claim::MedianNotAbove,
            answer: Answer::NotDecided { why },
            background_missed_its_rate: false,
        }
    }

    /// What a pair of ways says of what is claimed under its conditions.
    pub(super) fn of(pair: &Beside) -> Verdict {
        let claim = match (pair.background, pair.wait) {
            (Some(_), _) => Claim::MedianAndP99NotAbove,
            (None, Some(Wait::Spin)) => Claim::MedianAtMostHalf,
            (None, _) => Claim::MedianNotAbove,
        };
        let both = [&pair.stack.background, &pair.fast_track.background];
        let mut ran = both.into_iter().flatten();
        Verdict {
            claim,
            answer: answer(pair, claim),
            background_missed_its_rate: ran.any(super::BackgroundRan::missed_its_rate),
        }
    }
}

fn answer(pair: &Beside, claim: Claim) -> Answer {
    let not = |why| Answer::NotDecided { why };
    let with_p99 = claim == Claim::MedianAndP99NotAbove;
    if let (Some(stack), Some(fast)) = (pair.stack.background, pair.fast_track.background) {
        if !stack.is_like(&fast) {
            return not(NotDecided::Unlike {
                stack_frames_per_s: stack.frames_per_s,
                fast_track_frames_per_s: fast.frames_per_s,
            });
        }
    }
    let blocks = pair.blocks;
    if blocks < LEAST_BLOCKS {
        return not(NotDecided::FewBlocks { blocks });
    }
    let frames = pair.stack.frames.min(pair.fast_track.frames);
    let few = with_p99 && frames < LEAST_FRAMES_FOR_P99;
    let mut ratios = vec![("median", pair.median_ratio)];
    // Of a few frames the median alone may still say no.
    if with_p99 && !few {
        ratios.push(("99 %", pair.p99_ratio));
    }
    let known: Option<Vec<(&'static str, Ratio)>> = ratios
        .into_iter()
        .map(|(of, ratio)| Some((of, ratio?)))
        .collect();
    let Some(known) = known else {
        return not(NotDecided::NoRatio);
    };
    let most = claim.most();
    if known.iter().any(|(_, ratio)| ratio.interval.low > most) {
        return Answer::DoesNotHold;
    }
    if few {
        return not(NotDecided::FewFrames { frames });
    }
    match known.iter().find(|(_, ratio)| ratio.interval.high > most) {
        Some((of, _)) => not(NotDecided::Interval { of }),
        None => Answer::Holds,
    }
}
