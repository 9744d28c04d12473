//! JUnit XML for CI: one test case a trial, a failure with its reason where the trial did not pass.
//!
//! Written by hand: it is four elements, and the escaping is that of the HTML page, which is tested already; a
//! library would bring an XML writer only for this.

use super::Document;
use super::escape::{line, xml};
use crate::judge::{End, Failed};

/// One case of a suite.
pub struct Case {
    /// Its class.
    pub class: String,
    /// Its name.
    pub name: String,
    /// How long it took, in s.
    pub seconds: f64,
    /// Its output.
    pub said: Option<String>,
    /// How it ended.
    pub end: End,
}

/// One suite with the cases of a report.
pub fn render(document: &Document<'_>) -> String {
    let mut suite = Suite::default();
    document.cases.iter().for_each(|case| suite.case(case));
    let Suite {
        cases,
        tests,
        failures,
        skipped,
    } = suite;
    let name = xml(&document.title);
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

impl Suite {
    fn case(&mut self, case: &Case) {
        self.tests += 1;
        self.cases.push_str(&format!(
            "    <testcase classname=\"wirelab.{}\" name=\"{}\" time=\"{:.3}\">\n",
            xml(&line(&case.class)),
            xml(&line(&case.name)),
            case.seconds
        ));
        match &case.end {
            End::Passed => {}
            End::Failed(what, reasons) => {
                self.failures += 1;
                let message = reasons.first().map_or("did not pass", String::as_str);
                self.cases.push_str(&format!(
                    "      <failure type=\"{}\" message=\"{}\"",
                    what.word(),
                    xml(&line(message))
                ));
                self.cases.push_str(&match what {
                    Failed::Search | Failed::Interrupted => "/>\n".to_owned(),
                    _ => format!(">{}</failure>\n", xml(&reasons.join("\n"))),
                });
            }
            End::Skipped(why) => {
                self.skipped += 1;
                let why = xml(&line(why));
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
