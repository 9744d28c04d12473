//! Writes the node file: each path with its fitted stages, and the source of every figure.

use std::fmt::Write;

use wirelab_config::quoted;
use wirelab_trial::explanation::FastTrackGain;
use wirelab_trial::stage::{CapturePoint, StageName};
use wirelab_trial::{Direction, Path, SeriesName, format};

use super::calibrations::calibrations;
use super::chain::{Chain, ChainStage};
use super::figures::{Prefix, Report};
use super::gather::{FitPoint, Gathered, PathKey};
use super::paths::PathFit;
use super::shape::{Class, Law, Role, median};
use super::stages::key_of;
use super::text::{Text, short};
use super::{FitOptions, Fitted, LOST_BEFORE};

/// Frames in flight where the data give no number: enough for every stage to have one.
const IN_FLIGHT: u32 = 64;
/// Descriptors of a receive ring where the data give no number.
const RING: u32 = 32;
/// How far the clock of a link may be off (IEEE 802.3, e.g. 40.6.1.2.6 for 1000BASE-T).
const LINK_CLOCK: f64 = 100e-6;
/// Most keys copied from the node's description.
const MAX_SETUP: usize = 64;
/// Trials of all paths that are written because something was fitted to them: more do not fit into a node file.
const MOST_TRAINED: usize = 1_000;
/// The source of a figure that is from the results.
pub(super) const FROM_RESULTS: &str = "calibrated_from = \"results\"";

/// The text of the node file.
pub(super) fn write(
    paths: &[PathFit],
    gathered: &Gathered,
    options: &FitOptions,
    report: &mut Report,
) -> String {
    let mut out = Text(String::new());
    let said: Vec<&PathFit> = paths.iter().filter(|w| w.says_something()).collect();
    head(&mut out, &said, gathered, options);
    let assumed = assumed(&said, report);
    if let Some(bits_per_s) = gathered.link_bits_per_s {
        report.parameters.push(Fitted {
            name: "link-rate".to_owned(),
            value: bits_per_s as f64,
            unit: "bit/s".to_owned(),
            how: "the link of the trials; IEEE 802.3 lets its clock be off by 100 ppm".to_owned(),
            plus_minus: [("link-clock".to_owned(), LINK_CLOCK * bits_per_s as f64)].into(),
            ..Fitted::default()
        });
    }
    for fitted in &report.parameters {
        let interval = fitted.interval.map_or_else(String::new, |i| {
            format!(
                "; {} to {} at {} %",
                digits(i.low),
                digits(i.high),
                digits(100.0 * i.confidence)
            )
        });
        out.line(&format!("[parameter.{}]", fitted.name));
        out.line(&format!("value = {}", digits(fitted.value)));
        out.line(&format!("unit = {}", quoted(&fitted.unit)));
        out.line(FROM_RESULTS);
        if !fitted.plus_minus.is_empty() {
            let causes = fitted.plus_minus.iter();
            let causes = causes.map(|(cause, by)| format!("{cause} = {}", digits(*by)));
            let causes: Vec<String> = causes.collect();
            out.line(&format!("plus_minus = {{ {} }}", causes.join(", ")));
        }
        out.line(&format!(
            "about = {}\n",
            quoted(&format!("{}{interval}", fitted.how))
        ));
    }
    out.0.push_str(&assumed);
    if gathered.link_bits_per_s.is_some() {
        out.line("[link]\nrate = \"link-rate\"\n");
    }
    resources(&mut out, &said);
    let wired = gathered.link_bits_per_s.is_some();
    let directions = [("transmit", "tx"), ("receive", "rx")];
    for (_, short) in directions
        .iter()
        .filter(|d| said.iter().any(|w| w.key.direction() == d.0))
    {
        out.line(&format!("[stage.wire-{short}]"));
        if wired {
            out.line(&format!("resource = \"wire-{short}\""));
            out.line("cost = [{ bytes = \"link\", at = \"link\" }]");
        }
        out.line("source = \"IEEE 802.3: preamble, frame, gap\"\n");
    }
    if said.iter().any(|w| w.has_ring()) {
        out.line("[stage.take-descriptor]");
        out.line("on_missing = \"drop\"");
        out.line("source = \"assumed: a frame that finds no free descriptor is lost\"\n");
    }
    for fit in &said {
        stages_and_paths(&mut out, fit);
    }
    past_the_stack(&mut out, &said);
    if said.iter().any(|w| w.may_lose_before()) {
        out.line(&format!(
            "[arrivals]\nlost_before = {}\n",
            quoted(LOST_BEFORE)
        ));
    }
    if said.iter().any(|w| w.raised_to_bytes().is_some()) {
        out.line("[tool]\nmin_datagram = \"minimum-datagram\"");
    }
    out.0.trim_end().to_owned() + "\n"
}

