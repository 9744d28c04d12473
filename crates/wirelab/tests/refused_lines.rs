//! Command lines that are refused: each says what is wrong and one fix, and none is half obeyed.

use std::process::Command;

use crate::common::{refused, stderr, wirelab};

/// Each is refused before anything is opened, sent or served.
const REFUSED: &str = "\
measure
measure lab:1 --lengt 64
measure lab:1 --frame abc
measure lab:1 --frame 99999999999
measure lab:1 --vlan 3
measure lab:1 --load
measure lab:1 extra
measure lab:1 --dscp XX
measure lab:1 --fail-if wrose
measure lab:1 --frame 64 --plan p.toml
measure lab:1 --json --json
measure lab:1 --json=1
measure lab:1 --profile x
measure lab:1 --frames -5
measure lab:1 --ports 0
measure lab:1 --path stak
measure lab:1 --console foo
measure lab:1 --background foo
measure lab:1 --background 1kpps,size=64
measure lab:1 --routed --frame 64
measure lab:1 --warmup 1s --loss-curve
measure lab:1 --warmup 1s --bursts
measure lab:1 --buffer-runs 5 --frame 64
measure lab:1 --datasheet --path driver
measure lab:1 --pulse x.vcd,chanel=1
measure lab:1 --rule port=1026
measure lab:1 --wait both
measure lab:0
measure labb
measure foo:1
measure ports:eth0
measure iperf:
measure iperf:127.0.0.1 --path xdp
measure board:lpc1786
measure qemu:foo
measure here:eth0
measure model:lpc1768,alternatve=x
measure nofile.toml
measure lpc1768 --console foo
measure lpc1768 --background half
measure lpc1768 --direction echo --frame 64
measure lpc1768 --inject drop=0.1 --frame 64
measure lpc1768 --inject drop=2
measure lpc1768 --dscp EF --frame 64
measure lpc1768 --buffers copied --buffer-runs 5
measure lpc1768 --search no-los
measure lpc1768 --search no-loss --width 0%
measure lpc1768 -o foo.xyz
measure lpc1768 --fail-if worse
measure lpc1768 --resume nofile.json
measur lab:1
--load max
lab up --pairs 65
lab exec teste ls
lab exec tester
lab down no-such-lab
completions bahs
completions
serve --listen foo
iperf
iperf -c
iperf -c localhost -f xx
iperf -c localhost -f z
iperf -s -c localhost
iperf -s -y D
iperf -s -P 0
iperf -s -P 1
iperf -s -P 2
iperf -s -l 1K
iperf -s -3 -u
iperf -s -3 -l 1K
iperf -s -3 -w 1M
iperf -s -3 -P 2
iperf -c localhost -k 5
iperf -c localhost -S foo
iperf -c localhost -3 -t 0.5
limits --frame 99999
limits --payload 60000
limits --layer udp4 --datagram 65000
limits --rate 0
limits --rate 2000T
limits --gap -1
send
send none0 --to nobody
send none0 --frame 64,128
send none0 --path stack
send none0 --frames 1 --to-file x.pcapng --path xdp
send none0 --frames 1 --to-file x.pcapng --strict-gaps
receive none0 --idle x
receive none0 --overwrite
verify nofile.pcapng
pulse a.vcd --shortest foo
pulse a.vcd --threshold foo
stages lab: --inject drop=0.1
measure lab:1 --vlan
results export
console check
report nofile.json
report a.json --format foo
report a.json --badge x.svg
compare a.json b.json --margin foo
stages foo
stages lab: --load max
stages lab: --background foo
stages lab: --mac foo
stages lab: --gate 2%
stages here:none0 --watch --wait spin
stages here:none0 --length 64,128
stages board:mps2-an385 --load 1kpps
stages board:zynq7000 --wall --against a.json
stages qemu:zynq7000 --load 1kpps
node serve --allow foo
node serve --receive-work foo
node serve --no-iperf --allow-reverse 192.0.2.0/24
board run foo
board disassemble lpc1768 main --buffers foo
console show foo
console check --console foo --profile nuttx
console check --console exec:true --profile linux,password_file=nofile
hdl none0/tap0 --load 5
predict
predict zynq
predict lpc1768 --list
predict --list --frame 64
predict lpc1768 --set gpdma=4
predict lpc1768 --ports 4
predict lpc1768 --layer tcp6
predict lpc1768 --frame 99999
predict lpc1768 --cycle 0
predict lpc1768 --cycle 3 --each-flow
predict lpc1768 --forward 1us
explain lpc1768 --layer tcp6
explain lpc1768 -o x.csv
whatif lpc1768 --by foo
whatif lpc1768 --by latency
whatif lpc1768 --point foo
whatif zynq-gem --by latency --point foo
whatif zynq-gem --top -1
fit
fit a.json --confidence x
audit foo
study run
study run foo
study import nofile.md
results tag
results show 12 --store nofile.db
results list --since foo
";

