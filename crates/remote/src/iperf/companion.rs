//! The console of a board beside the tester's own iperf: for each trial it starts the board's server or client,
//! reads the CPU load meanwhile, ends the program, and repeats a trial in which the board was reset.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wirelab_console::cpu::{CpuSample, busy_ratio};
use wirelab_console::profile::{Profile, RunCommand, find};
use wirelab_console::template::Values;
use wirelab_console::{Board, ConsoleError, ConsoleName, Program, Role, Started, TestFigures};
use wirelab_trial::over_time::Cores;
use wirelab_trial::{
    BusyOverTime, Cancel, ConsoleOptions, CpuLoad, Direction, Field, Node, NodeError, Observation,
    OpenError, Progress, Status, Transcript, Trial, TrialField, Warning, WarningCode,
};

use super::plan::{self, IperfTrial};
use super::run::TestResult;
use super::{Hooks, IperfNode, console};
use crate::route::Route;

/// How often a trial is repeated because the board was reset, or its network stopped.
const REPEATS: usize = 2;
/// Seconds that a server stays up after a trial: the final datagrams take 2.5 s.
const LONGER_S: f64 = 3.0;
/// Time over which the idle baseline of the CPU load is taken.
const IDLE: Duration = Duration::from_millis(500);
/// Shares of a trial at which the CPU load is queried; an average is queried only at the second.
const COUNT_SHARES: [f64; 2] = [0.2, 0.8];
/// Least interval of the further queries between these two shares, for a board with a running counter.
const COURSE: Duration = Duration::from_secs(1);
const COURSE_STEPS: f64 = 16.0;
/// An answer may arrive this long after the end of the trial, plus a twentieth of its time.
const LATE: Duration = Duration::from_millis(20);
/// Time between two checks whether a query is due.
const LOOK: Duration = Duration::from_millis(2);

/// A board that is used through its console.
#[derive(Debug)]
pub struct Companion {
    board: Board,
    /// The busy share of its CPU without a trial.
    idle_ratio: Option<f64>,
    /// Whether its server counted nothing in the last trial.
    heard_nothing: bool,
}

/// The CPU load of a trial, or why there is none.
type Load = Result<BoardLoad, String>;

/// The load of the board over a trial, and its course if it has a running counter.
#[derive(Debug)]
struct BoardLoad {
    busy_ratio: f64,
    course: Option<BusyOverTime>,
}

/// The thread that queries the load, and then returns the board.
type LoadThread<'scope, 'board> = std::thread::ScopedJoinHandle<'scope, (&'board mut Board, Load)>;

/// Why a profile cannot be used for a program, and which program it can be used for.
fn without(program: Program, profile: &Profile) -> String {
    let (name, word) = (&profile.name, program.word());
    let fix = match profile.programs.keys().next() {
        // A node type of a peer has the name of its program.
        Some(other) => format!("measure {}:HOST", other.word()),
        None => "choose another profile (wirelab console list)".to_owned(),
    };
    format!(
        "the profile {name} does not know {word}; fix: {fix}, or add [{word}] to a copy of the profile (wirelab console show {name})"
    )
}

impl Companion {
    /// Opens the console of the board with this address, and brings it to its prompt.
    ///
    /// # Errors
    /// [`OpenError`]: the console or the profile is wrong, or the board does not answer.
    pub fn open(
        options: &ConsoleOptions,
        three: bool,
        address: IpAddr,
    ) -> Result<Companion, OpenError> {
        let name: ConsoleName = options.console.parse().map_err(OpenError::usage)?;
        let profile = find(&options.profile).map_err(OpenError::usage)?;
        // Checked before anything is typed: no trial could run.
        let program = program(three);
        if !profile.programs.contains_key(&program) {
            return Err(OpenError::usage(without(program, &profile)));
        }
        let mut board = Board::open(&name, profile, Some(address)).map_err(OpenError::failed)?;
        let cancel = Cancel::new();
        board.ready(&cancel).map_err(OpenError::failed)?;
        let idle_ratio = idle(&mut board, &cancel).map_err(OpenError::failed)?;
        Ok(Companion {
            board,
            idle_ratio,
            heard_nothing: false,
        })
    }

    /// The transcript of the console.
    pub fn transcript(&self) -> Transcript {
        self.board.transcript().clone()
    }