fn head(out: &mut Text, said: &[&PathFit], gathered: &Gathered, options: &FitOptions) {
    let name = key_of(options.name.as_deref().unwrap_or(&gathered.node));
    let file = short(&options.file);
    out.line(&format!(
        "# Fitted by wirelab to {}. What each figure comes from: docs/fit.md.",
        file.escape_default()
    ));
    out.line(&format!("name = {}", quoted(&name)));
    let node = short(&gathered.node);
    out.line(&format!(
        "title = {}",
        quoted(&format!("{node}, fitted to {file}"))
    ));
    out.line(&format!(
        "source = {}",
        quoted(&format!("observations of {file}"))
    ));
    out.line(&format!("ports = {}", gathered.ports.clamp(1, 64)));
    out.line(&format!(
        "max_frame = {}\n",
        gathered.max_frame_bytes.clamp(1518, 9216)
    ));
    out.line("[setup]");
    for (key, value) in gathered.setup.iter().take(MAX_SETUP) {
        out.line(&format!(
            "{} = {}",
            quoted(&short(key)),
            quoted(&short(value))
        ));
    }
    out.line("\n[calibration.results]");
    out.line(&format!(
        "what = {}\n",
        quoted(&format!(
            "{} of {file}",
            format::count(gathered.points.len() as u64, "observation")
        ))
    ));
    let linked = gathered.link_bits_per_s.is_some();
    said.iter()
        .for_each(|fit| calibrations(out, fit, &file, linked, MOST_TRAINED / said.len()));
}

/// Parameters that no observation gives: assumed values, and their text.
fn assumed(said: &[&PathFit], report: &mut Report) -> String {
    let mut out = String::new();
    let mut add = |name: &str, value: u32, unit: &str, source: &str| {
        let _ = writeln!(
            out,
            "[parameter.{name}]\nvalue = {value}\nunit = {}\nsource = {}\n",
            quoted(unit),
            quoted(source)
        );
    };
    if said.iter().any(|w| !w.key.receive) {
        add(
            "in-flight",
            IN_FLIGHT,
            "frames",
            "assumed: enough that no stage waits for a free descriptor",
        );
    }
    if said.iter().any(|w| w.has_ring() && w.ring.is_none()) {
        add(
            "assumed-ring",
            RING,
            "descriptors",
            "assumed: the observations do not show how deep the ring is",
        );
        report.notes.push(format!(
            "a receive ring of {RING} descriptors is assumed: it changes when loss begins, not how much is lost in long overload"
        ));
    }
    if said.iter().any(|w| w.may_lose_before()) {
        add(
            LOST_BEFORE,
            0,
            "%",
            "assumed: every frame reaches the node; where the CPU has time left and frames are lost, set their share",
        );
    }
    let raised = said.iter().find_map(|w| w.raised_to_bytes());
    if let Some(bytes) = raised {
        report.parameters.push(Fitted {
            name: "minimum-datagram".to_owned(),
            value: bytes,
            unit: "B".to_owned(),
            how: "the size that puts the smallest datagrams on the line of the larger".to_owned(),
            ..Fitted::default()
        });
    }
    out
}

fn resources(out: &mut Text, said: &[&PathFit]) {
    let mut declare = |name: &str, per_port: bool, about: &str| {
        out.line(&format!("[resource.{name}]\nabout = {}", quoted(about)));
        out.line(if per_port { "per_port = true\n" } else { "" });
    };
    if said.iter().any(|w| w.load.is_some()) {
        declare("cpu", false, "what the node's CPU load is of");
    }
    if said.iter().any(|w| w.period.is_some() && !w.cpu_limited) {
        declare(
            "server",
            false,
            "what limits frames/s at maximum load; the observations cannot say what it is",
        );
    }
    let works = |resource| {
        let mut stages = said
            .iter()
            .filter_map(|w| w.chain.as_ref())
            .flat_map(|c| &c.stages);
        stages.any(|s| s.work.resource() == Some(resource))
    };
    if works("cpu-driver") {
        declare(
            "cpu-driver",
            false,
            "the CPU that serves the interrupt: driver and stack; where the application runs on the same one, set the \
             resource of its stages to this",
        );
    }
    if works("cpu-application") {
        declare("cpu-application", false, "the CPU of the application");
    }
    for short in ["tx", "rx"] {
        declare(&format!("wire-{short}"), true, "the link");
    }
}

