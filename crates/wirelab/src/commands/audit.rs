//! `wirelab audit`: finds figures in published tables that cannot be true.

use serde::Serialize;
use wirelab_report::audit as report;
use wirelab_study::audit::Finding;
use wirelab_study::audit::coverage::{Coverage, audit_with_coverage};
use wirelab_study::library;
use wirelab_study::table::Study;

use crate::args::AuditArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{put, report_options, show_json};

/// The studies as far as they can be read, and what cannot.
fn read(names: &[String]) -> (Vec<Study>, Vec<String>) {
    let names: Vec<String> = match names {
        [] => library::names().map(str::to_owned).collect(),
        some => some.to_vec(),
    };
    let (mut studies, mut unread) = (Vec::new(), Vec::new());
    for name in &names {
        match library::open_whole(name) {
            Ok((study, wrong)) => {
                studies.push(study);
                unread.extend(wrong.iter().map(ToString::to_string));
            }
            Err(error) => unread.push(error.to_string()),
        }
    }
    (studies, unread)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    findings: &'a [Finding],
    checked: &'a [Coverage],
    unread: &'a [String],
}

pub fn run(args: &AuditArgs) -> Result {
    let (studies, unread) = read(&args.studies);
    if studies.is_empty() {
        return Err(Failure::usage(unread.join("\n")));
    }
    let (findings, checked) = audit_with_coverage(&studies);
    if args.json {
        show_json(&Report {
            findings: &findings,
            checked: &checked,
            unread: &unread,
        })?;
    } else {
        let options = report_options(None, false);
        put!("{}", report::terminal(&findings, &options));
        put!("{}", report::checked(&checked, &options));
    }
    if !unread.is_empty() {
        return Err(Failure::usage(unread.join("\n")));
    }
    Ok(Outcome::of(!findings.iter().any(|f| f.severity.fails())))
}