    /// The set-up keys that it adds.
    pub fn setup(&self) -> BTreeMap<String, String> {
        let facts = self.board.facts().iter();
        let mut setup: BTreeMap<String, String> = facts
            .map(|(name, value)| (format!("console_{name}"), value.clone()))
            .collect();
        let profile = self.board.profile().name.clone();
        setup.insert("console_profile".to_owned(), profile);
        setup
    }

    /// Runs a trial, and repeats it if the board was reset during it or its network stopped.
    ///
    /// # Errors
    /// [`NodeError`]
    pub fn run(
        &mut self,
        node: &mut IperfNode,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        node.check(trial)?;
        let mut repeats = Vec::new();
        loop {
            progress.report(0, 1, "console");
            self.board.remark(&format!("a trial: {}", in_words(trial)));
            self.heard_nothing = false;
            let ready = self.board.ready(cancel).map_err(failed);
            let mark = self.board.mark();
            let result = ready.and_then(|()| self.once(node, trial, progress, cancel));
            let why = match self.board.booted_since(mark) {
                _ if cancel.is_cancelled() => None,
                true => Some("it was reset"),
                // Some drivers stop receiving after an overload. If a repeat does not help, that is the trial's result.
                false
                    if self.heard_nothing
                        && repeats.is_empty()
                        && self.board.reset(cancel).map_err(failed)? =>
                {
                    Some("its server received nothing, and it was booted again")
                }
                false => None,
            };
            let Some(why) = why else {
                return result.map(|observation| with_repeats(observation, &repeats));
            };
            repeats.push(why);
            if repeats.len() > REPEATS {
                return Err(NodeError::Failed(format!(
                    "the board failed in each of {} tries of this trial: {} (the console's transcript has it); fix: look at its power and its watchdog, or offer less",
                    repeats.len(),
                    repeats.join(", ")
                )));
            }
            self.board.remark(&format!("the trial is repeated: {why}"));
        }
    }

    fn once(
        &mut self,
        node: &mut IperfNode,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let server = node.peer.of_layer(trial.framing.layer)?;
        let route = Route::to(server)?;
        let plan = plan_of(node, trial, server, &route)?;
        let (program, udp) = (program(node.three), trial.framing.layer.is_udp());
        let client = match udp {
            true => Role::UdpClient,
            false => Role::TcpClient,
        };
        let has_client = self.board.profile().run(program, client).is_ok();
        // iperf3 asks its server for traffic back.
        if trial.direction == Direction::Transmit && !node.three && has_client {
            return self.board_sends(node, &plan, &route, client, progress, cancel);
        }
        self.board_serves(node, trial, (&plan, &route), progress, cancel)
    }

    /// The board serves; the tester's client runs as without a console. If both send over TCP, the board's client is
    /// started beside its server.
    fn board_serves(
        &mut self,
        node: &mut IperfNode,
        trial: &Trial,
        (plan, route): (&IperfTrial, &Route),
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let role = match plan.is_udp() {
            true => Role::UdpServer,
            false => Role::TcpServer,
        };
        let program = program(node.three);
        let own = self.board.profile().run(program, role);
        let own = own
            .map_err(|why| NodeError::unsupported(TrialField::Direction, why))?
            .clone();
        let client = self.client_beside(node, trial, plan);
        let plan = &match &client {
            Some(client) => console::as_run(plan, client),
            None => plan.clone(),
        };
        let server = self.start(program, role, &values(plan, None), cancel)?;
        let mut serving = Serving {
            plan,
            server,
            back: None,
        };
        if let Some(client) = &client {
            let tester = SocketAddr::new(route.local, plan.config.server.port());
            let receiver = console::TesterServer::start(tester, plan)?;
            let values = values(plan, Some((tester, client)));
            let started = self.start(program, Role::TcpClient, &values, cancel)?;
            serving.back = Some((receiver, started));
        }
        // A new server needs no pause.
        node.unsettled_since = None;
        let ServedRun {
            observation,
            load,
            counted,
            filled,
        } = serving.run(&mut self.board, &own, node, (trial, progress, cancel));
        let counted = counted.map_err(failed)?;
        // A short test may print no line; only a failed one shows that nothing arrived.
        let has_failed = match &observation {
            Ok(observation) => matches!(observation.status, Status::Void { .. }),
            Err(_) => true,
        };
        let none = counted.bytes.is_none_or(|bytes| bytes.value == 0.0);
        self.heard_nothing = own.start.is_some() && has_failed && none;
        let mut observation = observation?;
        console::served(&mut observation, plan, &counted, &own, filled);
        console::tell_failure(&mut observation, &counted);
        put_load(&mut observation, load, self.idle_ratio, &self.board);
        Ok(observation)
    }