/// Six significant digits: more than any interval justifies, and enough to give the same picoseconds again.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let places = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Largest sizes of all classes but the last.
fn ends(fit: &PathFit) -> Vec<Option<u32>> {
    let judged = [&fit.period, &fit.load].into_iter().flatten();
    let mut ends: Vec<u32> = judged
        .flat_map(|j| {
            j.model
                .shape
                .classes
                .windows(2)
                .map(|pair| pair[1].from_bytes as u32 - 1)
        })
        .collect();
    ends.extend(
        fit.limit_unknown_to()
            .filter(|end| (1..u32::MAX).contains(end)),
    );
    ends.sort_unstable();
    ends.dedup();
    ends.into_iter().map(Some).chain([None]).collect()
}

/// The stages of a path, and a `[[path]]` for each class of sizes.
pub(super) fn stages_and_paths(out: &mut Text, fit: &PathFit) {
    let name = fit.key.name();
    // Where the CPU is the limit, its stage costs the period; else the model would be faster than the measurement.
    let (cpu, server) = if fit.cpu_limited {
        (&fit.period, &None)
    } else {
        (&fit.load, &fit.period)
    };
    let cpu_part = if fit.cpu_limited { "period" } else { "cpu" };
    let mut tail = Vec::new();
    let batch = fit
        .load
        .as_ref()
        .filter(|j| j.model.shape.batches_per_s.is_some() && !fit.cpu_limited);
    if let Some(judged) = batch {
        let prefix = Prefix {
            path: &name,
            part: "cpu",
            figure: "",
        };
        let stage = format!("{name}-interrupt");
        out.line(&format!(
            "[stage.{stage}]\nresource = \"cpu\"\n{FROM_RESULTS}"
        ));
        out.line("about = \"a cost for each batch; the observations do not show where on the path it arises\"");
        out.line(&format!(
            "cost = [{{ constant = {} }}]",
            quoted(&prefix.name(Role::Batch, &judged.model))
        ));
        out.line(&format!("paced = {}\n", quoted(&prefix.pacing())));
        tail.push(stage);
    }
    for stage in &fit.stages {
        delay(out, &name, stage, fit.key.size());
        tail.push(format!("{name}-{}", stage.key));
    }
    let ahead = chain_stages(out, fit, &name);
    for (i, end) in ends(fit).iter().enumerate() {
        let mut busy = Vec::new();
        for (judged, part, resource) in [(cpu, cpu_part, "cpu"), (server, "period", "server")] {
            let Some(judged) = judged else { continue };
            let bytes = end.map_or(f64::INFINITY, f64::from);
            let class = class_at(&judged.model.shape.classes, bytes);
            let prefix = Prefix {
                path: &name,
                part,
                figure: "",
            };
            let stage = format!("{name}-{resource}{}", suffix(i));
            out.line(&format!(
                "[stage.{stage}]\nresource = \"{resource}\"\n{FROM_RESULTS}"
            ));
            let packet = prefix.name(Role::Packet(class), &judged.model);
            let byte = prefix.name(Role::Byte(class), &judged.model);
            let has_byte = judged.model.shape.classes[class].law == Law::Line;
            out.line(&format!(
                "{}\n",
                cost(&packet, has_byte.then_some(&byte), fit.key.size())
            ));
            busy.push(stage);
        }
        path(out, fit, &name, (i, *end), [&busy, &ahead, &tail]);
    }
}

/// The class of a size: each class reaches to the smallest size of the next.
fn class_at(classes: &[Class], bytes: f64) -> usize {
    let later = classes.iter().rposition(|c| c.from_bytes <= bytes);
    later.unwrap_or(0)
}

fn cost(packet: &str, byte: Option<&String>, size: &str) -> String {
    let constant = format!("{{ constant = {} }}", quoted(packet));
    let bytes = byte.map_or_else(String::new, |byte| {
        format!(", {{ bytes = {}, at = {} }}", quoted(size), quoted(byte))
    });
    format!("cost = [{constant}{bytes}]")
}

