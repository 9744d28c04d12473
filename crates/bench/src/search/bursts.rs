//! Back-to-back frames after RFC 9004: the longest burst at line rate without loss, and the buffer that it shows.

use wirelab_statistics::bootstrap::CONFIDENCE;
use wirelab_trial::search::{
    Burst, BurstLengths, BurstResult, BurstSearch, MAX_REPEATS, MIN_REPEATS, Screened, SearchEnded,
};
use wirelab_trial::{Direction, Extent, Field, Kind, Load, Summary, Trial, format};
use wirelab_wire::LineRate;

use super::asker::{Asker, SearchContext};
use super::refuse::{SearchError, check_limits, check_trial};
use crate::ceiling::AT_LINK_RATE;

/// Searches the longest burst at line rate that a node receives without loss.
///
/// `throughput_frames_per_s` is the throughput of each flow, as [`find_rates`](super::find_rates) finds it for
/// [`Goal::no_loss`](super::Goal::no_loss); from [`AT_LINK_RATE`] of line rate on, no burst is sent.
///
/// # Errors
/// [`SearchError`] before the first burst, [`SearchError::NoLinkRate`] where the line rate is unknown.
pub fn back_to_back(
    context: SearchContext<'_>,
    trial: &Trial,
    search: &BurstSearch,
    throughput_frames_per_s: f64,
) -> Result<BurstResult, SearchError> {
    check(search)?;
    check_trial(trial)?;
    if matches!(trial.direction, Direction::Transmit | Direction::Both) {
        return Err(SearchError::Goal {
            field: "direction",
            why: "the tester sends bursts to the node; fix: use receive or echo",
        });
    }
    if !(throughput_frames_per_s.is_finite() && throughput_frames_per_s >= 0.0) {
        return Err(SearchError::Goal {
            field: "throughput_frames_per_s",
            why: "it must be the throughput that was found, 0 or more",
        });
    }
    let sizes = trial.sizes()?;
    let limits = (search.max_trials, search.max_time_ps);
    let mut asker = Asker::new(context, "back-to-back", trial, sizes, limits);
    let link = asker.link.ok_or(SearchError::NoLinkRate)?;
    let max = link.frames_per_s(&sizes);
    let longest = (max * search.longest_ps as f64 / 1e12).max(1.0) as u64;
    let mut bursts = Vec::new();
    let screened =
        (throughput_frames_per_s >= AT_LINK_RATE * max).then_some(Screened::ThroughputIsLineRate);
    let ended = if screened.is_some() {
        SearchEnded::Done
    } else {
        let repeats = repeats(&mut asker, search, link, longest, &mut bursts);
        repeats.err().unwrap_or(SearchEnded::Done)
    };
    let kind = asker.kind.unwrap_or(Kind::Measured);
    let lengths = summary(&bursts, search, screened, kind);
    let ps = |share: f64| {
        let lengths = lengths.clone();
        lengths.map(|s| (s.mean_frames / max * share * 1e12).round() as u64)
    };
    let served = (throughput_frames_per_s / max).min(1.0);
    Ok(BurstResult {
        node: asker.description.name,
        trial: trial.clone(),
        sizes,
        search: search.clone(),
        max_frames_per_s: max,
        throughput_frames_per_s,
        longest_frames: longest,
        screened,
        implied_buffer_time_ps: ps(1.0),
        corrected_buffer_time_ps: ps(1.0 - served),
        lengths,
        bursts,
        trials: asker.records,
        asked_ps: asker.requested_ps,
        ended,
    })
}

fn check(search: &BurstSearch) -> Result<(), SearchError> {
    let bad = |field, why| Err(SearchError::Goal { field, why });
    if !(MIN_REPEATS..=MAX_REPEATS).contains(&search.repeats) {
        return bad(
            "repeats",
            "it is not one of RFC 9004; fix: give 50 to 1,000",
        );
    }
    if search.longest_ps == 0 {
        return bad(
            "longest_ps",
            "no burst fits; fix: give more than 0, as the 2 s of RFC 2544",
        );
    }
    if search.resolution_frames == 0 {
        return bad(
            "resolution_frames",
            "a search in steps of 0 does not end; fix: give at least 1",
        );
    }
    check_limits(search.max_trials, search.max_time_ps)
}

