//! Any bytes of a console, and any text as a profile: nothing panics, and everything stays bounded. The fuzz targets
//! share these.

use wirelab_console::cpu::{busy_ratio, sample};
use wirelab_console::figures::counted;
use wirelab_console::profile::{NAMES, find};
use wirelab_console::screen::{MOST_LINE, Screen};
use wirelab_console::telnet::Telnet;
use wirelab_console::{Profile, Role};

/// Bytes that a console printed, read by each profile.
#[allow(dead_code, reason = "each target needs one of the two")]
pub fn fuzz_session(bytes: &[u8]) {
    let (mut telnet, mut data, mut answer) = (Telnet::default(), Vec::new(), Vec::new());
    telnet.take(bytes, &mut data, &mut answer);
    assert!(data.len() <= bytes.len() && answer.len() <= bytes.len());
    let (mut screen, mut lines) = (Screen::default(), Vec::new());
    screen.take(&data, |line| lines.push(line), |_| {});
    lines.push(screen.text());
    // A byte that is no UTF-8 is shown as three.
    assert!(lines.iter().all(|line| line.len() <= 3 * MOST_LINE));
    for name in NAMES {
        let profile = find(name).expect("a test reads them all");
        for program in profile.programs.keys() {
            for role in Role::ALL {
                let found = counted(&lines, &profile, *program, role);
                let sound = |n: f64| n.is_finite() && n >= 0.0;
                assert!(
                    found
                        .bytes
                        .is_none_or(|n| sound(n.value) && sound(n.within))
                );
                assert!(found.duration_s.is_none_or(sound));
            }
        }
        if let Some(cpu) = &profile.cpu {
            if let Some(one) = sample(cpu, &lines) {
                let busy = busy_ratio(Some(one), one);
                assert!(busy.is_none_or(|busy| (0.0..=1.0).contains(&busy)));
            }
        }
    }
}

/// A profile that a user wrote: it is read, or its error has the place.
#[allow(dead_code, reason = "each target needs one of the two")]
pub fn fuzz_profile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Profile::parse("own", text, "own.toml") {
        Ok(profile) => {
            let line = "iperf exit 0.00-1.00 sec 1 Bytes";
            let _ = (profile.plain(line), profile.is_boot(line));
        }
        Err(error) => {
            let error = error.to_string();
            assert!(
                error.starts_with("own.toml:") && error.contains("fix: "),
                "{error}"
            );
        }
    }
}
