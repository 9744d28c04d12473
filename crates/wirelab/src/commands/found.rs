//! What searches found, a line each, below the table of `wirelab measure`.

use wirelab_report::format;
use wirelab_trial::search::{
    BurstResult, CurveResult, GoalResult, Limit, Outcome, SearchEnded, SearchResult,
};
use wirelab_trial::{Field, Found, Part};

use crate::terminal::say;

/// Say it, if anything was searched.
pub fn print(parts: &[Part]) {
    if parts
        .iter()
        .any(|part| part.found.is_some() || part.refused.is_some())
    {
        say!("\nSearches");
    }
    for part in parts {
        for line in lines(part) {
            say!("  {}: {line}", part.name);
        }
    }
}

fn lines(part: &Part) -> Vec<String> {
    if let Some(why) = &part.refused {
        return vec![format!("not begun: {why}")];
    }
    match &part.found {
        None => Vec::new(),
        Some(Found::Rates(result)) => rates(result),
        Some(Found::LossCurve(result)) => vec![curve(result)],
        Some(Found::Bursts(result)) => vec![bursts(result)],
    }
}

fn rates(result: &SearchResult) -> Vec<String> {
    if let SearchEnded::Unsupported { why } = &result.ended {
        return vec![why.clone()];
    }
    let each = result
        .goals
        .iter()
        .map(|goal| format!("{}{}", rate(goal), ended(&result.ended)));
    each.collect()
}

fn rate(goal: &GoalResult) -> String {
    let loss = match goal.goal.loss_ratio {
        0.0 => "no loss".to_owned(),
        ratio => format!("loss of at most {} %", format::percent(ratio)),
    };
    let Field::Observed { value, kind } = &goal.conditional_throughput_frames_per_s else {
        return match goal.outcome {
            Outcome::TesterTooSlow => {
                format!("{loss}: the tester could not offer even the smallest load")
            }
            Outcome::Unfinished => format!("{loss}: not known yet"),
            _ => format!("{loss}: even the smallest load loses more"),
        };
    };
    let bits = goal.conditional_throughput_goodput_bits_per_s.value();
    let bits = bits.or(goal.conditional_throughput_payload_bits_per_s.value());
    let bits = bits.map_or(String::new(), |bits| {
        format!(", {}", format::si(*bits, "bit/s"))
    });
    let limit = match goal.limited_by.value() {
        Some(Limit::Node) => ", limited by the node",
        Some(Limit::Link) => ", limited by the link",
        Some(Limit::Asked) => ", limited by the load asked",
        Some(Limit::Tester) => ", limited by the tester",
        None => "",
    };
    let beyond = match goal.not_monotone {
        true => "; a higher load met the goal too",
        false => "",
    };
    let rate = format::frame_rate(*value);
    let kind = format!("{kind:?}").to_lowercase();
    format!("{loss}: {rate} frames/s{bits} ({kind}{limit}){beyond}")
}

fn curve(result: &CurveResult) -> String {
    let points = result.points.iter().map(|point| {
        let loss = point
            .loss_ratio
            .value()
            .map_or("–".to_owned(), |r| format::percent(*r));
        format!("{} %: {loss}", format::decimal(point.load_percent, 1))
    });
    let points: Vec<String> = points.collect();
    format!(
        "loss in percent by load: {}{}",
        points.join(", "),
        ended(&result.ended)
    )
}

fn bursts(result: &BurstResult) -> String {
    let text = match (&result.lengths, &result.corrected_buffer_time_ps) {
        (Field::Observed { value, .. }, time) => {
            let buffer = time.value().map_or(String::new(), |ps| {
                format!(", buffer of {} (corrected)", format::time(*ps))
            });
            format!(
                "longest burst without loss: {} frames on average of {} repeats, {} to {}{buffer}",
                format::decimal(value.mean_frames, 1),
                value.repeats,
                value.min_frames,
                value.max_frames
            )
        }
        (Field::Absent { absent }, _) => absent.clone(),
    };
    format!("{text}{}", ended(&result.ended))
}

/// What to say where a search did not end by itself.
fn ended(ended: &SearchEnded) -> String {
    match ended {
        SearchEnded::Done => String::new(),
        SearchEnded::Interrupted => "; interrupted".to_owned(),
        SearchEnded::TrialLimit => "; its limit of trials was reached".to_owned(),
        SearchEnded::TimeLimit => "; its limit of time was reached".to_owned(),
        SearchEnded::Unsupported { why } | SearchEnded::Failed { why } => format!("; {why}"),
    }
}
