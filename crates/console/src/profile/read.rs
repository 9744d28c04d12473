//! Reads the TOML of a profile; every error names the place and the fix.

use std::collections::BTreeMap;
use std::time::Duration;

use regex_lite::{Regex, RegexBuilder};
use wirelab_config::{Entry, Read, Table, read};
use wirelab_trial::nearest::unknown;

use super::{
    Address, Boot, Cpu, FigureLine, LineOf, Login, Profile, ProfileQuestion, Program, Prompt, Role,
    RunCommand, TestProgram,
};
use crate::template::{Template, Values};

/// Longest profile in bytes.
pub const MOST_BYTES: u64 = 64 * 1024;
/// Names that wirelab gives a value in each trial; docs/console.md has the table.
pub const KNOWN: [&str; 16] = [
    "address",
    "netmask",
    "tester",
    "port",
    "bytes",
    "time",
    "seconds",
    "server_seconds",
    "interval",
    "rate",
    "rate_kbit",
    "rate_mbit",
    "blocks",
    "user",
    "password",
    "pattern",
];
/// Groups of lines with figures.
const GROUPS: [&str; 20] = [
    "from",
    "to",
    "duration",
    "duration_unit",
    "bytes",
    "bytes_unit",
    "rate",
    "rate_unit",
    "received",
    "lost",
    "total",
    "sent",
    "out_of_order",
    "jitter",
    "jitter_unit",
    "duration_ms",
    "rate_kbit",
    "id",
    "client_duration",
    "client_duration_unit",
];

impl Profile {
    /// Reads a profile; `file` is its name in errors.
    ///
    /// # Errors
    /// [`wirelab_config::FileError`] with line, column and key.
    pub fn parse(name: &str, text: &str, file: &str) -> Read<Profile> {
        read(text, file, |top| profile(name, top))
    }
}

fn profile(name: &str, top: &Table<'_>) -> Read<Profile> {
    top.known_keys(&[
        "about",
        "prompt",
        "login",
        "prepare",
        "boot",
        "address",
        "variables",
        "errors",
        "ask",
        "cpu",
        "iperf",
        "iperf3",
    ])?;
    let variables = variables(top)?;
    let names: Vec<&str> = KNOWN
        .iter()
        .copied()
        .chain(variables.keys().map(String::as_str))
        .collect();
    let prompt = top
        .section("prompt")?
        .map(|table| prompt(&table))
        .transpose()?;
    let mut programs = BTreeMap::new();
    for program in [Program::Iperf, Program::Iperf3] {
        if let Some(table) = top.section(program.word())? {
            programs.insert(program, test_program(&table, &names, prompt.is_some())?);
        }
    }
    let mut asks = BTreeMap::new();
    if let Some(table) = top.section("ask")? {
        for key in table.keys() {
            if let Some(ask) = table.section(key)? {
                asks.insert(key.to_owned(), self::ask(&ask, &names)?);
            }
        }
    }
    let about = top.need("about", "say in a line what it is for")?.text()?;
    let logins = top.sections("login")?;
    Ok(Profile {
        name: name.to_owned(),
        about,
        login: logins
            .iter()
            .map(|table| login(table, &names))
            .collect::<Read<_>>()?,
        prepare: templates(top, "prepare", &names)?,
        boot: boot(top, &names)?,
        address: top
            .section("address")?
            .map(|table| address(&table, &names))
            .transpose()?,
        errors: patterns(top, "errors")?,
        asks,
        cpu: top
            .section("cpu")?
            .map(|table| cpu(&table, &names))
            .transpose()?,
        programs,
        prompt,
        variables,
    })
}

fn variables(top: &Table<'_>) -> Read<Values> {
    let mut values = Values::new();
    let Some(table) = top.section("variables")? else {
        return Ok(values);
    };
    for key in table.keys() {
        let plain = key
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !plain || KNOWN[..13].contains(&key) {
            return Err(table.at_key(
                key,
                "this name is reserved; fix: choose another of a-z, 0-9 and _",
            ));
        }
        if let Some(value) = table.text(key)? {
            values.insert(key.to_owned(), value);
        }
    }
    Ok(values)
}

fn prompt(table: &Table<'_>) -> Read<Prompt> {
    table.known_keys(&[
        "pattern",
        "first",
        "newline",
        "interrupt",
        "clear",
        "echo",
        "columns",
        "patience",
    ])?;
    let fix = "give a regular expression of the prompt, e.g. 'nsh> '";
    let pattern = table.need("pattern", fix)?;
    let words = pattern.text()?;
    let of = |text: String| compile(&pattern, &text);
    let first = table
        .get("first")
        .map(|entry| compile(&entry, &format!("(?:{})$", entry.text()?)))
        .transpose()?;
    Ok(Prompt {
        pattern: of(format!("(?:{words})$"))?,
        at_start: of(format!("^(?:{words})"))?,
        first,
        newline: keys(table, "newline", "\r")?,
        interrupt: keys(table, "interrupt", "\u{3}")?,
        clear: keys(table, "clear", "")?,
        echo: flag(table, "echo", true)?,
        columns: table
            .get("columns")
            .map_or(Ok(0), |entry| entry.whole(0, 1000))? as usize,
        patience: duration(table, "patience", Duration::from_secs(5))?,
    })
}

