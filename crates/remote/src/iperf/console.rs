//! What a board's console reports about a trial: it fills what the wire lacks, and is compared if both have a figure.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wirelab_console::profile::RunCommand;
use wirelab_console::{Number, TestFigures};
use wirelab_iperf::v2::report::ServerReport;
use wirelab_iperf::v2::server::ServerEvent;
use wirelab_iperf::v2::table::{Id, Row};
use wirelab_iperf::v2::{Amount, Leg, Mode, Outcome, Sent, Server, ServerConfig};
use wirelab_trial::{
    Cancel, Direction, Field, FlowObservation, NodeError, Observation, Warning, WarningCode,
};

use super::plan::IperfTrial;
use super::run::TestResult;

/// A flow of the board without data for this long is over.
const QUIET: Duration = Duration::from_secs(2);
/// Longest time from the end of the board's client to the end of its flow.
const AFTER: Duration = Duration::from_secs(4);
/// Most intervals that are kept of a flow.
const MOST_ROWS: usize = 100;

/// The tester's server, to which the board's client sends.
pub struct TesterServer {
    server: Server,
    log: Arc<Mutex<ServerLog>>,
}

#[derive(Default)]
struct ServerLog {
    begun: u32,
    legs: Vec<(Id, Leg)>,
    rows: Vec<Row>,
}

impl TesterServer {
    /// Listens on the port for the board's client.
    ///
    /// # Errors
    /// [`NodeError::Failed`] where the port is taken.
    pub fn start(tester: SocketAddr, plan: &IperfTrial) -> Result<TesterServer, NodeError> {
        let log = Arc::new(Mutex::new(ServerLog::default()));
        let for_server = Arc::clone(&log);
        let config = ServerConfig {
            back: false,
            quiet: QUIET,
            interval: plan.config.interval,
            options: plan.config.options,
            ..ServerConfig::default()
        };
        let server = Server::start(
            tester,
            config,
            Arc::new(move |event| {
                let mut log = for_server.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    ServerEvent::Began { .. } => log.begun += 1,
                    ServerEvent::Leg { id, leg, .. } if log.legs.len() < MOST_ROWS => {
                        log.legs.push((id, leg));
                    }
                    ServerEvent::Row(row) if log.rows.len() < MOST_ROWS => log.rows.push(row),
                    _ => {}
                }
            }),
        )
        .map_err(|trouble| {
            NodeError::Failed(format!(
                "the board's client needs an iperf server here: {trouble}; fix: end the one that runs, or name another port (iperf:HOST:PORT)"
            ))
        })?;
        Ok(TesterServer { server, log })
    }

    /// Waits for the end of the flow, and returns the longest one.
    pub fn end(self, counted: &TestFigures, cancel: &Cancel) -> Option<(Id, Leg, Vec<Row>)> {
        let begun = Instant::now();
        loop {
            let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            let over = log.begun > 0 && log.legs.len() >= log.begun as usize;
            // A client that sent nothing needs no wait.
            let none = log.begun == 0
                && (counted.bytes.is_none() || begun.elapsed() > Duration::from_secs(1));
            drop(log);
            if over || none || begun.elapsed() > AFTER || cancel.is_cancelled() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(self.server);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let legs = std::mem::take(&mut log.legs);
        let (id, leg) = legs.into_iter().max_by_key(|(_, leg)| bytes_of(leg))?;
        let rows = log
            .rows
            .iter()
            .filter(|row| row.id == id)
            .cloned()
            .collect();
        Some((id, leg, rows))
    }
}

fn bytes_of(leg: &Leg) -> u64 {
    match leg {
        Leg::TcpReceived { bytes, .. } | Leg::TcpSent { bytes, .. } => *bytes,
        Leg::UdpReceived(udp) => udp.received.bytes,
        Leg::UdpSent(sent) => sent.bytes,
    }
}

/// The tester's own part of a trial in which the board's client sends too: it only sends, for the same time.
pub fn forward_alone(own_plan: &mut IperfTrial, plan: &IperfTrial) {
    own_plan.config.mode = Mode::Forward;
    own_plan.expected = plan.expected;
    if let Some(time) = plan.expected {
        own_plan.config.amount = Amount::time(time);
    }
}

/// Adds the flow that the board's client sent.
pub fn add(result: &mut TestResult, leg: Option<(Id, Leg, Vec<Row>)>) {
    let Some((_, leg, rows)) = leg else { return };
    let id = Id::Back(1);
    result.outcome.legs.push((id, leg));
    result
        .outcome
        .rows
        .extend(rows.into_iter().map(|row| Row { id, ..row }));
}

/// The plan as the board's client runs it: in whole seconds, where it takes only those.
pub fn as_run(plan: &IperfTrial, own: &RunCommand) -> IperfTrial {
    let mut plan = plan.clone();
    if own.whole_seconds {
        let whole = plan
            .expected
            .map(|time| Duration::from_secs_f64(time.as_secs_f64().ceil().max(1.0)));
        plan.expected = whole;
    }
    plan
}

