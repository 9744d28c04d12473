//! The output of an iperf3 test: its table, its object, or one event per line; additions go to standard error.

use serde_json::{Value, json};
use wirelab_iperf::v2::table::Format;
use wirelab_iperf::v3::table::{RULER, Table};
use wirelab_iperf::v3::{
    Beginning, Interval, Parameters, ServerOutput, StreamOutcome, TestEvent, TestOutcome as Test,
    report,
};
use wirelab_report::format;

use crate::args::IperfArgs;
use crate::exit::{Failure, Fallible};
use crate::terminal::{complain, say, show_json};

/// Most bytes of its own output that a server sends to a client: half of what wirelab's client reads.
const MOST_OUTPUT: usize = 1 << 20;

/// The form of the output.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Table,
    /// One object at the end.
    Object,
    /// One event per line.
    Events,
}

/// Prints one test.
pub struct Printer {
    kind: Kind,
    format: Format,
    /// A client's prefix of each line.
    title: String,
    client: bool,
    parameters: Parameters,
    table: Option<Table>,
    headed: bool,
    /// A server's output of this test, where its client requests it.
    kept: Option<String>,
}

impl Printer {
    /// A printer for the options.
    pub fn new(args: &IperfArgs) -> Fallible<Printer> {
        Ok(Printer {
            kind: match (args.json, args.three.json_stream) {
                (true, _) => Kind::Object,
                (_, true) => Kind::Events,
                (false, false) => Kind::Table,
            },
            format: super::format(args)?,
            title: match &args.three.title {
                Some(title) => format!("{title}:  "),
                None => String::new(),
            },
            client: args.client.is_some(),
            parameters: Parameters::default(),
            table: None,
            headed: false,
            kept: None,
        })
    }

    /// Prints lines; without effect for JSON.
    pub fn line(&mut self, text: &str) {
        if self.kind != Kind::Table {
            return;
        }
        for line in text.split('\n') {
            say!("{}{line}", self.title);
            if let Some(kept) = &mut self.kept {
                if kept.len() + line.len() < MOST_OUTPUT {
                    kept.push_str(line);
                    kept.push('\n');
                }
            }
        }
    }

    fn event(&self, name: &str, data: &Value) {
        if self.kind == Kind::Events {
            say!("{}", json!({ "event": name, "data": data }));
        }
    }

    /// Prints an event of a running test.
    pub fn show(&mut self, event: TestEvent<'_>) {
        match event {
            TestEvent::Began(beginning) => self.began(&beginning),
            TestEvent::Interval(interval) => self.interval(interval),
            TestEvent::Refused { peer, why } => {
                complain(format_args!("wirelab: {peer} was not let in: {why}"));
            }
            TestEvent::OutputRequested { outcome, output } => *output = Some(self.output(outcome)),
        }
    }

    fn began(&mut self, test: &Beginning<'_>) {
        let (peer, parameters) = (test.peer, test.parameters);
        self.parameters = parameters.clone();
        self.kept = (!self.client && parameters.server_output).then(String::new);
        if !self.client {
            let (ip, port) = (peer.ip(), peer.port());
            self.line(&format!("Accepted connection from {ip}, port {port}"));
        } else if parameters.reverse {
            let ip = peer.ip();
            self.line(&format!("Reverse mode, remote host {ip} is sending"));
        }
        for ends in test.streams {
            let (local, remote) = (ends.local, ends.remote);
            self.line(&format!(
                "[{:3}] local {} port {} connected to {} port {}",
                ends.id,
                local.ip(),
                local.port(),
                remote.ip(),
                remote.port()
            ));
        }
        let (parameters, streams) = (parameters.clone(), test.streams.to_vec());
        self.table = Some(Table::new(self.format, self.client, parameters, streams));
        self.event("start", &report::start(test));
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(table) = &self.table else {
            return;
        };
        let (heading, lines) = (table.heading(), table.interval(interval));
        let streams = table.streams();
        let event = report::interval(self.client, &self.parameters, streams, interval);
        self.event("interval", &event);
        if !std::mem::replace(&mut self.headed, true) {
            self.line(&heading);
        }
        for line in lines {
            self.line(&line);
        }
    }

    /// A server's output of a finished test, for its client.
    fn output(&mut self, test: &Test) -> ServerOutput {
        if self.kind == Kind::Table {
            let before = self.kept.clone().unwrap_or_default();
            return ServerOutput::Text(before + &self.total(test).join("\n") + "\n");
        }
        let mut value = report::to_json(test);
        if value.to_string().len() > MOST_OUTPUT {
            value["intervals"] = json!([]);
        }
        ServerOutput::Json(value)
    }

