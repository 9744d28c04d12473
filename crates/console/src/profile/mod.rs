//! A profile: how one operating system or demo is used through its console. `consoles/*.toml` are the built-in ones.

mod library;
mod read;

use std::collections::BTreeMap;
use std::time::Duration;

use regex_lite::Regex;

use crate::template::{Template, Values};

pub use library::{NAMES, find, text_of};
pub use read::{KNOWN, MOST_BYTES};

/// The test program on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// iperf 2, or a program with its protocol.
    Iperf,
    /// iperf3.
    Iperf3,
}

impl Program {
    /// Its name in a profile.
    pub const fn word(self) -> &'static str {
        match self {
            Program::Iperf => "iperf",
            Program::Iperf3 => "iperf3",
        }
    }

    /// The port on which its server listens if no other is given.
    pub const fn default_port(self) -> u16 {
        match self {
            Program::Iperf => 5001,
            Program::Iperf3 => 5201,
        }
    }
}

/// The part that the board plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It receives UDP.
    UdpServer,
    /// It receives TCP.
    TcpServer,
    /// It sends UDP.
    UdpClient,
    /// It sends over TCP.
    TcpClient,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [
        Role::UdpServer,
        Role::TcpServer,
        Role::UdpClient,
        Role::TcpClient,
    ];

    /// Its name in a profile.
    pub const fn word(self) -> &'static str {
        match self {
            Role::UdpServer => "udp_server",
            Role::TcpServer => "tcp_server",
            Role::UdpClient => "udp_client",
            Role::TcpClient => "tcp_client",
        }
    }

    /// Whether the board sends.
    pub const fn is_client(self) -> bool {
        matches!(self, Role::UdpClient | Role::TcpClient)
    }

    /// Whether it uses UDP.
    pub const fn is_udp(self) -> bool {
        matches!(self, Role::UdpServer | Role::UdpClient)
    }
}

/// How one system is used through its console.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name: of the file, without folder and ending.
    pub name: String,
    /// What it is for, in a line.
    pub about: String,
    /// How its shell is used; `None` where nothing can be typed.
    pub prompt: Option<Prompt>,
    /// The questions before the first prompt.
    pub login: Vec<Login>,
    /// What is typed once at the first prompt, and again after a reset.
    pub prepare: Vec<Template>,
    /// How a boot looks.
    pub boot: Boot,
    /// How its address is found and set.
    pub address: Option<Address>,
    /// Names with their values, which the user may replace.
    pub variables: Values,
    /// Lines that report an unknown command.
    pub errors: Vec<Regex>,
    /// The queries that are sent once: version, link state, core clock.
    pub asks: BTreeMap<String, ProfileQuestion>,
    /// How the CPU load is queried.
    pub cpu: Option<Cpu>,
    /// The test programs.
    pub programs: BTreeMap<Program, TestProgram>,
}

/// How a shell is used.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The end of the line under the cursor when a command may be typed.
    pub pattern: Regex,
    /// The prompt at the start of a line, to strip it.
    pub at_start: Regex,
    /// The prompt before `prepare`, where that changes it.
    pub first: Option<Regex>,
    /// The end of a command.
    pub newline: String,
    /// The key that ends a command in the foreground.
    pub interrupt: String,
    /// The key that deletes the input; empty if there is none.
    pub clear: String,
    /// Whether input is echoed.
    pub echo: bool,
    /// Columns after which this console wraps its lines; 0 if it does not.
    pub columns: usize,
    /// Longest time that a command takes until the next prompt.
    pub patience: Duration,
}

/// A question before the first prompt.
#[derive(Clone, Debug)]
pub struct Login {
    /// The end of the line under the cursor.
    pub expect: Regex,
    /// The answer.
    pub answer: Template,
    /// Whether the answer is kept out of the transcript.
    pub secret: bool,
}

/// How a boot looks.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Lines that appear in each boot and at no other time.
    pub banners: Vec<Regex>,
    /// How to boot the board again.
    pub reset: Vec<Template>,
    /// Longest time from the banner to the prompt.
    pub patience: Duration,
    /// Whether the prompt may be there before the banner.
    pub late: bool,
}

/// How the address is found and set.
#[derive(Clone, Debug)]
pub struct Address {
    /// The command that shows it.
    pub show: Template,
    /// The command that sets it, if it was not shown.
    pub set: Vec<Template>,
    /// How long a booting board may take to show it, before it is set.
    pub patience: Duration,
}

