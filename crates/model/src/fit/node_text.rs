//! The node file: each way with the stages that were fitted, every figure with the results it comes from.

use std::fmt::Write;

use wirelab_trial::{Load, Trial};

use super::fast_track::past_the_stack;
use super::figures::Report;
use super::gather::Gathered;
use super::node_paths::stages_and_paths;
use super::stages::key_of;
use super::ways::WayFit;
use super::{FitOptions, Fitted};

/// Frames in flight where nothing says how many: enough for each stage to have its own.
const IN_FLIGHT: u32 = 64;
/// Descriptors of a receive ring that data say nothing of.
const RING: u32 = 32;
/// Longest text and most keys that are copied from the node's description.
const MAX_TEXT: usize = 200;
const MAX_SETUP: usize = 64;
/// Sizes of a way that are written as its calibrations.
const MAX_CALIBRATIONS: usize = 24;
/// What stands in the file for the results.
pub(super) const FROM_RESULTS: &str = "calibrated_from = \"results\"";

/// The text of the node file.
pub(super) fn write(
    ways: &[WayFit],
    gathered: &Gathered,
    options: &FitOptions,
    report: &mut Report,
) -> String {
    let mut out = Text(String::new());
    let said: Vec<&WayFit> = ways.iter().filter(|w| w.says_something()).collect();
    head(&mut out, &said, gathered, options);
    let assumed = assumed(&said, report);
    if let Some(bits_per_s) = gathered.link_bits_per_s {
        report.parameters.push(Fitted {
            name: "link-rate".to_owned(),
            value: bits_per_s as f64,
            unit: "bit/s".to_owned(),
            interval: None,
            how: "the link of the trials".to_owned(),
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
        .filter(|d| said.iter().any(|w| w.way.direction() == d.0))
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
    for way in &said {
        stages_and_paths(&mut out, way);
    }
    past_the_stack(&mut out, &said);
    if said.iter().any(|w| w.raised_to_bytes().is_some()) {
        out.line("[tool]\nmin_datagram = \"minimum-datagram\"");
    }
    out.0.trim_end().to_owned() + "\n"
}

/// A text that grows.
pub(super) struct Text(String);

impl Text {
    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }
}

fn head(out: &mut Text, said: &[&WayFit], gathered: &Gathered, options: &FitOptions) {
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
        quoted(&format!("{} observations of {file}", gathered.points.len()))
    ));
    let linked = gathered.link_bits_per_s.is_some();
    said.iter()
        .for_each(|way| calibrations(out, way, &file, linked));
}

/// The trials whose latency a way's stages were fitted to: the model does not predict it.
fn calibrations(out: &mut Text, way: &WayFit, file: &str, linked: bool) {
    let name = way.way.name();
    // Other loads are of a link, and the file has none.
    let of_itself = |t: &Trial| matches!(t.load, Load::FrameRate { .. } | Load::BitRate { .. });
    let trials = way.chain.iter().flat_map(|c| &c.trials);
    for trial in trials
        .filter(|t| linked || of_itself(t))
        .take(MAX_CALIBRATIONS)
    {
        let bytes = trial.size.bytes;
        let unit = trial.size.unit.name();
        out.line(&format!("[calibration.{name}-{unit}-{bytes}]"));
        let what = format!("stages of {unit} {bytes}: the series of {file}");
        out.line(&format!("what = {}", quoted(&what)));
        let mut keys = vec![
            format!("layer = {}", quoted(way.way.layer())),
            format!("direction = {}", quoted(way.way.direction())),
            format!("{unit} = {bytes}"),
            format!("load = {}", quoted(&trial.load.to_string())),
        ];
        if trial.framing.vlan_tags > 0 {
            keys.push(format!("vlan = {}", trial.framing.vlan_tags));
        }
        if let Some(buffers) = trial.buffers {
            keys.push(format!("buffers = {}", quoted(&buffers.to_string())));
        }
        if let Some(path) = trial.path {
            keys.push(format!("path = {}", quoted(&path.to_string())));
        }
        if let Some(wait) = trial.wait {
            keys.push(format!("wait = {}", quoted(&wait.to_string())));
        }
        out.line(&format!("trial = {{ {} }}", keys.join(", ")));
        out.line("metric = \"latency\"\n");
    }
}

/// Parameters that no observation gives: what stands for them, and the text of it.
fn assumed(said: &[&WayFit], report: &mut Report) -> String {
    let mut out = String::new();
    let mut add = |name: &str, value: u32, unit: &str, source: &str| {
        let _ = writeln!(
            out,
            "[parameter.{name}]\nvalue = {value}\nunit = {}\nsource = {}\n",
            quoted(unit),
            quoted(source)
        );
    };
    if said.iter().any(|w| !w.way.receive) {
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
            "assumed: the observations cannot say how deep the ring is",
        );
        report.notes.push(format!(
            "a receive ring of {RING} descriptors is assumed: it changes when loss begins, not how much is lost in long overload"
        ));
    }
    let raised = said.iter().find_map(|w| w.raised_to_bytes());
    if let Some(bytes) = raised {
        report.parameters.push(Fitted {
            name: "minimum-datagram".to_owned(),
            value: bytes,
            unit: "B".to_owned(),
            interval: None,
            how: "the size that puts the smallest datagrams on the line of the larger".to_owned(),
        });
    }
    out
}

fn resources(out: &mut Text, said: &[&WayFit]) {
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

/// A text of the node's, cut where it is long.
pub(super) fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

/// Six significant digits: more than any interval bears, and exact enough to come back as the same picoseconds.
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

/// A text as a basic string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