    /// The board's client that runs beside its server, where both send over TCP.
    fn client_beside(
        &self,
        node: &IperfNode,
        trial: &Trial,
        plan: &IperfTrial,
    ) -> Option<RunCommand> {
        let both = trial.direction == Direction::Both && !node.three && !plan.is_udp();
        let client = self.board.profile();
        let client = client.run(program(node.three), Role::TcpClient).ok();
        client.filter(|client| both && client.background).cloned()
    }

    fn start(
        &mut self,
        program: Program,
        role: Role,
        values: &Values,
        cancel: &Cancel,
    ) -> Result<Started, NodeError> {
        self.board
            .start(program, role, values, cancel)
            .map_err(failed)
    }

    /// The board's client sends to a server of the tester.
    fn board_sends(
        &mut self,
        node: &mut IperfNode,
        plan: &IperfTrial,
        route: &Route,
        role: Role,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let own = self
            .board
            .profile()
            .run(Program::Iperf, role)
            .map_err(NodeError::Failed)?
            .clone();
        check_client(plan, &own, &self.board.profile().name)?;
        let plan = console::as_run(plan, &own);
        let tester = SocketAddr::new(route.local, plan.config.server.port());
        let values = values(&plan, Some((tester, &own)));
        let receiver = console::TesterServer::start(tester, &plan)?;
        let leaving = crate::leaving::Leaving::by(route.interface.as_ref());
        let started_unix_ns = wirelab_trial::host_clock::unix_ns();
        let started = self
            .board
            .start(Program::Iperf, role, &values, cancel)
            .map_err(failed)?;
        progress.report(0, 1, "iperf");
        let expected = plan.expected;
        let over = AtomicBool::new(false);
        let load = match own.background {
            true => ask_load(&mut self.board, expected, &over, cancel),
            false => Err(format!(
                "the client of the profile {} holds the console, so nothing else can be typed meanwhile",
                self.board.profile().name
            )),
        };
        let counted = self
            .board
            .finish(&started, expected.unwrap_or_default(), cancel)
            .map_err(failed)?;
        let leg = receiver.end(&counted, cancel);
        let left = leaving.end(0);
        let result = console::received(&plan, leg, (&counted, &own), started_unix_ns, cancel);
        node.learn(&result);
        let observation = super::observe::observation(&plan, result, &left, node.describe(), route);
        let mut observation = left.judge(observation)?;
        console::sent(&mut observation, &plan, &counted, &own);
        console::tell_failure(&mut observation, &counted);
        put_load(&mut observation, load, self.idle_ratio, &self.board);
        Ok(observation)
    }
}

/// A trial in which the board serves.
struct Serving<'a> {
    plan: &'a IperfTrial,
    server: Started,
    /// The tester's server and the board's client that sends to it, where both send over TCP.
    back: Option<(console::TesterServer, Started)>,
}

/// What such a trial gave.
struct ServedRun {
    observation: Result<Observation, NodeError>,
    load: Load,
    /// The board's own figures.
    counted: Result<TestFigures, ConsoleError>,
    /// Whether the board's figures fill the place of a report.
    filled: bool,
}

