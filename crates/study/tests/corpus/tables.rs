//! Honest tables, as pages of vendors print them, made from models of nodes with scatter and rounding.

use super::random::Random;

/// A printed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub metric: &'static str,
    /// The digits as printed.
    pub digits: String,
    pub unit: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub name: String,
    pub trial: String,
    /// Further keys of the row.
    pub keys: String,
    pub figures: Vec<Figure>,
    /// Rows of a column have the same one.
    pub column: usize,
    /// The offered load in bit/s of data, where the row has one.
    pub offered: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub kind: &'static str,
    pub head: String,
    pub lines: Vec<Line>,
    /// Totals with their parts, each as line and figure.
    pub sums: Vec<Vec<(usize, usize)>>,
    pub link: f64,
}

/// How a node spends its time on a frame.
pub struct Node {
    link: f64,
    idle: f64,
    frame_s: f64,
    byte_s: f64,
    /// From this size on a frame costs so much more.
    step: (u32, f64),
    /// At most so many batches a second, each at a cost.
    batch: (f64, f64),
    /// Relative scatter of a measured figure.
    scatter: f64,
    /// Significant digits.
    digits: i32,
}

impl Node {
    pub fn any(random: &mut Random) -> Node {
        let gigabit = random.chance(0.5);
        Node {
            link: if gigabit { 1e9 } else { 1e8 },
            idle: random.between(0.0, 0.08),
            frame_s: 10f64.powf(random.between(-5.5, -4.2)),
            byte_s: 10f64.powf(random.between(-9.3, -7.5)),
            step: if random.chance(0.2) {
                (*random.pick(&[256, 512, 1024]), random.between(1.05, 1.3))
            } else {
                (4096, 1.0)
            },
            batch: if random.chance(0.2) {
                (random.between(1000.0, 8000.0), random.between(1e-6, 8e-6))
            } else {
                (0.0, 0.0)
            },
            scatter: *random.pick(&[0.0, 0.002, 0.005, 0.01]),
            digits: *random.pick(&[2, 3, 3, 4]),
        }
    }

    fn cost(&self, bytes: u32) -> f64 {
        let step = if bytes >= self.step.0 {
            self.step.1
        } else {
            1.0
        };
        (self.frame_s + self.byte_s * f64::from(bytes)) * step
    }

    fn wire_per_s(&self, payload: u32) -> f64 {
        self.link / 8.0 / f64::from(payload.max(46) + 38)
    }

    fn most_per_s(&self, bytes: u32, payload: u32) -> f64 {
        ((1.0 - self.idle) / self.cost(bytes)).min(self.wire_per_s(payload))
    }

    fn load(&self, per_s: f64, bytes: u32) -> f64 {
        let batches = per_s.min(self.batch.0) * self.batch.1;
        (self.idle + per_s * self.cost(bytes) + batches).min(1.0)
    }

    fn scattered(&self, random: &mut Random, value: f64) -> f64 {
        value * (1.0 + self.scatter * random.normal())
    }
}

fn digits(number: f64, significant: i32) -> String {
    let magnitude = if number > 0.0 {
        number.log10().floor() as i32
    } else {
        0
    };
    let decimals = (significant - 1 - magnitude).clamp(0, 6) as usize;
    format!("{number:.decimals$}")
}

fn rate(metric: &'static str, bits_per_s: f64, significant: i32) -> Figure {
    let (unit, scale) = if bits_per_s >= 1e6 {
        ("Mbit/s", 1e6)
    } else {
        ("kbit/s", 1e3)
    };
    Figure {
        metric,
        digits: digits(bits_per_s / scale, significant),
        unit,
    }
}

fn time(metric: &'static str, seconds: f64, significant: i32) -> Figure {
    let units = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
    let (unit, scale) = *units
        .iter()
        .find(|(_, s)| seconds >= *s)
        .unwrap_or(&units[3]);
    Figure {
        metric,
        digits: digits(seconds / scale, significant),
        unit,
    }
}

fn share(metric: &'static str, ratio: f64, decimals: usize) -> Figure {
    Figure {
        metric,
        digits: format!("{:.decimals$}", 100.0 * ratio),
        unit: "%",
    }
}

