//! JUnit XML for CI: one test case a trial, a failure with its reason where the trial did not pass.
//!
//! Written by hand: it is four elements, and the escaping is that of the HTML page, which is tested already; a
//! library would bring an XML writer for nothing else.

use wirelab_trial::search::SearchEnded;
use wirelab_trial::{Found, Observation, Part, ResultsFile, Status};

use crate::datasheet::is_datasheet;
use crate::escape::{line, xml};
use crate::finding;
use crate::format::frame_rate;
use crate::options::Options;
use crate::row;
use crate::search;
use crate::summary;

/// How a case ended.
enum End {
    Passed,
    /// Type, message and text.
    Failed(&'static str, String, String),
    /// The node cannot do it, and nothing failed.
    Skipped(String),
}

/// One suite with a case for each trial and for each rate that was searched, and one that fails where the run was
/// interrupted. Trials of a search and of a datasheet lose frames on purpose, and fail for damaged frames alone.
pub fn render(file: &ResultsFile, options: &Options) -> String {
    let searched = row::searched(file);
    let sheet = is_datasheet(file);
    let mut suite = Suite::default();
    for (at, o) in file.observations.iter().enumerate() {
        let end = match searched[at] || sheet {
            true => beyond_loss(at + 1, o, sheet),
            false => judged(at + 1, o),
        };
        suite.case(&case(at + 1, o), end);
    }
    for part in &file.parts {
        goals(part, &mut suite);
    }
    if file.interrupted {
        let why = "the run was ended before its plan was done".to_owned();
        suite.case(
            &Case {
                class: "run".to_owned(),
                name: "the plan was finished".to_owned(),
                seconds: 0.0,
                said: None,
            },
            End::Failed("interrupted", why, String::new()),
        );
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
            End::Failed(kind, message, text) => {
                self.failures += 1;
                self.cases.push_str(&format!(
                    "      <failure type=\"{kind}\" message=\"{}\"",
                    xml(&line(&message))
                ));
                self.cases.push_str(&match text.is_empty() {
                    true => "/>\n".to_owned(),
                    false => format!(">{}</failure>\n", xml(&text)),
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

/// A trial that must not lose anything.
fn judged(number: usize, o: &Observation) -> End {
    if o.passed() {
        return End::Passed;
    }
    failed(o, finding::findings(number, o))
}

fn failed(o: &Observation, findings: Vec<finding::Finding>) -> End {
    let reasons: Vec<String> = findings.into_iter().map(|f| f.text).collect();
    let kind = match o.status {
        Status::Complete => "frames",
        Status::Partial { .. } => "partial",
        Status::Void { .. } => "void",
    };
    let first = reasons.first().map_or("did not pass", String::as_str);
    End::Failed(kind, first.to_owned(), reasons.join("\n"))
}

/// A trial of which loss is a figure.
fn beyond_loss(number: usize, o: &Observation, sheet: bool) -> End {
    if let (true, Status::Void { why }) = (sheet && finding::unsupported(o), &o.status) {
        return End::Skipped(why.clone());
    }
    match finding::beyond_loss(number, o) {
        none if none.is_empty() => End::Passed,
        some => failed(o, some),
    }
}

/// A case for each goal of a search.
fn goals(part: &Part, suite: &mut Suite) {
    let case = |name: String, said: Option<String>| Case {
        class: "search".to_owned(),
        name,
        seconds: 0.0,
        said,
    };
    if let Some(why) = &part.refused {
        suite.case(&case(part.name.clone(), None), End::Skipped(why.clone()));
    }
    let Some(found) = &part.found else { return };
    let ended = search::ended(found);
    if let Found::Rates(result) = found {
        for goal in &result.goals {
            let name = format!(
                "{}: loss {}",
                part.name,
                search::allowed(goal.goal.loss_ratio)
            );
            let said = goal.conditional_throughput_frames_per_s.value();
            let said = said.map(|fps| format!("{} frames/s of each flow", frame_rate(*fps)));
            let end = match (search::not_found(goal.outcome), ended) {
                (None, _) => End::Passed,
                (Some(_), SearchEnded::Unsupported { why }) => End::Skipped(why.clone()),
                (Some(why), _) => End::Failed("search", why.to_owned(), String::new()),
            };
            suite.case(&case(name, said), end);
        }
        if !result.goals.is_empty() {
            return;
        }
    }
    let end = match (search::ended_early(ended), ended) {
        (None, _) => End::Passed,
        (Some(_), SearchEnded::Unsupported { why }) => End::Skipped(why.clone()),
        (Some(why), _) => End::Failed("search", why, String::new()),
    };
    suite.case(&case(part.name.clone(), None), end);
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
    for w in &o.warnings {
        said.push_str(&format!(
            "\nwarning {}: {} Way out: {}",
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
