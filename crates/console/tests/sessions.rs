//! Each profile reads the sessions in `sessions/`: the head of each says whether it was recorded from the real thing, and
//! which figures are in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use wirelab_console::cpu::{busy_ratio, sample};
use wirelab_console::figures::counted;
use wirelab_console::profile::{NAMES, find};
use wirelab_console::screen::Screen;
use wirelab_console::{Profile, Program, Role};

use crate::table::{quoted, rows};

struct Session {
    name: String,
    head: BTreeMap<String, String>,
    lines: Vec<String>,
}

impl Session {
    fn number(&self, key: &str) -> Option<f64> {
        self.head.get(key).map(|text| text.parse().unwrap())
    }

    fn profile(&self) -> Profile {
        find(&self.head["profile"]).unwrap()
    }

    fn role(&self) -> Role {
        let word = &self.head["role"];
        *Role::ALL.iter().find(|role| role.word() == word).unwrap()
    }

    fn program(&self) -> Program {
        match &*self.head["program"] {
            "iperf3" => Program::Iperf3,
            _ => Program::Iperf,
        }
    }
}

fn sessions() -> Vec<Session> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let at = bytes
            .windows(11)
            .position(|w| w == b"## session\n")
            .unwrap();
        let head = std::str::from_utf8(&bytes[..at]).unwrap().lines();
        let head = head.map(|line| line.strip_prefix("## ").unwrap().split_once(": ").unwrap());
        let head = head
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let (mut screen, mut lines) = (Screen::default(), Vec::new());
        screen.take(&bytes[at + 11..], |line| lines.push(line), |_| {});
        lines.push(screen.text());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        all.push(Session { name, head, lines });
    }
    all
}

#[test]
fn each_session_gives_its_figures() {
    for session in sessions() {
        let (profile, name) = (session.profile(), &session.name);
        let found = counted(&session.lines, &profile, session.program(), session.role());
        assert_eq!(
            found.is_whole,
            session.head["whole"] == "yes",
            "{name}: {found:?}"
        );
        match (session.number("bytes"), found.bytes) {
            (Some(bytes), Some(found)) => {
                assert_eq!(found.value.round(), bytes, "{name}");
                let within = session.number("within").unwrap_or(0.0);
                assert_eq!(found.within.round(), within, "{name}");
            }
            (None, _) => {}
            (Some(_), None) => panic!("{name}: no bytes: {found:?}"),
        }
        if let Some(s) = session.number("duration") {
            assert!(
                found.duration_s.is_some_and(|own| (own - s).abs() < 1e-9),
                "{name}: {found:?}"
            );
        }
        if let Some(bits) = session.number("bits") {
            let rate = found
                .bits_per_s
                .unwrap_or_else(|| panic!("{name}: {found:?}"));
            assert!(!rate.differs_from(bits), "{name}: {rate:?}");
        }
        for (key, count) in [
            ("received", found.received),
            ("lost", found.lost),
            ("sent", found.sent),
            ("out_of_order", found.out_of_order),
        ] {
            let wanted = session.number(key).map(|n| n as u64);
            if wanted.is_some() {
                assert_eq!(count, wanted, "{name}: {key}");
            }
        }
        let failure = session.head.get("failure");
        assert_eq!(found.failure.as_ref(), failure, "{name}");
        if let Some(rows) = session.number("rows") {
            assert_eq!(found.rows.len(), rows as usize, "{name}: {:?}", found.rows);
        }
    }
}

#[test]
fn each_session_gives_its_boots_errors_and_answers() {
    for session in sessions() {
        let (profile, name) = (session.profile(), &session.name);
        let lines: Vec<&str> = session
            .lines
            .iter()
            .map(|line| profile.plain(line))
            .collect();
        let boots = lines.iter().filter(|line| profile.is_boot(line)).count();
        let wrong = |line: &&&str| profile.errors.iter().any(|error| error.is_match(line));
        let errors = lines.iter().filter(wrong).count();
        // The boot loader and the system have a banner each.
        let wanted = session.number("boots").unwrap_or(0.0) as usize;
        assert!(
            boots >= wanted && (wanted > 0 || boots == 0),
            "{name}: {boots} boots"
        );
        assert_eq!(
            errors,
            session.number("errors").unwrap_or(0.0) as usize,
            "{name}"
        );
        for (what, ask) in &profile.asks {
            if let Some(wanted) = session.head.get(what) {
                let value = lines.iter().find_map(|line| {
                    ask.pattern
                        .captures(line)?
                        .name("value")
                        .map(|m| m.as_str())
                });
                let value = value.unwrap_or_else(|| panic!("{name}: no {what}"));
                let shown = format!("{value} {}", ask.unit);
                assert_eq!(shown.trim(), wanted, "{name}: {what}");
            }
        }
    }
}

