//! How the search for rates ends: limits, cancel, failures, what is refused, and the form of its result.

use crate::common;
use crate::search_common::*;
use wirelab_bench::Sink;
use wirelab_bench::search::*;
use wirelab_trial::*;

#[test]
fn limits_end_it_and_what_was_found_stays() {
    for (search, ended) in [
        (
            Search {
                max_trials: 3,
                ..both_goals()
            },
            SearchEnded::TrialLimit,
        ),
        (
            Search {
                max_time_ps: 3 * SECOND_PS,
                ..both_goals()
            },
            SearchEnded::TimeLimit,
        ),
    ] {
        let result = find(&mut CurveNode::of_capacity(200e3), &search);
        assert_eq!((result.trials.len(), result.ended), (3, ended));
        let goal = &result.goals[0];
        assert_eq!(goal.outcome, Outcome::Unfinished);
        assert!(lower(goal) <= 200e3 && upper(goal) > 200e3);
    }
}

#[test]
fn cancel_and_failures_end_it() {
    let mut node = CurveNode::of_capacity(200e3);
    (node.ends_early, node.cancels) = (vec![4], true);
    let result = find(&mut node, &both_goals());
    assert_eq!(result.ended, SearchEnded::Interrupted);
    assert_eq!(result.trials.len(), 4);
    assert_eq!(result.trials[3].problem.as_deref(), Some("ended early"));

    let mut node = CurveNode::of_capacity(200e3);
    node.ends_early = vec![4, 6, 8, 10];
    let result = find(&mut node, &both_goals());
    assert_eq!(result.ended, SearchEnded::Done, "it is repeated");
    assert_eq!(node.loads()[3], node.loads()[4]);

    let mut node = CurveNode::of_capacity(200e3);
    node.fails_from = 3;
    let (result, _) = ask(&mut node, |context| {
        find_rates(context, &receive(), &both_goals()).unwrap()
    });
    let why = "the board is silent".to_owned();
    assert_eq!(result.ended, SearchEnded::Failed { why });
    assert_eq!(result.trials.len(), 5);
}

#[test]
fn what_cannot_be_searched_is_refused_before_any_trial() {
    let goal = || Goal::no_loss(SECOND_PS);
    let one = |goal: Goal| Search::new(vec![goal]);
    let refused = |search: Search, trial: Trial| {
        let mut node = CurveNode::of_capacity(1.0);
        let (result, _) = ask(&mut node, |context| find_rates(context, &trial, &search));
        assert!(node.asked().is_empty());
        result.unwrap_err().to_string()
    };
    for (search, place) in [
        (Search::new(Vec::new()), "goals: "),
        (
            one(Goal {
                final_trial_ps: 0,
                ..goal()
            }),
            "final_trial_ps: ",
        ),
        (
            one(Goal {
                duration_sum_ps: 1,
                ..goal()
            }),
            "duration_sum_ps: ",
        ),
        (
            one(Goal {
                loss_ratio: 1.0,
                ..goal()
            }),
            "loss_ratio: ",
        ),
        (
            one(Goal {
                exceed_ratio: f64::NAN,
                ..goal()
            }),
            "exceed_ratio: ",
        ),
        (
            one(Goal {
                width_ratio: 0.0,
                ..goal()
            }),
            "width_ratio: ",
        ),
        (
            Search {
                preliminary_trial_ps: Some(0),
                ..one(goal())
            },
            "preliminary_trial_ps: ",
        ),
        (
            Search {
                min_load_frames_per_s: Some(-1.0),
                ..one(goal())
            },
            "min_load_frames_per_s: ",
        ),
        (
            Search {
                min_load_frames_per_s: Some(2e6),
                ..one(goal())
            },
            "the smallest load is 2000000",
        ),
        (
            Search {
                max_trials: 0,
                ..one(goal())
            },
            "max_trials: ",
        ),
        (
            Search {
                max_time_ps: 0,
                ..one(goal())
            },
            "max_time_ps: ",
        ),
    ] {
        let error = refused(search, receive());
        assert!(error.starts_with(place), "{error}");
    }
    let mut trial = receive();
    trial.framing.layer = Layer::TcpIpv4;
    assert!(refused(one(goal()), trial).starts_with("TCP retransmits"));
    let load = Load::FrameRate { frames_per_s: 2e6 };
    let error = refused(one(goal()), Trial { load, ..receive() });
    assert!(error.contains("carries 1488095 frames/s"), "{error}");
}

#[test]
fn results_survive_json() {
    let result = find(&mut CurveNode::of_capacity(200e3), &both_goals());
    let text = serde_json::to_string(&result).unwrap();
    assert!(text.contains("\"conditional_throughput_frames_per_s\":{\"value\":"));
    assert!(text.contains("\"limited_by\":{\"value\":\"node\",\"kind\":\"measured\"}"));
    assert_eq!(serde_json::from_str::<SearchResult>(&text).unwrap(), result);
}

#[test]
fn progress_goes_forward_and_never_past_its_end() {
    struct Watch(std::sync::Mutex<Vec<(u64, u64)>>);
    impl Progress for Watch {
        fn report(&self, done: u64, total: u64, _: &str) {
            self.0.lock().unwrap().push((done, total));
        }
    }
    let watch = Watch(std::sync::Mutex::default());
    let context = SearchContext {
        node: &mut CurveNode::of_capacity(200e3),
        ceiling: &mut wirelab_bench::NoCeiling("not measured in this test".to_owned()),
        progress: &watch,
        cancel: &Cancel::new(),
        sink: &mut Vec::new(),
    };
    let result = find_rates(context, &receive(), &both_goals()).unwrap();
    let told = watch.0.into_inner().unwrap();
    assert!(told.len() > result.trials.len());
    assert!(told.is_sorted_by_key(|(done, _)| *done));
    assert!(told.iter().all(|(done, total)| done <= total));
    let (done, total) = told.last().unwrap();
    assert!(*done + 1000 > result.asked_ps / 1_000_000_000 && *total < 3_600_000);
}

#[test]
fn a_result_is_a_part_of_a_results_file() {
    let mut node = CurveNode::of_capacity(200e3);
    let mut writer =
        wirelab_bench::ResultsWriter::create(None, common::environment(), Vec::new(), "0.1.0", 1)
            .unwrap();
    writer.begin_part("rates");
    let result = find_rates(
        SearchContext {
            node: &mut node,
            ceiling: &mut wirelab_bench::NoCeiling("not measured".to_owned()),
            progress: &(),
            cancel: &Cancel::new(),
            sink: &mut writer,
        },
        &receive(),
        &both_goals(),
    )
    .unwrap();
    writer.end_part(Ok(SearchOutcome::Rates(result.clone())));
    writer.begin_part("bursts");
    writer.end_part(Err("no line rate".to_owned()));
    let file = writer.finish(false).unwrap();
    let read = ResultsFile::parse(&file.to_json()).unwrap();
    assert_eq!(read, file);
    let [rates, bursts] = &read.parts[..] else {
        panic!("two parts");
    };
    assert_eq!(rates.observations, result.trials.len() as u64);
    assert_eq!(rates.found, Some(SearchOutcome::Rates(result)));
    assert_eq!(bursts.of(&read.observations).len(), 0);
    assert_eq!(bursts.refused.as_deref(), Some("no line rate"));
}
