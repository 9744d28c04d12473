//! `wirelab report`: converts results files to a page, a table or another file.

use std::path::Path;

use wirelab_report::badge::badge;
use wirelab_report::datasheet::compare;
use wirelab_report::{Format, Options, refuse_mislabelled, refuse_mixed, render};
use wirelab_trial::ResultsFile;

use crate::args::ReportArgs;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{put, report_options};

pub fn run(args: &ReportArgs) -> Result {
    let format = args
        .format
        .as_deref()
        .map(str::parse::<Format>)
        .transpose()
        .map_err(Failure::usage)?;
    let files = args
        .results
        .iter()
        .map(|path| Ok((name(path), read(path)?)))
        .collect::<std::result::Result<Vec<_>, Failure>>()?;
    refuse_mixed(&files).map_err(Failure::usage)?;
    let options = Options {
        trials: args.trials,
        ..report_options(args.title.clone(), args.each_flow)
    };
    let columns = files.len() > 1 && format.is_some_and(Format::is_datasheet_page);
    if args.side_by_side || columns {
        return side_by_side(args, &files, format, &options);
    }
    let all = joined(files);
    for path in &args.output {
        write(&all, path, &options)?;
    }
    if let (Some(path), Some(words)) = (&args.badge, &args.figure) {
        save(path, &badge(&all, words).map_err(Failure::usage)?)?;
    }
    if (args.output.is_empty() && args.badge.is_none()) || format.is_some() {
        put!(
            "{}",
            render(&all, format.unwrap_or(Format::Terminal), &options)
        );
    }
    Ok(Outcome::Done)
}

/// The datasheets of several results in columns.
fn side_by_side(
    args: &ReportArgs,
    named: &[(String, ResultsFile)],
    format: Option<Format>,
    options: &Options,
) -> Result {
    for path in &args.output {
        let format = Format::of_path(path).map_err(Failure::usage)?;
        let text = compare(named, format, &on_paper(options)).map_err(Failure::usage)?;
        save(path, &text)?;
    }
    if args.output.is_empty() || format.is_some() {
        let format = format.unwrap_or(Format::Datasheet);
        put!(
            "{}",
            compare(named, format, options).map_err(Failure::usage)?
        );
    }
    Ok(Outcome::Done)
}

/// Results, at least one, as one file.
pub fn joined(files: Vec<(String, ResultsFile)>) -> ResultsFile {
    let mut files = files.into_iter().map(|(_, file)| file);
    let mut all = files.next().expect("there is one");
    files.for_each(|file| all.append(file));
    all
}

/// A file's name without its folder.
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The results file of a path.
pub fn read(path: &Path) -> std::result::Result<ResultsFile, Failure> {
    let file = wirelab_bench::load(path).map_err(Failure::usage)?;
    refuse_mislabelled(&name(path), &file).map_err(Failure::usage)?;
    Ok(file)
}

/// Writes a report; the file's extension selects the format.
pub fn write(
    file: &ResultsFile,
    path: &Path,
    options: &Options,
) -> std::result::Result<(), Failure> {
    let format = Format::of_path(path).map_err(Failure::usage)?;
    save(path, &render(file, format, &on_paper(options)))
}

/// Options without those of a terminal.
pub fn on_paper(options: &Options) -> Options {
    Options {
        colour: false,
        width: None,
        ..options.clone()
    }
}

/// Writes a text or bytes, and removes an incomplete file.
///
/// # Errors
/// [`Failure::Failed`] names the file.
pub fn save(path: &Path, text: &(impl AsRef<[u8]> + ?Sized)) -> std::result::Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| {
        // A reader would take half a page for a whole one.
        if path.is_file() {
            let _ = std::fs::remove_file(path);
        }
        Failure::failed(format!(
            "{} cannot be written: {e}; fix: {}",
            path.display(),
            wirelab_bench::write_fix(&e)
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A results file of one UDP trial of a board, and the same from an emulator.
    fn files() -> [ResultsFile; 2] {
        let text = include_str!("../../../../spec/examples/iperf.json");
        let chip = ResultsFile::parse_unchecked(text).unwrap();
        let mut board = chip.clone();
        for o in &mut board.observations {
            o.mark_emulated();
            let key = ("emulator".to_owned(), "QEMU 7.2".to_owned());
            o.node.setup.extend([key]);
        }
        [chip, board]
    }

    fn reported(files: &[(&str, &ResultsFile)], format: Option<&str>) -> Result {
        let folder = std::env::temp_dir().join(format!("wirelab-mixed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let results: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
        for ((_, file), path) in files.iter().zip(&results) {
            std::fs::write(path, file.to_json()).unwrap();
        }
        let result = run(&ReportArgs {
            badge: None,
            figure: None,
            results,
            output: vec![folder.join("out.txt")],
            format: format.map(str::to_owned),
            title: None,
            each_flow: false,
            trials: true,
            side_by_side: false,
        });
        std::fs::remove_dir_all(&folder).unwrap();
        result
    }

    #[test]
    fn emulated_results_are_not_put_behind_measured_ones() {
        let [chip, board] = files();
        let mut old = chip.clone();
        for o in &mut old.observations {
            let key = ("emulator".to_owned(), "QEMU 7.2".to_owned());
            o.node.setup.extend([key]);
        }
        let (chip, board) = (("chip.json", &chip), ("board.json", &board));
        let old = ("old.json", &old);
        assert!(reported(&[chip, chip], None).is_ok());
        assert!(reported(&[board, board], None).is_ok());
        for format in [None, Some("datasheet"), Some("csv")] {
            for files in [[chip, board], [board, chip], [board, old], [old, board]] {
                let refused = reported(&files, format).map(|_| ()).unwrap_err();
                assert_eq!(refused.code(), 2, "{refused}");
                assert!(refused.to_string().contains("fix:"), "{refused}");
            }
        }
        let refused = reported(&[old], None).map(|_| ()).unwrap_err();
        assert!(
            refused.to_string().contains("claims to be measured"),
            "{refused}"
        );
    }
}