fn delay(out: &mut Text, name: &str, stage: &super::stages::StageFit, size: &str) {
    let parameter = |what: &str| format!("{name}-{}-{what}", stage.key);
    out.line(&format!("[stage.{name}-{}]\n{FROM_RESULTS}", stage.key));
    out.line(&format!(
        "about = {}",
        quoted(&format!(
            "the series {}, a pure delay after all others",
            short(&stage.point.to_string())
        ))
    ));
    let byte = stage.has_byte.then(|| parameter("byte"));
    out.line(&cost(&parameter("packet"), byte.as_ref(), size));
    if stage.sigma_ns > 0.0 {
        out.line(&format!(
            "spread = {{ normal = {} }}",
            quoted(&parameter("sigma"))
        ));
    }
    out.line("");
}

/// The stages named after their points. They hold the CPU that works, except where rates and loads already gave the
/// CPU's work: there they are delays, or it would be counted twice.
fn chain_stages(out: &mut Text, fit: &PathFit, name: &str) -> Vec<String> {
    let mut names = Vec::new();
    let counted = fit.period.is_some() || fit.load.is_some();
    for stage in fit.chain.iter().flat_map(|c| &c.stages) {
        let parameter = |what: &str| format!("{name}-{}-{what}", stage.key);
        out.line(&format!("[stage.{name}-{}]\n{FROM_RESULTS}", stage.key));
        if let Some(resource) = stage.work.resource().filter(|_| !counted) {
            out.line(&format!("resource = {}", quoted(resource)));
        }
        let about = format!(
            "the series {} to {}: {}",
            short(&stage.from),
            short(&stage.to),
            stage.work.in_words()
        );
        out.line(&format!("about = {}", quoted(&about)));
        let byte = stage.byte_ns.map(|_| parameter("byte"));
        out.line(&cost(&parameter("packet"), byte.as_ref(), fit.key.size()));
        if stage.sigma_ns > 0.0 {
            out.line(&format!(
                "spread = {{ normal = {} }}",
                quoted(&parameter("sigma"))
            ));
        }
        out.line("");
        names.push(format!("{name}-{}", stage.key));
    }
    names
}

fn path(
    out: &mut Text,
    fit: &PathFit,
    name: &str,
    (index, end): (usize, Option<u32>),
    [busy, ahead, tail]: [&[String]; 3],
) {
    let wire = if fit.key.receive {
        "wire-rx"
    } else {
        "wire-tx"
    };
    let mut stages: Vec<String> = busy.to_vec();
    if fit.has_ring() {
        stages.splice(0..0, [wire.to_owned(), "take-descriptor".to_owned()]);
    } else if fit.chain.is_some() && fit.key.receive {
        stages.insert(0, wire.to_owned());
    } else {
        stages.extend_from_slice(ahead);
        stages.push(wire.to_owned());
    }
    let before_tail = stages.clone();
    if fit.key.receive {
        stages.extend_from_slice(ahead);
    }
    stages.extend_from_slice(tail);
    out.line("[[path]]");
    out.line(&format!(
        "name = {}",
        quoted(&format!("{name}{}", suffix(index)))
    ));
    out.line(&format!("layer = [{}]", quoted(fit.key.layer())));
    out.line(&format!("direction = {}", quoted(fit.key.direction())));
    if let Some(buffers) = fit.key.buffers() {
        out.line(&format!("buffers = [{}]", quoted(&buffers.to_string())));
    }
    if let Some(chain) = &fit.chain {
        chosen_by(out, fit, chain);
    }
    if let Some(end) = end {
        out.line(&format!("up_to = {end}"));
    }
    let last = end.unwrap_or(u32::MAX);
    if fit
        .limit_unknown_to()
        .is_some_and(|unknown| last <= unknown)
    {
        out.line("limit = \"unknown\"");
    }
    let listed: Vec<String> = stages.iter().map(|s| quoted(s)).collect();
    out.line(&format!(
        "stages = [{}]\nwire = {}",
        listed.join(", "),
        quoted(wire)
    ));
    load_line(out, fit, name);
    room(out, fit, name, &before_tail);
    points(out, fit, name);
    if let Some(chain) = &fit.chain {
        chain_points(out, fit, name, chain);
    }
    out.line("");
}