/// A text that may consist of control characters.
fn keys(table: &Table<'_>, key: &str, otherwise: &str) -> Read<String> {
    let Some(entry) = table.get(key) else {
        return Ok(otherwise.to_owned());
    };
    let text = entry.word::<String>()?;
    match text.len() {
        0..=8 => Ok(text),
        _ => Err(entry.invalid("write keys of at most 8 characters, e.g. \"\\r\\n\"")),
    }
}

fn login(table: &Table<'_>, names: &[&str]) -> Read<Login> {
    table.known_keys(&["expect", "answer", "secret"])?;
    let expect = table.need("expect", "give a regular expression of the question")?;
    let answer = table.need("answer", "give what is typed, e.g. \"{user}\"")?;
    Ok(Login {
        expect: compile(&expect, &expect.text()?)?,
        answer: template(&answer, names)?,
        secret: flag(table, "secret", false)?,
    })
}

fn boot(top: &Table<'_>, names: &[&str]) -> Read<Boot> {
    let Some(table) = top.section("boot")? else {
        return Ok(Boot {
            banners: Vec::new(),
            reset: Vec::new(),
            patience: Duration::from_secs(60),
            late: false,
        });
    };
    table.known_keys(&["banner", "reset", "patience", "late"])?;
    Ok(Boot {
        banners: patterns(&table, "banner")?,
        reset: templates(&table, "reset", names)?,
        patience: duration(&table, "patience", Duration::from_secs(60))?,
        late: flag(&table, "late", false)?,
    })
}

fn address(table: &Table<'_>, names: &[&str]) -> Read<Address> {
    table.known_keys(&["show", "set", "patience"])?;
    let show = table.need("show", "give the command that shows the address")?;
    Ok(Address {
        show: template(&show, names)?,
        set: templates(table, "set", names)?,
        patience: duration(table, "patience", Duration::ZERO)?,
    })
}

fn ask(table: &Table<'_>, names: &[&str]) -> Read<ProfileQuestion> {
    table.known_keys(&["command", "pattern", "unit", "absent"])?;
    let command = table.need("command", "give what is typed")?;
    let pattern = table.need("pattern", "give a line of the answer with (?P<value>…)")?;
    let regex = compile(&pattern, &pattern.text()?)?;
    if !regex.capture_names().flatten().any(|name| name == "value") {
        return Err(pattern.error("it has no group value; fix: write (?P<value>…) around it"));
    }
    Ok(ProfileQuestion {
        command: template(&command, names)?,
        pattern: regex,
        unit: table.text("unit")?.unwrap_or_default(),
        absent: patterns(table, "absent")?,
    })
}

fn cpu(table: &Table<'_>, names: &[&str]) -> Read<Cpu> {
    table.known_keys(&["command", "lines", "span", "identity"])?;
    let command = table.need("command", "give what is typed")?;
    let entry = table.need(
        "lines",
        "give lines of the answer with (?P<percent>…), or with (?P<busy>…) and (?P<idle>…)",
    )?;
    let each = entry.entries();
    let lines: Vec<Regex> = each
        .iter()
        .map(|entry| multi_line(entry))
        .collect::<Read<_>>()?;
    for (line, at) in lines.iter().zip(entry.entries()) {
        let known = |name: &str| {
            let counts = ["busy", "idle", "all"]
                .iter()
                .any(|start| name.starts_with(start));
            name == "percent" || counts
        };
        let mut groups = line.capture_names().flatten().peekable();
        if groups.peek().is_none() || !groups.all(known) {
            let why = "its groups are not percent, busy…, idle… or all…; fix: write (?P<busy>…) around the figure";
            return Err(at.error(why));
        }
    }
    Ok(Cpu {
        command: template(&command, names)?,
        lines,
        span: duration(table, "span", Duration::ZERO)?,
        identity: table
            .get("identity")
            .map(|entry| template(&entry, names))
            .transpose()?,
    })
}

fn test_program(table: &Table<'_>, names: &[&str], types: bool) -> Read<TestProgram> {
    let roles = Role::ALL.map(Role::word);
    let others = ["lines", "failures", "bytes_kilo", "bits_kilo"];
    let known: Vec<&str> = roles.iter().chain(&others).copied().collect();
    table.known_keys(&known)?;
    let mut runs = BTreeMap::new();
    for role in Role::ALL {
        if let Some(own) = table.section(role.word())? {
            let run = run(&own, names, types)?;
            let is_given = run.start.as_ref().is_none_or(|start| start.uses("bytes"));
            if role == Role::UdpClient && run.datagram.is_none() && !is_given {
                let why = "it has no {bytes}; fix: add it, or say datagram = SIZE where the client sends no other";
                return Err(own.at_key("start", why));
            }
            runs.insert(role, run);
        }
    }
    let lines = table.sections("lines")?;
    Ok(TestProgram {
        runs,
        lines: lines.iter().map(figure_line).collect::<Read<_>>()?,
        failures: patterns(table, "failures")?,
        bytes_kilo: kilo(table, "bytes_kilo")?,
        bits_kilo: kilo(table, "bits_kilo")?,
    })
}

