//! Reads pairs of figures that were measured in turn, one pair per line, and prints the ratio of their medians with its
//! 95 % interval as JSON. The statistics are those of [`wirelab_trial::Ratio`], so that `make bench` needs no second
//! implementation.

use std::error::Error;
use std::io;

use serde_json::json;
use wirelab_trial::Ratio;

/// The same pairs give the same interval.
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let mut pairs = Vec::new();
    for line in io::stdin().lines() {
        let line = line?;
        let Some((a, b)) = line.trim().split_once(' ') else {
            return Err(format!("not two figures: {line:?}").into());
        };
        pairs.push((a.parse()?, b.trim().parse()?));
    }
    let ratio =
        Ratio::of_medians(&pairs, 0.95, SEED).ok_or("no pairs, or a figure that is not above 0")?;
    println!(
        "{}",
        json!({ "ratio": ratio.ratio, "low": ratio.interval.low, "high": ratio.interval.high })
    );
    Ok(())
}