impl Serving<'_> {
    /// Runs the tester's client, while a thread queries the load of the board. The board's programs end before the client's
    /// result is read where that needs their figures, otherwise behind the trial.
    fn run(
        mut self,
        board: &mut Board,
        own: &RunCommand,
        node: &mut IperfNode,
        (trial, progress, cancel): (&Trial, &dyn Progress, &Cancel),
    ) -> ServedRun {
        let (plan, is_alone) = (self.plan, self.back.is_none());
        let least = Duration::from_secs(u64::from(node.three));
        let expected = plan.expected.map(|time| time.max(least));
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let over = &over;
            let reader = scope.spawn(move || {
                let load = ask_load(board, expected, over, cancel);
                (board, load)
            });
            let mut reader = Some(reader);
            let mut end = |serving: &Serving<'_>| {
                over.store(true, Ordering::Relaxed);
                let reader: LoadThread<'_, '_> = reader.take()?;
                let (board, load) = reader
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                Some((load, serving.finish(board, cancel)))
            };
            let mut ended = None;
            let mut filled = false;
            let mut of_result = |result: &mut TestResult| {
                // Other trials have a report; then the console is only a second count.
                if own.reports && self.back.is_none() {
                    return;
                }
                ended = end(&self);
                if let Some((_, Ok(counted))) = &ended {
                    filled = console::report(result, counted, own);
                }
                if let Some((receiver, _)) = self.back.take() {
                    console::add(result, receiver.end(&TestFigures::default(), cancel));
                }
            };
            let mut of_plan = |own_plan: &mut IperfTrial| {
                if !is_alone {
                    console::forward_alone(own_plan, plan);
                }
            };
            let hooks = Hooks {
                plan: &mut of_plan,
                result: &mut of_result,
            };
            let observation = node.run_once(trial, progress, cancel, hooks);
            let ended = ended.or_else(|| end(&self));
            let (load, counted) =
                ended.unwrap_or_else(|| (Err(String::new()), Ok(TestFigures::default())));
            ServedRun {
                observation,
                load,
                counted,
                filled,
            }
        })
    }

    /// Ends the board's client and its server.
    fn finish(&self, board: &mut Board, cancel: &Cancel) -> Result<TestFigures, ConsoleError> {
        let expected = self.plan.expected.unwrap_or_default();
        let client = self.back.as_ref();
        let sent = client.map(|(_, client)| board.finish(client, expected, cancel));
        let counted = board.finish(&self.server, server_time(self.plan), cancel);
        // If the board's own client fails, the trial has failed.
        let Some(sent) = sent.transpose()? else {
            return counted;
        };
        counted.map(|counted| TestFigures {
            failure: sent.failure.or(counted.failure.clone()),
            ..counted
        })
    }
}

fn program(three: bool) -> Program {
    match three {
        true => Program::Iperf3,
        false => Program::Iperf,
    }
}

fn plan_of(
    node: &IperfNode,
    trial: &Trial,
    server: SocketAddr,
    route: &Route,
) -> Result<IperfTrial, NodeError> {
    match trial.direction {
        // An echo goes over TCP, and its plan is made where it runs.
        Direction::Echo => {
            let alike = Trial {
                direction: Direction::Receive,
                background: None,
                ..trial.clone()
            };
            plan::plan(&alike, server, route.link())
        }
        _ if node.three => {
            let plan = plan::plan(trial, server, route.link())?;
            super::three::parameters(&plan).map(|_| plan)
        }
        _ => plan::plan(trial, server, route.link()),
    }
}

/// Refuses trials that the board's client cannot run.
fn check_client(plan: &IperfTrial, own: &RunCommand, name: &str) -> Result<(), NodeError> {
    if let (true, Some(bytes)) = (plan.is_udp(), own.datagram) {
        if bytes != plan.datagram {
            let why = format!(
                "the client of the profile {name} sends only datagrams of {bytes} bytes; fix: give --datagram {bytes}"
            );
            return Err(NodeError::unsupported(TrialField::Size, why));
        }
    }
    let uses = |name: &str| own.start.as_ref().is_some_and(|start| start.uses(name));
    let paces = ["rate", "rate_kbit", "rate_mbit"].into_iter().any(uses);
    if plan.resolved.frames_per_s.is_some() && !paces && plan.is_udp() {
        let why = format!(
            "the client of the profile {name} sends as fast as it can; fix: give --load max, without --rate"
        );
        return Err(NodeError::unsupported(TrialField::Load, why));
    }
    Ok(())
}

