//! The user's session has priority while something is measured, and not after it, however it ends.

use std::process::Command;

/// `measure` is wirelab at work; `nice` says the priority of its session, which is one of its own. `wait_for` does so.
/// `watchdog_of` waits for the process that cleans up after a run.
const BEGINS: &str = r#"
measure() { exec "$program" measure lab:1 --load 1kpps --time $1 --no-ceiling --json >/dev/null 2>&1; }
nice() { sed 's/.*nice //' /proc/$$/autogroup; }
watchdog_of() { until pgrep -P $1 -f wirelab-watchdog; do sleep .01; done; }
wait_for() { for i in $(seq 3000); do [ "$(nice)" = "$1" ] && return; sleep .01; done; echo "it never is $1"; }
"#;

fn said(script: &str) -> String {
    let output = Command::new("setsid")
        .args(["--wait", "bash", "-c", &[BEGINS, script].concat()])
        .env("program", env!("CARGO_BIN_EXE_wirelab"))
        .output()
        .expect("setsid is part of every distribution");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_session_has_priority_while_it_measures_and_not_after() {
    let said = said(
        r#"
measure 1s & measure=$!
while [ -e /proc/$measure/exe ]; do cat /proc/$$/autogroup; sleep 0.05; done | sort -u
wait $measure
echo "ended $?"
cat /proc/$$/autogroup
"#,
    );
    let (during, after) = said.split_once("ended 0\n").expect(&said);
    if !std::path::Path::new("/proc/self/autogroup").exists() {
        // A kernel that does not group by session: there is nothing to change, and nothing was.
        assert_eq!((during, after), ("", ""));
        return;
    }
    assert!(during.contains("nice -19"), "{said}");
    assert!(after.contains("nice 0"), "{said}");
}

#[test]
fn a_server_in_the_background_has_the_priority_of_its_own_session() {
    if !std::path::Path::new("/proc/self/autogroup").exists() {
        return;
    }
    let said = said(
        r#"
server=$("$program" iperf -s -D -B 127.0.0.1 -p 0 | sed -n 's/.* as process \([0-9]*\);.*/\1/p')
nice; sed 's/.*nice //' /proc/$server/autogroup
kill $server
"#,
    );
    // Where nobody may have priority, neither has it.
    let own = if nix::unistd::geteuid().is_root() {
        "-19"
    } else {
        "0"
    };
    assert_eq!(said, format!("0\n{own}\n"));
}

/// No other process of wirelab has to come by: the watchdog of its lab does it.
#[test]
fn a_killed_run_in_a_lab_leaves_the_session_as_it_was() {
    if !wirelab_port::netns::may_test() || !std::path::Path::new("/proc/self/autogroup").exists() {
        return;
    }
    let killed = said(
        r#"
measure 60s & measure=$!
wait_for -19
watchdog_of $measure >/dev/null
kill -9 $measure
wait_for 0
"#,
    );
    assert_eq!(killed, "");
    let one_of_two = said(
        r#"
measure 60s & first=$!
watchdog=$(watchdog_of $first)
measure 60s & second=$!
watchdog_of $second >/dev/null
kill -9 $first
while [ -e /proc/$watchdog/exe ]; do sleep .01; done
nice
kill -INT $second
wait $second
nice
"#,
    );
    assert_eq!(one_of_two, "-19\n0\n");
}
