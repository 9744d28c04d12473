//! Test cases of a run: one for each trial, one for each rate that was searched, and one that fails if the run was
//! interrupted; see [`judge::judge`].

use wirelab_trial::{Direction, Observation, ResultsFile, Status};

use crate::datasheet;
use crate::document::Document;
use crate::document::junit::Case;
use crate::format;
use crate::interval;
use crate::judge;
use crate::options::Options;
use crate::row;
use crate::summary;

/// The cases under the title of the results.
pub fn document<'a>(file: &ResultsFile, options: &Options) -> Document<'a> {
    let judged = judge::judge(file);
    let trials = file.observations.iter().enumerate().zip(judged.trials);
    let trials = trials.map(|((at, o), end)| Case {
        end,
        ..case(at + 1, o)
    });
    let goals = judged.goals.into_iter().map(|goal| Case {
        class: goal.class.word().to_owned(),
        name: goal.name,
        seconds: 0.0,
        said: goal.said,
        end: goal.end,
    });
    Document {
        title: options.title_of(file),
        cases: trials.chain(goals).collect(),
        ..Document::default()
    }
}

/// The case of a trial.
fn case(number: usize, o: &Observation) -> Case {
    let t = &o.trial;
    let mut name = format!(
        "trial {number}: {} {}, {} B payload, load {}",
        row::layer(t.framing.layer),
        t.direction,
        o.sizes.payload,
        row::load(&t.load)
    );
    if let Some(buffers) = t.buffers {
        name.push_str(&format!(", {buffers}"));
    }
    let longest = o.flows.iter().filter_map(|f| f.elapsed.value());
    let mut said = summary::summary_line(o);
    for more in further(o) {
        said.push_str(&format!("\n{more}"));
    }
    for w in &o.warnings {
        said.push_str(&format!("\nwarning {}: {}; fix: {}", w.code, w.text, w.fix));
    }
    Case {
        class: o.node.name.clone(),
        name,
        seconds: longest.map(|e| e.ps).max().unwrap_or(0) as f64 / 1e12,
        said: Some(said),
        end: judge::End::Passed,
    }
}

/// What does not fit the line of a trial: the share of frames lost with its interval, and round trips with theirs.
fn further(o: &Observation) -> Vec<String> {
    if matches!(o.status, Status::Void { .. }) {
        return Vec::new();
    }
    let rows = row::rows(std::slice::from_ref(o), false);
    let losses = rows.iter().filter_map(|row| {
        let (loss, of) = (row.loss(), row.loss_interval()?);
        let (value, kind) = (loss.value()?.show(format::percent), loss.kind()?);
        let ends = interval::ends(&of, format::percent);
        Some(format!(
            "{} loss {value} % ({ends} {}; {kind})",
            row.direction,
            of.over.words()
        ))
    });
    losses.chain(round_trips(o)).collect()
}

/// Percentiles of the round trips of an echo, each with its interval.
fn round_trips(o: &Observation) -> Option<String> {
    let echo = (o.trial.direction == Direction::Echo).then(|| datasheet::echo(0, o))?;
    let kind = echo.p50_ps.kind()?;
    let percentiles = [
        ("median", "p50_ps", &echo.p50_ps),
        ("p90", "p90_ps", &echo.p90_ps),
        ("p99", "p99_ps", &echo.p99_ps),
        ("p99.9", "p99_9_ps", &echo.p99_9_ps),
        ("longest", "max_ps", &echo.max_ps),
    ];
    let each = percentiles.into_iter().filter_map(|(name, key, field)| {
        let time = format::time(*field.value()?);
        let of = echo.intervals.get(key).map(|of| {
            let ends = interval::ends(of, |ps| format::time(ps as u64));
            format!(" ({ends} {})", of.over.words())
        });
        Some(format!("{name} {time}{}", of.unwrap_or_default()))
    });
    let each: Vec<String> = each.collect();
    Some(format!("round trip {} ({kind})", each.join(", ")))
}