fn kilo(table: &Table<'_>, key: &str) -> Read<u32> {
    let Some(entry) = table.get(key) else {
        return Ok(1000);
    };
    match entry.whole(1, 1024)? {
        n @ (1000 | 1024) => Ok(n as u32),
        _ => Err(entry.invalid("write 1000 or 1024")),
    }
}

fn run(table: &Table<'_>, names: &[&str], types: bool) -> Read<RunCommand> {
    table.known_keys(&[
        "start",
        "ready",
        "busy",
        "ended",
        "stop",
        "interrupt",
        "once",
        "wake",
        "background",
        "whole_seconds",
        "datagram",
        "max_rate",
        "reports",
        "counts_final",
        "patience",
    ])?;
    let start = table
        .get("start")
        .map(|entry| template(&entry, names))
        .transpose()?;
    if start.is_some() && !types {
        return Err(table.at_key(
            "start",
            "it cannot be typed without a prompt; fix: add [prompt] with pattern",
        ));
    }
    let of = |key: &str| {
        table
            .get(key)
            .map(|entry| compile(&entry, &entry.text()?))
            .transpose()
    };
    Ok(RunCommand {
        start,
        ready: of("ready")?,
        busy: of("busy")?,
        ended: of("ended")?,
        stop: templates(table, "stop", names)?,
        interrupt: flag(table, "interrupt", false)?,
        once: flag(table, "once", false)?,
        wake: flag(table, "wake", false)?,
        background: flag(table, "background", true)?,
        whole_seconds: flag(table, "whole_seconds", true)?,
        datagram: table
            .get("datagram")
            .map(|entry| entry.whole(1, 65_535))
            .transpose()?
            .map(|n| n as u32),
        max_rate: table
            .get("max_rate")
            .map(|entry| entry.rate())
            .transpose()?,
        reports: flag(table, "reports", true)?,
        counts_final: flag(table, "counts_final", false)?,
        patience: duration(table, "patience", Duration::from_secs(5))?,
    })
}

fn figure_line(table: &Table<'_>) -> Read<FigureLine> {
    table.known_keys(&["pattern", "of", "role"])?;
    let entry = table.need(
        "pattern",
        "give a line with named groups, e.g. (?P<bytes>…)",
    )?;
    let pattern = compile(&entry, &entry.text()?)?;
    for name in pattern.capture_names().flatten() {
        if !GROUPS.contains(&name) {
            return Err(entry.error(unknown("group", name, GROUPS)));
        }
    }
    let lines = [
        ("either", LineOf::Either),
        ("total", LineOf::Total),
        ("interval", LineOf::Interval),
        ("part", LineOf::Part),
    ];
    let of = match table.get("of") {
        None => LineOf::Either,
        Some(entry) => entry.one_of("kind of line", &lines)?,
    };
    let roles = [("client", true), ("server", false)];
    let by_client = table.get("role").map(|entry| entry.one_of("role", &roles));
    let by_client = by_client.transpose()?;
    Ok(FigureLine {
        pattern,
        of,
        by_client,
    })
}

fn flag(table: &Table<'_>, key: &str, otherwise: bool) -> Read<bool> {
    table.get(key).map_or(Ok(otherwise), |entry| entry.flag())
}

fn duration(table: &Table<'_>, key: &str, otherwise: Duration) -> Read<Duration> {
    let given = table.get(key).map(|entry| entry.duration()).transpose()?;
    Ok(given.map_or(otherwise, |ps| Duration::from_nanos(ps / 1000)))
}

fn template(entry: &Entry<'_>, names: &[&str]) -> Read<Template> {
    Template::parse(&entry.text()?, names).map_err(|error| entry.error(error))
}

fn templates(table: &Table<'_>, key: &str, names: &[&str]) -> Read<Vec<Template>> {
    let Some(entry) = table.get(key) else {
        return Ok(Vec::new());
    };
    entry
        .entries()
        .iter()
        .map(|entry| template(entry, names))
        .collect()
}

fn patterns(table: &Table<'_>, key: &str) -> Read<Vec<Regex>> {
    let Some(entry) = table.get(key) else {
        return Ok(Vec::new());
    };
    let each = entry.entries();
    each.iter()
        .map(|entry| compile(entry, &entry.text()?))
        .collect()
}

/// A regular expression for answers of several lines, in which ^ and $ match the ends of each line.
fn multi_line(entry: &Entry<'_>) -> Read<Regex> {
    compile(entry, &format!("(?m:{})", entry.text()?))
}

/// A regular expression of bounded size; it takes time in proportion to the line.
fn compile(entry: &Entry<'_>, text: &str) -> Read<Regex> {
    let built = RegexBuilder::new(text).size_limit(1 << 20).build();
    built.map_err(|error| {
        entry.error(format!(
            "it is not a regular expression: {error}; fix: docs/console.md shows some"
        ))
    })
}
