//! All figures of all stages for a program: one line a stage, size and way, in ticks and, where ticks are time, in ns.

use wirelab_trial::ClockKind;
use wirelab_trial::stage::{Delay, StageFigures};

use crate::{escape, row};

const HEAD: &str = "node,layer,direction,length_bytes,from,to,cumulated,kind,clock,tick_ps,count,mean_ticks,stddev_ticks,min_ticks,median_ticks,p99_ticks,p999_ticks,max_ticks,mode_ticks,outliers,cpu_time,path,wait,rule,background,mean_ns,stddev_ns,three_sigma_ns,min_ns,median_ns,p99_ns,p999_ns,max_ns\n";

/// One line a stage, size and way.
pub fn csv(delays: &[Delay]) -> String {
    let mut out = String::from(HEAD);
    for delay in delays {
        out.push_str(&cells(&delay.figures).join(","));
        out.push('\n');
    }
    out
}

fn cells(r: &StageFigures) -> Vec<String> {
    let clock = match r.clock {
        ClockKind::Wall => "wall",
        ClockKind::Simulated => "simulated",
        ClockKind::Instructions => "instructions",
    };
    let or = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    let ns = |ticks: f64| match r.tick_ps {
        Some(ps) => (ticks * (ps as f64 / 1e3)).to_string(),
        None => String::new(),
    };
    let word = |text: Option<String>| text.map_or_else(String::new, |text| escape::csv(&text));
    vec![
        escape::csv(&r.node),
        r.layer.word().to_owned(),
        r.direction.to_string(),
        r.length_bytes.to_string(),
        escape::csv(&r.from),
        escape::csv(&r.to),
        r.cumulated.to_string(),
        row::kind(r.kind).to_owned(),
        clock.to_owned(),
        or(r.tick_ps),
        r.count.to_string(),
        r.mean_ticks.to_string(),
        r.stddev_ticks.to_string(),
        r.min_ticks.to_string(),
        r.median_ticks.to_string(),
        r.p99_ticks.to_string(),
        r.p999_ticks.to_string(),
        r.max_ticks.to_string(),
        or(r.mode_ticks),
        or(r.outliers),
        r.cpu_time.to_string(),
        word(r.path.map(|p| p.to_string())),
        word(r.wait.map(|w| w.to_string())),
        word(r.rule.clone()),
        word(r.background.map(|b| b.to_string())),
        ns(r.mean_ticks),
        ns(r.stddev_ticks),
        ns(3.0 * r.stddev_ticks),
        ns(r.min_ticks as f64),
        ns(r.median_ticks as f64),
        ns(r.p99_ticks as f64),
        ns(r.p999_ticks as f64),
        ns(r.max_ticks as f64),
    ]
}
