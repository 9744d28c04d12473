//! `wirelab audit`: finds figures in published tables that cannot be true.

use wirelab_report::audit as report;
use wirelab_study::audit::audit_all;

use crate::args::AuditArgs;
use crate::commands::study::studies;
use crate::exit::{Outcome, Result};
use crate::terminal::{put, report_options, say};

pub fn run(args: &AuditArgs) -> Result {
    let studies = studies(&args.studies)?;
    let findings = audit_all(&studies);
    if args.json {
        let text = serde_json::to_string_pretty(&findings).expect("plain data become JSON");
        say!("{text}");
    } else {
        put!(
            "{}",
            report::terminal(&findings, &report_options(None, false))
        );
    }
    Ok(Outcome::of(!findings.iter().any(|f| f.severity.fails())))
}
