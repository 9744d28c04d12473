//! Tables made from the nodes of the library, with scatter and rounding, and what `wirelab fit` predicts of their other half.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use wirelab_model::file::{NodeFile, PathDecl};
use wirelab_model::{library, node::ModelNode};
use wirelab_statistics::random::SplitMix64;
use wirelab_trial::{
    Cancel, Direction, Extent, Framing, Layer, Load, Node, Observation, Size, SizeUnit, Trial,
};
use wirelab_wire::LineRate;

/// Sizes of a table.
const SIZES: [u32; 8] = [64, 128, 256, 512, 768, 1024, 1280, 1470];
/// Offered loads of received frames, as shares of the highest rate that is served.
const LOADS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// Capture points of a path that a table prints.
const POINTS: usize = 3;
/// Relative scatter of what one table measures.
const SCATTER: [f64; 3] = [0.0, 0.004, 0.01];
/// Share of line rate from which the wire is the limit, which does not scatter.
const WIRE: f64 = 0.99;

/// A table under construction.
struct Table {
    file: NodeFile,
    layer: Layer,
    scatter: f64,
    random: SplitMix64,
    rows: String,
    count: usize,
}

impl Table {
    fn trial(&self, path: &PathDecl, bytes: u32, load: Load) -> Trial {
        let unit = match self.layer {
            Layer::Ethernet => SizeUnit::Length,
            _ => SizeUnit::Datagram,
        };
        let framing = Framing {
            layer: self.layer,
            vlan_tags: 0,
        };
        let extent = match load {
            Load::FrameRate { .. } => Extent::Frames { frames: 256 },
            _ => Extent::Frames { frames: 500 },
        };
        Trial {
            buffers: path.buffers.first().copied(),
            ..Trial::new(
                framing,
                path.direction,
                Size::new(unit, bytes),
                load,
                extent,
            )
        }
    }

    fn link(&self) -> Option<LineRate> {
        let node = ModelNode::new(self.file.clone()).describe();
        LineRate::new(node.capabilities.link_bits_per_s?)
    }

    fn observe(&self, trial: &Trial) -> Observation {
        let mut node = ModelNode::new(self.file.clone()).without_intervals();
        let seen = node.run(trial, &(), &Cancel::new());
        seen.unwrap_or_else(|e| panic!("{}: {e}", self.file.name))
    }

    /// A value as one measurement finds it: the sum of twelve uniform deviates is nearly normal.
    fn scattered(&mut self, value: f64) -> f64 {
        let normal: f64 = (0..12).map(|_| self.random.uniform()).sum::<f64>() - 6.0;
        value * (1.0 + self.scatter * normal)
    }

    fn row(&mut self, trial: &Trial, keys: &str, figures: &[String]) {
        let way = match trial.direction {
            Direction::Transmit => "transmit",
            _ => "receive",
        };
        let unit = trial.size.unit.name();
        let buffers = trial
            .buffers
            .map_or(String::new(), |b| format!(", buffers = \"{b}\""));
        let extent = match trial.extent {
            Extent::Frames { frames } => frames,
            Extent::Time { .. } => 1,
        };
        self.count += 1;
        self.rows.push_str(&format!(
            "[[row]]\nname = \"row {}\"\n{keys}trial = {{ direction = \"{way}\", {unit} = {}, load = \"{}\", frames = {extent}{buffers} }}\npublished = {{ {} }}\n",
            self.count,
            trial.size.bytes,
            trial.load,
            figures.join(", "),
        ));
    }

    /// The highest rates of a path, the loads below them, and the latencies of single frames.
    fn path(&mut self, path: &PathDecl) {
        for bytes in SIZES {
            let trial = self.trial(path, bytes, Load::Max);
            let seen = self.observe(&trial);
            let flow = &seen.flows[0];
            let most = *flow.frames_per_s.value().expect("a rate");
            let sizes = trial.sizes().expect("a frame");
            let data = f64::from(8 * sizes.datagram.unwrap_or(sizes.payload));
            let line = self.link();
            let of_wire = line.is_some_and(|line| most >= WIRE * line.frames_per_s(&sizes));
            let busy = seen.cpu_load.value().map(|l| l.busy_ratio);
            if path.direction == Direction::Transmit {
                let rate = if of_wire { most } else { self.scattered(most) };
                let mut figures = vec![format!(
                    "throughput = \"{} Mbit/s\"",
                    digits(rate * data / 1e6)
                )];
                figures.extend(busy.map(|b| format!("cpu_load = \"{:.0} %\"", 100.0 * b)));
                self.row(&trial, "", &figures);
            }
            if path.direction == Direction::Receive && busy.is_some() && !path.busy_wait {
                for share in LOADS {
                    let load = Load::FrameRate {
                        frames_per_s: (share * most).round(),
                    };
                    let trial = self.trial(path, bytes, load);
                    let busy = self
                        .observe(&trial)
                        .cpu_load
                        .value()
                        .expect("a load")
                        .busy_ratio;
                    let printed = 100.0 * self.scattered(busy).min(1.0);
                    self.row(&trial, "", &[format!("cpu_load = \"{printed:.0} %\"")]);
                }
            }
            let trial = self.trial(
                path,
                bytes,
                Load::FrameRate {
                    frames_per_s: 100.0,
                },
            );
            let alone = self.observe(&trial);
            for series in alone.flows[0].series.iter().take(POINTS) {
                let seconds =
                    series.histogram.mean_ticks * 1e-12 * series.clock.tick_ps.expect("ps") as f64;
                let us = self.scattered(1e6 * seconds);
                let keys = format!("point = \"{}\"\n", series.name);
                self.row(&trial, &keys, &[format!("latency = \"{} us\"", digits(us))]);
            }
        }
    }
}