fn repeats(
    asker: &mut Asker,
    search: &BurstSearch,
    link: LineRate,
    longest: u64,
    bursts: &mut Vec<Burst>,
) -> Result<(), SearchEnded> {
    let mut start = 1;
    for _ in 0..search.repeats {
        let mut passes = |frames: u64| burst(asker, link, frames);
        let frames = longest_burst(&mut passes, start, longest, search.resolution_frames)?;
        bursts.push(Burst {
            frames,
            at_longest: frames == longest,
        });
        // The next repeat is likely to end near this one.
        start = frames.max(1);
    }
    Ok(())
}

/// The longest burst in 1..=`longest` that passes, to the resolution, or 0. Steps of 1, 2, 4, … from `start` find a
/// burst that passes and one that fails, then the interval is halved.
fn longest_burst<E>(
    passes: &mut dyn FnMut(u64) -> Result<bool, E>,
    start: u64,
    longest: u64,
    resolution: u64,
) -> Result<u64, E> {
    let mut step = 1;
    let (mut good, mut bad);
    if passes(start)? {
        (good, bad) = (start, None);
        while bad.is_none() && good < longest {
            let next = good.saturating_add(step).min(longest);
            if passes(next)? {
                good = next;
            } else {
                bad = Some(next);
            }
            step = step.saturating_mul(2);
        }
    } else {
        (good, bad) = (0, Some(start));
        let mut low = start;
        while good == 0 && low > 1 {
            let next = low.saturating_sub(step).max(1);
            if passes(next)? {
                good = next;
            } else {
                (low, bad) = (next, Some(next));
            }
            step = step.saturating_mul(2);
        }
        if good == 0 {
            return Ok(0);
        }
    }
    let Some(mut bad) = bad else { return Ok(good) };
    while bad - good > resolution {
        let middle = good + (bad - good) / 2;
        if passes(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// Whether a burst of back-to-back frames passes without loss.
fn burst(asker: &mut Asker, link: LineRate, frames: u64) -> Result<bool, SearchEnded> {
    let time_ps = frames.saturating_mul(link.frame_time_ps(&asker.sizes));
    let load = Load::LinkShare { percent: 100.0 };
    let reading = asker.ask(load, Extent::Frames { frames }, time_ps)?;
    if reading.tester_was_limit {
        // A burst with gaps is not a burst, so its length is unusable.
        return Err(SearchEnded::Failed {
            why: "the tester cannot send frames back to back at line rate; fix: use a faster host or larger frames; wirelab selftest shows what this host can do".to_owned(),
        });
    }
    if reading.held_back {
        return Err(SearchEnded::Failed {
            why: format!(
                "the path held the sender back in a burst of {}: a burst with gaps shows nothing of the node",
                format::count(frames, "frame")
            ),
        });
    }
    reading.loss.is_within(0.0).ok_or_else(|| SearchEnded::Failed {
        why: "the tester's own queue dropped frames of a burst, so it is unknown whether the node did; fix: use a faster host or larger frames".to_owned(),
    })
}

fn summary(
    bursts: &[Burst],
    search: &BurstSearch,
    screened: Option<Screened>,
    kind: Kind,
) -> Field<BurstLengths> {
    if screened.is_some() {
        return Field::absent("throughput is line rate, so bursts show no buffer (RFC 9004)");
    }
    if bursts.len() < search.repeats as usize {
        return Field::absent("the search ended before all repeats were done");
    }
    let frames: Vec<f64> = bursts.iter().map(|burst| burst.frames as f64).collect();
    let lengths = |s: Summary| BurstLengths {
        repeats: search.repeats,
        mean_frames: s.mean,
        min_frames: s.min as u64,
        max_frames: s.max as u64,
        stddev_frames: s.stddev,
    };
    match Summary::of(&frames, CONFIDENCE) {
        Some(value) => Field::Observed {
            value: lengths(value),
            kind,
        },
        None => Field::absent("there is no burst"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_burst_is_found_from_any_start_within_the_bound() {
        for longest in [1, 2, 7, 100] {
            for start in 1..=longest {
                for capacity in 0..=longest + 1 {
                    let mut trials = 0;
                    let mut passes = |n: u64| {
                        trials += 1;
                        Ok::<bool, ()>(n <= capacity)
                    };
                    let found = longest_burst(&mut passes, start, longest, 1).unwrap();
                    assert_eq!(found, capacity.min(longest));
                    assert!(trials <= BurstSearch::most_trials_per_repeat(longest));
                }
            }
        }
    }
}
