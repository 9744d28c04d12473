//! The node file's stages and paths: one path for each way and class of sizes.

use super::chain::{Chain, ChainStage};
use super::figures::Prefix;
use super::node_text::{FROM_RESULTS, Text, quoted, short};
use super::shape::{Class, Law, Role};
use super::ways::WayFit;

/// Sizes up to which one set of laws holds: the ends of all classes but the last.
fn ends(way: &WayFit) -> Vec<Option<u32>> {
    let judged = [&way.period, &way.load].into_iter().flatten();
    let mut ends: Vec<u32> = judged
        .flat_map(|j| {
            j.model
                .shape
                .classes
                .windows(2)
                .map(|pair| pair[1].from_bytes as u32 - 1)
        })
        .collect();
    ends.sort_unstable();
    ends.dedup();
    ends.into_iter().map(Some).chain([None]).collect()
}

/// A way's stages, and a path for each class of sizes.
pub(super) fn stages_and_paths(out: &mut Text, way: &WayFit) {
    let name = way.way.name();
    // The CPU's stage costs the period where the CPU is the limit: else it would outrun what was measured.
    let (cpu, server) = if way.cpu_limited {
        (&way.period, &None)
    } else {
        (&way.load, &way.period)
    };
    let cpu_part = if way.cpu_limited { "period" } else { "cpu" };
    let mut tail = Vec::new();
    let batch = way
        .load
        .as_ref()
        .filter(|j| j.model.shape.batches_per_s.is_some() && !way.cpu_limited);
    if let Some(judged) = batch {
        let prefix = Prefix {
            way: &name,
            part: "cpu",
            figure: "",
        };
        let stage = format!("{name}-interrupt");
        out.line(&format!(
            "[stage.{stage}]\nresource = \"cpu\"\n{FROM_RESULTS}"
        ));
        out.line("about = \"a cost for each batch; where it lies on the frame's way the observations cannot say\"");
        out.line(&format!(
            "cost = [{{ constant = {} }}]",
            quoted(&prefix.name(Role::Batch, &judged.model))
        ));
        out.line(&format!("paced = {}\n", quoted(&prefix.pacing())));
        tail.push(stage);
    }
    for stage in &way.stages {
        delay(out, &name, stage, way.way.size());
        tail.push(format!("{name}-{}", stage.key));
    }
    let ahead = chain_stages(out, way, &name);
    for (i, end) in ends(way).iter().enumerate() {
        let mut busy = Vec::new();
        for (judged, part, resource) in [(cpu, cpu_part, "cpu"), (server, "period", "server")] {
            let Some(judged) = judged else { continue };
            let bytes = end.map_or(f64::INFINITY, f64::from);
            let class = class_at(&judged.model.shape.classes, bytes);
            let prefix = Prefix {
                way: &name,
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
                cost(&packet, has_byte.then_some(&byte), way.way.size())
            ));
            busy.push(stage);
        }
        path(out, way, &name, (i, *end), [&busy, &ahead, &tail]);
    }
}

/// The class that a size falls into: each reaches to the smallest size of the next.
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
            "the series {}, a mere delay behind all others",
            short(&stage.point)
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

