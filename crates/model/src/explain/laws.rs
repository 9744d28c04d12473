//! Laws that fit the readings of several sizes and loads together: a cost of each packet, of each byte, and where loss
//! begins.

use wirelab_trial::explanation::{Reading, ReadingLimit};
use wirelab_trial::{Load, format};

/// A figure this near to a ceiling lies on it.
pub(super) const NEAR: f64 = 0.02;

/// A law holds where no reading is further from it than this.
const FITS: f64 = 0.03;
/// Sizes must differ by this factor before a law of size is derived.
const FACTOR: f64 = 2.0;

/// The laws found.
#[derive(Default)]
pub(super) struct CostLaws {
    /// Cost of each packet in ps.
    pub per_packet_ps: Option<f64>,
    /// Cost of each byte in ps.
    pub per_byte_ps: Option<f64>,
    /// Findings, one sentence each.
    pub findings: Vec<String>,
    /// Unknowns, each with what to measure.
    pub open: Vec<String>,
}

/// The word for a limit.
pub(super) const fn word(limit: ReadingLimit) -> &'static str {
    match limit {
        ReadingLimit::Wire => "the wire",
        ReadingLimit::PerPacket => "a cost of each packet",
        ReadingLimit::PerByte => "a cost of each byte",
        ReadingLimit::Cpu => "the CPU",
        ReadingLimit::Tester => "the tester",
        ReadingLimit::Load => "the load",
    }
}

/// Finds the laws of readings in order of size, and writes into each what limits it.
pub(super) fn of(readings: &mut [(Reading, Load)], has_link: bool) -> CostLaws {
    let mut found = CostLaws::default();
    counted(readings, &mut found);
    sizes(readings, &mut found);
    onset(readings, &mut found);
    cpu(readings, &mut found);
    if !has_link {
        found.open.push(
            "The link rate is unknown, so it is unknown whether the wire limits: explain the file with --rate, or measure again with --rate."
                .to_owned(),
        );
    }
    if readings
        .iter()
        .any(|(r, _)| r.limit == Some(ReadingLimit::Tester))
    {
        found
            .open
            .push("Where the tester was the limit, the node's own limit is higher.".to_owned());
    }
    for (reading, _) in readings.iter_mut().filter(|(r, _)| r.words.is_empty()) {
        reading.words = match reading.loss_ratio {
            Some(loss) if loss > 0.0 => format!(
                "{} % lost; this does not show what limits",
                format::percent(loss)
            ),
            _ => "below every known ceiling; this does not show what limits".to_owned(),
        };
    }
    found
}

/// Counts the readings on each ceiling.
fn counted(readings: &[(Reading, Load)], found: &mut CostLaws) {
    let total = readings.len();
    for limit in [
        ReadingLimit::Wire,
        ReadingLimit::Tester,
        ReadingLimit::Cpu,
        ReadingLimit::Load,
    ] {
        let of: Vec<&Reading> = readings
            .iter()
            .map(|(r, _)| r)
            .filter(|r| r.limit == Some(limit))
            .collect();
        let (Some(first), Some(last)) = (of.first(), of.last()) else {
            continue;
        };
        let range = if first.bytes == last.bytes {
            format!("at {} B", first.bytes)
        } else {
            format!("from {} to {} B", first.bytes, last.bytes)
        };
        let what = match limit {
            ReadingLimit::Wire => format!(
                "lie on the wire's ceiling within {} %",
                format::percent(NEAR)
            ),
            ReadingLimit::Tester => "are limited by the tester, not by the node".to_owned(),
            ReadingLimit::Cpu => "have a fully busy CPU".to_owned(),
            _ => "carry all that was offered".to_owned(),
        };
        found.findings.push(format!(
            "{} of {total} readings {what} ({range}).",
            of.len()
        ));
    }
}

/// Checks whether the time of a frame is linear in its size, where the node itself limits.
fn sizes(readings: &mut [(Reading, Load)], found: &mut CostLaws) {
    // The highest rate of each size that the node limits, and not the wire, the tester or the load.
    let own = |limit: Option<ReadingLimit>| matches!(limit, None | Some(ReadingLimit::Cpu));
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (r, _) in readings.iter().filter(|(r, _)| own(r.limit)) {
        let (bytes, period) = (f64::from(r.bytes), 1e12 / r.frames_per_s);
        match points.last_mut() {
            Some(last) if last.0 == bytes => last.1 = last.1.min(period),
            _ => points.push((bytes, period)),
        }
    }
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return;
    };
    if last.0 < FACTOR * first.0.max(1.0) {
        found.open.push(
            "The node itself limits at one size only, or at similar sizes: to separate a cost of each packet from one of each byte, measure sizes that differ by a factor of 2 or more."
                .to_owned(),
        );
        return;
    }
    let Some((constant, each)) = line(&points) else {
        return;
    };
    let worst = points
        .iter()
        .map(|(x, y)| ((constant + each * x) / y - 1.0).abs())
        .fold(0.0, f64::max);
    let (small, large) = (constant + each * first.0, constant + each * last.0);
    if points.len() > 2 && worst > FITS {
        found.open.push(format!(
            "The time of a frame is not linear in its size: a line misses by up to {} %. There are several size classes, or another limit between them.",
            format::percent(worst)
        ));
        return;
    }
    let bytes_matter = each * last.0 > FITS * large;
    let packets_matter = constant > FITS * small;
    if packets_matter {
        found.per_packet_ps = Some(constant);
    }
    if bytes_matter {
        found.per_byte_ps = Some(each);
    }
    let sure = if points.len() == 2 {
        " Two sizes always fit a line, so this is a guess."
    } else {
        ""
    };
    let (packet, byte) = (format::time_f(constant), format::time_f(each));
    found.findings.push(match (packets_matter, bytes_matter) {
        (true, false) => format!("Each packet costs {packet}, whatever its size.{sure}"),
        (false, true) => {
            format!("Each byte costs {byte}, and a packet has no cost of its own.{sure}")
        }
        _ => format!("Each packet costs {packet} and each of its bytes {byte}.{sure}"),
    });
    for (r, _) in readings.iter_mut().filter(|(r, _)| own(r.limit)) {
        let by_bytes = each * f64::from(r.bytes);
        let fits = (1e12 / r.frames_per_s / (constant + by_bytes) - 1.0).abs() <= FITS;
        if r.limit.is_none() && fits {
            let (limit, words) = match by_bytes > constant {
                true => (
                    ReadingLimit::PerByte,
                    format!("the cost of each byte: {byte}"),
                ),
                false => (
                    ReadingLimit::PerPacket,
                    format!("the cost of each packet: {packet}"),
                ),
            };
            (r.limit, r.words) = (Some(limit), words);
        }
    }
}