/// A query that is sent once.
#[derive(Clone, Debug)]
pub struct ProfileQuestion {
    /// The command.
    pub command: Template,
    /// A line of its answer, with the group `value`.
    pub pattern: Regex,
    /// The unit after the value.
    pub unit: String,
    /// Lines of an answer that report that this board has no such value.
    pub absent: Vec<Regex>,
}

/// How the CPU load is queried.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// The command.
    pub command: Template,
    /// The figures of its answer: either the group `percent`, or running counters in groups that begin with `busy` or
    /// `all`, and with `idle`. Figures of groups with the same beginning are added.
    pub lines: Vec<Regex>,
    /// The time over which the board averages it; zero for running counters.
    pub span: Duration,
    /// A command whose answer is the same on the tester if tester and board share one kernel.
    pub identity: Option<Template>,
}

/// A test program of the board.
#[derive(Clone, Debug, Default)]
pub struct TestProgram {
    /// How it is started in each role.
    pub runs: BTreeMap<Role, RunCommand>,
    /// The form of its lines.
    pub lines: Vec<FigureLine>,
    /// Lines that say why a test failed.
    pub failures: Vec<Regex>,
    /// What `K` means before bytes: 1000 or 1024.
    pub bytes_kilo: u32,
    /// What `K` means before bit/s.
    pub bits_kilo: u32,
}

/// How a test program is started in one role.
#[derive(Clone, Debug)]
pub struct RunCommand {
    /// The command; `None` if the board runs it without a command.
    pub start: Option<Template>,
    /// The line that reports that it is ready.
    pub ready: Option<Regex>,
    /// The line that reports that the previous run has not ended yet: the program is started again.
    pub busy: Option<Regex>,
    /// The line that reports its end.
    pub ended: Option<Regex>,
    /// What ends it.
    pub stop: Vec<Template>,
    /// Whether Ctrl-C ends it.
    pub interrupt: bool,
    /// Whether it ends after one client.
    pub once: bool,
    /// Whether a datagram to its port wakes it, so that it ends.
    pub wake: bool,
    /// Whether the prompt returns while it runs.
    pub background: bool,
    /// Whether it takes only whole seconds.
    pub whole_seconds: bool,
    /// The only size of its datagrams in bytes, if it cannot be set.
    pub datagram: Option<u32>,
    /// The rate in bit/s to set at maximum load, if it needs one.
    pub max_rate: Option<u64>,
    /// Whether its UDP server sends a report to the client.
    pub reports: bool,
    /// Whether it counts final datagrams as data: as a server all that arrive, as a client the first one.
    pub counts_final: bool,
    /// Longest time from its last datagram to its last line.
    pub patience: Duration,
}

/// The form of a line with figures.
#[derive(Clone, Debug)]
pub struct FigureLine {
    /// The line, with named groups.
    pub pattern: Regex,
    /// Its subject.
    pub of: LineOf,
    /// Whether only clients print it, or only servers.
    pub by_client: Option<bool>,
}

/// The subject of a line with figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOf {
    /// An interval or the whole test: the times say which.
    Either,
    /// The whole test.
    Total,
    /// An interval.
    Interval,
    /// A part of the test: the total is the sum of several lines.
    Part,
}

impl Profile {
    /// The run of a program in a role.
    ///
    /// # Errors
    /// Why there is none, and the existing ones.
    pub fn run(&self, program: Program, role: Role) -> Result<&RunCommand, String> {
        let runs = self.programs.get(&program).map(|program| &program.runs);
        runs.and_then(|runs| runs.get(&role)).ok_or_else(|| {
            let word = role.word();
            format!(
                "the profile {} has no [{}.{word}]; fix: leave this trial out, or add the section to a copy of the profile (wirelab console show {})",
                self.name,
                program.word(),
                self.name
            )
        })
    }

    /// The number of lines of a command's echo.
    pub fn echoed(&self) -> usize {
        usize::from(self.prompt.as_ref().is_some_and(|prompt| prompt.echo))
    }

    /// Whether a line belongs to a boot.
    pub fn is_boot(&self, line: &str) -> bool {
        self.boot.banners.iter().any(|banner| banner.is_match(line))
    }

    /// A line without the prompts before it.
    pub fn plain<'a>(&self, line: &'a str) -> &'a str {
        let mut rest = line;
        while let Some(prompt) = &self.prompt {
            match prompt.at_start.find(rest) {
                Some(found) if found.start() == 0 && found.end() > 0 => rest = &rest[found.end()..],
                _ => break,
            }
        }
        rest
    }
}
