//! The CPU load that a board's console shows.

use crate::profile::Cpu;

/// What the console showed at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CpuSample {
    /// The busy share of the time before, 0 to 1.
    Share(f64),
    /// Time in some unit since the start, busy and idle.
    Counters {
        /// Busy.
        busy: u64,
        /// Idle.
        idle: u64,
    },
}

/// The sample in an answer.
pub fn sample(cpu: &Cpu, lines: &[String]) -> Option<CpuSample> {
    let answer = lines.join("\n");
    let (mut busy, mut idle, mut all) = (None::<u64>, None::<u64>, None::<u64>);
    for shape in &cpu.lines {
        for groups in shape.captures_iter(&answer) {
            if let Some(percent) = groups.name("percent") {
                let percent: f64 = percent.as_str().parse().ok()?;
                let share = (0.0..=100.0).contains(&percent).then_some(percent / 100.0);
                return share.map(CpuSample::Share);
            }
            for name in shape.capture_names().flatten() {
                let number = groups
                    .name(name)
                    .and_then(|m| m.as_str().parse::<u64>().ok());
                let count = match name.as_bytes()[0] {
                    b'b' => &mut busy,
                    b'i' => &mut idle,
                    _ => &mut all,
                };
                if let Some(number) = number {
                    *count = Some(count.unwrap_or(0).saturating_add(number));
                }
            }
        }
    }
    let idle = idle?;
    let busy = busy.or(all.and_then(|all| all.checked_sub(idle)))?;
    Some(CpuSample::Counters { busy, idle })
}

/// The busy share from one sample to the next, 0 to 1.
pub fn busy_ratio(from: Option<CpuSample>, to: CpuSample) -> Option<f64> {
    match (from, to) {
        (_, CpuSample::Share(share)) => Some(share),
        (
            Some(CpuSample::Counters { busy, idle }),
            CpuSample::Counters {
                busy: busy_then,
                idle: idle_then,
            },
        ) => {
            let busy = busy_then.checked_sub(busy)? as f64;
            let idle = idle_then.checked_sub(idle)? as f64;
            (busy + idle > 0.0).then(|| busy / (busy + idle))
        }
        _ => None,
    }
}
