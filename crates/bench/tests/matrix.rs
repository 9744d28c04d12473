//! Expansion: what a plan becomes, in which order, and that nothing is left out or done twice.

use std::collections::HashMap;
use std::path::Path;

use proptest::prelude::*;
use wirelab_bench::{
    ExpandError, Matrix, Plan, PlannedTrial, Section, expand, fuzz_plan, plan_estimate_ps,
};
use wirelab_trial::*;

const EVERYTHING: &str = r#"
title = "all there is"
node  = "lab:4"

[[matrix]]
name      = "wide"
layer     = ["ethernet", "udp4"]
vlan      = [0, 1]
payload   = [66, 438]
load      = ["max", "95%", "20kpps", "10M", "gap=96B"]
direction = ["both", "rx"]
ports     = [1, 4]
time      = "3s"
warmup    = "200ms"
rate      = "100M"
inject    = { drop = 1e-5, header-corrupt = 0.5, seed = 7 }

[[matrix]]
frame   = 64
length  = [60, 1514]
buffers = ["prefilled", "dma-copied"]
frames  = 50
repeat  = 3
"#;

fn line(step: &PlannedTrial) -> String {
    let t = &step.trial;
    let buffers = t.buffers.map_or("any".to_owned(), |b| b.to_string());
    format!(
        "{} #{} {:?} vlan {} {} ports {} buffers {} load {} {} {}",
        step.matrix,
        step.repeat,
        t.framing.layer,
        t.framing.vlan_tags,
        t.direction,
        t.ports,
        buffers,
        t.load,
        t.size.unit.name(),
        t.size.bytes
    )
}

#[test]
fn a_plan_reads_as_it_is_written() {
    let plan = Plan::parse(EVERYTHING, "p.toml").unwrap();
    assert_eq!(plan.title.as_deref(), Some("all there is"));
    assert_eq!(plan.node.as_deref(), Some("lab:4"));
    let wide = plan.matrices().next().unwrap();
    assert_eq!(wide.loads[1], Load::LinkShare { percent: 95.0 });
    assert_eq!(wide.loads[3], Load::BitRate { bits_per_s: 10e6 });
    assert_eq!(wide.directions, [Direction::Both, Direction::Receive]);
    assert_eq!(
        wide.shared.extent,
        Extent::Time {
            time_ps: 3_000_000_000_000
        }
    );
    assert_eq!(wide.warmup_ps, 200_000_000_000);
    assert_eq!(wide.shared.link_bits_per_s, Some(100_000_000));
    let faults = FaultRates {
        drop: 1e-5,
        header_corrupt: 0.5,
        seed: 7,
        ..FaultRates::default()
    };
    assert_eq!(wide.shared.faults, faults);
    let second = plan.matrices().nth(1).unwrap();
    assert_eq!((second.name.as_str(), second.repeats), ("matrix 2", 3));
    assert_eq!(second.sizes[0], Size::new(SizeUnit::Frame, 64));
    assert_eq!(second.sizes[2], Size::new(SizeUnit::Length, 1514));
    assert_eq!(second.shared.extent, Extent::Frames { frames: 50 });
}