fn count(metric: &'static str, n: f64) -> Figure {
    Figure {
        metric,
        digits: format!("{n:.0}"),
        unit: "",
    }
}

fn line(name: String, trial: String, column: usize, figures: Vec<Figure>) -> Line {
    Line {
        name,
        trial,
        keys: String::new(),
        figures,
        column,
        offered: None,
    }
}

fn table(kind: &'static str, node: &Node, lines: Vec<Line>) -> Table {
    let link = if node.link > 5e8 { "1G" } else { "100M" };
    let head = format!(
        "title = \"t\"\nsource = \"s\"\nnode = \"board\"\nlink = \"{link}\"\n[defaults]\ntrial = {{ layer = \"udp4\" }}\n"
    );
    Table {
        kind,
        head,
        lines,
        sums: Vec::new(),
        link: node.link,
    }
}

/// The five shapes of page, in turn.
pub fn honest(seed: u64) -> Table {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
    let node = Node::any(&mut random);
    match seed % 5 {
        0 => loads(&mut random, &node),
        1 => timings(&mut random, &node),
        2 => latencies(&mut random, &node),
        3 => servers(&mut random, &node),
        _ => matrix(&mut random, &node),
    }
}

const SIZES: [u32; 6] = [64, 128, 256, 512, 1024, 1470];

fn sizes(random: &mut Random, least: usize) -> Vec<u32> {
    loop {
        let all: Vec<u32> = SIZES.into_iter().filter(|_| random.chance(0.75)).collect();
        if all.len() >= least {
            return all;
        }
    }
}

/// CPU loads of datagrams by size and rate, then the greatest rates of both directions: TI's pages.
fn loads(random: &mut Random, node: &Node) -> Table {
    let mut lines = Vec::new();
    let all = sizes(random, 3);
    for (column, &bytes) in all.iter().enumerate() {
        let most = node.most_per_s(bytes, bytes + 28);
        for step in 1..=4 {
            let share_of_most = f64::from(step) * random.between(0.18, 0.22);
            let bits = (share_of_most * most * 8.0 * f64::from(bytes) / 1e5)
                .round()
                .max(1.0)
                * 1e5;
            let per_s = bits / 8.0 / f64::from(bytes);
            let lost = if random.chance(0.3) {
                random.between(0.001, 0.06)
            } else {
                0.0
            };
            let lost = (1000.0 * lost).round() / 1000.0;
            let kept = per_s * (1.0 - lost);
            let busy = node.load(node.scattered(random, kept), bytes);
            let figures = vec![
                rate("throughput", kept * 8.0 * f64::from(bytes), 3),
                share("cpu_load", busy, usize::from(node.digits > 3)),
                share("loss", lost, 1),
            ];
            let trial = format!(
                "direction = \"receive\", datagram = {bytes}, load = \"{}k\"",
                bits / 1e3
            );
            let mut row = line(
                format!("RX {bytes} at {:.1}", bits / 1e6),
                trial,
                column,
                figures,
            );
            row.offered = Some(bits);
            if lines.iter().all(|l: &Line| l.name != row.name) {
                lines.push(row);
            }
        }
    }
    for &bytes in &all {
        let per_s = node
            .scattered(random, node.most_per_s(bytes, bytes + 28))
            .min(node.wire_per_s(bytes + 28));
        let figures = vec![
            rate(
                "throughput",
                per_s * 8.0 * f64::from(bytes),
                node.digits.max(3),
            ),
            Figure {
                metric: "frames_per_s",
                digits: digits(per_s, node.digits.max(3)),
                unit: "frames/s",
            },
        ];
        lines.push(line(
            format!("TX {bytes}"),
            format!("direction = \"transmit\", datagram = {bytes}"),
            90,
            figures,
        ));
    }
    table("CPU loads", node, lines)
}