/// The values of a trial for the typed command.
fn values(
    plan: &IperfTrial,
    client: Option<(SocketAddr, &wirelab_console::profile::RunCommand)>,
) -> Values {
    let mut values = Values::new();
    let mut put = |name: &str, value: String| values.insert(name.to_owned(), value);
    let time_s = plan.expected.map_or(1.0, |time| time.as_secs_f64());
    put("port", plan.config.server.port().to_string());
    put("bytes", plan.datagram.to_string());
    put("time", format!("{}", (time_s * 1000.0).ceil() / 1000.0));
    put("seconds", format!("{}", (time_s.ceil() as u64).max(1)));
    put("server_seconds", server_seconds(plan).to_string());
    put("interval", "1".to_owned());
    if let Some(blocks) = plan.config.length_bytes.filter(|_| !plan.is_udp()) {
        put("blocks", blocks.to_string());
    }
    let Some((tester, own)) = client else {
        return values;
    };
    put("tester", tester.ip().to_string());
    let bits_per_s = plan
        .resolved
        .frames_per_s
        .map(|rate| rate * 8.0 * f64::from(plan.datagram));
    let bits_per_s = bits_per_s.or(own.max_rate.map(|rate| rate as f64));
    if let Some(bits) = bits_per_s {
        put("rate", format!("{}", bits.round().max(1.0) as u64));
        put(
            "rate_kbit",
            format!("{}", (bits / 1e3).round().max(1.0) as u64),
        );
        put(
            "rate_mbit",
            format!("{}", (bits / 1e6).round().max(1.0) as u64),
        );
    }
    values
}

fn server_seconds(plan: &IperfTrial) -> u64 {
    let time_s = plan.expected.map_or(10.0, |time| time.as_secs_f64());
    (time_s + LONGER_S).ceil() as u64
}

/// How long a server may still take once the trial is over.
fn server_time(plan: &IperfTrial) -> Duration {
    Duration::from_secs(server_seconds(plan) + 1)
}

