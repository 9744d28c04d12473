//! The user's session goes before others while something is measured, and not after it.

use std::process::Command;

/// Runs wirelab in a session of its own and says the session's priorities, while it runs and after it.
const WATCHED: &str = r#"
"$1" measure lab:1 --load 1kpps --time 1s --no-ceiling --json >/dev/null 2>&1 & measure=$!
while [ -e /proc/$measure/exe ]; do cat /proc/$$/autogroup; sleep 0.05; done | sort -u
wait $measure
echo "ended $?"
cat /proc/$$/autogroup
"#;

#[test]
fn a_session_goes_before_others_while_it_measures_and_not_after() {
    let output = Command::new("setsid")
        .args(["--wait", "sh", "-c", WATCHED, "sh"])
        .arg(env!("CARGO_BIN_EXE_wirelab"))
        .output()
        .expect("setsid is part of every distribution");
    let said = String::from_utf8_lossy(&output.stdout);
    let (during, after) = said.split_once("ended 0\n").expect(&said);
    if !std::path::Path::new("/proc/self/autogroup").exists() {
        // A kernel that does not group by session: there is nothing to change, and nothing was.
        assert_eq!((during, after), ("", ""));
        return;
    }
    assert!(during.contains("nice -19"), "{said}");
    assert!(after.contains("nice 0"), "{said}");
}