/// Times of a number of frames, with rate and share of the limit: NXP's note.
fn timings(random: &mut Random, node: &Node) -> Table {
    let mut lines = Vec::new();
    let frames = f64::from(*random.pick(&[50u32, 100, 1000]));
    for bytes in sizes(random, 3) {
        let per_s = node
            .scattered(random, node.most_per_s(bytes, bytes))
            .min(node.wire_per_s(bytes));
        let bits = 8.0 * f64::from(bytes);
        let figures = vec![
            time("time", frames / per_s, node.digits.max(3)),
            rate("throughput", per_s * bits, node.digits.max(3)),
            share("share_of_limit", per_s / node.wire_per_s(bytes), 1),
            Figure {
                metric: "frames_per_s",
                digits: digits(per_s, node.digits.max(3)),
                unit: "frames/s",
            },
        ];
        let trial = format!(
            "layer = \"ethernet\", direction = \"transmit\", payload = {bytes}, frames = {frames}"
        );
        lines.push(line(format!("{bytes} B"), trial, 0, figures));
    }
    table("times", node, lines)
}

/// Latencies by point and size, with totals: the pages of TI and of the Zynq paper.
fn latencies(random: &mut Random, node: &Node) -> Table {
    let mut lines = Vec::new();
    let mut sums = Vec::new();
    let phy = random.between(1.5e-7, 9e-7);
    let stack = random.between(0.6, 2.0) * node.frame_s;
    let step = if node.frame_s > 2e-5 { 1e-8 } else { 1e-9 };
    let to = |seconds: f64| (seconds / step).round() * step;
    let unit = |metric, seconds: f64| {
        let decimals = if step > 5e-9 { 2 } else { 3 };
        Figure {
            metric,
            digits: format!("{:.decimals$}", seconds * 1e6),
            unit: "us",
        }
    };
    for bytes in sizes(random, 4) {
        let driver = to(node.scattered(random, node.cost(bytes)));
        let above = to(node.scattered(random, stack + 0.3 * node.byte_s * f64::from(bytes)));
        let outside = to(phy);
        let parts = [
            ("PHY", outside),
            ("driver", driver),
            ("stack", above),
            ("total", outside + driver + above),
        ];
        let first = lines.len();
        for (at, (point, seconds)) in parts.into_iter().enumerate() {
            let trial = format!(
                "direction = \"receive\", datagram = {bytes}, load = \"100pps\", frames = 512"
            );
            let mut row = line(
                format!("{point} {bytes}"),
                trial,
                at,
                vec![unit("latency", seconds)],
            );
            row.keys = format!("point = \"{point}\"\n");
            lines.push(row);
        }
        sums.push(vec![
            (first + 3, 0),
            (first, 0),
            (first + 1, 0),
            (first + 2, 0),
        ]);
    }
    Table {
        sums,
        ..table("latencies", node, lines)
    }
}

/// Reports of servers: intervals of UDP, transfers of TCP.
fn servers(random: &mut Random, node: &Node) -> Table {
    let mut lines = Vec::new();
    let bytes = *random.pick(&[512u32, 1024, 1470]);
    let per_s = (0.8 * node.most_per_s(bytes, bytes + 28)).floor();
    let binary = random.chance(0.5);
    let amount = |bits: f64, significant: i32| {
        let units = if binary {
            [("KiB", 8192.0), ("MiB", 8_388_608.0)]
        } else {
            [("kB", 8e3), ("MB", 8e6)]
        };
        let (unit, scale) = if bits >= units[1].1 {
            units[1]
        } else {
            units[0]
        };
        Figure {
            metric: "transfer",
            digits: digits(bits / scale, significant),
            unit,
        }
    };
    for second in 1..=*random.pick(&[5u32, 8, 10]) {
        let all = (per_s * (1.0 + 0.001 * random.normal())).round();
        let lost = if random.chance(0.4) {
            random.below(1 + (0.02 * all) as usize) as f64
        } else {
            0.0
        };
        let bits = (all - lost) * 8.0 * f64::from(bytes);
        let figures = vec![
            amount(bits, 3),
            rate("bandwidth", bits, 3),
            count("lost", lost),
            count("datagrams", all),
            share("loss", lost / all, 2),
        ];
        let trial = format!("direction = \"receive\", datagram = {bytes}, time = \"10s\"");
        let mut row = line(format!("second {second}"), trial, 0, figures);
        row.keys = format!("interval = {second}\n");
        lines.push(row);
    }
    for streams in 1..=3u32 {
        let bits_per_s = random.between(0.2, 0.9) * node.link;
        let seconds = 10.0 + random.between(0.0, 0.2);
        let figures = vec![
            amount(bits_per_s * seconds, 3),
            rate("bandwidth", bits_per_s, 3),
            Figure {
                metric: "time",
                digits: format!("{seconds:.2}"),
                unit: "s",
            },
        ];
        let way = ["transmit", "receive", "both"][streams as usize - 1];
        let trial =
            format!("layer = \"tcp4\", direction = \"{way}\", datagram = 1460, time = \"10s\"");
        lines.push(line(
            format!("TCP {way}"),
            trial,
            90 + streams as usize,
            figures,
        ));
    }
    table("server reports", node, lines)
}

