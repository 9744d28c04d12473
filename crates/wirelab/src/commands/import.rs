//! `wirelab study import`: a published page becomes a study file.

use std::io::{BufRead, IsTerminal, Write, stderr, stdin};
use std::path::{Path, PathBuf};

use wirelab_report::document::Block;
use wirelab_report::format;
use wirelab_study::import::{
    Asker, DefaultAnswers, ImportOptions, Question, import, is_clock, parse_rate,
};

use super::report::save;
use crate::args::ImportArgs;
use crate::exit::{Failure, Fallible, Outcome, Result};
use crate::terminal::{complain, show};

pub fn run(args: &ImportArgs) -> Result {
    let bytes = read(&args.page)?;
    let options = options(args)?;
    let file = args
        .page
        .file_name()
        .unwrap_or(args.page.as_os_str())
        .to_string_lossy();
    let output = output(args, &file)?;
    let mut nobody = DefaultAnswers::default();
    let imported = if stdin().is_terminal() && stderr().is_terminal() {
        import(&bytes, &file, &options, &mut Terminal)
    } else {
        import(&bytes, &file, &options, &mut nobody)
    };
    let imported = imported.map_err(Failure::usage)?;
    for note in imported.notes.iter().chain(&nobody.assumed) {
        complain(format_args!("note: {note}"));
    }
    save(&output, &imported.text)?;
    let title = format!(
        "{}: {} in {}",
        output.display(),
        format::count(imported.figures as u64, "figure"),
        format::count(imported.tables as u64, "table")
    );
    let next = format!("next: wirelab audit {}", output.display());
    show(title, vec![Block::Words(next)]);
    Ok(Outcome::Done)
}

fn read(path: &Path) -> Fallible<Vec<u8>> {
    std::fs::read(path).map_err(|e| {
        Failure::usage(format!(
            "cannot read {}: {e}; fix: name a file that can be read",
            path.display()
        ))
    })
}

fn options(args: &ImportArgs) -> Fallible<ImportOptions> {
    let link = args.link_rate.as_deref();
    let link = link
        .map(|text| parse_rate(text).map_err(|why| Failure::usage(format!("--link-rate: {why}"))));
    if let Some(clock) = args.core_clock.as_deref().filter(|text| !is_clock(text)) {
        let shown: String = clock.chars().take(40).collect();
        return Err(Failure::usage(format!(
            "--core-clock: invalid clock '{shown}'; fix: write e.g. \"400 MHz\""
        )));
    }
    let mapping = args.mapping.as_ref().map(|path| {
        let text = String::from_utf8_lossy(&read(path)?).into_owned();
        Ok::<_, Failure>((text, path.display().to_string()))
    });
    Ok(ImportOptions {
        link_bits_per_s: link.transpose()?,
        core_clock: args.core_clock.clone(),
        mapping: mapping.transpose()?,
    })
}

/// The study file: as given, or the page's name with `.toml`, where no such file is yet.
fn output(args: &ImportArgs, file: &str) -> Fallible<PathBuf> {
    if let Some(path) = &args.output {
        return Ok(path.clone());
    }
    let path = Path::new(file).with_extension("toml");
    if path.exists() {
        return Err(Failure::usage(format!(
            "{} is there already; fix: -o FILE, with the same name to replace it",
            path.display()
        )));
    }
    Ok(path)
}

/// Asks on the terminal; an empty answer takes the default.
struct Terminal;

fn line() -> Option<String> {
    let mut text = String::new();
    let read = stdin().lock().read_line(&mut text).ok()?;
    (read > 0).then(|| text.trim().to_owned())
}

fn prompt(text: &str) {
    eprint!("{text} ");
    let _ = stderr().flush();
}

impl Asker for Terminal {
    fn choose(&mut self, question: &Question) -> &'static str {
        let choices = question.choices.join(", ");
        loop {
            prompt(&format!(
                "{}? {choices} [{}]:",
                question.about, question.default
            ));
            let answer = line().unwrap_or_default();
            if answer.is_empty() {
                return question.default;
            }
            let chosen = question.choices.iter().find(|choice| **choice == answer);
            match chosen {
                Some(choice) => return choice,
                None => eprintln!("choose one of {choices}"),
            }
        }
    }

    fn text(&mut self, about: &str, example: &str) -> Option<String> {
        prompt(&format!(
            "{about}? e.g. {example}, empty if it is not known:"
        ));
        line().filter(|answer| !answer.is_empty())
    }
}