/// The result of a flow that the board's client sent.
pub fn received(
    plan: &IperfTrial,
    leg: Option<(Id, Leg, Vec<Row>)>,
    (counted, own): (&TestFigures, &RunCommand),
    started_unix_ns: u64,
    cancel: &Cancel,
) -> TestResult {
    let mut outcome = Outcome::default();
    if let Some((id, mut leg, rows)) = leg {
        if let Leg::UdpReceived(udp) = &mut leg {
            // Some clients send no final datagram; their console says that they ended.
            udp.finished |= counted.is_whole && sent_datagrams(plan, counted, own).is_some();
        }
        outcome.legs.push((id, leg));
        outcome.rows = rows;
    }
    TestResult {
        started_unix_ns,
        outcome,
        cancelled: cancel.is_cancelled(),
        on_our_connection: false,
    }
}

/// Datagrams of data that the board says it sent.
fn sent_datagrams(plan: &IperfTrial, counted: &TestFigures, own: &RunCommand) -> Option<u64> {
    let by_bytes = || {
        let bytes = counted.bytes.filter(|bytes| bytes.within == 0.0)?;
        Some((bytes.value / f64::from(plan.datagram.max(1))).round() as u64)
    };
    let all = counted.sent.or_else(by_bytes)?;
    Some(all.saturating_sub(u64::from(own.counts_final)))
}

/// Fills in the missing report of a UDP server from the counts on its console; returns whether it could.
pub fn report(result: &mut TestResult, counted: &TestFigures, own: &RunCommand) -> bool {
    let mut filled = false;
    for (_, leg) in &mut result.outcome.legs {
        let Leg::UdpSent(sent) = leg else { continue };
        if sent.report.is_none() {
            sent.report = reported(sent, counted, own);
            filled |= sent.report.is_some();
        }
    }
    filled
}

fn reported(sent: &Sent, counted: &TestFigures, own: &RunCommand) -> Option<ServerReport> {
    let size = f64::from(sent.datagram_bytes.max(1));
    // The first datagram is as long as the header of iperf.
    let longer = sent.bytes as f64 - size * sent.datagrams as f64;
    let by_bytes = || {
        Some(
            ((counted.bytes?.value - longer.max(0.0)) / size)
                .round()
                .max(0.0) as u64,
        )
    };
    let all = counted.received.or_else(by_bytes)?;
    let finals = match own.counts_final {
        true => u64::from(sent.final_tries),
        false => 0,
    };
    let arrived = all.saturating_sub(finals).min(sent.datagrams);
    Some(ServerReport {
        bytes: arrived * u64::from(sent.datagram_bytes),
        // The board's own times begin and end with its intervals.
        duration_us: sent.duration_ns / 1000,
        lost: sent.datagrams - arrived,
        out_of_order: counted.out_of_order.unwrap_or(0),
        datagrams: sent.datagrams,
        jitter_us: counted.jitter_s.map_or(0, |s| (s * 1e6) as u64),
        transit: None,
    })
}

/// Adds what the console reports about a flow that the board received.
pub fn served(
    observation: &mut Observation,
    plan: &IperfTrial,
    counted: &TestFigures,
    own: &RunCommand,
    filled: bool,
) {
    if plan.resolved.trial.direction == Direction::Both {
        // Two flows print their lines into one console.
        return;
    }
    let direction = plan.resolved.trial.direction;
    let Some(flow) = observation
        .flows
        .iter_mut()
        .find(|flow| flow.direction == direction)
    else {
        return;
    };
    put(flow, counted);
    let mut differs = Vec::new();
    if filled {
        if counted.jitter_s.is_none() {
            flow.jitter_ps = Field::absent("the board's console shows no jitter");
        }
        for name in ["reported_bytes", "reported_duration_ps"] {
            flow.counters.remove(name);
        }
        let finals = match own.counts_final {
            true => " without the final datagrams, which it counts too",
            false => "",
        };
        observation.warnings.push(Warning::new(
            WarningCode::CONSOLE_COUNT,
            format!("the datagrams that arrived were counted by the node and read from its console{finals}; the time is that of the tester's sender"),
            "nothing is wrong: the server of this board sends no report",
        ));
        return;
    }
    if plan.is_udp() {
        let reported = flow
            .counter("reported_lost")
            .zip(flow.counter("reported_datagrams"));
        if let (Some((lost, all)), Some(own_lost)) = (reported, counted.lost) {
            if own_lost != lost && counted.is_whole {
                differs.push(format!("lost datagrams: {own_lost} on the console, {lost} of {all} in the server's report"));
            }
        }
    } else if direction == Direction::Receive {
        compare(
            &mut differs,
            "received bytes",
            counted,
            flow.counter("stream_bytes"),
            "sent by the tester",
        );
    } else {
        compare(
            &mut differs,
            "sent bytes",
            counted,
            flow.counter("stream_bytes"),
            "received by the tester",
        );
    }
    warn(observation, differs);
}

