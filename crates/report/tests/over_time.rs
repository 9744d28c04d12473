//! Pictures over the run: which trials have one, and what its points say.

use wirelab_report::stages::render_stages;
use wirelab_report::{Format, Options, render};
use wirelab_trial::over_time::Cores;
use wirelab_trial::slices::{Slice, Slices};
use wirelab_trial::{BusyOverTime, Field, OverTime, ResultsFile};

fn of(all: Vec<Slice>) -> Slices {
    Slices {
        all,
        first_ns: None,
    }
}

/// Slices of 50 ms, of which the eleventh gets a quarter of the frames and loses the rest.
fn with_a_dip(frames: u64) -> Slices {
    let slice = |at: u64| {
        let arrived = if at == 10 { frames / 4 } else { frames };
        Slice {
            ns: 50_000_000,
            amount: arrived,
            distinct: arrived,
            passed: frames,
        }
    };
    of((0..20).map(slice).collect())
}

fn example() -> ResultsFile {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../spec/examples/ports.json"
    );
    ResultsFile::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn with_one(over_time: OverTime) -> ResultsFile {
    let mut file = example();
    file.observations[0].flows[0].over_time = over_time;
    file
}

fn data(file: &ResultsFile) -> serde_json::Value {
    let page = render(file, Format::Html, &Options::default());
    let begin = page.split_once("id=\"wirelab-data\">").unwrap().1;
    serde_json::from_str(begin.split_once("</script>").unwrap().0).unwrap()
}

/// The pane of the page's pictures whose axis up has this name.
fn pane<'a>(value: &'a serde_json::Value, name: &str) -> Option<&'a serde_json::Value> {
    match value {
        serde_json::Value::Object(all) => {
            let is_it = all.get("y").is_some_and(|y| y["name"] == name);
            if is_it && all.contains_key("series") {
                return Some(value);
            }
            all.values().find_map(|one| pane(one, name))
        }
        serde_json::Value::Array(all) => all.iter().find_map(|one| pane(one, name)),
        _ => None,
    }
}

#[test]
fn a_run_whose_rate_dropped_out_shows_when_and_by_how_much() {
    let page = data(&with_one(OverTime::of_frames(&with_a_dip(1000))));
    let points = &pane(&page, "arrived in frames/s").unwrap()["series"][0]["points"];
    assert_eq!(points.as_array().unwrap().len(), 20);
    assert_eq!(points[9]["y"], 20_000.0);
    assert_eq!(points[10]["y"], 5_000.0);
    assert_eq!(points[10]["x"], 525e9, "the middle of the slice, in ps");
    let words = points[10]["words"].as_str().unwrap();
    assert!(
        words.contains("500 ms to 550 ms") && words.contains("frames/s"),
        "{words}"
    );
    let missing = &pane(&page, "missing").unwrap()["series"][0]["points"];
    assert_eq!(
        (&missing[9]["y"], &missing[10]["y"]),
        (&0.0.into(), &0.75.into())
    );
}

#[test]
fn the_load_of_node_and_tester_stands_below_the_rate_in_the_same_picture() {
    let mut file = with_one(OverTime::of_frames(&with_a_dip(1000)));
    let slices = [
        (210_000_000, 21_000_000),
        (210_000_000, 189_000_000),
        (210_000_000, 0),
    ];
    let busy = |of, from_ns| BusyOverTime::new(of, from_ns, &slices);
    file.observations[0].busy_over_time =
        vec![busy(Cores::Node, 40_000_000), busy(Cores::Tester, 0)];
    let kept = ResultsFile::parse(&file.to_json()).unwrap();
    let page = data(&kept);
    let pane_ = pane(&page, "CPU load").unwrap();
    let names = ["the node's cores", "the tester's host"];
    for (at, (name, begin)) in names.into_iter().zip([40e9, 0.0]).enumerate() {
        let series = &pane_["series"][at];
        assert_eq!(
            (&series["name"], &series["kind"]),
            (&name.into(), &"measured".into())
        );
        let points = series["points"].as_array().unwrap();
        let shares: Vec<f64> = points.iter().map(|p| p["y"].as_f64().unwrap()).collect();
        assert_eq!(shares, [0.1, 0.9, 0.0]);
        assert_eq!(
            points[0]["x"],
            begin + 105e9,
            "the middle of the slice, in ps"
        );
        let words = points[1]["words"].as_str().unwrap();
        assert!(words.contains(&format!("{name} 90")), "{words}");
    }
    // It is one picture with the rate, and two slices do not make a course.
    let pictures = page["pictures"].as_array().unwrap();
    let both = pictures.iter().filter(|of| pane(of, "CPU load").is_some());
    assert!(
        both.into_iter()
            .all(|of| pane(of, "arrived in frames/s").is_some())
    );
    file.observations[0].busy_over_time = vec![BusyOverTime::new(Cores::Node, 0, &slices[..2])];
    assert!(pane(&data(&file), "CPU load").is_none());
}

