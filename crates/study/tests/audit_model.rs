//! The audit finds only remarks in tables that a model printed with honest rounding.

use proptest::prelude::*;
use wirelab_study::audit::{Finding, Severity, audit, audit_all};
use wirelab_study::table::Study;

/// A node whose cost of a frame is a line in its size, and how its figures are printed.
#[derive(Clone, Debug)]
struct Node {
    name: &'static str,
    gigabit: bool,
    udp: bool,
    per_frame_s: f64,
    per_byte_s: f64,
    idle: f64,
    /// Bytes of payload or datagram, rising.
    sizes: Vec<u32>,
    /// Shares of the node's capacity that are offered, rising.
    shares: Vec<f64>,
    /// Significant digits of every figure.
    digits: i32,
    lost: Vec<u32>,
    jitter_share: f64,
}

fn node(name: &'static str) -> impl Strategy<Value = Node> {
    let cost = (-6.0..-4.0, -9.5..-7.0, prop::bool::weighted(0.2));
    let sizes = prop::collection::btree_set(46u32..1472, 3..7);
    let shares = prop::collection::btree_set(1u32..130, 2..6);
    let printed = (2..6, prop::collection::vec(0u32..3, 5), -3.0..0.0);
    let kind = (any::<bool>(), any::<bool>(), 0.0..0.1);
    (cost, sizes, shares, printed, kind).prop_map(move |(cost, sizes, shares, printed, kind)| {
        Node {
            name,
            gigabit: kind.0,
            udp: kind.1,
            per_frame_s: 10f64.powf(cost.0),
            per_byte_s: if cost.2 { 0.0 } else { 10f64.powf(cost.1) },
            idle: kind.2,
            sizes: sizes.into_iter().collect(),
            shares: shares.into_iter().map(|s| f64::from(s) / 100.0).collect(),
            digits: printed.0,
            lost: printed.1,
            jitter_share: 10f64.powf(printed.2),
        }
    })
}

impl Node {
    fn link(&self) -> f64 {
        if self.gigabit { 1e9 } else { 1e8 }
    }

    /// Bytes of the link that a frame takes.
    fn link_bytes(&self, bytes: u32) -> f64 {
        let payload = bytes + if self.udp { 28 } else { 0 };
        f64::from(payload + 38)
    }

    fn wire_per_s(&self, bytes: u32) -> f64 {
        self.link() / 8.0 / self.link_bytes(bytes)
    }

    fn cost(&self, bytes: u32) -> f64 {
        self.per_frame_s + self.per_byte_s * f64::from(bytes)
    }

    fn most_per_s(&self, bytes: u32) -> f64 {
        let cpu = (1.0 - self.idle) / self.cost(bytes);
        cpu.min(self.wire_per_s(bytes))
    }