/// The line with the least squares of relative errors: constant and slope, neither below 0.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (mut s0, mut s1, mut s2, mut t0, mut t1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in points {
        let w = 1.0 / (y * y);
        s0 += w;
        s1 += w * x;
        s2 += w * x * x;
        t0 += w * y;
        t1 += w * x * y;
    }
    let determinant = s0 * s2 - s1 * s1;
    if determinant <= 1e-9 * s0 * s2 {
        return None;
    }
    let (constant, each) = (
        (t0 * s2 - t1 * s1) / determinant,
        (t1 * s0 - t0 * s1) / determinant,
    );
    Some(match (constant < 0.0, each < 0.0) {
        (true, _) => (0.0, t1 / s2),
        (_, true) => (t0 / s0, 0.0),
        _ => (constant, each),
    })
}

/// At each size, the highest load without loss and the lowest with it.
fn onset(readings: &[(Reading, Load)], found: &mut CostLaws) {
    let mut sizes: Vec<u32> = readings.iter().map(|(r, _)| r.bytes).collect();
    sizes.dedup();
    let mut idle_cpu = false;
    for size in sizes {
        let of = || readings.iter().map(|(r, _)| r).filter(|r| r.bytes == size);
        let offered = |r: &Reading| r.bits_per_s / (1.0 - r.loss_ratio.unwrap_or(0.0)).max(1e-9);
        let lossy = of()
            .filter(|r| r.loss_ratio.is_some_and(|l| l > 0.0))
            .min_by(|a, b| offered(a).total_cmp(&offered(b)));
        let Some(lossy) = lossy else { continue };
        let clean = of().filter(|r| r.loss_ratio == Some(0.0) && r.bits_per_s < offered(lossy));
        let clean = clean.max_by(|a, b| a.bits_per_s.total_cmp(&b.bits_per_s));
        let from = clean.map_or_else(
            || "every load here has loss, at".to_owned(),
            |r| {
                format!(
                    "it begins between {} and",
                    format::si(r.bits_per_s, "bit/s")
                )
            },
        );
        let cpu = lossy.cpu_ratio.map_or(String::new(), |c| {
            format!(", with the CPU {} % busy", format::percent(c))
        });
        idle_cpu |= lossy.cpu_ratio.is_some_and(|c| c < 0.9);
        found.findings.push(format!(
            "Loss at {size} B: {from} {} offered ({} %{cpu}).",
            format::si(offered(lossy), "bit/s"),
            format::percent(lossy.loss_ratio.unwrap_or(0.0))
        ));
    }
    if idle_cpu {
        found.open.push(
            "Frames are lost while the CPU has time left: a ring too small for bursts or for paced interrupts does \
             that, and so does a tester that sends in bursts. Counters of the node's MAC distinguish the two."
                .to_owned(),
        );
    }
}

/// The CPU's cost of a frame, where its load is known.
fn cpu(readings: &[(Reading, Load)], found: &mut CostLaws) {
    let known: Vec<(u32, f64)> = readings
        .iter()
        .filter_map(|(r, _)| {
            Some((
                r.bytes,
                r.cpu_ratio.filter(|c| *c > 0.0)? * 1e12 / r.frames_per_s,
            ))
        })
        .collect();
    if known.is_empty() {
        found.open.push(
            "The CPU's load is not known, so a full CPU looks the same as other limits.".to_owned(),
        );
        return;
    }
    let least = known.iter().map(|k| k.1).fold(f64::INFINITY, f64::min);
    let most = known.iter().map(|k| k.1).fold(0.0, f64::max);
    let (least, most) = (format::time_f(least), format::time_f(most));
    let range = match least == most {
        true => least,
        false => format!("{least} to {most}"),
    };
    found.findings.push(format!(
        "A frame takes {range} of the CPU, its idle load included."
    ));
}
