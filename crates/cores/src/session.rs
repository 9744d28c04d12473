//! Lets the user's session go before others while something is measured.
//!
//! Where the kernel groups processes by session (autogroup, sched(7)), the priority of a thread counts within its session
//! alone: work in another session takes its full share of the core.

use std::fs;
use std::path::Path;

/// The calling process's session, as the scheduler sees it.
const AUTOGROUP: &str = "/proc/self/autogroup";
/// What a session has that nobody changed, as `nice` counts.
const USUAL: i32 = 0;
/// What this gives it. A session that has it was left so by a process that was killed, or another one measures there; who
/// ends puts the usual one back.
const OURS: i32 = -19;

/// The session goes before others as long as this lives.
#[derive(Debug)]
pub struct PreferredSession(());

/// Let the calling process's session go before others; `None` where the kernel does not group by session, does not
/// permit it (CAP_SYS_NICE), or the user has given the session another priority.
pub fn prefer_this_session() -> Option<PreferredSession> {
    prefer(Path::new(AUTOGROUP)).then_some(PreferredSession(()))
}

fn prefer(autogroup: &Path) -> bool {
    let is = fs::read_to_string(autogroup)
        .ok()
        .and_then(|text| nice(&text));
    match is {
        Some(USUAL) => fs::write(autogroup, OURS.to_string()).is_ok(),
        Some(OURS) => true,
        _ => false,
    }
}

/// The number in `/autogroup-4 nice 0`.
fn nice(text: &str) -> Option<i32> {
    text.trim_end().rsplit_once("nice ")?.1.parse().ok()
}

impl Drop for PreferredSession {
    fn drop(&mut self) {
        let _ = fs::write(AUTOGROUP, USUAL.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_the_user_gave_a_priority_is_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let after = |text: &str| {
            fs::write(file.path(), text).unwrap();
            let done = prefer(file.path());
            (done, fs::read_to_string(file.path()).unwrap())
        };
        assert_eq!(after("/autogroup-4 nice 0\n"), (true, "-19".to_owned()));
        for (text, done) in [
            ("/autogroup-4 nice -19\n", true),
            ("/autogroup-4 nice -20\n", false),
            ("/autogroup-4 nice 5\n", false),
            ("", false),
            ("nice x", false),
        ] {
            assert_eq!(after(text), (done, text.to_owned()));
        }
        assert!(!prefer(Path::new("/nowhere/autogroup")));
    }
}