#[test]
fn each_session_gives_its_cpu_load() {
    let mut seen = BTreeSet::new();
    for session in sessions() {
        let Some(wanted) = session.number("busy") else {
            continue;
        };
        let profile = session.profile();
        let cpu = profile.cpu.as_ref().unwrap();
        let text: Vec<String> = session
            .lines
            .iter()
            .map(|line| profile.plain(line).to_owned())
            .collect();
        // The answers of a session follow the commands that requested them.
        let command = cpu.command.fill(&profile.variables).unwrap();
        // Lines of other tasks may stand inside an echo.
        let command = command.split(' ').next_back().unwrap();
        let starts: Vec<usize> = (0..text.len())
            .filter(|at| text[*at].ends_with(command))
            .collect();
        let ends = starts[1..].iter().copied().chain([text.len()]);
        let answers = starts
            .iter()
            .zip(ends)
            .map(|(from, to)| &text[from + 1..to]);
        let samples: Vec<_> = answers.map(|lines| sample(cpu, lines).unwrap()).collect();
        let busy = match &samples[..] {
            [one] => busy_ratio(None, *one),
            [first, .., last] => busy_ratio(Some(*first), *last),
            [] => None,
        };
        let busy = busy.unwrap_or_else(|| panic!("{}: {samples:?}", session.name));
        assert!((busy - wanted).abs() < 1e-9, "{}: {busy}", session.name);
        seen.insert(profile.name);
    }
    let with_load = NAMES.map(|name| find(name).unwrap());
    let with_load = with_load.into_iter().filter(|of| of.cpu.is_some());
    assert_eq!(seen, with_load.map(|of| of.name).collect());
}

#[test]
fn every_file_of_consoles_is_in_the_library() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../consoles");
    let files = std::fs::read_dir(folder).unwrap();
    let files: BTreeSet<String> = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, NAMES.map(|name| format!("{name}.toml")).into());
}

/// A pattern that no session shows would be a guess that nothing checks.
#[test]
fn each_pattern_of_each_profile_is_in_a_session() {
    let sessions = sessions();
    for name in NAMES {
        let profile = find(name).unwrap();
        let own: Vec<&Session> = sessions
            .iter()
            .filter(|s| s.profile().name == name)
            .collect();
        assert!(!own.is_empty(), "{name} has no session");
        assert!(
            own.iter().all(|s| s.head["source"].contains("recorded")),
            "{name}"
        );
        let lines: Vec<&str> = own
            .iter()
            .flat_map(|s| &s.lines)
            .map(|line| profile.plain(line))
            .collect();
        for (program, of) in &profile.programs {
            for (n, shape) in of.lines.iter().enumerate() {
                let joined = lines.windows(2).map(|pair| pair.concat());
                let any = lines
                    .iter()
                    .map(|line| (*line).to_owned())
                    .chain(joined)
                    .any(|line| shape.pattern.is_match(&line));
                assert!(any, "{name}: line {n} of {program:?}: {}", shape.pattern);
            }
            for (role, run) in &of.runs {
                for pattern in [&run.ready, &run.ended].into_iter().flatten() {
                    let any = lines.iter().any(|line| pattern.is_match(line));
                    assert!(any, "{name}: {role:?}: {pattern}");
                }
            }
        }
    }
}

/// What the page says that a profile asks is what the profile asks.
#[test]
fn the_page_says_what_each_profile_asks() {
    let page = include_str!("../../../docs/console.md");
    let head = "| profile | address | version | link | core clock | CPU load |";
    let asked = rows(page, head);
    let told: Vec<&str> = asked.iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(told, NAMES);
    let tried = rows(page, "| profile | what was tested |");
    let tried: BTreeSet<&str> = tried.iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(tried, BTreeSet::from(NAMES));
    for (name, row) in NAMES.into_iter().zip(asked) {
        let profile = find(name).unwrap();
        let asks = [
            profile.address.is_some(),
            profile.asks.contains_key("version"),
            profile.asks.contains_key("link"),
            profile.asks.contains_key("core_clock"),
            profile.cpu.is_some(),
        ];
        assert_eq!(row[1..].len(), asks.len(), "{name}");
        for (cell, asks) in row[1..].iter().zip(asks) {
            assert_eq!(*cell == "yes", asks, "{name}: {cell}");
            assert!(asks || cell.starts_with('–'), "{name}: {cell}");
        }
    }
}