/// The stages named after their points. They hold the CPU that works, but for where the file has the CPU's work from
/// rates and loads already: there they are delays, or it would be counted twice.
fn chain_stages(out: &mut Text, way: &WayFit, name: &str) -> Vec<String> {
    let mut names = Vec::new();
    let counted = way.period.is_some() || way.load.is_some();
    for stage in way.chain.iter().flat_map(|c| &c.stages) {
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
        out.line(&cost(&parameter("packet"), byte.as_ref(), way.way.size()));
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
    way: &WayFit,
    name: &str,
    (index, end): (usize, Option<u32>),
    [busy, ahead, tail]: [&[String]; 3],
) {
    let wire = if way.way.receive {
        "wire-rx"
    } else {
        "wire-tx"
    };
    let mut stages: Vec<String> = busy.to_vec();
    if way.has_ring() {
        stages.splice(0..0, [wire.to_owned(), "take-descriptor".to_owned()]);
    } else if way.chain.is_some() && way.way.receive {
        stages.insert(0, wire.to_owned());
    } else {
        stages.extend_from_slice(ahead);
        stages.push(wire.to_owned());
    }
    let before_tail = stages.clone();
    if way.way.receive {
        stages.extend_from_slice(ahead);
    }
    stages.extend_from_slice(tail);
    out.line("[[path]]");
    out.line(&format!(
        "name = {}",
        quoted(&format!("{name}{}", suffix(index)))
    ));
    out.line(&format!("layer = [{}]", quoted(way.way.layer())));
    out.line(&format!("direction = {}", quoted(way.way.direction())));
    if let Some(buffers) = way.way.buffers() {
        out.line(&format!("buffers = [{}]", quoted(&buffers.to_string())));
    }
    if let Some(chain) = &way.chain {
        chosen_by(out, way, chain);
    }
    if let Some(end) = end {
        out.line(&format!("up_to = {end}"));
    }
    let listed: Vec<String> = stages.iter().map(|s| quoted(s)).collect();
    out.line(&format!(
        "stages = [{}]\nwire = {}",
        listed.join(", "),
        quoted(wire)
    ));
    load_line(out, way, name);
    room(out, way, name, &before_tail);
    points(out, way, name);
    if let Some(chain) = &way.chain {
        chain_points(out, way, name, chain);
    }
    out.line("");
}

/// What of a trial chooses the path. Unasked a node takes its stack and sleeps.
fn chosen_by(out: &mut Text, way: &WayFit, chain: &Chain) {
    let asked = chain.trials.first();
    let way = way.way;
    out.line(&format!("path = {}", quoted(&way.path().to_string())));
    // Frames sent are waited for by nobody.
    if way.receive || asked.is_some_and(|t| t.wait.is_some()) {
        out.line(&format!("wait = {}", quoted(&way.wait().to_string())));
    }
    if way.receive && way.spins {
        out.line("busy_wait = true");
    }
}

/// The whole way, and the part between driver and application.
fn chain_points(out: &mut Text, way: &WayFit, name: &str, chain: &Chain) {
    let inside = chain.inside(way.way.receive);
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

fn point(out: &mut Text, name: &str, (first, last): (&ChainStage, &ChainStage)) {
    let series = format!("{} to {}", first.from, last.to);
    out.line(&format!(
        "[[path.point]]\nname = {}",
        quoted(&short(&series))
    ));
    let start = format!("{name}-{} start", first.key);
    let end = format!("{name}-{} end", last.key);
    out.line(&format!("from = {}\nto = {}", quoted(&start), quoted(&end)));
}

/// Descriptors: on transmit they hold the first stage back, on receive they are where frames wait or are lost.
fn room(out: &mut Text, way: &WayFit, name: &str, stages: &[String]) {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
        return;
    };
    let (to, tokens) = match (way.way.receive, way.ring) {
        (true, _) if !way.has_ring() => return,
        (true, Some(_)) => ("take-descriptor", format!("{name}-ring")),
        (true, None) => ("take-descriptor", "assumed-ring".to_owned()),
        (false, _) => (first.as_str(), "in-flight".to_owned()),
    };
    out.line("[[path.room]]\nname = \"descriptors\"");
    out.line(&format!("from = {}\nto = {}", quoted(last), quoted(to)));
    out.line(&format!("tokens = {}", quoted(&tokens)));
}

fn load_line(out: &mut Text, way: &WayFit, name: &str) {
    let Some(load) = &way.load else { return };
    let idle = if load.model.shape.idle || way.baseline.is_some() {
        format!(", idle = {}", quoted(&format!("{name}-idle")))
    } else {
        String::new()
    };
    out.line(&format!("load = {{ resource = \"cpu\"{idle} }}"));
}

/// A point for each series: from the start of the first of them where they are times from there.
fn points(out: &mut Text, way: &WayFit, name: &str) {
    for stage in &way.stages {
        let from = way
            .stages
            .first()
            .filter(|_| stage.from_start)
            .unwrap_or(stage);
        out.line(&format!(
            "[[path.point]]\nname = {}",
            quoted(&short(&stage.point))
        ));
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
