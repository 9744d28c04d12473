//! JUnit XML for CI: one test case a trial, a failure with its reason where the trial did not pass.
//!
//! Written by hand: it is four elements, and the escaping is that of the HTML page, which is tested already; a
//! library would bring an XML writer for nothing else.

use wirelab_trial::{Direction, Observation, ResultsFile, Status};

use crate::datasheet;
use crate::escape::{line, xml};
use crate::format;
use crate::interval;
use crate::judge::{self, End};
use crate::options::Options;
use crate::row;
use crate::summary;

/// One suite with a case for each trial and for each rate that was searched, and one that fails where the run was
/// interrupted, as [`judge::judge`] has them.
pub fn render(file: &ResultsFile, options: &Options) -> String {
    let judged = judge::judge(file);
    let mut suite = Suite::default();
    for ((at, o), end) in file.observations.iter().enumerate().zip(judged.trials) {
        suite.case(&case(at + 1, o), end);
    }
    for goal in judged.goals {
        let case = Case {
            class: goal.class.to_owned(),
            name: goal.name,
            seconds: 0.0,
            said: goal.said,
        };
        suite.case(&case, goal.end);
    }
    let Suite {
        cases,
        tests,
        failures,
        skipped,
    } = suite;
    let name = xml(&options.title_of(file));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"wirelab\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n  \
         <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n\
         {cases}  </testsuite>\n</testsuites>\n"
    )
}

/// Cases as they are written.
#[derive(Default)]
struct Suite {
    cases: String,
    tests: usize,
    failures: usize,
    skipped: usize,
}

/// What a case is of.
struct Case {
    class: String,
    name: String,
    seconds: f64,
    said: Option<String>,
}

impl Suite {
    fn case(&mut self, case: &Case, end: End) {
        self.tests += 1;
        self.cases.push_str(&format!(
            "    <testcase classname=\"wirelab.{}\" name=\"{}\" time=\"{:.3}\">\n",
            xml(&line(&case.class)),
            xml(&line(&case.name)),
            case.seconds
        ));
        match end {
            End::Passed => {}
            End::Failed(kind, reasons) => {
                self.failures += 1;
                let message = reasons.first().map_or("did not pass", String::as_str);
                self.cases.push_str(&format!(
                    "      <failure type=\"{kind}\" message=\"{}\"",
                    xml(&line(message))
                ));
                self.cases.push_str(&match kind {
                    "search" | "interrupted" => "/>\n".to_owned(),
                    _ => format!(">{}</failure>\n", xml(&reasons.join("\n"))),
                });
            }
            End::Skipped(why) => {
                self.skipped += 1;
                let why = xml(&line(&why));
                self.cases
                    .push_str(&format!("      <skipped message=\"{why}\"/>\n"));
            }
        }
        if let Some(said) = &case.said {
            let said = xml(said);
            self.cases
                .push_str(&format!("      <system-out>{said}</system-out>\n"));
        }
        self.cases.push_str("    </testcase>\n");
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
        said.push_str(&format!(
            "\nwarning {}: {} Fix: {}",
            w.code, w.text, w.way_out
        ));
    }
    Case {
        class: o.node.name.clone(),
        name,
        seconds: longest.map(|e| e.ps).max().unwrap_or(0) as f64 / 1e12,
        said: Some(said),
    }
}

/// What the line of a trial has no room for: the share of frames lost with its interval, and round trips with theirs.
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
        ("90 %", "p90_ps", &echo.p90_ps),
        ("99 %", "p99_ps", &echo.p99_ps),
        ("99.9 %", "p99_9_ps", &echo.p99_9_ps),
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