/// The greatest rates of both directions by size, and loss by offered load: tables after RFC 2544.
fn matrix(random: &mut Random, node: &Node) -> Table {
    let mut lines = Vec::new();
    let all = sizes(random, 4);
    for (column, way) in ["receive", "transmit"].into_iter().enumerate() {
        for &bytes in &all {
            let per_s = node
                .scattered(random, node.most_per_s(bytes, bytes + 28))
                .min(node.wire_per_s(bytes + 28));
            let busy = node.load(per_s, bytes);
            let figures = vec![
                rate("throughput", per_s * 8.0 * f64::from(bytes), 3),
                share("share_of_limit", per_s / node.wire_per_s(bytes + 28), 1),
                share("cpu_load", busy, 0),
            ];
            let trial = format!("direction = \"{way}\", datagram = {bytes}");
            lines.push(line(format!("{way} {bytes}"), trial, column, figures));
        }
    }
    for &bytes in &all {
        let most = node.most_per_s(bytes, bytes + 28);
        for step in 1..=3 {
            let offered = (f64::from(step) * 0.5 * most)
                .min(0.98 * node.wire_per_s(bytes + 28))
                .floor();
            let kept = if offered > most {
                node.scattered(random, most).min(offered)
            } else {
                offered
            };
            let figures = vec![
                Figure {
                    metric: "frames_per_s",
                    digits: format!("{kept:.0}"),
                    unit: "frames/s",
                },
                share("loss", 1.0 - kept / offered, 1),
                share(
                    "cpu_load",
                    node.load(node.scattered(random, kept), bytes),
                    0,
                ),
            ];
            let trial =
                format!("direction = \"receive\", datagram = {bytes}, load = \"{offered}pps\"");
            let mut row = line(
                format!("{bytes} at {offered}"),
                trial,
                10 + column_of(&all, bytes),
                figures,
            );
            row.offered = Some(offered * 8.0 * f64::from(bytes));
            if lines.iter().all(|l: &Line| l.name != row.name) {
                lines.push(row);
            }
        }
    }
    table("matrices", node, lines)
}

fn column_of(all: &[u32], bytes: u32) -> usize {
    all.iter().position(|b| *b == bytes).unwrap_or(0)
}

impl Table {
    pub fn text(&self) -> String {
        let mut out = self.head.clone();
        for line in &self.lines {
            let figures = line
                .figures
                .iter()
                .map(|f| format!("{} = \"{} {}\"", f.metric, f.digits, f.unit));
            out.push_str(&format!(
                "[[row]]\nname = \"{}\"\n{}trial = {{ {} }}\npublished = {{ {} }}\n",
                line.name,
                line.keys,
                line.trial,
                figures.collect::<Vec<_>>().join(", ")
            ));
        }
        for sum in &self.sums {
            let name = |(row, figure): (usize, usize)| self.cell((row, figure));
            let parts: Vec<String> = sum[1..]
                .iter()
                .map(|c| format!("\"{}\"", name(*c)))
                .collect();
            out.push_str(&format!(
                "[[sum]]\ntotal = \"{}\"\nparts = [{}]\n",
                name(sum[0]),
                parts.join(", ")
            ));
        }
        out
    }

    pub fn cell(&self, (row, figure): (usize, usize)) -> String {
        format!(
            "{}/{}",
            self.lines[row].name, self.lines[row].figures[figure].metric
        )
    }
}