    fn size_key(&self) -> &'static str {
        if self.udp { "datagram" } else { "payload" }
    }

    /// A figure in the largest unit that leaves a digit before the point.
    fn print(&self, base: f64, units: &[(&str, f64)]) -> String {
        let fitting = units.iter().rev().find(|(_, scale)| base >= *scale);
        let (unit, scale) = fitting.unwrap_or(&units[0]);
        let number = base / scale;
        let magnitude = if number > 0.0 {
            number.log10().floor() as i32
        } else {
            0
        };
        let decimals = (self.digits - 1 - magnitude).clamp(0, 9) as usize;
        format!("{number:.decimals$} {unit}")
    }

    fn rate(&self, bits_per_s: f64) -> String {
        self.print(
            bits_per_s,
            &[("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)],
        )
    }

    fn time(&self, seconds: f64) -> String {
        self.print(
            seconds,
            &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)],
        )
    }

    fn share(&self, ratio: f64) -> String {
        self.print(ratio, &[("%", 0.01)])
    }

    fn load(&self, per_s: f64, bytes: u32) -> String {
        self.share((self.idle + per_s * self.cost(bytes)).min(1.0))
    }

    fn table(&self) -> String {
        let link = if self.gigabit { "1G" } else { "100M" };
        let layer = if self.udp { "udp4" } else { "ethernet" };
        let mut out = format!(
            "title = \"t\"\nsource = \"s\"\nnode = \"{}\"\nlink = \"{link}\"\nclocks = [\"100 MHz\"]\n\
             [defaults]\ntrial = {{ layer = \"{layer}\", direction = \"transmit\" }}\n",
            self.name
        );
        for &bytes in &self.sizes {
            out.push_str(&self.greatest(bytes));
            out.push_str(&self.limits(bytes));
            out.push_str(&self.latency(bytes));
            for &share in &self.shares {
                out.push_str(&self.offered(bytes, share));
            }
        }
        out.push_str(&self.reports());
        out.push_str(&self.sentences());
        out
    }

    fn greatest(&self, bytes: u32) -> String {
        let per_s = self.most_per_s(bytes);
        let bits = 8.0 * f64::from(bytes);
        let payload = f64::from(bytes + if self.udp { 28 } else { 0 });
        format!(
            "[[row]]\nname = \"max {bytes}\"\ntrial = {{ {} = {bytes}, load = \"max\", frames = 50 }}\n\
             published = {{ time = \"{}\", time_per_frame = \"{}\", throughput = \"{}\", frames_per_s = \"{}\", \
             efficiency = \"{}\", share_of_limit = \"{}\", cpu_load = \"{}\", data = \"{}\", frames = \"50\" }}\n",
            self.size_key(),
            self.time(50.0 / per_s),
            self.time(1.0 / per_s),
            self.rate(per_s * bits),
            self.print(per_s, &[("frames/s", 1.0), ("kpps", 1e3), ("Mpps", 1e6)]),
            self.share(per_s * 8.0 * payload / self.link()),
            self.share(per_s / self.wire_per_s(bytes)),
            self.load(per_s, bytes),
            self.print(50.0 * bits, &[("B", 8.0), ("kB", 8e3)]),
        )
    }

    fn limits(&self, bytes: u32) -> String {
        let per_s = self.wire_per_s(bytes).floor();
        format!(
            "[[row]]\nname = \"limit {bytes}\"\nlimit = true\ntrial = {{ {} = {bytes} }}\n\
             published = {{ frames_per_s = \"{per_s} frames/s\", throughput = \"{}\", frame_bits = \"{} bit\" }}\n",
            self.size_key(),
            self.rate(per_s * 8.0 * f64::from(bytes)),
            8.0 * self.link_bytes(bytes),
        )
    }

    fn latency(&self, bytes: u32) -> String {
        let mean = self.cost(bytes);
        format!(
            "[[row]]\nname = \"latency {bytes}\"\npoint = \"buffer\"\n\
             trial = {{ {} = {bytes}, direction = \"receive\", load = \"100pps\", frames = 512 }}\n\
             published = {{ latency = \"{}\", latency_3sigma = \"{}\" }}\n",
            self.size_key(),
            self.time(mean),
            self.time(mean / 20.0),
        )
    }

    fn offered(&self, bytes: u32, share: f64) -> String {
        let offered = (share * self.most_per_s(bytes)).min(0.99 * self.wire_per_s(bytes));
        let delivered = offered.min(self.most_per_s(bytes));
        format!(
            "[[row]]\nname = \"offered {bytes} {share}\"\n\
             trial = {{ {} = {bytes}, direction = \"receive\", load = \"{offered}pps\", time = \"10s\" }}\n\
             published = {{ throughput = \"{}\", cpu_load = \"{}\", loss = \"{}\" }}\n",
            self.size_key(),
            self.rate(delivered * 8.0 * f64::from(bytes)),
            self.load(delivered, bytes),
            self.share(1.0 - delivered / offered),
        )
    }

    /// Reports of a server, of which the sender counts from 0 and writes timestamps.
    fn reports(&self) -> String {
        let bytes = self.sizes[0];
        if !self.udp {
            return String::new();
        }
        let per_s = self.most_per_s(bytes).floor();
        let each = self.lost.iter().enumerate().map(|(at, lost)| {
            let bits = (per_s - f64::from(*lost)) * 8.0 * f64::from(bytes);
            format!(
                "[[row]]\nname = \"second {at}\"\ninterval = {}\n\
                 trial = {{ datagram = {bytes}, load = \"max\", time = \"5s\" }}\n\
                 published = {{ transfer = \"{}\", bandwidth = \"{}\", lost = \"{lost}\", datagrams = \"{per_s}\", \
                 loss = \"{}\", jitter = \"{}\" }}\n",
                at + 1,
                self.print(bits, &[("KiB", 8192.0), ("MiB", 8.0 * 1_048_576.0)]),
                self.rate(bits),
                self.share(f64::from(*lost) / per_s),
                self.time(self.jitter_share / per_s),
            )
        });
        each.collect()
    }

    fn sentences(&self) -> String {
        let (small, large) = (self.sizes[0], self.sizes[self.sizes.len() - 1]);
        let difference = self.cost(large) - self.cost(small);
        // Anything that differs from node to node.
        let receive = self.link() * 0.1 * (-3.5 - self.per_frame_s.log10());
        // Less than the node sends alone.
        let alone = self.most_per_s(large) * 8.0 * f64::from(large);
        let transmit = alone * (0.3 + 5.0 * self.idle);
        let mut out = format!(
            "[[row]]\nname = \"both\"\ntrial = {{ {} = {large}, direction = \"both\", load = \"max\", time = \"1s\" }}\n\
             published = {{ throughput_receive = \"{}\", throughput_transmit = \"{}\", throughput_sum = \"{}\" }}\n\
             [[claim]]\nname = \"c1\"\ntext = \"t\"\nmetric = \"latency\"\nvalue_of = \"latency {small}\"\n\
             published = \"{}\"\n\
             [[sum]]\ntotal = \"both/throughput_sum\"\n\
             parts = [\"both/throughput_receive\", \"both/throughput_transmit\"]\n",
            self.size_key(),
            self.rate(receive),
            self.rate(transmit),
            self.rate(receive + transmit),
            self.time(self.cost(small)),
        );
        if difference > 1e-9 {
            out.push_str(&format!(
                "[[claim]]\nname = \"c2\"\ntext = \"t\"\nmetric = \"latency\"\n\
                 difference = [[\"latency {large}\", \"latency {small}\"]]\npublished = \"< {}\"\n",
                self.time(difference),
            ));
        }
        out
    }

    fn study(&self) -> Study {
        let text = self.table();
        Study::parse(&text, self.name).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }
}

fn worse_than_remarks(findings: &[Finding]) -> Vec<&Finding> {
    let fails = |f: &&Finding| f.severity != Severity::Remark;
    findings.iter().filter(fails).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_honest_table_gives_remarks_at_most(node in node("one")) {
        let findings = audit(&node.study());
        let worse = worse_than_remarks(&findings);
        prop_assert!(worse.is_empty(), "{worse:#?}\n{}", node.table());
    }

    #[test]
    fn two_honest_tables_give_remarks_at_most(one in node("one"), other in node("other")) {
        let other = Node { sizes: one.sizes.clone(), udp: one.udp, ..other };
        let findings = audit_all(&[one.study(), other.study()]);
        let worse = worse_than_remarks(&findings);
        prop_assert!(worse.is_empty(), "{worse:#?}\n{}\n{}", one.table(), other.table());
    }
}