/// The keys that select the path for a trial. The defaults are the stack and an application that sleeps.
fn chosen_by(out: &mut Text, fit: &PathFit, chain: &Chain) {
    let first = chain.trials.first();
    let key = fit.key;
    out.line(&format!("path = {}", quoted(&key.path().to_string())));
    // No application waits for frames that the node sends.
    if key.receive || first.is_some_and(|t| t.wait.is_some()) {
        out.line(&format!("wait = {}", quoted(&key.wait().to_string())));
    }
    if key.receive && key.spins {
        out.line("busy_wait = true");
    }
}

/// Points of the whole path, and of the part between driver and application.
fn chain_points(out: &mut Text, fit: &PathFit, name: &str, chain: &Chain) {
    let inside = chain.inside(fit.key.receive);
    let mut spans = vec![&chain.stages[..]];
    if inside.len() < chain.stages.len() {
        spans.push(inside);
    }
    for span in spans {
        if let (Some(first), Some(last)) = (span.first(), span.last()) {
            point(out, name, (first, last));
        }
    }
}

/// The head of a capture point: its name, or the points of a stage.
fn point_name(out: &mut Text, name: &SeriesName) {
    let name = match name.points() {
        Some(StageName { from, to }) => {
            format!(
                "between = [{}, {}]",
                quoted(&short(from)),
                quoted(&short(to))
            )
        }
        None => format!("name = {}", quoted(&short(&name.to_string()))),
    };
    out.line(&format!("[[path.point]]\n{name}"));
}

fn point(out: &mut Text, name: &str, (first, last): (&ChainStage, &ChainStage)) {
    point_name(out, &SeriesName::stage(&*first.from, &*last.to));
    let start = format!("{name}-{} start", first.key);
    let end = format!("{name}-{} end", last.key);
    out.line(&format!("from = {}\nto = {}", quoted(&start), quoted(&end)));
}

/// Descriptors: on transmit they hold the first stage back, on receive frames wait in them or are lost.
fn room(out: &mut Text, fit: &PathFit, name: &str, stages: &[String]) {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
        return;
    };
    let (to, tokens) = match (fit.key.receive, fit.ring) {
        (true, _) if !fit.has_ring() => return,
        (true, Some(_)) => ("take-descriptor", format!("{name}-ring")),
        (true, None) => ("take-descriptor", "assumed-ring".to_owned()),
        (false, _) => (first.as_str(), "in-flight".to_owned()),
    };
    out.line("[[path.room]]\nname = \"descriptors\"");
    out.line(&format!("from = {}\nto = {}", quoted(last), quoted(to)));
    out.line(&format!("tokens = {}", quoted(&tokens)));
}

fn load_line(out: &mut Text, fit: &PathFit, name: &str) {
    let Some(load) = &fit.load else { return };
    let idle = if load.model.shape.idle || fit.baseline.is_some() {
        format!(", idle = {}", quoted(&format!("{name}-idle")))
    } else {
        String::new()
    };
    out.line(&format!("load = {{ resource = \"cpu\"{idle} }}"));
}

/// A point for each series, from the start of the first one if the series are times from there.
fn points(out: &mut Text, fit: &PathFit, name: &str) {
    for stage in &fit.stages {
        let from = fit
            .stages
            .first()
            .filter(|_| stage.from_start)
            .unwrap_or(stage);
        point_name(out, &stage.point);
        out.line(&format!(
            "from = {}",
            quoted(&format!("{name}-{} start", from.key))
        ));
        out.line(&format!(
            "to = {}",
            quoted(&format!("{name}-{} end", stage.key))
        ));
    }
}

fn suffix(index: usize) -> String {
    if index == 0 {
        String::new()
    } else {
        format!("-{}", index + 1)
    }
}

/// The points of a received frame from the driver on, in order.
const ORDER: [CapturePoint; 6] = [
    CapturePoint::DRIVER,
    CapturePoint::STACK,
    CapturePoint::SOCKET,
    CapturePoint::COPY,
    CapturePoint::CALL,
    CapturePoint::APPLICATION,
];
/// The points between which the frame waits in the socket's queue for the application.
const WAIT: (&str, &str) = (CapturePoint::SOCKET.word(), CapturePoint::COPY.word());

