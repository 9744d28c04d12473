//! `wirelab report`: from results files to a page, a table or another file.

use std::path::Path;

use wirelab_report::{Format, Options, render};
use wirelab_trial::ResultsFile;

use crate::args::ReportArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{put, report_options};

pub fn run(args: &ReportArgs) -> Result {
    let mut files = args
        .results
        .iter()
        .map(|path| read(path))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let mut all = files.remove(0);
    for file in files {
        all.append(file);
    }
    let options = report_options(args.title.clone(), args.each_flow);
    for path in &args.output {
        write(&all, path, &options)?;
    }
    if args.output.is_empty() || args.format.is_some() {
        let format = args
            .format
            .as_deref()
            .unwrap_or("terminal")
            .parse()
            .map_err(Failure::usage)?;
        put!("{}", render(&all, format, &options));
    }
    Ok(Outcome::Done)
}

/// The results file of a path.
pub fn read(path: &Path) -> std::result::Result<ResultsFile, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::usage(format!(
            "{name}: {e}; give a results file that 'wirelab measure -o' wrote"
        ))
    })?;
    ResultsFile::parse(&text).map_err(|e| Failure::usage(format!("{name}: {e}")))
}

/// Write a report; the file's name says the format.
pub fn write(
    file: &ResultsFile,
    path: &Path,
    options: &Options,
) -> std::result::Result<(), Failure> {
    let format = Format::of_path(path).map_err(Failure::usage)?;
    let options = Options {
        colour: false,
        width: None,
        ..options.clone()
    };
    std::fs::write(path, render(file, format, &options)).map_err(|e| {
        // Half a page would be read as a whole one.
        if path.is_file() {
            let _ = std::fs::remove_file(path);
        }
        Failure::failed(format!(
            "{} cannot be written: {e}; free the space or name another file with -o",
            path.display()
        ))
    })
}
