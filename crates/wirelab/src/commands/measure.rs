//! `wirelab measure`: a plan, from options or a file, run on a node; results kept from the first trial on.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use wirelab_bench::{
    Ended, Matrix, Plan, PlanOutcome, ResultsWriter, Sink, Step, WriteError, run_plan,
};
use wirelab_port::host;
use wirelab_port::pcapng::{CaptureWriter, WriterOptions};
use wirelab_ports::{PortsNode, PortsOptions, ceiling_frames_per_s};
use wirelab_report::{Format, render, summary_line, verdict};
use wirelab_trial::{Field, Observation, ResultsFile, Trial};

use crate::args::MeasureArgs;
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{Bar, cancel_on_signal, put, report_options};

/// A second: enough for a rate to three digits on any of these paths.
const DEFAULT_TIME_PS: u64 = 1_000_000_000_000;

type Asked<T> = std::result::Result<T, Failure>;

pub fn run(args: &MeasureArgs) -> Result {
    let plan = plan(args)?;
    let outputs = Outputs::of(args)?;
    let options = PortsOptions {
        path: ask::path(&args.offer.path)?,
        buffer_runs: args.buffer_runs,
        ..PortsOptions::default()
    };
    // Before the lab is made, which an early Ctrl-C would leave behind.
    let cancel = cancel_on_signal();
    let mut node = ask::node(&args.node, options, largest_payload(&plan))?;
    let capture = start_capture(args, &mut node)?;
    let bar = Bar::new();
    let mut live = Live {
        writer: outputs.writer()?,
        bar: &bar,
    };
    let mut ceiling = |trial: &Trial| match args.no_ceiling {
        true => Field::absent("not asked for (--no-ceiling)"),
        false => ceiling_frames_per_s(trial, options),
    };
    let outcome = run_plan(&mut node, &plan, &mut ceiling, &bar, &cancel, &mut live);
    bar.clear();
    node.end_capture();
    drop(node);
    // Errors of the capture come last: the results are shown and kept first.
    let captured = capture.map(super::receive::finish).transpose();
    let interrupted = !outcome.is_done();
    let nothing_asked = matches!(outcome.ended, Ended::BadPlan(_));
    // What could not be saved is still shown.
    let (file, unsaved) = match live.writer.finish(interrupted) {
        Ok(file) => (file, None),
        Err((error, file)) => (*file, Some(error)),
    };
    if !nothing_asked {
        outputs.write(&file, &plan, args)?;
    }
    match unsaved {
        Some(error) => Err(Failure::failed(error)),
        None => captured.and(finish(&file, outcome)),
    }
}

/// The plan file, or one matrix of the options.
fn plan(args: &MeasureArgs) -> Asked<Plan> {
    if let Some(path) = &args.plan {
        return Plan::load(path).map_err(Failure::usage);
    }
    let mut matrix = Matrix::new(
        "command line",
        ask::sizes(&args.size, &ask::rfc_2544_sizes()),
    );
    matrix.framings = vec![ask::framing(&args.framing)?];
    matrix.loads = parse_all(&args.load)?;
    matrix.directions = parse_all(&args.direction)?;
    matrix.ports = args.ports.clone();
    matrix.extent = ask::extent(&args.offer, DEFAULT_TIME_PS)?;
    matrix.link_bits_per_s = args
        .offer
        .rate
        .as_deref()
        .map(|r| ask::rate("--rate", r))
        .transpose()?;
    matrix.faults = ask::faults(args.offer.inject.as_deref())?;
    matrix.warmup_ps = args
        .warmup
        .as_deref()
        .map_or(Ok(0), |w| ask::time_ps("--warmup", w))?;
    matrix.repeats = args.repeat;
    if !args.buffers.is_empty() {
        matrix.buffers = parse_all(&args.buffers)?.into_iter().map(Some).collect();
    }
    Ok(Plan {
        title: None,
        node: None,
        matrices: vec![matrix],
    })
}

fn parse_all<T: std::str::FromStr>(words: &[String]) -> Asked<Vec<T>>
where
    T::Err: std::fmt::Display,
{
    words
        .iter()
        .map(|word| word.parse().map_err(Failure::usage))
        .collect()
}