/// Whether a received frame on the fast track skips this stage: the stage lies behind the driver and is not the wait
/// for the application, which every path has.
fn is_skipped(stage: &ChainStage) -> bool {
    let order_of = |point: &str| ORDER.iter().position(|p| p.word() == point);
    let wait = (order_of(WAIT.0), order_of(WAIT.1));
    match (order_of(&stage.from), order_of(&stage.to)) {
        (Some(from), Some(to)) => !(Some(from) <= wait.0 && Some(to) >= wait.1),
        _ => false,
    }
}

/// Whether this is the stack's path with stages that a fast track skips and a stage that it keeps.
fn may_be_skipped(fit: &PathFit) -> Option<&Chain> {
    let chain = fit.chain.as_ref()?;
    let inside = chain.inside(true);
    let skips = inside.iter().any(is_skipped) && !inside.iter().all(is_skipped);
    (fit.key.receive && fit.key.path() == Path::Stack && skips).then_some(chain)
}

/// The alternative that leaves the skipped stages out, for `whatif`.
pub(super) fn past_the_stack(out: &mut Text, said: &[&PathFit]) {
    let mut left_out = Vec::new();
    for fit in said {
        let stages = may_be_skipped(fit).into_iter().flat_map(|c| c.inside(true));
        let name = fit.key.name();
        left_out.extend(
            stages
                .filter(|s| is_skipped(s))
                .map(|s| format!("{} = \"\"", quoted(&format!("{name}-{}", s.key)))),
        );
    }
    if left_out.is_empty() {
        return;
    }
    out.line("[[alternative]]\nname = \"past-the-stack\"");
    out.line(
        "what = \"a fast track: the frame is handed over in the driver, at no cost of its own, and the stack's stages \
         are left out\"",
    );
    out.line(&format!("replace = {{ {} }}\n", left_out.join(", ")));
}

/// The gain at each size: the skipped part of the stack's stages, and the measurement on the fast track with the same
/// wait.
pub(super) fn gains(
    paths: &[PathFit],
    gathered: &Gathered,
    notes: &mut Vec<String>,
) -> Vec<FastTrackGain> {
    let points = &gathered.points[..];
    let mut out = Vec::new();
    for (key, chain) in paths
        .iter()
        .filter_map(|w| Some((w.key, may_be_skipped(w)?)))
    {
        let fast = key.on(Path::FastTrack);
        for trial in &chain.trials {
            let Ok(sizes) = trial.sizes() else { continue };
            let bytes = f64::from(sizes.datagram.unwrap_or(sizes.length));
            let Some(stack_ns) = inside_ns(points, key, bytes) else {
                continue;
            };
            let skipped = chain.inside(true).iter().filter(|s| is_skipped(s));
            let gain_ns: f64 = skipped.map(|s| s.at_ns(bytes)).sum();
            // Computed from the frames' own times: medians of skewed stages do not add up to the median of the sum.
            let predicted_ns = (stack_ns - gain_ns).max(0.0);
            let measured_ns = inside_ns(points, fast, bytes);
            out.push(FastTrackGain {
                node: gathered.node.clone(),
                layer: trial.framing.layer,
                wait: key.wait(),
                length_bytes: sizes.length,
                stack_measured_ps: ps(stack_ns),
                predicted_ps: ps(predicted_ns),
                measured_ps: measured_ns.map(ps),
                predicted_gain_ps: ps(gain_ns),
                measured_gain_ps: measured_ns.map(|m| ((stack_ns - m) * 1e3).round() as i64),
                error_percent: measured_ns
                    .filter(|m| *m > 0.0)
                    .map(|m| 100.0 * (predicted_ns / m - 1.0)),
            });
        }
    }
    let measured = |p: &&FitPoint| p.trial.path == Some(Path::FastTrack) && p.inside_ns.is_some();
    let alone = points.iter().filter(measured).any(|p| {
        p.trial.direction == Direction::Receive
            && !points
                .iter()
                .any(|other| other.key == p.key.on(Path::Stack))
    });
    if alone {
        notes.push(
            "the fast track was measured with a wait method for which the stack was not: the two are not compared"
                .to_owned(),
        );
    }
    out
}

/// The median over the observations of a path at a size.
fn inside_ns(points: &[FitPoint], key: PathKey, bytes: f64) -> Option<f64> {
    let same = points.iter().filter(|p| p.key == key && p.bytes == bytes);
    let found: Vec<f64> = same.filter_map(|p| p.inside_ns).collect();
    (!found.is_empty()).then(|| median(found))
}

fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}
