//! `wirelab measure` with searches, the datasheet, an interrupt and `--resume`, as a user calls it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{json, refused, scratch, stderr, stdout, wirelab};
use serde_json::Value;
use wirelab_trial::search::SearchEnded;
use wirelab_trial::{Load, ResultsFile, SearchOutcome};

fn file(args: &[&str]) -> ResultsFile {
    let output = wirelab(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    ResultsFile::parse(&stdout(&output)).expect("--json prints a results file")
}

#[test]
fn the_datasheet_of_the_am263x_has_every_part_and_is_no_failure() {
    let file = file(&["measure", "am263x", "--datasheet", "--json"]);
    assert!(!file.interrupted);
    let names: Vec<&str> = file.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names.len(), 13);
    assert_eq!((names[0], names[12]), ("Layer 2 latency", "UDP echo"));
    for part in file.parts.iter().filter(|part| part.found.is_some()) {
        let Some(SearchOutcome::Rates(result)) = &part.found else {
            panic!("{}", part.name);
        };
        assert_eq!(result.ended, SearchEnded::Done);
        let [none, some] = &result.goals[..] else {
            panic!("two goals");
        };
        let rate = |field: &wirelab_trial::Field<f64>| *field.value().expect("a rate");
        let (none, some) = (
            rate(&none.relevant_lower_bound_frames_per_s),
            rate(&some.relevant_lower_bound_frames_per_s),
        );
        assert!(none <= some, "{}: {none} and {some}", part.name);
    }
    // Three trials around each rate, in bit/s of two digits.
    for part in file
        .parts
        .iter()
        .filter(|part| part.name.ends_with(", around"))
    {
        let rates = part
            .of(&file.observations)
            .iter()
            .map(|o| match o.trial.load {
                Load::BitRate { bits_per_s } => bits_per_s,
                other => panic!("{other}"),
            });
        let rates: Vec<f64> = rates.collect();
        assert_eq!(rates.len(), 3);
        assert!(rates.windows(2).all(|w| w[0] < w[1]), "{rates:?}");
    }
}

#[test]
fn a_datasheet_takes_the_rate_of_the_link() {
    let file = file(&["measure", "am263x", "--quick", "--rate", "1G", "--json"]);
    let rates = file.observations.iter().map(|o| o.trial.link_bits_per_s);
    assert!(rates.len() > 10);
    assert!(rates.into_iter().all(|rate| rate == Some(1_000_000_000)));
}

#[test]
fn what_a_node_cannot_do_is_shown_and_is_no_failure() {
    let file = file(&["measure", "lpc1768", "--quick", "--json"]);
    let unsupported =
        |o: &&wirelab_trial::Observation| o.warnings.iter().any(|w| w.code == "unsupported");
    let cannot = file.observations.iter().filter(unsupported).count();
    assert!(cannot > 0 && cannot < file.observations.len(), "{cannot}");
}

#[test]
fn one_search_needs_no_plan_file() {
    let base = [
        "measure",
        "am263x",
        "--layer",
        "udp4",
        "--datagram",
        "1470",
        "--time",
        "1s",
    ];
    let with = |more: &[&str]| json(&[&base[..], more, &["--json"]].concat());
    let found = |value: &Value| value["parts"][0]["found"].clone();

    let rates = found(&with(&[
        "--search",
        "no-loss,loss=2.5%",
        "--trials",
        "2",
        "--width",
        "1%",
        "--around",
        "50%",
    ]));
    assert_eq!(rates["kind"], "rates");
    let goals = rates["goals"].as_array().expect("goals");
    assert_eq!(goals.len(), 2);
    for goal in goals {
        assert_eq!(goal["goal"]["duration_sum_ps"], 2_000_000_000_000_u64);
        assert_eq!(goal["goal"]["width_ratio"], 0.01);
        assert_eq!(goal["outcome"], "found");
        let kind = &goal["conditional_throughput_frames_per_s"]["kind"];
        assert!(kind == "predicted" || kind == "calibrated", "{kind}");
    }
    assert_eq!(
        rates["trial"]["direction"], "receive",
        "what a search usually means"
    );

    let curve = found(&with(&["--loss-curve", "--load", "20kpps"]));
    assert_eq!(curve["kind"], "loss_curve");
    assert_eq!(curve["ends_without_loss"], true);

    let text = stdout(&wirelab(&[&base[..], &["--search", "no-loss"]].concat()));
    assert!(text.contains("Throughput that searches found"), "{text}");
}

#[test]
fn bursts_of_a_node_rest_on_its_throughput() {
    let value = json(&[
        "measure",
        "am263x",
        "--layer",
        "udp4",
        "--datagram",
        "1470",
        "--time",
        "200ms",
        "--bursts",
        "--json",
    ]);
    let parts = value["parts"].as_array().expect("parts");
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1]["found"]["kind"], "bursts");
    assert_eq!(parts[1]["found"]["ended"]["kind"], "done");
}

