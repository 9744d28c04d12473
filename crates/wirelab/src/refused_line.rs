//! Turns an error of the command line's parser into one of this program: what happened; why; and the fix.

use std::char::ParseCharError;
use std::error::Error as _;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Failure;

/// The refusal of a command line, in one line.
pub fn failure(error: &Error) -> Failure {
    let what = what(error);
    // The type of a value has named the fix.
    if what.contains("fix: ") {
        return Failure::usage(what);
    }
    let meant = meant(error);
    Failure::usage(format!("{what}; {meant}fix: {}", fix(error)))
}

fn what(error: &Error) -> String {
    let command = command(error);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let word = context(error, ContextKind::InvalidArg).concat();
            match word.starts_with('-') {
                true => format!("'{command}' has no option '{word}'"),
                false => format!("'{command}' takes no argument '{word}'"),
            }
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(error, ContextKind::InvalidSubcommand).concat();
            format!("'{command}' has no command '{word}'")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = context(error, ContextKind::InvalidArg).join(" and ");
            format!("'{command}' lacks {missing}")
        }
        // The fix says it in words of users.
        ErrorKind::ValueValidation if of_value(error).is_some() => {
            let of = |kind| context(error, kind).concat();
            let (value, arg) = (of(ContextKind::InvalidValue), of(ContextKind::InvalidArg));
            format!("invalid value '{value}' for '{arg}'")
        }
        _ => first_paragraph(&error.to_string()),
    }
}

/// The parser's own words without the hints after them, on one line.
fn first_paragraph(text: &str) -> String {
    let text = text.trim_start_matches("error: ");
    let lines = text.lines().map(str::trim);
    let lines = lines.take_while(|line| !line.is_empty() && !line.starts_with("[possible values"));
    lines.collect::<Vec<_>>().join(" ")
}

/// The name that the parser found nearest, as a question.
fn meant(error: &Error) -> String {
    let kinds = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    let nearest = kinds.into_iter().flat_map(|kind| context(error, kind));
    let nearest = nearest.last();
    nearest.map_or(String::new(), |name| format!("did you mean '{name}'? "))
}

fn fix(error: &Error) -> String {
    let arg = context(error, ContextKind::InvalidArg).concat();
    match error.kind() {
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
            format!("see '{} --help'", command(error))
        }
        ErrorKind::MissingRequiredArgument => format!("write '{}'", usage(error)),
        ErrorKind::ArgumentConflict if context(error, ContextKind::PriorArg).concat() == arg => {
            "give it once".to_owned()
        }
        ErrorKind::ArgumentConflict => "leave one of them out".to_owned(),
        ErrorKind::InvalidValue if context(error, ContextKind::InvalidValue).concat() == "" => {
            format!("write '{arg}'")
        }
        ErrorKind::InvalidValue => {
            let values = context(error, ContextKind::ValidValue);
            format!("write one of {}", values.join(", "))
        }
        ErrorKind::TooManyValues => "leave the value out".to_owned(),
        ErrorKind::ValueValidation => {
            of_value(error).unwrap_or_else(|| "give another value".to_owned())
        }
        _ => "see 'wirelab --help'".to_owned(),
    }
}

/// The fix of a value that a number's or an address's type refuses.
fn of_value(error: &Error) -> Option<String> {
    let source = error.source()?;
    let text = source.to_string();
    if let Some((least, most)) = range(&text) {
        return Some(format!("give {least} to {most}"));
    }
    let is_large = |error: &ParseIntError| *error.kind() == IntErrorKind::PosOverflow;
    let fix = match () {
        () if source.downcast_ref().is_some_and(is_large) => "give a smaller number",
        () if source.is::<ParseIntError>() => "give a whole number",
        () if source.is::<ParseFloatError>() => "give a number, e.g. 0.5",
        () if source.is::<AddrParseError>() && text.contains("socket") => {
            "give an IP address and a port, e.g. 127.0.0.1:7070"
        }
        () if source.is::<AddrParseError>() => "give an IP address, e.g. 192.0.2.7",
        () if source.is::<ParseCharError>() => "give one letter",
        () => return None,
    };
    Some(fix.to_owned())
}

/// The bounds of a number that is outside of them, in the parser's words.
fn range(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(" is not in ")?.1.split_once("..=")
}

/// The command with its own words, e.g. `wirelab lab up`.
fn command(error: &Error) -> String {
    let usage = usage(error);
    let words = usage.split(' ');
    let words: Vec<&str> = words
        .take_while(|word| !word.starts_with(['[', '<', '-']))
        .collect();
    words.join(" ")
}

/// How the command is written, e.g. `wirelab measure --console <CONSOLE> <NODE>`.
fn usage(error: &Error) -> String {
    let text = context(error, ContextKind::Usage).concat();
    text.trim_start_matches("Usage: ").to_owned()
}

fn context(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        _ => Vec::new(),
    }
}
