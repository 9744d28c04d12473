//! Turns an error of the command line's parser into one of this program: what happened; why; and the fix.

use std::char::ParseCharError;
use std::error::Error as _;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error};
use wirelab_trial::nearest::did_you_mean;

use crate::args::Cli;
use crate::exit::Failure;

/// An example of each required argument: the end of the command, the argument, the example. The first that fits counts.
const EXAMPLES: [(&str, &str, &str); 26] = [
    (
        "iperf",
        "<--server|--client <HOST[%DEVICE]>>",
        "--client 192.0.2.7",
    ),
    ("measure", "<NODE>", "lab:1"),
    ("stages", "<NODE>", "lab:1"),
    ("", "<NODE>", "lpc1768"),
    ("disassemble", "<BOARD>", "lpc1768"),
    ("", "<BOARD>", "mps2-an385"),
    ("", "<FUNCTION>", "board_copy_halfwords"),
    ("hdl", "<PORT>", "tap0"),
    ("", "<PORT>", "eth0"),
    ("", "<SIDE>", "tester"),
    ("", "<COMMAND>", "ip addr"),
    ("", "<BEFORE>", "before.json"),
    ("", "<AFTER>", "after.json"),
    ("", "<RESULTS>", "results.json"),
    ("", "<SHELL>", "bash"),
    ("", "<CONSOLE>", "serial:/dev/ttyUSB0,115200"),
    ("", "<PROFILE>", "linux"),
    ("", "<SELECTION>", "last"),
    ("", "<TAGS>", "release"),
    ("", "<STUDY>", "lpc1768"),
    ("", "<STUDIES>", "lpc1768"),
    ("export", "<FILE>", "runs.json"),
    ("study import", "<FILE>", "page.md"),
    ("results import", "<FILE>", "results.json"),
    ("verify", "<FILE>", "capture.pcapng"),
    ("pulse", "<FILE>", "pin.sr"),
];

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
            let missing = context(error, ContextKind::InvalidArg);
            let missing = missing.iter().map(|arg| plain(arg)).collect::<Vec<_>>();
            format!("'{command}' lacks {}", missing.join(" and "))
        }
        ErrorKind::InvalidValue if has_no_value(error) => {
            let arg = context(error, ContextKind::InvalidArg).concat();
            format!("'{}' has no value", arg.split(' ').next().unwrap_or(&arg))
        }
        // The type of the value names it with its fix.
        ErrorKind::ValueValidation if names_value(error) => {
            let arg = context(error, ContextKind::InvalidArg).concat();
            let option = arg.split(' ').next().unwrap_or(&arg);
            let why = error.source().map_or(String::new(), |why| why.to_string());
            format!("{}: {why}", plain(option))
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

/// The nearest option, command or value, as a question.
fn meant(error: &Error) -> String {
    let of = |kind| context(error, kind).concat();
    let (word, known) = match error.kind() {
        ErrorKind::UnknownArgument => (of(ContextKind::InvalidArg), options(&definition(error))),
        ErrorKind::InvalidSubcommand => {
            let commands = definition(error);
            let names = commands.get_subcommands().map(|c| c.get_name().to_owned());
            (of(ContextKind::InvalidSubcommand), names.collect())
        }
        ErrorKind::InvalidValue => (
            of(ContextKind::InvalidValue),
            context(error, ContextKind::ValidValue),
        ),
        _ => return String::new(),
    };
    // With its dashes every option would begin like every other.
    let dashes = if word.starts_with("--") { "--" } else { "" };
    let known = known.iter().map(|name| name.trim_start_matches("--"));
    let meant = did_you_mean(word.trim_start_matches("--"), known);
    meant.replacen('\'', &format!("'{dashes}"), 1)
}

/// The long options of a command that its help shows.
fn options(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let longs = shown.filter_map(Arg::get_long_and_visible_aliases);
    longs.flatten().map(str::to_owned).collect()
}

/// The command whose line was refused.
fn definition(error: &Error) -> Command {
    let mut command = Cli::command();
    for name in self::command(error).split(' ').skip(1) {
        let Some(below) = command.find_subcommand(name) else {
            break;
        };
        command = below.clone();
    }
    command.build();
    command
}

/// An argument of the usage without its brackets: `SELECTION` of `<SELECTION>`, `TAG…` of `<TAG>...`.
fn plain(arg: &str) -> String {
    arg.replace("...", "…")
        .replace(['<', '>'], "")
        .replace('|', " or ")
}

/// The usage with an example in place of each argument, e.g. `wirelab results tag last release`. An option without an
/// example is not required, but was given.
fn example(error: &Error) -> String {
    let (usage, command) = (usage(error), command(error));
    let mut line = usage.replace("...", "").replace(" [ADDRESS]", "");
    for (of, argument, example) in EXAMPLES {
        if command.ends_with(of) {
            line = line.replace(argument, example);
        }
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    let given = |pair: &[&str]| pair[0].starts_with('-') && pair[1].starts_with('<');
    while let Some(at) = words.windows(2).position(given) {
        words.drain(at..at + 2);
    }
    words.join(" ")
}

fn fix(error: &Error) -> String {
    let arg = context(error, ContextKind::InvalidArg).concat();
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let is_one = context(error, ContextKind::InvalidArg).len() == 1;
            let what = if is_one { "it" } else { "them" };
            format!("add {what}, e.g. '{}'", example(error))
        }
        ErrorKind::UnknownArgument if is_of_measure(error, &arg) => {
            format!("write a command before it, e.g. 'wirelab measure lab:1 {arg}'")
        }
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
            format!("see '{} --help'", command(error))
        }
        ErrorKind::ArgumentConflict if context(error, ContextKind::PriorArg).concat() == arg => {
            "give it once".to_owned()
        }
        ErrorKind::ArgumentConflict => "leave one of them out".to_owned(),
        ErrorKind::InvalidValue if has_no_value(error) => format!("write '{}'", plain(&arg)),
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

/// Whether an option of `measure` stands before a command.
fn is_of_measure(error: &Error, option: &str) -> bool {
    let measure = Cli::command().find_subcommand("measure").map(options);
    let is_known = |known: Vec<String>| known.iter().any(|long| option == format!("--{long}"));
    command(error) == "wirelab" && measure.is_some_and(is_known)
}

fn has_no_value(error: &Error) -> bool {
    context(error, ContextKind::InvalidValue)
        .concat()
        .is_empty()
}

/// Whether the error of a value's type repeats the value.
fn names_value(error: &Error) -> bool {
    let value = context(error, ContextKind::InvalidValue).concat();
    let why = error.source().map_or(String::new(), |why| why.to_string());
    why.contains("fix: ") && why.contains(&format!("'{value}'"))
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