    fn total(&self, test: &Test) -> Vec<String> {
        let ruler = self.headed.then(|| RULER.to_owned());
        let lines = self.table.as_ref().map(|table| table.total(test));
        ruler.into_iter().chain(lines.unwrap_or_default()).collect()
    }

    /// Prints the result of a test.
    pub fn end(&mut self, test: &Test) -> Fallible<()> {
        match self.kind {
            Kind::Object => {
                let value = report::to_json(test);
                show_json(&value)?;
            }
            Kind::Events => {
                if let Some(failure) = &test.failure {
                    self.event("error", &json!(failure));
                }
                match test.server_output() {
                    Some(ServerOutput::Text(text)) => {
                        self.event("server_output_text", &json!(text));
                    }
                    Some(ServerOutput::Json(object)) => self.event("server_output_json", object),
                    None => {}
                }
                self.event("end", &report::end(test));
            }
            Kind::Table => {
                let lines = self.total(test);
                self.line(&lines.join("\n"));
                if let Some(output) = test.server_output() {
                    say!("{}", shown(output));
                }
            }
        }
        notes(test);
        match &test.failure {
            Some(why) => Err(Failure::failed(format_args!(
                "the test failed, and the figures are those until then: {why}"
            ))),
            None => Ok(()),
        }
    }

    /// Reports that there was no test, and why, for JSON.
    pub fn no_test(&self, why: &str) {
        if self.kind == Kind::Object {
            say!("{:#}", json!({ "error": why }));
        }
        self.event("error", &json!(why));
        self.event("end", &json!({}));
    }
}

/// A server's output as a client prints it. It is from the network, so control characters are removed.
fn shown(output: &ServerOutput) -> String {
    let (name, text) = match output {
        ServerOutput::Text(text) => ("Server output", text.clone()),
        ServerOutput::Json(object) => ("Server JSON output", format!("{object:#}")),
    };
    let harmless = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = text.chars().filter(harmless).collect();
    format!("\n{name}:\n{text}")
}

/// Notes that iperf3 does not print.
fn notes(test: &Test) {
    for note in test.notes() {
        complain(format_args!("note: {note}"));
    }
    for stream in &test.streams {
        let id = stream.ends.id;
        let received = stream.counted.received;
        if received.duplicated > 0 {
            complain(format_args!(
                "[{id:3}] note: {} lost and {}: iperf3 counts a duplicate as out of order and takes it from the losses",
                received.lost,
                format::count(received.duplicated, "duplicate")
            ));
        }
        if let Some(note) = received.missed_note() {
            complain(format_args!("[{id:3}] note: {note}"));
        }
        if stream.segmented {
            complain(format_args!(
                "[{id:3}] note: segmented: the system got many datagrams in one piece, each with its own number, and the kernel or the device segments it; --no-segmentation hands them over one by one"
            ));
        }
        if test.parameters.rate_bit_s > 0 {
            pace(stream);
        }
    }
}

/// How well a sender kept the requested rate.
fn pace(stream: &StreamOutcome) {
    let id = stream.ends.id;
    let time = |ns: u64| format::time(ns.saturating_mul(1000));
    let percentile = |percent| {
        stream
            .gaps
            .as_ref()
            .and_then(|gaps| gaps.percentile(percent))
    };
    let longest = stream.gaps.as_ref().map(|gaps| gaps.max_ticks);
    let (Some(half), Some(most), Some(longest)) = (percentile(50.0), percentile(99.0), longest)
    else {
        return;
    };
    let kept = match stream.slips {
        0 => "the rate was kept",
        _ => "the sender fell behind",
    };
    complain(format_args!(
        "[{id:3}] gaps between writes: median {}, p99 {}, longest {}; {kept}",
        time(half),
        time(most),
        time(longest)
    ));
    if stream.slips > 0 {
        complain(format_args!(
            "[{id:3}] note: the sender did not keep the rate, without making up for {}; free the processors or request less",
            format::count(stream.slips, "pause")
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_steer_the_terminal() {
        let text = ServerOutput::Text("a\x1b[2J\tb\r\nc\u{9b}".to_owned());
        assert_eq!(shown(&text), "\nServer output:\na[2J\tb\nc");
        let object = ServerOutput::Json(json!({ "end": "\x1b[2J" }));
        assert!(!shown(&object).contains('\x1b'));
    }
}