/// For the MTU of a lab that is made for the plan.
fn largest_payload(plan: &Plan) -> u32 {
    let sizes = plan.matrices.iter().flat_map(|m| {
        m.framings
            .iter()
            .flat_map(|f| m.sizes.iter().filter_map(|s| s.resolve_test(*f).ok()))
    });
    sizes.map(|s| s.payload).max().unwrap_or(0)
}

fn start_capture(
    args: &MeasureArgs,
    node: &mut PortsNode,
) -> Asked<Option<Arc<Mutex<CaptureWriter>>>> {
    let Some(path) = &args.capture else {
        return Ok(None);
    };
    let options = WriterOptions::default();
    let writer = CaptureWriter::create(path, &node.capture_interfaces(), &options)
        .map_err(Failure::usage)?;
    let shared = Arc::new(Mutex::new(writer));
    node.capture_into(Arc::clone(&shared));
    Ok(Some(shared))
}

/// Where results go: one results file that is written while the plan runs, and reports at its end.
struct Outputs {
    results: Option<PathBuf>,
    reports: Vec<PathBuf>,
}

impl Outputs {
    fn of(args: &MeasureArgs) -> Asked<Outputs> {
        let mut outputs = Outputs {
            results: None,
            reports: Vec::new(),
        };
        for path in &args.output {
            match Format::of_path(path).map_err(Failure::usage)? {
                Format::Json if outputs.results.is_none() => outputs.results = Some(path.clone()),
                _ => outputs.reports.push(path.clone()),
            }
        }
        Ok(outputs)
    }

    fn writer(&self) -> Asked<ResultsWriter> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_nanos() as u64);
        let command = std::env::args().collect();
        ResultsWriter::create(
            self.results.as_deref(),
            host::environment(),
            command,
            env!("CARGO_PKG_VERSION"),
            now,
        )
        .map_err(Failure::usage)
    }

    fn write(&self, file: &ResultsFile, plan: &Plan, args: &MeasureArgs) -> Asked<()> {
        let options = report_options(plan.title.clone(), args.each_flow);
        for path in &self.reports {
            super::report::write(file, path, &options)?;
        }
        let format = if args.json {
            Format::Json
        } else {
            Format::Terminal
        };
        put!("{}", render(file, format, &options));
        if !args.json {
            super::repeats::print(&file.observations);
        }
        Ok(())
    }
}

/// Keeps each observation and tells a person at the terminal what came of it.
struct Live<'a> {
    writer: ResultsWriter,
    bar: &'a Bar,
}

impl Sink for Live<'_> {
    fn take(
        &mut self,
        step: &Step,
        observation: Observation,
    ) -> std::result::Result<(), WriteError> {
        self.bar.line(&summary_line(&observation));
        self.writer.take(step, observation)
    }
}

fn finish(file: &ResultsFile, outcome: PlanOutcome) -> Result {
    match outcome.ended {
        Ended::BadPlan(error) => return Err(Failure::usage(error)),
        Ended::Failed(error) => return Err(error.into()),
        Ended::Unsaved(error) => return Err(Failure::failed(error)),
        Ended::Interrupted => eprintln!(
            "wirelab: interrupted; {} trials were not run",
            outcome.not_run
        ),
        Ended::Done => {}
    }
    let passed = matches!(outcome.ended, Ended::Done) && file.observations.iter().all(passed);
    if !passed {
        eprintln!("wirelab: {}", verdict(file));
    }
    // What was asked and is not there is bad usage only if nothing else was asked.
    if outcome.unsupported > 0 && outcome.complete + outcome.partial + outcome.void == 0 {
        let why = file
            .observations
            .iter()
            .flat_map(|o| &o.warnings)
            .map(|w| w.text.clone());
        return Err(Failure::usage(why.collect::<Vec<_>>().join("; ")));
    }
    Ok(Outcome::of(passed))
}

/// Faults that were asked for must be found, exactly; without any the flows must be clean.
fn passed(observation: &Observation) -> bool {
    if observation.trial.faults.is_clean() {
        return observation.passed();
    }
    observation.status == wirelab_trial::Status::Complete
        && observation
            .flows
            .iter()
            .all(|flow| match (flow.sender.value(), flow.counts.value()) {
                (Some(sender), Some(counts)) => sender
                    .ledger
                    .as_ref()
                    .is_some_and(|ledger| ledger.differences(counts).is_empty()),
                _ => false,
            })
}
