//! JUnit XML for CI: one test case a trial, a failure with its reason where the trial did not pass.
//!
//! Written by hand: it is four elements, and the escaping is that of the HTML page, which is tested already; a
//! library would bring an XML writer for nothing else.

use wirelab_trial::{Observation, ResultsFile, Status};

use crate::escape::xml;
use crate::finding;
use crate::options::Options;
use crate::row;
use crate::summary;

/// One suite with a case for each trial, and one that fails where the run was interrupted.
pub fn render(file: &ResultsFile, options: &Options) -> String {
    let mut cases = String::new();
    let mut failures = 0;
    for (at, observation) in file.observations.iter().enumerate() {
        failures += u32::from(!observation.passed());
        cases.push_str(&case(at + 1, observation));
    }
    let mut tests = file.observations.len();
    if file.interrupted {
        tests += 1;
        failures += 1;
        cases.push_str(
            "    <testcase classname=\"wirelab.run\" name=\"the plan was finished\" time=\"0.000\">\n      \
             <failure type=\"interrupted\" message=\"the run was ended before its plan was done\"/>\n    \
             </testcase>\n",
        );
    }
    let name = xml(&options.title_of(file));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"wirelab\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n  \
         <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n\
         {cases}  </testsuite>\n</testsuites>\n"
    )
}

fn case(number: usize, o: &Observation) -> String {
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
    let seconds = longest.map(|e| e.ps).max().unwrap_or(0) as f64 / 1e12;
    let mut out = format!(
        "    <testcase classname=\"wirelab.{}\" name=\"{}\" time=\"{seconds:.3}\">\n",
        xml(&o.node.name),
        xml(&name)
    );
    if !o.passed() {
        let reasons: Vec<String> = finding::findings(number, o)
            .into_iter()
            .map(|f| f.text)
            .collect();
        let kind = match o.status {
            Status::Complete => "frames",
            Status::Partial { .. } => "partial",
            Status::Void { .. } => "void",
        };
        let first = reasons.first().map_or("did not pass", String::as_str);
        out.push_str(&format!(
            "      <failure type=\"{kind}\" message=\"{}\">{}</failure>\n",
            xml(&crate::escape::line(first)),
            xml(&reasons.join("\n"))
        ));
    }
    let mut said = summary::summary_line(o);
    for w in &o.warnings {
        said.push_str(&format!(
            "\nwarning {}: {} Way out: {}",
            w.code, w.text, w.way_out
        ));
    }
    out.push_str(&format!(
        "      <system-out>{}</system-out>\n    </testcase>\n",
        xml(&said)
    ));
    out
}