#[test]
fn each_refusal_has_one_fix() {
    let mut wrong = Vec::new();
    // A test of the registry writes this page: each type refuses an option that its names do not have.
    let types = include_str!("../../../docs/node-types.md").lines();
    let examples = types.filter_map(|row| row.split(" | ").nth(2));
    let examples = examples.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let names: Vec<String> = examples
        .map(|name| format!("measure {name},foo=1"))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for line in REFUSED.lines().chain(names.iter().map(String::as_str)) {
        let args: Vec<&str> = line.split(' ').collect();
        let output = wirelab(&args);
        let errors = stderr(&output);
        let fixes = errors.matches("fix: ").count();
        let is_ours = errors.starts_with("wirelab: ") && errors.lines().count() == 1;
        if output.status.code() != Some(2) || fixes != 1 || !is_ours {
            wrong.push(format!("{line}: {:?}: {errors}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_parser_answers_with_the_nearest_and_with_what_is_missing() {
    for (line, text) in [
        (
            "measure lab:1 --lengt 64",
            "'wirelab measure' has no option '--lengt'; did you mean '--length'? fix: see 'wirelab measure --help'",
        ),
        (
            "measur lab:1",
            "'wirelab' has no command 'measur'; did you mean 'measure'? fix: see 'wirelab --help'",
        ),
        (
            "results tag",
            "lacks SELECTION and TAGS…; fix: add them, e.g. 'wirelab results tag last release'",
        ),
        (
            "measure",
            "'wirelab measure' lacks NODE; fix: add it, e.g. 'wirelab measure lab:1'",
        ),
        (
            "iperf",
            "lacks --server or --client HOST[%DEVICE]; fix: add it, e.g. 'wirelab iperf --client 192.0.2.7'",
        ),
        (
            "--load max",
            "has no option '--load'; fix: write a command before it, e.g. 'wirelab measure lab:1 --load'",
        ),
        (
            "-v",
            "'wirelab' has no option '-v'; fix: see 'wirelab --help'",
        ),
        (
            "measure --plan x.toml",
            "lacks NODE; fix: add it, e.g. 'wirelab measure lab:1'",
        ),
        (
            "measure lab:1 --fail-if loss",
            "wirelab: --fail-if: invalid rule 'loss'; fix: write worse",
        ),
        (
            "completions fsh",
            "did you mean 'fish'? fix: write one of bash",
        ),
        (
            "compare a.json b.json --margn 3%",
            "has no option '--margn'; did you mean '--margin'? fix: see",
        ),
        (
            "completions bahs",
            "invalid value 'bahs' for '<SHELL>'; did you mean 'bash'? fix: write one of bash, elvish,",
        ),
        (
            "measure lab:1 --vlan 3",
            "invalid value '3' for '--vlan <TAGS>'; fix: give 0 to 2",
        ),
        (
            "measure lab:1 --frame abc",
            "invalid value 'abc' for '--frame <BYTES,…>'; fix: give a whole number",
        ),
        (
            "measure lab:1 --frame 64 --plan p.toml",
            "cannot be used with '--plan <FILE>'; fix: leave one of them out",
        ),
        (
            "measure lab:1 --load",
            "'--load' has no value; fix: write '--load LOAD'",
        ),
    ] {
        refused(&line.split(' ').collect::<Vec<_>>(), text);
    }
    // The parser's own search finds an option that has hardly a letter of it.
    let far = stderr(&wirelab(&["stages", "lab:", "--inject", "drop=0.1"]));
    assert!(!far.contains("did you mean"), "{far}");
    // A page that is asked for is not an error; a command without its words shows its page.
    let help = Command::new(env!("CARGO_BIN_EXE_wirelab"))
        .arg("lab")
        .output();
    let help = help.expect("the binary was built for this test");
    assert_eq!(help.status.code(), Some(2));
    assert!(stderr(&help).contains("Usage: wirelab lab <COMMAND>"));
}

/// The commands that need a word have an example in their answer, without the parser's brackets.
#[test]
fn what_is_missing_has_an_example() {
    let help = |line: &[&str]| {
        let output = wirelab(&[line, &["--help"]].concat());
        crate::common::stdout(&output)
    };
    let below = |page: &str| -> Vec<String> {
        let lines = page.lines().skip_while(|line| *line != "Commands:").skip(1);
        let lines = lines.take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !name.is_empty() && *name != "help");
        names.map(str::to_owned).collect()
    };
    let (mut lacking, mut wrong) = (0, Vec::new());
    for command in below(&help(&[])) {
        let page = help(&[&command]);
        let mut lines = vec![vec![command.clone()]];
        lines.extend(below(&page).into_iter().map(|of| vec![command.clone(), of]));
        for line in lines {
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            let page = help(&line);
            let usage = page.lines().find(|line| line.starts_with("Usage: "));
            let needs = usage.is_some_and(|usage| usage.contains('<'));
            if !needs || usage.is_some_and(|usage| usage.ends_with(" <COMMAND>")) {
                continue;
            }
            lacking += 1;
            let answer = stderr(&wirelab(&line));
            if !answer.contains(", e.g. 'wirelab ") || answer.contains('<') {
                wrong.push(answer);
            }
        }
    }
    assert!(lacking > 20, "{lacking}");
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn what_is_refused_is_named() {
    for (line, text) in [
        (
            "measure lab:1 --path stak",
            "did you mean 'stack'? fix: write one of auto, xdp, packet, stack, driver, fast-track",
        ),
        (
            "stages foo:1",
            "fix: write TYPE:TARGET, e.g. lab:1, with a type of lab, node, here, board, qemu, hdl\n",
        ),
        ("measure lab:1 -o x.jsn", "did you mean 'json'? fix: "),
        (
            "measure lab:1 --direction rcv",
            "unknown direction 'rcv'; did you mean 'receive'? fix: ",
        ),
        (
            "predict model:lpc1768,clok=3",
            "no parameter 'clok'; did you mean 'cpu-clock'? fix: ",
        ),
        (
            "send none0 --path stack",
            "unknown path 'stack'; fix: write one of auto, xdp, packet",
        ),
        (
            "measure lpc1768 --console foo",
            "lpc1768 has no console; fix: leave --console out",
        ),
        ("limits --rate 0", "--rate 0 is less than 1 bit/s; fix: "),
        (
            "limits --rate 2000T",
            "--rate 2000T is more than 1000Tbit/s; fix: ",
        ),
        (
            "pulse a.vcd --shortest foo",
            "wirelab: --shortest: invalid duration 'foo'; fix: write",
        ),
        (
            "iperf -s -P 2",
            "--parallel with --server: this server takes any number of streams; fix: leave it out",
        ),
        (
            "iperf -s -l 1K",
            "--len with --server: this server takes blocks and datagrams of any length; fix: leave it out",
        ),
        (
            "limits --frame 99999",
            "has frame 9234; fix: give --frame 9234 or less",
        ),
        (
            "limits --layer udp4 --datagram 65000",
            "has datagram 9216; fix: give --datagram 9216 or less",
        ),
        (
            "predict lpc1768 --ports 4",
            "ports: 4 requested, and the node has 1; fix: choose 1 port",
        ),
        ("predict zynq", "did you mean 'zynq-gem'? fix: "),
        (
            "measure iperf:127.0.0.1 --path xdp",
            "--path xdp: no port of this host carries the frames of iperf:127.0.0.1; fix: ",
        ),
        (
            "measure lpc1768 --buffers copied --buffer-runs 5",
            "one run of lpc1768 says all",
        ),
        (
            "measure lab:1 --buffer-runs 5 --frame 64",
            "fix: add --buffers",
        ),
        (
            "measure lab:1 --warmup 1s --bursts",
            "--warmup: only a search for a rate",
        ),
        (
            "stages board:mps2-an385 --load 1kpps",
            "fix: add --wall, or leave --load out",
        ),
        ("whatif lpc1768 --point foo", "fix: add --by latency"),
        (
            "iperf -s -3 -u",
            "--udp with --server: iperf3 has no such option; fix: give it to the client",
        ),
    ] {
        refused(&line.split(' ').collect::<Vec<_>>(), text);
    }
}

/// What the node cannot do was not run, so nothing was lost.
#[test]
fn a_trial_that_a_model_cannot_do_is_unsupported_and_not_lost() {
    let none = wirelab(&[
        "predict",
        "lpc1768",
        "--direction",
        "echo",
        "--frame",
        "64,128",
    ]);
    let (shown, errors) = (crate::common::stdout(&none), stderr(&none));
    assert_eq!(none.status.code(), Some(2), "{errors}");
    for words in [
        "warning (unsupported, all trials): unsupported by this node: direction: the file has no path for receive\n",
        "  fix: choose transmit\n",
        "The node supports none of the 2 trials.",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let why = "the file has no path for receive";
    let counts = [&shown, &errors].map(|text| text.matches(why).count());
    assert_eq!(counts, [1, 1], "{shown}{errors}");
    assert!(!(shown + &errors).contains("loss"), "{errors}");
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/checker.toml");
    let none = wirelab(&["predict", "am263x", "--plan", plan]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    let words = "– Not judged. The node supports none of the 14 trials.";
    assert!(crate::common::stdout(&none).contains(words));
    let lossy = wirelab(&["predict", "am263x", "--datagram", "64", "--direction", "rx"]);
    let words = "1 trial, none with a fault, 1 with a predicted loss";
    assert!(crate::common::stdout(&lossy).contains(words));
    let some = wirelab(&["predict", "lpc1768", "--ports", "1,4", "--frame", "64"]);
    assert_eq!(some.status.code(), Some(1));
    let words = "2 trials, none with a fault or loss, 1 that the node does not support";
    assert!(stderr(&some).contains(words), "{}", stderr(&some));
}
