//! A board behind a console and its profile: it is brought to its prompt and queried, and its test programs are started and
//! stopped.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use wirelab_trial::{Cancel, LineSource, Transcript};

use crate::console::{Console, Output, Waited};
use crate::cpu::{self, CpuSample};
use crate::figures::{TestFigures, counted};
use crate::name::ConsoleName;
use crate::profile::{Profile, ProfileQuestion, Program, Prompt, Role, RunCommand};
use crate::template::{Template, Values};

/// Silence after which a prompt without echo counts.
pub(crate) const QUIET: Duration = Duration::from_millis(100);
/// Silence after which the output of input from before the first prompt is over.
const DRAINED: Duration = Duration::from_millis(500);
/// Time within which a board that takes no input prints something after its start.
const STARTED: Duration = Duration::from_secs(3);
/// Time between two checks for an address.
const SHOWN_AGAIN: Duration = Duration::from_millis(300);
/// Time between two datagrams that wake a server.
const WAKE: Duration = Duration::from_millis(200);

/// Why a request to a board failed. Each text names the thing and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConsoleError {
    /// The console or the board failed.
    #[error("{0}")]
    Failed(String),
    /// The profile does not say how.
    #[error("{0}")]
    Unsupported(String),
    /// The user ended the run.
    #[error("the run was ended")]
    Cancelled,
}

pub(crate) type Done<T> = Result<T, ConsoleError>;

/// A board that is used through its console.
pub struct Board {
    pub(crate) console: Console,
    pub(crate) profile: Profile,
    address: Option<IpAddr>,
    /// Whether it is at its prompt, with everything prepared.
    pub(crate) is_ready: bool,
    /// Lines up to here were checked for a boot.
    looked: u64,
    /// When its console was opened, and the line of the boot that began then.
    opened: Instant,
    own_boot: Cell<Option<u64>>,
    /// The values that were queried once, and the queries without a value.
    facts: BTreeMap<String, String>,
    unread: BTreeMap<String, Unread>,
    /// Whether tester and board share one kernel.
    shares_kernel: bool,
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Board({}, {})", self.console.name(), self.profile.name)
    }
}

/// Why a query of the profile has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It was not sent, for this reason.
    NotTyped(String),
    /// The board has none, as this line of its answer says.
    Absent(String),
    /// The board printed nothing.
    Silent {
        /// What was typed.
        typed: String,
    },
    /// The profile does not read the answer.
    Unreadable {
        /// What was typed.
        typed: String,
        /// The lines of the answer.
        lines: Vec<String>,
    },
}

impl Unread {
    /// The answer to `typed`, in which the profile found no value.
    pub fn of(typed: String, lines: &[String]) -> Unread {
        let lines = lines.iter().map(|line| plain(line));
        match lines.filter(|line| !line.is_empty()).collect::<Vec<_>>() {
            lines if lines.is_empty() => Unread::Silent { typed },
            lines => Unread::Unreadable { typed, lines },
        }
    }
}

/// A line of the board for a message: without control characters, and bounded.
fn plain(line: &str) -> String {
    let line = line.trim().chars().filter(|c| !c.is_control());
    line.take(200).collect()
}

/// A test program that was started.
#[derive(Clone, Debug)]
pub struct Started {
    program: Program,
    role: Role,
    run: RunCommand,
    values: Values,
    mark: u64,
}

impl Board {
    /// Opens the console of the board with this address; without `address`, the board's address is neither found nor
    /// set.
    ///
    /// # Errors
    /// [`ConsoleError::Failed`]
    pub fn open(name: &ConsoleName, profile: Profile, address: Option<IpAddr>) -> Done<Board> {
        let transcript = Transcript::new(&name.to_string(), &profile.name);
        let console = Console::open(name, transcript).map_err(ConsoleError::Failed)?;
        Ok(Board::on(console, profile, address))
    }

    pub(crate) fn on(console: Console, profile: Profile, address: Option<IpAddr>) -> Board {
        Board {
            console,
            profile,
            address,
            is_ready: false,
            looked: 0,
            opened: Instant::now(),
            own_boot: Cell::new(None),
            facts: BTreeMap::new(),
            unread: BTreeMap::new(),
            shares_kernel: false,
        }
    }

