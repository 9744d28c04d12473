//! `wirelab report`: from results files to a page, a table or another file.

use std::path::Path;

use wirelab_report::datasheet::compare;
use wirelab_report::{Format, Options, render};
use wirelab_trial::ResultsFile;

use crate::args::ReportArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{put, report_options};

pub fn run(args: &ReportArgs) -> Result {
    let asked = args
        .format
        .as_deref()
        .map(str::parse::<Format>)
        .transpose()
        .map_err(Failure::usage)?;
    let files = args
        .results
        .iter()
        .map(|path| read(path))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let options = Options {
        trials: args.trials,
        ..report_options(args.title.clone(), args.each_flow)
    };
    let columns = files.len() > 1 && asked.is_some_and(Format::is_datasheet_page);
    if args.side_by_side || columns {
        return side_by_side(args, files, asked, &options);
    }
    let mut files = files.into_iter();
    let mut all = files.next().expect("the command line asks for one");
    files.for_each(|file| all.append(file));
    for path in &args.output {
        write(&all, path, &options)?;
    }
    if args.output.is_empty() || asked.is_some() {
        put!(
            "{}",
            render(&all, asked.unwrap_or(Format::Terminal), &options)
        );
    }
    Ok(Outcome::Done)
}

/// The datasheets of several results in columns.
fn side_by_side(
    args: &ReportArgs,
    files: Vec<ResultsFile>,
    asked: Option<Format>,
    options: &Options,
) -> Result {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    let names = args.results.iter().map(|path| name(path));
    let named: Vec<(String, ResultsFile)> = names.zip(files).collect();
    for path in &args.output {
        let format = Format::of_path(path).map_err(Failure::usage)?;
        let text = compare(&named, format, &on_paper(options)).map_err(Failure::usage)?;
        save(path, &text)?;
    }
    if args.output.is_empty() || asked.is_some() {
        let format = asked.unwrap_or(Format::Datasheet);
        put!(
            "{}",
            compare(&named, format, options).map_err(Failure::usage)?
        );
    }
    Ok(Outcome::Done)
}

/// The results file of a path.
pub fn read(path: &Path) -> std::result::Result<ResultsFile, Failure> {
    wirelab_bench::load(path).map_err(Failure::usage)
}

/// Write a report; the file's name says the format.
pub fn write(
    file: &ResultsFile,
    path: &Path,
    options: &Options,
) -> std::result::Result<(), Failure> {
    let format = Format::of_path(path).map_err(Failure::usage)?;
    save(path, &render(file, format, &on_paper(options)))
}

/// Options without what only a terminal has.
pub fn on_paper(options: &Options) -> Options {
    Options {
        colour: false,
        width: None,
        ..options.clone()
    }
}

/// Write a text; what is half written is removed.
///
/// # Errors
/// [`Failure::Failed`] names the file.
pub fn save(path: &Path, text: &str) -> std::result::Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| {
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
