//! Frames that a slow queue releases after the end of their run neither count in the next run nor disturb it.

use crate::common::{alone, assert_clean, counts, has_warning, node, run, sent, shape, trial};
use wirelab_ports::Path;
use wirelab_trial::{Load, Trial};

#[test]
fn frames_of_a_slow_queue_do_not_count_in_the_next_run() {
    let Some(mut node) = node(1, Path::Packet) else {
        return;
    };
    let _alone = alone();
    // A queue of more than five seconds before the node's link: a frame each 40 ms.
    shape(&node.pairs()[0].node, 16_800);
    let flood = Trial {
        load: Load::FrameRate {
            frames_per_s: 2000.0,
        },
        ..trial(320)
    };
    let first = run(&mut node, &flood);
    let (flow, first_counts) = (&first.flows[0], counts(&first.flows[0]));
    assert!(has_warning(&first, "late-frames"), "{first:#?}");
    assert_eq!(first_counts.check_identity(sent(flow)), Ok(()));
    assert!(first_counts.lost_frames > 20, "{first_counts:?}");

    let slow = Trial {
        load: Load::FrameRate { frames_per_s: 20.0 },
        ..trial(10)
    };
    let second = run(&mut node, &slow);
    assert_clean(&second, "the run behind a full queue");
    let late = counts(&second.flows[0]).other_run_frames;
    assert!(
        late > 5 && late <= 320 - first_counts.received_frames,
        "{late} of {first_counts:?}"
    );
    assert!(has_warning(&second, "other-run-frames"), "{second:#?}");
}