    /// Its profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What went over its console.
    pub fn transcript(&self) -> &Transcript {
        self.console.transcript()
    }

    /// The values that were queried once, by the names of the profile.
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    /// The queries without a value, by the names of the profile.
    pub fn unread(&self) -> &BTreeMap<String, Unread> {
        &self.unread
    }

    /// Whether tester and board share one kernel, so that its CPU load is that of both.
    pub fn shares_kernel(&self) -> bool {
        self.shares_kernel
    }

    /// Puts a remark into the transcript.
    pub fn remark(&self, text: &str) {
        self.console.transcript().add(LineSource::Remark, text);
    }

    /// The number of lines that it printed so far.
    pub fn mark(&self) -> u64 {
        self.console.mark()
    }

    /// Whether it booted since a mark. The command of a console starts the board. If the prompt may come before the
    /// banner, the first banner within the time of a boot belongs to that start.
    pub fn booted_since(&self, mark: u64) -> bool {
        let output = self.console.since(mark);
        let lines = (output.from..).zip(&output.lines);
        let mut banners = lines.filter(|(_, line)| self.profile.is_boot(line));
        banners.any(|(at, _)| {
            let starts = self.profile.boot.late
                && matches!(self.console.name(), ConsoleName::Exec { .. })
                && self.opened.elapsed() < self.profile.boot.patience;
            if self.own_boot.get().is_none() && starts {
                self.own_boot.set(Some(at));
            }
            self.own_boot.get() != Some(at)
        })
    }

    /// Brings it to its prompt: logs in, prepares the shell, finds or sets the address. Nothing is done twice, unless the
    /// board booted since then.
    ///
    /// # Errors
    /// [`ConsoleError`]
    pub fn ready(&mut self, cancel: &Cancel) -> Done<()> {
        if self.booted_since(self.looked) {
            self.is_ready = false;
        }
        self.looked = self.console.mark();
        if self.is_ready {
            return Ok(());
        }
        if self.profile.prompt.is_some() {
            self.first_prompt(cancel)?;
            // Earlier input must finish first, with its own prompts.
            let mark = self.console.mark();
            let quiet = |output: &Output| (output.quiet >= DRAINED).then_some(());
            let _ = self.console.wait(mark, 10 * DRAINED, cancel, quiet);
            for template in self.profile.prepare.clone() {
                let text = self.fill(&template, &Values::new())?;
                self.command(&text, cancel)?;
            }
            self.find_address(cancel)?;
        } else if matches!(self.console.name(), ConsoleName::Exec { .. }) {
            // The command starts the board: its output must finish first.
            let left = STARTED.saturating_sub(self.opened.elapsed());
            let quiet = |output: &Output| {
                (!output.lines.is_empty() && output.quiet >= DRAINED).then_some(())
            };
            let _ = self.console.wait(0, left, cancel, quiet);
        }
        self.is_ready = true;
        // The preparation does not reset the board, so a banner in its output belongs to the start.
        self.booted_since(self.looked);
        self.looked = self.console.mark();
        if self.facts.is_empty() {
            self.ask_all(cancel)?;
        }
        Ok(())
    }

    /// Types a command, and returns the lines of its answer.
    ///
    /// # Errors
    /// [`ConsoleError`]
    pub fn command(&mut self, text: &str, cancel: &Cancel) -> Done<Vec<String>> {
        let lines = self.answer_to(text, cancel)?;
        match self.refusal(&lines) {
            Some(line) => Err(ConsoleError::Failed(format!(
                "the board answered '{line}' to '{text}'; fix: install or configure it there, or change the profile"
            ))),
            None => Ok(lines),
        }
    }

    fn answer_to(&mut self, text: &str, cancel: &Cancel) -> Done<Vec<String>> {
        let mark = self.type_line(text, cancel)?;
        let prompt = self.prompt()?.clone();
        self.prompt_after(mark, &prompt, cancel).map_err(|waited| {
            self.failed(
                waited,
                format!(
                    "'{text}' brought no prompt within {} s",
                    prompt.patience.as_secs_f64()
                ),
            )
        })?;
        Ok(self.answer(mark))
    }