/// The busy share of a board without work for the tester.
fn idle(board: &mut Board, cancel: &Cancel) -> Result<Option<f64>, ConsoleError> {
    let first = match board.cpu(cancel) {
        Ok(Some(first)) => first,
        Ok(None) => return Ok(None),
        Err(ConsoleError::Failed(why)) => {
            board.remark(&why);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // An average must not include the boot.
    let span = board.profile().cpu.as_ref().map_or(IDLE, |cpu| cpu.span);
    std::thread::sleep(span.max(IDLE));
    Ok(board
        .cpu(cancel)?
        .and_then(|then| busy_ratio(Some(first), then)))
}

/// Queries the CPU load inside a trial that takes `expected` from now.
fn ask_load(
    board: &mut Board,
    expected: Option<Duration>,
    over: &AtomicBool,
    cancel: &Cancel,
) -> Load {
    let name = board.profile().name.clone();
    let Some(span) = board.profile().cpu.as_ref().map(|cpu| cpu.span) else {
        return Err(format!("the profile {name} has no query for the CPU load"));
    };
    let Some(expected) = expected else {
        let why =
            "the trial has no time, so no CPU load could be requested in it; fix: give --time";
        return Err(why.to_owned());
    };
    let counts_on = span.is_zero();
    if !counts_on && expected.mul_f64(COUNT_SHARES[1]) < span {
        return Err(format!(
            "the board shows an average that is of the trial only after {} s; fix: give --time {}s or more",
            span.as_secs_f64(),
            (span.as_secs_f64() / COUNT_SHARES[1]).ceil()
        ));
    }
    let between = expected.mul_f64(COUNT_SHARES[1] - COUNT_SHARES[0]);
    let steps = match counts_on {
        true => (between.as_secs_f64() / COURSE.as_secs_f64()).clamp(1.0, COURSE_STEPS) as u32,
        false => 0,
    };
    let begun = Instant::now();
    let mut answers: Vec<(Duration, CpuSample)> = Vec::new();
    for step in 0..=steps {
        let at = expected.mul_f64(COUNT_SHARES[1]) - between * (steps - step) / steps.max(1);
        // A board that answers late is not queried again immediately, except for the last time.
        if step > 0 && step < steps && begun.elapsed() > at {
            continue;
        }
        wait(begun + at, over, cancel);
        if over.load(Ordering::Relaxed) {
            let why = "the trial was over before the console was queried for the CPU load; fix: give a longer --time";
            return Err(why.to_owned());
        }
        let answer = match board.cpu(cancel) {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                return Err(format!(
                    "the answer of the board has no CPU load as the profile {name} reads it"
                ));
            }
            Err(error) => return Err(format!("the console gave no CPU load: {error}")),
        };
        answers.push((begun.elapsed(), answer));
    }
    let last = answers.last().map(|(at, answer)| (*at, *answer));
    // An answer after the trial counts idle time.
    let Some((_, last)) = last.filter(|(at, _)| *at <= expected.mul_f64(1.05) + LATE) else {
        let why = "the console did not answer while the trial ran, so its CPU load is unknown: a busy board answers late; fix: give a longer --time";
        return Err(why.to_owned());
    };
    let first = answers.first().filter(|_| counts_on);
    match busy_ratio(first.map(|(_, answer)| *answer), last) {
        Some(busy_ratio) => Ok(BoardLoad {
            busy_ratio,
            course: course(&answers),
        }),
        None => Err(
            "the board's time did not advance between two queries; fix: give a longer --time"
                .to_owned(),
        ),
    }
}

/// Waits until a moment, or until the trial is over.
fn wait(until: Instant, over: &AtomicBool, cancel: &Cancel) {
    while Instant::now() < until && !over.load(Ordering::Relaxed) && !cancel.is_cancelled() {
        let left = until.saturating_duration_since(Instant::now());
        std::thread::sleep(LOOK.min(left));
    }
}

/// The load from each answer to the next. The trial begins with its first arrival, apart from the time to connect.
fn course(answers: &[(Duration, CpuSample)]) -> Option<BusyOverTime> {
    let from_ns = answers.first()?.0.as_nanos() as u64;
    let slice = |pair: &[(Duration, CpuSample)]| {
        let ns = (pair[1].0 - pair[0].0).as_nanos() as u64;
        let share = busy_ratio(Some(pair[0].1), pair[1].1)?;
        Some((ns, (ns as f64 * share) as u64))
    };
    let slices: Vec<(u64, u64)> = answers.windows(2).map_while(slice).collect();
    (slices.len() > 1).then(|| BusyOverTime::new(Cores::Node, from_ns, &slices))
}

fn put_load(observation: &mut Observation, load: Load, idle_ratio: Option<f64>, board: &Board) {
    let (load, course) = match load {
        Ok(BoardLoad { busy_ratio, course }) => (Ok(busy_ratio), course),
        Err(why) => (Err(why), None),
    };
    observation.busy_over_time.extend(course);
    observation.cpu_load = match load {
        Ok(busy_ratio) => Field::measured(CpuLoad {
            busy_ratio,
            idle_baseline_ratio: idle_ratio,
            shared: board.shares_kernel(),
            interval: None,
        }),
        Err(why) => Field::absent(why),
    };
}

fn with_repeats(mut observation: Observation, repeats: &[&str]) -> Observation {
    if !repeats.is_empty() {
        observation.warnings.push(Warning::new(
            WarningCode::CONSOLE_RESET,
            format!("the board failed in this trial, as its console shows ({}); the figures are of the repeat", repeats.join(", ")),
            "look at its power and its watchdog, or offer less; the transcript in the results file has it",
        ));
    }
    observation
}

fn failed(error: ConsoleError) -> NodeError {
    match error {
        ConsoleError::Unsupported(why) => NodeError::unsupported(TrialField::Direction, why),
        ConsoleError::Failed(_) | ConsoleError::Cancelled => NodeError::Failed(error.to_string()),
    }
}

fn in_words(trial: &Trial) -> String {
    let (layer, size) = (trial.framing.layer.word(), trial.size.bytes);
    format!(
        "{layer} {}, size {size}, load {}",
        trial.direction, trial.load
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_of_the_time_between_answers() {
        let at = |ms: u64, busy: u64, idle: u64| {
            (
                Duration::from_millis(ms),
                CpuSample::Counters { busy, idle },
            )
        };
        let answers = [at(1_000, 0, 0), at(2_000, 25, 75), at(4_000, 225, 75)];
        let course = course(&answers).expect("two slices");
        assert_eq!((course.of, course.from_ns), (Cores::Node, 1_000_000_000));
        let slices: Vec<u64> = course.slice_ns.iter().copied().collect();
        let busy: Vec<u64> = course.busy_ns.iter().copied().collect();
        assert_eq!(slices, [1_000_000_000, 2_000_000_000]);
        assert_eq!(busy, [250_000_000, 2_000_000_000]);
        assert_eq!(
            super::course(&answers[..2]),
            None,
            "one slice is not a course"
        );
    }
}
