//! What is put into a store comes back, in SQLite and in PostgreSQL alike.

use crate::common::{begun, file, open, put};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use wirelab_report::compare::figures;
use wirelab_store::{Location, Selection, Store};
use wirelab_trial::ResultsFile;

const DAY: u64 = 86_400_000_000_000;

fn ids(store: &mut Store, selection: &str) -> Vec<i64> {
    let selection = selection.parse::<Selection>().expect("a selection");
    store
        .list(&selection)
        .expect("runs")
        .iter()
        .map(|run| run.id)
        .collect()
}

on_both! {
    #[test]
    fn every_results_file_comes_back_as_it_was(at: &Location) {
        let mut store = open(at);
        let examples = [
            include_str!("../../../spec/examples/ports.json"),
            include_str!("../../../spec/examples/hdl.json"),
            include_str!("../../../spec/examples/iperf.json"),
            include_str!("../../../spec/examples/model.json"),
            include_str!("../../../spec/examples/board-instructions.json"),
        ];
        for text in examples {
            let file = ResultsFile::parse(text).unwrap();
            let run = store.import(&file).unwrap().unwrap();
            assert_eq!(store.load(run).unwrap(), file);
            assert_eq!(store.import(&file).unwrap(), Err(run), "it is there already");
        }
        // The number of a run that was deleted is not given again.
        store.delete(&[5]).unwrap();
        assert_eq!(put(&mut open(at), 1), 6);
    }

    #[test]
    fn a_run_grows_trial_by_trial_and_ends(at: &Location) {
        let (whole, mut store) = (file(7 * DAY), open(at));
        let mut growing = begun(&whole);
        let now = whole.created_unix_ns + 10_000_000_000;
        let run = store.begin(&growing, &whole.observations[0].node).unwrap();
        for observation in &whole.observations {
            growing.observations.push(observation.clone());
            let stop = growing.observations.len() == 2;
            if stop {
                open(at).stop(&[run]).unwrap();
            }
            assert_eq!(store.keep(run, &growing).unwrap(), stop || growing.observations.len() > 2);
            assert_eq!(open(at).load(run).unwrap(), growing, "another process reads what is kept");
        }
        let before = store.list(&Selection::of(run)).unwrap().remove(0);
        assert_eq!((before.progress(), before.seconds_left(now)), ("2".to_owned(), None));
        store.plan(run, 1_002).unwrap();
        let planned = store.list(&Selection::of(run)).unwrap().remove(0);
        assert_eq!((planned.progress(), planned.seconds_left(now)), ("2 of 1,002".to_owned(), Some(5_000)));
        assert_eq!((before.finished, before.passed, before.trials as usize), (false, None, whole.observations.len()));
        let so_far = store.figures(run).unwrap();
        assert!(!so_far.is_empty());
        store.finish(run, &whole).unwrap();
        assert_eq!(store.load(run).unwrap(), whole);
        assert_eq!(store.figures(run).unwrap(), so_far);
        let after = store.list(&Selection::of(run)).unwrap().remove(0);
        assert_eq!((after.finished, after.node.as_str()), (true, whole.observations[0].node.name.as_str()));
        assert_eq!(after.verdict, wirelab_report::verdict(&whole));
        assert_eq!(after.passed, Some(wirelab_report::judge::judge(&whole).passed()));
    }

    #[test]
    fn figures_are_those_of_a_comparison(at: &Location) {
        let (file, mut store) = (file(DAY), open(at));
        let run = put(&mut store, DAY);
        let stored = store.figures(run).unwrap();
        let compared = figures::of(&file);
        assert!(compared.len() > 2 && stored.len() == compared.len());
        for (stored, (_, compared)) in stored.iter().zip(&compared) {
            assert_eq!((&stored.trial, &stored.figure), (&compared.what.trial, &compared.what.figure));
            assert_eq!((stored.unit.as_str(), stored.kind), (compared.what.unit, compared.kind));
            assert_eq!(stored.repeats as usize, compared.values.len());
            assert!(stored.low <= stored.median && stored.median <= stored.high);
        }
        let later = put(&mut store, 2 * DAY);
        let trend = store.trend(&stored[0].key, &Selection::default()).unwrap();
        assert_eq!(trend.iter().map(|point| point.run).collect::<Vec<_>>(), [run, later]);
        assert_eq!(trend[1].figure, stored[0]);
        store.tag(&[run], "main").unwrap();
        let mut found = |text: &str| {
            let selection = text.parse::<Selection>().unwrap();
            let trend = store.trend(&stored[0].key, &selection).unwrap();
            trend.iter().map(|point| point.run).collect::<Vec<_>>()
        };
        assert_eq!(found("tag=main"), [run]);
        assert_eq!(found("since=1970-01-03,last=9"), [later]);
        assert_eq!(found("last"), [later]);
        assert!(found("node=other,tag=main,until=1970-01-09").is_empty());
    }

    #[test]
    fn a_parquet_file_has_each_figure_of_each_run(at: &Location) {
        let mut store = open(at);
        let runs = [put(&mut store, DAY), put(&mut store, 2 * DAY)];
        store.tag(&[runs[1]], "ünï").unwrap();
        let listed = store.chosen(&"1,2".parse().unwrap()).unwrap();
        let bytes = store.parquet(&listed).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let mut rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        for (run, tags) in runs.into_iter().zip(["", "ünï"]) {
            for figure in store.figures(run).unwrap() {
                let row = rows.next().expect("a row");
                assert_eq!((row.get_long(0).unwrap(), row.get_string(4).unwrap().as_str()), (run, tags));
                assert_eq!((row.get_string(8).unwrap(), row.get_string(9).unwrap()), (&figure.trial, &figure.figure));
                let values = [14, 15, 16].map(|at| row.get_double(at).unwrap());
                assert_eq!(values, [figure.median, figure.low, figure.high]);
                assert_eq!(row.get_bool(12).unwrap(), figure.higher_is_better);
            }
        }
        assert!(rows.next().is_none());
        assert!(store.parquet(&[]).unwrap().starts_with(b"PAR1"));
    }

    #[test]
    fn selections_find_runs_the_latest_first(at: &Location) {
        let mut store = open(at);
        let runs: Vec<i64> = [3, 1, 2].into_iter().map(|day| put(&mut store, day * DAY)).collect();
        let mut other = file(4 * DAY);
        other.observations.iter_mut().for_each(|o| o.node.name = "lab:9".to_owned());
        let other = store.import(&other).unwrap().unwrap();
        assert_eq!(ids(&mut store, "last=9"), [other, runs[0], runs[2], runs[1]]);
        assert_eq!(ids(&mut store, "node=lab:9"), [other]);
        assert_eq!(ids(&mut store, "since=1970-01-03,until=1970-01-03"), [runs[2]]);
        assert_eq!(ids(&mut store, "since=1970-01-03,last=2"), [other, runs[0]]);
        store.tag(&[runs[0], runs[1], other], "main").unwrap();
        store.tag(&[runs[0]], "main").unwrap();
        store.tag(&[runs[0]], "a b").unwrap();
        assert_eq!(ids(&mut store, "tag=main"), [other, runs[0], runs[1]]);
        assert_eq!(ids(&mut store, "tag=main,until=1970-01-04,last"), [runs[0]]);
        assert_eq!(ids(&mut store, "tag=main,node=lab:9"), [other]);
        let run = store.list(&Selection::of(runs[0])).unwrap().remove(0);
        assert_eq!(run.tags, ["a b", "main"]);
        store.untag(&[runs[0], other], "main").unwrap();
        assert_eq!(ids(&mut store, "tag=main"), [runs[1]]);
        store.delete(&[runs[1], other]).unwrap();
        assert_eq!(ids(&mut store, "last=9"), [runs[0], runs[2]]);
        assert!(ids(&mut store, "tag=main").is_empty());
        assert!(store.figures(other).is_err());
    }

    #[test]
    fn a_choice_that_is_none_is_refused(at: &Location) {
        let mut store = open(at);
        let runs = [put(&mut store, DAY), put(&mut store, 2 * DAY)];
        let mut chosen = |text: &str| {
            let selection = text.parse::<Selection>().expect("a selection");
            store.chosen(&selection).map(|runs| runs.iter().map(|run| run.id).collect::<Vec<_>>())
        };
        assert_eq!(chosen("last").unwrap(), [runs[1]]);
        assert_eq!(chosen("2,1").unwrap(), runs, "the earliest first");
        for (text, says) in [("99", "no run 99"), ("tag=none,last", "no run is selected"), ("since=1970-01-01", "',last=2' for all")] {
            let refused = chosen(text).unwrap_err();
            assert!(refused.is_usage() && refused.to_string().contains(says), "{refused}");
        }
        let refused = store.tag(&[runs[0], 99], "half").unwrap_err();
        assert!(refused.to_string().contains("nothing was changed"), "{refused}");
        assert!(ids(&mut store, "tag=half").is_empty());
        assert!(store.delete(&[runs[0], 99]).is_err());
        assert_eq!(ids(&mut store, "last=9").len(), 2);
    }

    #[test]
    fn words_stay_words(at: &Location) {
        let hostile = "'; DROP TABLE runs; -- \u{1b}[2J\0\"$1 ünï";
        let mut store = open(at);
        let mut file = file(DAY);
        file.command = vec![hostile.to_owned()];
        file.observations.iter_mut().for_each(|o| o.node.name = hostile.to_owned());
        let run = store.import(&file).unwrap().unwrap();
        store.tag(&[run], hostile).unwrap();
        assert_eq!(store.load(run).unwrap(), file);
        let selection = Selection {
            node: Some(hostile.to_owned()),
            tag: Some(hostile.to_owned()),
            ..Selection::default()
        };
        assert_eq!(store.list(&selection).unwrap().len(), 1);
    }
}