#[test]
fn blocks_of_stages_that_are_too_short_alone_stand_in_one_picture_of_the_whole_run() {
    let mut file = example();
    let mut block = file.observations[0].clone();
    block.flows[0].over_time = OverTime::of_frames(&with_a_dip(10));
    let blocks = (0..4u64).map(|at| {
        let mut one = block.clone();
        one.started_unix_ns = Field::measured(1_000_000_000_000 + at * 2_000_000_000);
        let slice = (200_000_000, at * 50_000_000);
        one.busy_over_time = vec![BusyOverTime::new(Cores::Node, 10_000_000, &[slice])];
        one
    });
    file.observations = blocks.collect();
    file.parts.clear();
    let shown = |file: &ResultsFile| {
        let page = render_stages(file, None, Format::Html, &Options::default()).unwrap();
        let begin = page.split_once("id=\"wirelab-data\">").unwrap().1;
        serde_json::from_str(begin.split_once("</script>").unwrap().0).unwrap()
    };
    let page: serde_json::Value = shown(&file);
    assert!(pane(&page, "frames/s of each trial").is_some());
    assert!(
        pane(&page, "arrived in frames/s").is_none(),
        "no picture of a block"
    );
    let points = &pane(&page, "CPU load").unwrap()["series"][0]["points"];
    let all: Vec<(f64, f64)> = points
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["x"].as_f64().unwrap(), p["y"].as_f64().unwrap()))
        .collect();
    let at = |n: f64| (n * 2e12 + 110e9, n * 0.25);
    assert_eq!(all, [at(0.0), at(1.0), at(2.0), at(3.0)]);
    // A run that is long enough has a picture of its own.
    let slices = [(210_000_000, 0); 4];
    file.observations[0].busy_over_time = vec![BusyOverTime::new(Cores::Node, 0, &slices)];
    assert!(pane(&shown(&file), "arrived in frames/s").is_some());
}

#[test]
fn trials_without_slices_or_with_few_have_no_picture() {
    assert!(pane(&data(&example()), "arrived in frames/s").is_none());
    let few = of(with_a_dip(1000).all[..7].to_vec());
    let page = data(&with_one(OverTime::of_frames(&few)));
    assert!(pane(&page, "arrived in frames/s").is_none());
}

#[test]
fn what_a_file_keeps_over_time_is_read_back_packed_or_not() {
    for slices in [with_a_dip(1000), of(with_a_dip(7).all[..5].to_vec())] {
        let kept = OverTime::of_frames(&slices);
        let text = with_one(kept.clone()).to_json();
        let file = ResultsFile::parse(&text).unwrap();
        let mut flows = file.observations.iter().flat_map(|o| &o.flows);
        assert!(flows.any(|flow| flow.over_time == kept));
    }
    let long = of(with_a_dip(1000).all.repeat(40));
    let kept = OverTime::of_stream(&long);
    let sum = |list: &[u64]| list.iter().sum::<u64>();
    assert!((32..=wirelab_trial::over_time::MOST_KEPT).contains(&kept.arrived.len()));
    assert_eq!(
        sum(&kept.arrived),
        long.all.iter().map(|slice| slice.amount).sum::<u64>()
    );
    assert_eq!(sum(&kept.missing_frames), 0, "a stream has no sequences");
}
