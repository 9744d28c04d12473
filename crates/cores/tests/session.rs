//! A session has priority exactly as long as one of its processes measures, however the processes end.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::skip;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use wirelab_cores::{prefer_this_session, restore_left};

/// The command of a process of a test.
const TOLD: &str = "WIRELAB_TEST_SESSION";

/// `child` runs this test in a separate process that executes the given command; `nice` is the session's priority.
/// The records are in a private folder.
const SCRIPT: &str = r#"
mount -t tmpfs tmpfs /run
nice() { sed 's/.*nice //' /proc/$$/autogroup; }
child() { WIRELAB_TEST_SESSION=$1 "$program" --exact "$test" --nocapture; }
"#;

/// The output of a script in its own session; `None` if it cannot be tested.
fn said(test: &str, script: &str) -> Option<String> {
    if !std::path::Path::new("/proc/self/autogroup").exists() {
        assert!(prefer_this_session().is_none());
        return None;
    }
    if !nix::unistd::geteuid().is_root() {
        skip("root", "only root raises a session's priority");
        return None;
    }
    let output = Command::new("unshare")
        .args(["--mount", "setsid", "--wait", "bash", "-c"])
        .arg([SCRIPT, script].concat())
        .env("program", std::env::current_exe().unwrap())
        .env("test", format!("session::{test}"))
        .stdin(Stdio::null())
        .output()
        .expect("unshare and setsid are part of every distribution");
    let said = String::from_utf8(output.stdout).unwrap();
    // The test program's own lines are not the script's.
    let own = said.lines().filter_map(|line| line.strip_prefix("- "));
    Some(own.collect::<Vec<_>>().join("; "))
}

/// Whether this is a process of a test; it then executes its command.
fn is_child() -> bool {
    let Ok(told) = std::env::var(TOLD) else {
        return false;
    };
    if told == "next" {
        restore_left().unwrap();
        return true;
    }
    let preferred = prefer_this_session();
    println!("\n- granted {}", preferred.is_some());
    match told.as_str() {
        "exit" => std::thread::spawn(|| std::process::exit(3)).join().unwrap(),
        "kill" => kill(Pid::this(), Signal::SIGKILL).unwrap(),
        "hold" => drop(std::io::stdin().read_to_end(&mut Vec::new())),
        _ => {}
    }
    true
}

#[test]
fn an_exit_of_any_thread_gives_the_priority_back() {
    if is_child() {
        return;
    }
    let script = r#"child exit; echo "- ended $?, nice $(nice)""#;
    let Some(said) = said("an_exit_of_any_thread_gives_the_priority_back", script) else {
        return;
    };
    assert_eq!(said, "granted true; ended 3, nice 0");
}

#[test]
fn the_next_process_of_any_session_gives_back_what_a_killed_one_had() {
    if is_child() {
        return;
    }
    let script = r#"
child kill; echo "- killed, nice $(nice)"
WIRELAB_TEST_SESSION=next setsid --wait "$program" --exact "$test"; echo "- nice $(nice)"
child kill; child once; echo "- nice $(nice)"
ls /run/wirelab/sessions | sed 's/^/- left /'
"#;
    let test = "the_next_process_of_any_session_gives_back_what_a_killed_one_had";
    let Some(said) = said(test, script) else {
        return;
    };
    assert_eq!(
        said,
        "granted true; killed, nice -19; nice 0; granted true; granted true; nice 0"
    );
}

#[test]
fn the_last_of_two_processes_gives_the_priority_back() {
    if is_child() {
        return;
    }
    let script = r#"
mkfifo /run/end
child hold </run/end >/run/said & exec 7>/run/end
until grep -q granted /run/said; do sleep .01; done
child once; echo "- nice $(nice)"
child kill; child next; echo "- nice $(nice)"
exec 7>&-; wait; echo "- nice $(nice)"
"#;
    let Some(said) = said("the_last_of_two_processes_gives_the_priority_back", script) else {
        return;
    };
    assert_eq!(
        said,
        "granted true; nice -19; granted true; nice -19; nice 0"
    );
}

#[test]
fn a_priority_that_the_user_gave_stays() {
    if is_child() {
        return;
    }
    let script = r#"
for own in 5 -19 -20; do
    echo $own >/proc/$$/autogroup; child once; echo "- nice $(nice)"
done
echo 0 >/proc/$$/autogroup
child kill; echo 3 >/proc/$$/autogroup; child next; echo "- nice $(nice)"
"#;
    let Some(said) = said("a_priority_that_the_user_gave_stays", script) else {
        return;
    };
    assert_eq!(
        said,
        "granted false; nice 5; granted false; nice -19; granted false; nice -20; granted true; nice 3"
    );
}