#[test]
fn a_wrong_request_says_what_to_write() {
    for (args, text) in [
        (
            &["--search", "quick"][..],
            "--search quick: unknown goal; fix: write no-loss, or the allowed loss, e.g. loss=2.5%",
        ),
        (
            &["--search", "loss=half"],
            "--search loss=half: invalid share; fix: write one from 0% to 99%",
        ),
        (
            &["--search", "loss=200%"],
            "--search loss=200%: invalid share; fix: write one from 0% to 99%",
        ),
        (
            &["--search", "no-loss", "--width", "0%"],
            "--width 0%: invalid share; fix: write one from 0.01% to 50%",
        ),
        (
            &["--search", "no-loss", "--layer", "tcp4"],
            "TCP retransmits lost data",
        ),
        (
            &["--search", "no-loss", "--frames", "5"],
            "--frames: the trials of a search have a time",
        ),
        (
            &["--search", "no-loss", "--load", "10%,20%"],
            "one highest load",
        ),
        (
            &["--search", "no-loss", "--repeat", "3"],
            "--repeat: it cannot be combined with a search; fix: leave it out, trials says how often",
        ),
        (
            &["--bursts", "--direction", "tx"],
            "--direction: the tester sends bursts to the node; fix: give rx or echo",
        ),
        (&["--trials", "3"], "--search"),
        (&["--datasheet", "--frame", "64"], "cannot be used with"),
        (&["--quick", "--plan", "p.toml"], "cannot be used with"),
        (
            &["--resume", "/nowhere/r.json"],
            "give a results file that 'wirelab measure -o' wrote",
        ),
    ] {
        refused(&[&["measure", "am263x"], args].concat(), text);
    }
}

/// A plan on a model that takes some seconds, so that it can be ended in the middle.
const LONG: &str = "[[matrix]]\nlayer = \"udp4\"\ndatagram = 64\nload = \"2M\"\ndirection = \"receive\"\ntime = \"1s\"\nrepeat = 60\n[[search]]\nlayer = \"udp4\"\ndatagram = 64\ntime = \"1s\"\n";

#[test]
fn a_killed_run_goes_on_and_gives_the_file_of_one_that_was_not() {
    let (plan, whole, killed) = (
        scratch("long.toml"),
        scratch("whole.json"),
        scratch("killed.json"),
    );
    std::fs::write(&plan, LONG).expect("a scratch folder");
    let path = |path: &std::path::Path| path.to_str().expect("plain text").to_owned();
    let (plan, whole, killed) = (path(&plan), path(&whole), path(&killed));
    let args = |out: &str| ["measure", "am263x", "--plan", &plan, "-o", out].map(str::to_owned);

    let mut child = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .args(args(&killed))
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary was built for this test");
    // Until something is on the disk; however slow the machine, it comes after the first trial.
    let begun = Instant::now();
    while !std::path::Path::new(&killed).exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("it ended");
    let read =
        |path: &str| ResultsFile::parse(&std::fs::read_to_string(path).expect(path)).expect(path);
    let left = read(&killed);
    assert!(!left.observations.is_empty());

    let output = wirelab(&["measure", "am263x", "--plan", &plan, "--resume", &killed]);
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{}",
        stderr(&output)
    );
    let again = wirelab(&args(&whole).each_ref().map(String::as_str));
    assert_eq!(again.status.code(), output.status.code());
    let (mut resumed, mut whole) = (read(&killed), read(&whole));
    assert_eq!(
        resumed.command, left.command,
        "it stays the file of its first command"
    );
    assert!(!resumed.interrupted);
    for file in [&mut resumed, &mut whole] {
        (file.command, file.created_unix_ns) = (Vec::new(), 0);
        file.environment = left.environment.clone();
    }
    assert!(
        resumed == whole,
        "the same file as of a run that was not ended"
    );

    // Of another node, and of another plan.
    for (args, text) in [
        (
            vec!["measure", "lpc1768", "--plan", &plan, "--resume", &killed],
            "holds results of",
        ),
        (
            vec!["measure", "am263x", "--datasheet", "--resume", &killed],
            "it is of another plan",
        ),
    ] {
        let output = wirelab(&args);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(
            said.contains(text) && said.contains("it was made by: "),
            "{said}"
        );
    }
    assert_eq!(read(&killed).observations.len(), resumed.observations.len());
}

/// A lab whose veth pair is shaped, taken down at the end.
struct Lab(String);

impl Lab {
    fn up(rate: &str) -> Option<Lab> {
        let name = format!("plan{}", std::process::id());
        let up = wirelab(&["lab", "up", &name, "--rate", rate]);
        if up.status.code() == Some(2) {
            use std::io::Write;
            // Past the test harness, which would swallow it.
            let _ = writeln!(
                std::io::stderr(),
                "WIRELAB-SKIP root: {}",
                stderr(&up).trim()
            );
            return None;
        }
        assert!(up.status.success(), "{}", stderr(&up));
        Some(Lab(name))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        wirelab(&["lab", "down", &self.0]);
    }
}

#[test]
fn a_search_on_a_shaped_veth_never_finds_more_than_it_carries() {
    let Some(lab) = Lab::up("20M") else { return };
    let node = format!("lab:{}", lab.0);
    let output = wirelab(&[
        "measure",
        &node,
        "--path",
        "packet",
        "--frame",
        "512",
        "--direction",
        "rx",
        "--search",
        "no-loss,loss=2.5%",
        "--time",
        "200ms",
        "--width",
        "20%",
        "--around",
        "50%",
        "--json",
    ]);
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{}",
        stderr(&output)
    );
    let file = ResultsFile::parse(&stdout(&output)).expect("--json prints a results file");
    let Some(SearchOutcome::Rates(result)) = &file.parts[0].found else {
        panic!("{:?}", file.parts);
    };
    assert!(!result.trials.is_empty());
    assert_eq!(result.trials.len() as u64, file.parts[0].observations);
    for goal in &result.goals {
        assert_ne!(goal.outcome, wirelab_trial::search::Outcome::Unfinished);
        // A busy host cannot keep a rate: then the tester is named, and no rate may be found at all.
        let Some(rate) = goal.conditional_throughput_frames_per_s.value() else {
            continue;
        };
        // The shaper lets a burst of some frames through at once, which 200 ms spread thin.
        let link_bits_per_s = rate * 8.0 * 532.0;
        assert!(link_bits_per_s < 26e6, "{link_bits_per_s}");
    }
}
