//! A tester that is stopped in the middle of a trial on the fast path: the trial is void, and the node has no loss
//! from it.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{alone, counts, node, received, run, trial, until};
use nix::sys::signal::{Signal, kill};
use wirelab_ports::Path;
use wirelab_trial::{Direction, Extent, Trial};

/// File in which the process to be stopped records its progress.
const STOPPED: &str = "WIRELAB_TEST_PORTS_STOPPED";

/// Two seconds at maximum load in both directions: the counts of each flow, and why the trial is void.
fn in_the_child(file: &str) {
    let Some(mut node) = node(1, Path::Xdp) else {
        return;
    };
    let trial = Trial {
        direction: Direction::Both,
        extent: Extent::Time {
            time_ps: 2_000_000_000_000,
        },
        ..trial(0)
    };
    let far_end = node.pairs()[0].tester.clone();
    let begun = received(&far_end);
    let seen = std::thread::scope(|scope| {
        // A busy host may take seconds to load the programs; only arriving frames show that it sends.
        scope.spawn(|| {
            until("frames that arrive", || received(&far_end) > begun + 10_000);
            std::fs::write(file, "sending").unwrap();
        });
        run(&mut node, &trial)
    });
    let flows = seen.flows.iter().map(|flow| {
        let c = counts(flow);
        format!("{} {}", c.good_frames, c.lost_frames)
    });
    let flows: Vec<String> = flows.collect();
    let held_up = seen.tester_held_up().unwrap_or_default();
    std::fs::write(file, format!("{}\n{held_up}", flows.join("\n"))).unwrap();
}

#[test]
fn a_stop_at_maximum_load_on_the_fast_path_spoils_the_trial_and_is_no_loss() {
    if let Ok(file) = std::env::var(STOPPED) {
        return in_the_child(&file);
    }
    if !wirelab_port::netns::may_test() {
        return;
    }
    let _alone = alone();
    let file = tempfile::NamedTempFile::new().unwrap();
    let said = || std::fs::read_to_string(file.path()).unwrap();
    let test = "a_stop_at_maximum_load_on_the_fast_path_spoils_the_trial_and_is_no_loss";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("stopped::{test}")])
        .env(STOPPED, file.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the child's run", || said() == "sending");
    let process = nix::unistd::Pid::from_raw(child.id() as i32);
    kill(process, Signal::SIGSTOP).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    kill(process, Signal::SIGCONT).unwrap();
    assert!(child.wait().unwrap().success());
    let said = said();
    let lines: Vec<&str> = said.split('\n').collect();
    let [flows @ .., held_up] = &lines[..] else {
        panic!("{said}");
    };
    assert_eq!(flows.len(), 2, "{said}");
    for flow in flows {
        let (good, lost) = flow.split_once(' ').unwrap();
        assert!(good.parse::<u64>().unwrap() > 10_000, "{said}");
        assert_eq!(lost, "0", "{said}");
    }
    assert!(
        held_up.contains("sender") && held_up.contains("held up by its own host"),
        "{said}"
    );
}
