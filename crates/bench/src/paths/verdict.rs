//! Whether a fast track achieves its purpose, as far as a run shows: yes, no, or not decided.

use serde::Serialize;
use wirelab_trial::{Ratio, Wait};

use super::PathComparison;

/// Frames of each path to request where a 99th percentile is judged: 32 blocks of [`FRAMES_OF_A_P99`].
pub const FRAMES_FOR_P99: u64 = 8_192;
/// Frames of each path in a block that has its own 99th percentile: two lie beyond it, so it is the third largest.
pub const FRAMES_OF_A_P99: u64 = 256;
/// Fewest frames for which a 99th percentile is judged: ten lie beyond it. With fewer it is hardly different from the
/// maximum.
pub const LEAST_FRAMES_FOR_P99: u64 = 1_000;
/// Fewest pairs of blocks for a valid interval: that all of them lie on one side by chance has a probability of one in
/// 32.
pub const LEAST_BLOCKS: u64 = 6;

/// The claim for a fast track beside the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Unloaded, spinning: its median is at most half of the stack's.
    MedianAtMostHalf,
    /// Unloaded, sleeping: its median is not above the stack's. Waking the application takes longer than either path.
    MedianNotAbove,
    /// Beside a background: neither median nor 99th percentile is above the stack's.
    MedianAndP99NotAbove,
}

impl Claim {
    /// The largest ratio of the claim.
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
            Claim::MedianAndP99NotAbove => "median and p99 not above the stack's",
        }
    }
}

/// Why a run does not decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NotDecided {
    /// An interval contains the largest allowed ratio.
    Interval {
        /// The figure: `median` or `p99`.
        of: &'static str,
    },
    /// Too few pairs of blocks for an interval.
    FewBlocks {
        /// Pairs of blocks.
        blocks: u64,
    },
    /// Too few frames for a 99th percentile.
    FewFrames {
        /// Frames of the path with fewer.
        frames: u64,
    },
    /// The background was not the same beside both paths.
    Unlike {
        /// Frames/s beside the stack.
        stack_frames_per_s: f64,
        /// Frames/s beside the fast track.
        fast_track_frames_per_s: f64,
    },
    /// There is no ratio: a path has no figure above 0.
    NoRatio,
}

/// The result of a run for a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Every interval is within the limit.
    Holds,
    /// An interval is beyond the limit.
    DoesNotHold,
    /// Neither.
    NotDecided {
        /// The reason.
        why: NotDecided,
    },
}

/// A claim, and the result of a run for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimVerdict {
    /// The claim.
    pub claim: Claim,
    /// The result.
    #[serde(flatten)]
    pub answer: Answer,
    /// Whether it applies to another background, because the requested one missed its rate.
    pub background_missed_its_rate: bool,
}

impl ClaimVerdict {
    /// No result yet.
    pub(super) const fn none() -> ClaimVerdict {
        let why = NotDecided::NoRatio;
        ClaimVerdict {
            claim: Claim::MedianNotAbove,
            answer: Answer::NotDecided { why },
            background_missed_its_rate: false,
        }
    }

    /// The result of a pair of paths for the claim under its conditions.
    pub(super) fn of(pair: &PathComparison) -> ClaimVerdict {
        let claim = match (pair.background, pair.wait) {
            (Some(_), _) => Claim::MedianAndP99NotAbove,
            (None, Some(Wait::Spin)) => Claim::MedianAtMostHalf,
            (None, _) => Claim::MedianNotAbove,
        };
        let both = [&pair.stack.background, &pair.fast_track.background];
        let mut backgrounds = both.into_iter().flatten();
        ClaimVerdict {
            claim,
            answer: answer(pair, claim),
            background_missed_its_rate: backgrounds.any(super::BackgroundResult::missed_its_rate),
        }
    }
}

fn answer(pair: &PathComparison, claim: Claim) -> Answer {
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
    // With few frames only the median may show that the claim does not hold.
    if with_p99 && !few {
        ratios.push(("p99", pair.p99_ratio));
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