/// Adds what the console reports about a flow that the board sent.
pub fn sent(
    observation: &mut Observation,
    plan: &IperfTrial,
    counted: &TestFigures,
    own: &RunCommand,
) {
    let Some(flow) = observation
        .flows
        .iter_mut()
        .find(|flow| flow.direction == Direction::Transmit)
    else {
        return;
    };
    put(flow, counted);
    let mut differs = Vec::new();
    if !plan.is_udp() {
        compare(
            &mut differs,
            "sent bytes",
            counted,
            flow.counter("stream_bytes"),
            "received by the tester",
        );
    } else if let Some(console_frames) =
        sent_datagrams(plan, counted, own).filter(|_| counted.is_whole)
    {
        let numbered = flow.sent_frames.value().copied().unwrap_or(0);
        let arrived = flow.counter("distinct_datagrams").unwrap_or(0);
        // The last datagrams may have been lost, which the numbers do not show.
        if console_frames > numbered {
            let lost = console_frames.saturating_sub(arrived);
            flow.sent_frames = Field::measured(console_frames);
            flow.loss_ratio = Field::measured(lost as f64 / console_frames as f64);
            flow.intervals.loss_ratio = None;
            flow.counters
                .insert("lost_datagrams".to_owned(), Field::measured(lost));
        }
        if console_frames != numbered {
            differs.push(format!(
                "sent datagrams: {console_frames} on the console, numbers up to {numbered} arrived"
            ));
        }
    }
    warn(observation, differs);
}

/// Adds the board's own message about a failure.
pub fn tell_failure(observation: &mut Observation, counted: &TestFigures) {
    if let Some(failure) = &counted.failure {
        let failure: String = failure.chars().filter(|c| !c.is_control()).collect();
        observation.warnings.push(Warning::new(
            WarningCode::CONSOLE_SAYS,
            format!("the board printed: {failure}"),
            "look it up in the sources of its test program; offer less, or give it more memory",
        ));
    }
}

fn compare(
    differs: &mut Vec<String>,
    what: &str,
    counted: &TestFigures,
    wire: Option<u64>,
    whose: &str,
) {
    let (Some(bytes), Some(wire), true) = (counted.bytes, wire, counted.is_whole) else {
        return;
    };
    if bytes.differs_from(wire as f64) {
        differs.push(format!(
            "{what}: {} on the console, {wire} {whose}",
            shown(bytes)
        ));
    }
}

fn shown(number: Number) -> String {
    match number.within > 0.0 {
        true => format!("{:.0} ± {:.0}", number.value, number.within),
        false => format!("{:.0}", number.value),
    }
}

fn warn(observation: &mut Observation, differs: Vec<String>) {
    if differs.is_empty() {
        return;
    }
    observation.warnings.push(Warning::new(
        WarningCode::CONSOLE_DIFFERS,
        format!("two counts differ: {}", differs.join("; ")),
        "the figures are those of the wire; docs/console.md says what boards count differently",
    ));
}

/// The counters of the console, as it printed them.
fn put(flow: &mut FlowObservation, counted: &TestFigures) {
    let whole = |number: Number| number.value.round().max(0.0) as u64;
    let ps = |s: f64| (s * 1e12).round().max(0.0) as u64;
    let values = [
        ("console_bytes", counted.bytes.map(whole)),
        ("console_duration_ps", counted.duration_s.map(ps)),
        ("console_received_datagrams", counted.received),
        ("console_lost_datagrams", counted.lost),
        ("console_sent_datagrams", counted.sent),
        ("console_out_of_order", counted.out_of_order),
    ];
    for (name, value) in values {
        if let Some(value) = value {
            flow.counters
                .insert(name.to_owned(), Field::measured(value));
        }
    }
    for (n, row) in counted.rows.iter().take(60).enumerate() {
        if let Some(bytes) = row.bytes {
            let name = format!("console_interval_{:02}_bytes", n + 1);
            flow.counters.insert(name, Field::measured(whole(bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_counts_that_differ_are_shown_both() {
        let printed = |value: f64, within: f64| TestFigures {
            bytes: Some(Number { value, within }),
            is_whole: true,
            ..TestFigures::default()
        };
        let compared = |counted: &TestFigures| {
            let mut differs = Vec::new();
            compare(
                &mut differs,
                "received bytes",
                counted,
                Some(1_193_640),
                "sent by the tester",
            );
            differs
        };
        assert!(compared(&printed(1_193_640.0, 0.0)).is_empty());
        // 1.19 MBytes, of 1024.
        assert!(compared(&printed(1_190_000.0, 10_000.0)).is_empty());
        let both = "received bytes: 1177256 on the console, 1193640 sent by the tester";
        assert_eq!(compared(&printed(1_177_256.0, 0.0)), [both]);
        // The sum of intervals lacks the data after the last of them.
        let part = TestFigures {
            is_whole: false,
            ..printed(1_000.0, 0.0)
        };
        assert!(compared(&part).is_empty());
    }
}