    /// The line of an answer by which the board refuses a command.
    fn refusal<'a>(&self, lines: &'a [String]) -> Option<&'a String> {
        let refuses = |line: &&String| self.profile.errors.iter().any(|e| e.is_match(line));
        lines.iter().find(refuses)
    }

    pub(crate) fn prompt(&self) -> Done<&Prompt> {
        self.profile.prompt.as_ref().ok_or_else(|| {
            ConsoleError::Unsupported(format!(
                "nothing can be typed on this console: the profile {} has no [prompt]; fix: add one, or name another profile",
                self.profile.name
            ))
        })
    }

    fn answer(&self, mark: u64) -> Vec<String> {
        let output = self.console.since(mark);
        let lines = output.lines.iter().skip(self.profile.echoed());
        lines
            .map(|line| self.profile.plain(line).to_owned())
            .collect()
    }

    /// The values that every template may use.
    pub(crate) fn fill(&self, template: &Template, more: &Values) -> Done<String> {
        let mut values = self.profile.variables.clone();
        if let Some(address) = self.address {
            values.insert("address".to_owned(), address.to_string());
        }
        let prefix = values
            .get("prefix")
            .and_then(|prefix| prefix.parse::<u32>().ok());
        if let Some(prefix) = prefix.filter(|n| (1..=32).contains(n)) {
            let mask = u32::MAX << (32 - prefix);
            values.insert(
                "netmask".to_owned(),
                std::net::Ipv4Addr::from(mask).to_string(),
            );
        }
        values.extend(more.clone());
        template.fill(&values).map_err(|name| {
            ConsoleError::Unsupported(format!(
                "the profile {} needs a value for {{{name}}}; fix: --profile {},{name}=VALUE, or put the name into [ ] if it is optional",
                self.profile.name, self.profile.name
            ))
        })
    }

    pub(crate) fn failed(&self, waited: Waited, what: String) -> ConsoleError {
        let last = self.last_line();
        match waited {
            Waited::Cancelled => ConsoleError::Cancelled,
            Waited::Closed(why) => {
                let what = match self.console.name() {
                    ConsoleName::Exec { .. } => {
                        "run the command behind exec: by hand, and see why it ends"
                    }
                    _ => "check the cable and the power",
                };
                ConsoleError::Failed(format!("{why} ({last}); fix: {what}"))
            }
            Waited::TimedOut => ConsoleError::Failed(format!(
                "console {}: {what} ({last}); fix: check the prompt in the profile {} and the line (wirelab console check)",
                self.console.name(),
                self.profile.name
            )),
        }
    }

    /// What the console printed last, in words.
    fn last_line(&self) -> String {
        let output = self.console.since(self.console.mark().saturating_sub(10));
        let lines = [output.open]
            .into_iter()
            .chain(output.lines.into_iter().rev());
        let last = lines.into_iter().find(|line| !line.trim().is_empty());
        last.map_or("it printed nothing".to_owned(), |line| {
            let line: String = line.chars().filter(|c| !c.is_control()).take(100).collect();
            format!("its last line is '{line}'")
        })
    }

    fn find_address(&mut self, cancel: &Cancel) -> Done<()> {
        let Some((address, own)) = self.profile.address.clone().zip(self.address) else {
            return Ok(());
        };
        let show = self.fill(&address.show, &Values::new())?;
        let words = own.to_string();
        let end = Instant::now() + address.patience;
        while !self.shows(&show, &words, cancel)? {
            if Instant::now() < end {
                std::thread::sleep(SHOWN_AGAIN);
                continue;
            }
            if address.set.is_empty() {
                return Err(self.not_shown(&show, &words));
            }
            for template in &address.set {
                let text = self.fill(template, &Values::new())?;
                self.command(&text, cancel)?;
            }
            return match self.shows(&show, &words, cancel)? {
                true => Ok(()),
                false => Err(self.not_shown(&show, &words)),
            };
        }
        Ok(())
    }

    /// Whether the answer to a command has an address.
    fn shows(&mut self, show: &str, address: &str, cancel: &Cancel) -> Done<bool> {
        let lines = self.command(show, cancel)?;
        Ok(lines.iter().any(|line| has_word(line, address)))
    }

    fn not_shown(&self, show: &str, address: &str) -> ConsoleError {
        ConsoleError::Failed(format!(
            "the board does not show {address} after '{show}'; fix: name the address that it has, or give --profile {},interface=NAME,prefix=LENGTH",
            self.profile.name
        ))
    }

    fn ask_all(&mut self, cancel: &Cancel) -> Done<()> {
        for (name, ask) in self.profile.asks.clone() {
            match self.ask(&ask, cancel)? {
                Ok(value) => drop(self.facts.insert(name, value)),
                Err(unread) => drop(self.unread.insert(name, unread)),
            }
        }
        self.shares_kernel = self.is_same_kernel(cancel)?;
        Ok(())
    }

    fn ask(&mut self, ask: &ProfileQuestion, cancel: &Cancel) -> Done<Result<String, Unread>> {
        let typed = match self.fill(&ask.command, &Values::new()) {
            Ok(text) => text,
            Err(why) => return Ok(Err(Unread::NotTyped(why.to_string()))),
        };
        let lines = match self.answer_to(&typed, cancel) {
            Ok(lines) => lines,
            // The prompt did not return: the answer so far is all there is.
            Err(ConsoleError::Failed(why)) => {
                self.remark(&why);
                return Ok(Err(Unread::Unreadable {
                    typed,
                    lines: vec![why],
                }));
            }
            Err(error) => return Err(error),
        };
        // A board may lack the command; a value that it does not print is absent.
        if let Some(line) = self.refusal(&lines) {
            return Ok(Err(Unread::Absent(plain(line))));
        }
        let value = lines
            .iter()
            .find_map(|line| Some(plain(ask.pattern.captures(line)?.name("value")?.as_str())));
        let absent = |line: &&String| ask.absent.iter().any(|absent| absent.is_match(line));
        Ok(match value.filter(|value| !value.is_empty()) {
            Some(value) if ask.unit.is_empty() => Ok(value),
            Some(value) => Ok(format!("{value} {}", ask.unit)),
            None => Err(match lines.iter().find(absent) {
                Some(line) => Unread::Absent(plain(line)),
                None => Unread::of(typed, &lines),
            }),
        })
    }

    fn is_same_kernel(&mut self, cancel: &Cancel) -> Done<bool> {
        let Some(identity) = self
            .profile
            .cpu
            .as_ref()
            .and_then(|cpu| cpu.identity.clone())
        else {
            return Ok(false);
        };
        let Ok(own) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") else {
            return Ok(false);
        };
        let text = self.fill(&identity, &Values::new())?;
        match self.command(&text, cancel) {
            Ok(lines) => Ok(lines.iter().any(|line| line.trim() == own.trim())),
            Err(ConsoleError::Failed(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Boots the board again, as the profile says, or by starting the command of its console again; returns whether it could.
    ///
    /// # Errors
    /// [`ConsoleError`]
    pub fn reset(&mut self, cancel: &Cancel) -> Done<bool> {
        let templates = self.profile.boot.reset.clone();
        let is_command = matches!(self.console.name(), ConsoleName::Exec { .. });
        if templates.is_empty() && !is_command {
            return Ok(false);
        }
        self.remark("the board is booted again");
        for template in &templates {
            let text = self.fill(template, &Values::new())?;
            self.type_line(&text, cancel)?;
        }
        if templates.is_empty() {
            self.console.reopen().map_err(ConsoleError::Failed)?;
            self.looked = 0;
            self.opened = Instant::now();
            self.own_boot.set(None);
        }
        self.is_ready = false;
        self.ready(cancel)?;
        Ok(true)
    }

    /// Queries the CPU load; `None` if the profile has no query, or the answer has no load.
    ///
    /// # Errors
    /// [`ConsoleError`]
    pub fn cpu(&mut self, cancel: &Cancel) -> Done<Option<CpuSample>> {
        Ok(self.cpu_or_why(cancel)?.and_then(Result::ok))
    }

    /// Queries the CPU load; the inner error is an answer without a load. `None` if the profile has no query.
    ///
    /// # Errors
    /// [`ConsoleError`]
    pub fn cpu_or_why(&mut self, cancel: &Cancel) -> Done<Option<Result<CpuSample, Unread>>> {
        let Some(of) = self.profile.cpu.clone() else {
            return Ok(None);
        };
        let typed = self.fill(&of.command, &Values::new())?;
        let lines = self.command(&typed, cancel)?;
        Ok(Some(
            cpu::sample(&of, &lines).ok_or_else(|| Unread::of(typed, &lines)),
        ))
    }

    /// Starts a test program in a role, and waits until it is ready.
    ///
    /// # Errors
    /// [`ConsoleError`]
    pub fn start(
        &mut self,
        program: Program,
        role: Role,
        values: &Values,
        cancel: &Cancel,
    ) -> Done<Started> {
        let run = self
            .profile
            .run(program, role)
            .map_err(ConsoleError::Unsupported)?
            .clone();
        let mut mark = self.console.mark();
        if let Some(start) = &run.start {
            let text = self.fill(start, values)?;
            mark = self.launch(&text, &run, role, cancel)?;
            if run.background {
                let prompt = self.prompt()?.clone();
                self.prompt_after(mark, &prompt, cancel)
                    .map_err(|waited| self.failed(waited, format!("'{text}' brought no prompt")))?;
            }
        }
        Ok(Started {
            program,
            role,
            run,
            values: values.clone(),
            mark,
        })
    }

    /// Types the start of a program, and waits until it is ready; types it again if the previous one has not ended yet.
    /// Returns the mark before its answer.
    fn launch(&mut self, text: &str, run: &RunCommand, role: Role, cancel: &Cancel) -> Done<u64> {
        let waits = !run.background && !role.is_client();
        let ready = run.ready.as_ref();
        let ready = ready.or(run.ended.as_ref().filter(|_| waits));
        let end = Instant::now() + run.patience;
        loop {
            let mark = self.type_line(text, cancel)?;
            let Some(ready) = ready else { return Ok(mark) };
            let profile = &self.profile;
            let wrong = |line: &str| profile.errors.iter().any(|error| error.is_match(line));
            let found = self.console.wait(mark, run.patience, cancel, |output| {
                let lines = output.lines.iter().skip(profile.echoed());
                let mut lines = lines.map(|line| profile.plain(line));
                lines
                    .find(|line| wrong(line) || ready.is_match(line))
                    .map(str::to_owned)
            });
            let line = found.map_err(|waited| {
                self.failed(waited, format!("'{text}' did not report that it is ready"))
            })?;
            if !wrong(&line) {
                return Ok(mark);
            }
            let is_busy = run.busy.as_ref().is_some_and(|busy| busy.is_match(&line));
            if !is_busy || Instant::now() >= end {
                return Err(ConsoleError::Failed(format!(
                    "the board answered '{line}' to '{text}'; fix: install or configure it there, or change the profile"
                )));
            }
            std::thread::sleep(WAKE);
        }
    }

    /// Waits until a program ended, or ends it, and returns what it counted. `expected` is the time that
    /// it may still take.
    ///
    /// # Errors
    /// [`ConsoleError`]
    pub fn finish(
        &mut self,
        started: &Started,
        expected: Duration,
        cancel: &Cancel,
    ) -> Done<TestFigures> {
        let run = &started.run;
        let alone = started.role.is_client()
            || run.once
            || run
                .start
                .as_ref()
                .is_none_or(|start| start.uses("server_seconds"))
            || (run.stop.is_empty() && !run.interrupt);
        let mut over = false;
        if alone {
            over = self.until_over(started, expected + run.patience, cancel)?;
        }
        if !over && run.start.is_some() {
            over = self.end(started, cancel)?;
        }
        if !over {
            self.remark("the program did not report its end");
        }
        // Waits for the prompt, so that the next command finds it.
        if run.start.is_some() && !run.background {
            let prompt = self.prompt()?.clone();
            let _ = self.prompt_after(started.mark, &prompt, cancel);
        }
        Ok(self.counted(started))
    }

    /// Ends a program that still runs.
    ///
    /// # Errors
    /// [`ConsoleError`], also where it does not end.
    pub fn stop(&mut self, started: &Started, cancel: &Cancel) -> Done<()> {
        match self.end(started, cancel)? || started.run.ended.is_none() {
            true => Ok(()),
            false => Err(ConsoleError::Failed(format!(
                "it was started and did not report its end within {} s; fix: check stop, interrupt and ended in the profile {}",
                started.run.patience.as_secs_f64(),
                self.profile.name
            ))),
        }
    }

    /// Types the end of a program; returns whether it reported that it ended.
    fn end(&mut self, started: &Started, cancel: &Cancel) -> Done<bool> {
        let run = &started.run;
        for template in &run.stop {
            let text = self.fill(template, &started.values)?;
            let mark = self.type_line(&text, cancel)?;
            let prompt = self.prompt()?.clone();
            let _ = self.prompt_after(mark, &prompt, cancel);
        }
        if run.interrupt {
            let key = self.prompt()?.interrupt.clone();
            self.console
                .send(key.as_bytes(), Duration::ZERO)
                .map_err(ConsoleError::Failed)?;
        }
        // This server checks for its end only when something arrives.
        if run.wake {
            self.wake(started);
        }
        self.until_over(started, run.patience, cancel)
    }

    /// What a program printed so far.
    pub fn counted(&self, started: &Started) -> TestFigures {
        counted(
            &self.console.since(started.mark).lines,
            &self.profile,
            started.program,
            started.role,
        )
    }

    /// Waits until a program ended, and wakes its server if needed; returns whether it ended.
    fn until_over(&mut self, started: &Started, longest: Duration, cancel: &Cancel) -> Done<bool> {
        let run = &started.run;
        let end = Instant::now() + longest;
        // Where nothing was typed there is no echo.
        let echoed = run.start.as_ref().map_or(0, |_| self.profile.echoed());
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let profile = &self.profile;
            let ended = self
                .console
                .wait(started.mark, left.min(WAKE), cancel, |output| {
                    let over = match &run.ended {
                        Some(ended) => output
                            .lines
                            .iter()
                            .skip(echoed)
                            .any(|line| ended.is_match(profile.plain(line))),
                        None => {
                            counted(&output.lines, profile, started.program, started.role).is_whole
                                && output.quiet >= QUIET
                        }
                    };
                    over.then_some(())
                });
            match ended {
                Ok(()) => return Ok(true),
                Err(Waited::Cancelled) => return Err(ConsoleError::Cancelled),
                Err(Waited::Closed(why)) => {
                    return Err(self.failed(Waited::Closed(why), String::new()));
                }
                Err(Waited::TimedOut) if left.is_zero() => return Ok(false),
                Err(Waited::TimedOut) => {}
            }
            if self
                .profile
                .boot
                .banners
                .iter()
                .any(|_| self.booted_since(started.mark))
            {
                return Ok(false);
            }
            if run.wake && self.counted(started).is_whole {
                self.wake(started);
            }
        }
    }

    /// Sends a datagram to the server's port, or connects to it: some check for their end only when something
    /// arrives.
    fn wake(&self, started: &Started) {
        let port = started
            .values
            .get("port")
            .and_then(|port| port.parse().ok());
        let (Some(port), Some(address)) = (port, self.address) else {
            return;
        };
        if started.role == Role::TcpServer {
            let _ = TcpStream::connect_timeout(&SocketAddr::new(address, port), WAKE);
            return;
        }
        let any: IpAddr = match address {
            IpAddr::V4(_) => [0u8; 4].into(),
            IpAddr::V6(_) => [0u16; 8].into(),
        };
        if let Ok(socket) = UdpSocket::bind(SocketAddr::new(any, 0)) {
            let _ = socket.send_to(&[0; 12], SocketAddr::new(address, port));
        }
    }
}

/// Whether a line has an address that is not a part of another.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        // "inet addr:10.0.0.1" has a colon before it.
        before.is_none_or(|c| !c.is_ascii_digit() && c != '.')
            && after.is_none_or(|c| !part(c) || c == ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_no_part_of_another() {
        for (line, has) in [
            ("\tinet addr:10.77.0.2 DRaddr:10.77.0.1", true),
            ("2: eth0    inet 10.77.0.2/24 brd", true),
            ("inet 10.77.0.20/24", false),
            ("inet 110.77.0.2/24", false),
            ("ethip: 10.77.0.2, mask:", true),
        ] {
            assert_eq!(has_word(line, "10.77.0.2"), has, "{line}");
        }
    }
}
