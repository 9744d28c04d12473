//! A table made from a node model with honest rounding: the audit finds nothing worse than a remark.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wirelab_model::library;
use wirelab_model::node::ModelNode;
use wirelab_study::audit::{Finding, Rule, audit, audit_all};
use wirelab_study::metric::Metric;
use wirelab_study::quantity::{Quantity, UNITS};
use wirelab_study::run::{NodeSource, run};
use wirelab_study::table::{Cell, Role, Row, Study};
use wirelab_study::value::value_of;
use wirelab_trial::{Cancel, Direction, Extent, Framing, Layer, Load, Node, Size, SizeUnit, Trial};

struct Models;

impl NodeSource for Models {
    fn node(
        &mut self,
        name: &str,
        set: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Node>, String> {
        let mut file = library::open(name).map_err(|e| e.to_string())?;
        for (path, value) in set {
            file.set(&format!("{path}={value}"))
                .map_err(|e| e.to_string())?;
        }
        Ok(Box::new(ModelNode::new(file)))
    }
}

/// `number` as it is printed with so many digits after the point.
fn printed(number: f64, decimals: usize, unit: &str) -> Quantity {
    format!("{number:.decimals$} {unit}")
        .trim()
        .parse()
        .expect("a printed figure is read")
}

fn worse_than_a_remark(findings: Vec<Finding>) -> Vec<Finding> {
    findings
        .into_iter()
        .filter(|f| f.severity.fails())
        .collect()
}

/// The five documents, had their nodes done what the models say.
#[test]
fn the_five_tables_with_the_models_own_figures_are_clean() {
    let mut honest = Vec::new();
    for name in wirelab_study::library::names() {
        let mut study = wirelab_study::library::open(name).expect("it comes with the tool");
        let figures = run(&study, None, &mut Models, &(), &Cancel::new())
            .expect("models run")
            .rows;
        let mut figures = figures.iter();
        for cell in study.rows.iter_mut().flat_map(|row| &mut row.cells) {
            let figure = figures.next().expect("a figure for each cell");
            if let Some(value) = figure.value {
                let unit = cell.published.unit.name;
                cell.published = printed(value, cell.published.decimals, unit);
            }
        }
        // Sentences and sums are about the figures that were replaced.
        study.claims.clear();
        study.sums.clear();
        let found = worse_than_a_remark(audit(&study));
        // The tool's minimum of 112 bytes is in the model too: its rows are printed as 64.
        let honest_but_raised = |f: &Finding| f.study == "am263x" && f.rule == Rule::MinimumSize;
        let found: Vec<&Finding> = found.iter().filter(|f| !honest_but_raised(f)).collect();
        assert!(found.is_empty(), "{name}: {found:#?}");
        honest.push(study);
    }
    let across = worse_than_a_remark(audit_all(&honest));
    assert!(
        across.iter().all(|f| f.rule == Rule::MinimumSize),
        "{across:#?}"
    );
}

/// What a table can hold of a path.
fn unit_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "Mbit/s",
        Metric::CpuLoad | Metric::Efficiency | Metric::Loss => "%",
        Metric::FramesPerS => "frames/s",
        _ => "us",
    }
}

fn sizes(layer: Layer) -> Vec<Size> {
    match layer {
        Layer::Ethernet => Size::usual(layer).collect(),
        _ => [128, 256, 512, 700, 1024, 1400]
            .map(|b| Size::new(SizeUnit::Datagram, b))
            .to_vec(),
    }
}

/// A table of one path of a node: its sizes, at full speed or at shares of it, with so many digits.
fn table(node: &str, path: usize, share: Option<f64>, decimals: usize) -> Option<Study> {
    let file = library::open(node).expect("it comes with the tool");
    let path = &file.paths[path % file.paths.len()];
    let mut model = ModelNode::new(file.clone());
    let mut rows = Vec::new();
    for size in sizes(path.layers[0]) {
        let mut trial = Trial {
            buffers: path.buffers.first().copied(),
            ..Trial::new(
                Framing {
                    layer: path.layers[0],
                    vlan_tags: 0,
                },
                path.direction,
                size,
                Load::Max,
                Extent::Frames { frames: 2_000 },
            )
        };
        trial.load = match (share, path.direction) {
            (Some(percent), Direction::Receive) => Load::LinkShare { percent },
            _ => Load::Max,
        };
        let observation = model.run(&trial, &(), &Cancel::new()).ok()?;
        let mut row = Row {
            name: format!("{} B", size.bytes),
            line: 1,
            node: None,
            trial,
            size_known: true,
            window: None,
            forwarding: None,
            datasheet: false,
            point: None,
            interval: None,
            set: BTreeMap::new(),
            limit: false,
            column: None,
            cells: Vec::new(),
        };
        for metric in [
            Metric::Throughput,
            Metric::FramesPerS,
            Metric::CpuLoad,
            Metric::Efficiency,
        ] {
            let unit = unit_of(metric);
            let Some(base) = value_of(&row, &observation, metric).value().copied() else {
                continue;
            };
            let scale = UNITS.iter().find(|u| u.name == unit).expect("a unit").scale;
            row.cells.push(Cell {
                metric,
                published: printed(base / scale, decimals, unit),
                role: Role::HeldOut,
                reason: None,
                line: 1,
                source_line: None,
            });
        }
        rows.push(row);
    }
    Some(Study {
        name: "honest".to_owned(),
        file: "honest.toml".to_owned(),
        title: "An honest table".to_owned(),
        source: "a node model".to_owned(),
        about: None,
        node: node.to_owned(),
        link_bits_per_s: model.describe().capabilities.link_bits_per_s,
        clocks_hz: Vec::new(),
        rows,
        claims: Vec::new(),
        sums: Vec::new(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_of_any_model_with_honest_rounding_are_clean(
        node in (0usize..99).prop_map(|n| n % library::names().count()),
        path in 0..8usize,
        share in prop::option::of(1.0..100.0f64),
        decimals in 0..4usize,
    ) {
        let name = library::names().nth(node).expect("in range");
        if let Some(study) = table(name, path, share, decimals) {
            let found = worse_than_a_remark(audit(&study));
            prop_assert!(found.is_empty(), "{name}: {found:#?}");
        }
    }
}
