//! The delays of a trial that was run in blocks, where the reader of only some frames is seen.

use wirelab_trial::stage::{self, Delay, PassedOver, PointTimes, StageName};
use wirelab_trial::*;

fn example() -> ResultsFile {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../spec/examples/board-instructions.json"
    );
    ResultsFile::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A trial's flow in blocks: of each frame whether its reader slept, so that it is seen at the point `copy`.
fn blocks(slept: &[&[bool]]) -> Vec<Observation> {
    let like = example().observations.remove(0);
    let block = |slept: &&[bool]| {
        let points = ["socket", "copy", "call", "application"].map(|name| point(name, slept));
        let stages = stage::between(&points, &mut Vec::new());
        let mut block = like.clone();
        block.flows.truncate(1);
        block.flows[0].direction = Direction::Receive;
        block.flows[0].series = stages.into_iter().map(|(_, series)| series).collect();
        block
    };
    slept.iter().map(block).collect()
}

/// The records of a point: a frame whose reader slept takes 20 to each next point, another 10.
fn point(name: &str, slept: &[bool]) -> PointTimes {
    let at = match name {
        "socket" => 0,
        "copy" => 1,
        "call" => 2,
        _ => 3,
    };
    let each = slept.iter().enumerate();
    let seen = each.filter(|(_, slept)| name != "copy" || **slept);
    let times = seen.map(|(n, slept)| (n as u32, at * if *slept { 20 } else { 10 }));
    PointTimes {
        name: name.to_owned(),
        stream: 0,
        clock: Clock {
            owner: Owner::Node,
            ..Clock::TESTER_NS
        },
        times: times.collect(),
    }
}

/// Names, whether they are sums of stages, and frames.
fn rows(delays: &[Delay]) -> Vec<(String, bool, u64)> {
    let each = delays.iter().map(|d| &d.figures);
    let row = each.map(|f| {
        (
            StageName::new(&f.from, &f.to).to_string(),
            f.cumulated,
            f.count,
        )
    });
    row.collect()
}

#[test]
fn whether_few_frames_were_seen_at_a_point_is_decided_by_all_blocks() {
    // Of 12 frames 5 are seen there: all of the first block, none of the second, one of the third.
    let all = blocks(&[&[true; 4], &[false; 4], &[true, false, false, false]]);
    for turned in 0..3 {
        let mut all = all.clone();
        all.rotate_left(turned);
        let delays = stage::delays_of(&pooled(&all)[0]);
        let expected = [
            ("socket to call", false, 12),
            ("call to application", false, 12),
            ("socket to application", true, 12),
        ];
        let expected = expected.map(|(name, sum, frames)| (name.to_owned(), sum, frames));
        assert_eq!(rows(&delays), expected, "block {turned} first");
        let past = PassedOver {
            point: "copy".to_owned(),
            count: 5,
        };
        assert_eq!(delays[0].figures.passed_over, Some(past));
        assert_eq!(delays[1].figures.passed_over, None);
        let every = stage::every_delay_of(&pooled(&all)[0]);
        assert_eq!(rows(&every)[0], ("socket to copy".to_owned(), false, 5));
    }
}

#[test]
fn a_point_that_most_frames_were_seen_at_stands_with_its_count() {
    let all = blocks(&[&[false; 4], &[true; 4], &[true; 4]]);
    for turned in 0..3 {
        let mut all = all.clone();
        all.rotate_left(turned);
        let delays = stage::delays_of(&pooled(&all)[0]);
        let expected = [
            ("socket to copy", false, 8),
            ("copy to call", false, 8),
            ("call to application", false, 12),
            ("socket to call", true, 12),
            ("socket to application", true, 12),
        ];
        let expected = expected.map(|(name, sum, frames)| (name.to_owned(), sum, frames));
        assert_eq!(rows(&delays), expected, "block {turned} first");
        assert!(delays.iter().all(|d| d.figures.passed_over.is_none()));
        // The sum is of every frame, not of those alone that were seen at the point between.
        let past = &delays[3].figures;
        assert_eq!((past.min_ticks, past.max_ticks), (20, 40));
    }
}

#[test]
fn where_every_frame_was_seen_nothing_stands_beside_the_stages() {
    let all = blocks(&[&[true; 4], &[true; 4]]);
    let delays = stage::delays_of(&pooled(&all)[0]);
    let expected = [
        ("socket to copy", false, 8),
        ("copy to call", false, 8),
        ("call to application", false, 8),
        ("socket to application", true, 8),
    ];
    let expected = expected.map(|(name, sum, frames)| (name.to_owned(), sum, frames));
    assert_eq!(rows(&delays), expected);
}

#[test]
fn runs_of_two_files_are_not_taken_for_blocks_of_one() {
    let file = |slept: &[&[bool]]| {
        let observations = blocks(slept);
        ResultsFile {
            parts: vec![Part {
                name: "stages".to_owned(),
                first: 0,
                observations: observations.len() as u64,
                found: None,
                refused: None,
            }],
            observations,
            ..example()
        }
    };
    let mut both = file(&[&[true; 4], &[true; 4]]);
    both.append(file(&[&[false; 4]]));
    let delays = stage::delays(&both);
    let counts: Vec<u64> = delays.iter().map(|d| d.figures.count).collect();
    // Four rows of the first run, of 8 frames; three of the second, whose reader is not seen.
    assert_eq!(counts, [8, 8, 8, 8, 4, 4, 4]);
}