/// Three significant digits, as pages have them.
fn digits(value: f64) -> String {
    let decimals = (2 - value.max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// A table of one layer of a node, `None` where the layer has no path.
fn table(name: &str, layer: Layer, seed: u64) -> Option<String> {
    let file = library::open(name).expect("a node of the library");
    let paths = file.paths.clone();
    let paths: Vec<&PathDecl> = paths.iter().filter(|p| p.layers.contains(&layer)).collect();
    if paths.is_empty() {
        return None;
    }
    let mut table = Table {
        file,
        layer,
        scatter: SCATTER[seed as usize % SCATTER.len()],
        random: SplitMix64::new(seed),
        rows: String::new(),
        count: 0,
    };
    paths.iter().for_each(|path| table.path(path));
    let link = table.link().map_or(String::new(), |l| {
        format!("link = \"{}\"\n", l.bits_per_s())
    });
    Some(format!(
        "title = \"t\"\nsource = \"s\"\nnode = \"{name}\"\n{link}[defaults]\ntrial = {{ layer = \"{}\" }}\n{}",
        layer.word(),
        table.rows
    ))
}

/// What was predicted of one metric, or of all.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Figures that were held out and have a value.
    pub figures: usize,
    /// Those whose interval holds what was printed.
    pub inside: usize,
    /// Those without an interval.
    pub without: usize,
    /// Those of them that print as they were printed.
    pub exact: usize,
    /// Half widths of the intervals: points of a share, else percent of the value.
    widths: Vec<f64>,
}

impl Held {
    /// Share of the intervals that hold their figure.
    pub fn coverage(&self) -> f64 {
        self.inside as f64 / self.widths.len() as f64
    }

    /// Median of the half widths.
    pub fn median_width(&self) -> f64 {
        let mut widths = self.widths.clone();
        widths.sort_by(f64::total_cmp);
        widths[widths.len() / 2]
    }

    fn add(&mut self, figure: &Value) {
        if figure["counted"] != true || figure["value"].is_null() {
            return;
        }
        self.figures += 1;
        let number = |key: &str| figure[key].as_f64().expect("a number");
        let interval = &figure["interval"];
        let (Some(low), Some(high)) = (interval["low"].as_f64(), interval["high"].as_f64()) else {
            self.without += 1;
            let off = (number("value") / number("published") - 1.0).abs();
            self.exact += usize::from(off < 0.03 || number("value") == number("published"));
            return;
        };
        self.inside += usize::from(figure["in_interval"] == true);
        self.widths.push(match figure["unit"].as_str() {
            Some("%") => (high - low) / 2.0,
            _ => 50.0 * (high - low) / number("value"),
        });
    }
}

/// Fits half of each table of these nodes, and looks at what is predicted of the other half, by metric.
pub fn run<'n>(
    names: impl Iterator<Item = &'n str>,
    seeds: std::ops::RangeInclusive<u64>,
) -> BTreeMap<String, Held> {
    let room = std::env::temp_dir().join(format!("wirelab-fit-intervals-{}", std::process::id()));
    std::fs::create_dir_all(&room).unwrap();
    let path: PathBuf = room.join("table.toml");
    let mut by_metric: BTreeMap<String, Held> = BTreeMap::new();
    for name in names {
        let tables = [Layer::Ethernet, Layer::UdpIpv4].into_iter();
        for (layer, seed) in tables.flat_map(|layer| seeds.clone().map(move |seed| (layer, seed))) {
            let Some(text) = table(name, layer, seed) else {
                continue;
            };
            std::fs::write(&path, &text).unwrap();
            let held_out = format!("random=50%:{seed}");
            let out = Command::new(env!("CARGO_BIN_EXE_wirelab"))
                .arg("fit")
                .arg(&path)
                .args(["--hold-out", &held_out, "--json"])
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&out.stderr);
            // Half of a table may be too little.
            if !out.status.success() && error.contains("too few points") {
                continue;
            }
            assert!(out.status.success(), "{name} {layer:?} {seed}: {error}");
            let all: Value = serde_json::from_slice(&out.stdout).unwrap();
            for figure in all["figures"].as_array().unwrap() {
                let metric = figure["metric"].as_str().unwrap();
                by_metric.entry(metric.to_owned()).or_default().add(figure);
            }
        }
    }
    std::fs::remove_dir_all(&room).unwrap();
    by_metric
}