#[test]
fn expansion_is_in_this_order() {
    let steps = expand(&Plan::parse(EVERYTHING, "p.toml").unwrap(), 2).unwrap();
    let lines: Vec<String> = steps.iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn what_cannot_be_expanded() {
    let matrix = Matrix::new("m", vec![Size::new(SizeUnit::Frame, 64)]);
    let with = |matrix: Matrix| {
        let plan = Plan::of(Section::Matrix(matrix));
        expand(&plan, 1).unwrap_err()
    };
    assert_eq!(expand(&Plan::default(), 1), Err(ExpandError::Empty));
    assert_eq!(
        with(Matrix {
            sizes: Vec::new(),
            ..matrix.clone()
        }),
        ExpandError::Empty
    );
    let many = Matrix {
        repeats: u32::MAX,
        loads: vec![Load::Max; 9],
        ..matrix.clone()
    };
    assert_eq!(with(many), ExpandError::TooMany(9 * u64::from(u32::MAX)));
    let small = Matrix {
        sizes: vec![Size::new(SizeUnit::Frame, 63)],
        ..matrix.clone()
    };
    assert!(matches!(with(small), ExpandError::Size(_)));
    let mut fast = Matrix {
        loads: vec!["2G".parse().unwrap()],
        ..matrix
    };
    fast.shared.link_bits_per_s = Some(1_000_000_000);
    assert!(
        with(fast)
            .to_string()
            .contains("a link of 1000000000 bit/s carries")
    );
}

#[test]
fn the_estimate_adds_up() {
    let text = "[[matrix]]\nframe = 64\ntime = \"3s\"\nwarmup = \"500ms\"\nrepeat = 2\n\
                [[matrix]]\nframe = 64\nframes = 148810\nrate = \"100M\"\n\
                [[matrix]]\nframe = 64\nframes = 500\nload = \"1kpps\"\n";
    let seconds = |text: &str, link| {
        let able = Capabilities {
            ports: 1,
            link_bits_per_s: link,
            ..Capabilities::default()
        };
        let plan = Plan::parse(text, "p.toml").unwrap();
        // The tester's ceiling for the one kind of trial: three runs of 0.1 s.
        plan_estimate_ps(&plan, &able, 0).unwrap() as f64 / 1e12 - 0.3
    };
    let listed = seconds(text, None);
    assert!((listed - (7.0 + 1.0 + 0.5)).abs() < 1e-3, "{listed}");
    let unknown = "[[matrix]]\nframe = 64\nframes = 14881";
    assert!((seconds(unknown, None) - 1.0).abs() < 1e-9);
    let known = seconds(unknown, Some(10_000_000));
    assert!((known - 1.0).abs() < 1e-3, "{known}");
}

#[test]
fn the_plans_of_the_project_expand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let plan = Plan::load(&entry.unwrap().path()).unwrap_or_else(|e| panic!("{e}"));
        expand(&plan, 4).unwrap();
        seen += 1;
    }
    assert!(seen >= 4, "{seen} plans");
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/plan");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        fuzz_plan(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen > 0, "no corpus for plan");
}

fn some_of<T: Clone + std::fmt::Debug + 'static>(all: Vec<T>) -> impl Strategy<Value = Vec<T>> {
    let most = all.len();
    proptest::sample::subsequence(all, 1..=most)
}

prop_compose! {
    fn matrices()(
        vlan in some_of(vec![0u8, 1, 2]),
        bytes in some_of(vec![64u32, 128, 512, 1518]),
        loads in some_of(vec![Load::Max, Load::FrameRate { frames_per_s: 1e3 }, Load::BitRate { bits_per_s: 1e6 }]),
        directions in some_of(vec![Direction::Transmit, Direction::Receive, Direction::Both]),
        ports in some_of(vec![1u32, 2, 4]),
        buffers in some_of(vec![None, Some(Buffers::Prefilled), Some(Buffers::Copied)]),
        repeats in 1u32..5,
    ) -> Matrix {
        Matrix {
            framings: vlan.iter().map(|tags| Framing { vlan_tags: *tags, ..Framing::default() }).collect(),
            loads, directions, ports, buffers, repeats,
            ..Matrix::new("m", bytes.iter().map(|b| Size::new(SizeUnit::Frame, *b)).collect())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_combination_appears_once_per_repeat(matrix in matrices()) {
        let plan = Plan::of(Section::Matrix(matrix.clone()));
        let steps = expand(&plan, 1).unwrap();
        prop_assert_eq!(steps.len() as u64, matrix.trials());
        let mut times: HashMap<(u32, String), u32> = HashMap::new();
        for step in &steps {
            *times.entry((step.repeat, line(step))).or_default() += 1;
        }
        for repeat in 1..=matrix.repeats {
            for framing in &matrix.framings { for size in &matrix.sizes { for load in &matrix.loads {
                for direction in &matrix.directions { for ports in &matrix.ports {
                    for buffers in &matrix.buffers {
                        let trial = Trial { ports: *ports, buffers: *buffers, ..Trial::new(*framing, *direction, *size, *load, matrix.shared.extent) };
                        let sizes = trial.sizes().unwrap();
                        let step = PlannedTrial { matrix: "m".into(), repeat, warmup_ps: 0, trial, sizes };
                        prop_assert_eq!(times.remove(&(repeat, line(&step))), Some(1));
                    }
                } }
            } } }
        }
        prop_assert!(times.is_empty());
    }

    #[test]
    fn nothing_that_is_written_panics(text in "(\\[\\[(matrix|search|loss_curve|bursts)\\]\\]\n)?((frame|load|ports|time|inject|loss|width|around|step) ?= ?[\"\\[\\]{}0-9a-z.,%µ]{0,12}\n){0,4}") {
        fuzz_plan(text.as_bytes());
    }
}
