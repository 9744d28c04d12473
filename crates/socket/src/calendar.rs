//! Times of the wall clock in the calendar and time zone of this host.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::sys;

/// A time of the wall clock in this host's time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Year, month, day, hour, minute and second.
    pub parts: [i32; 6],
    /// Milliseconds of the second.
    pub ms: u32,
}

impl LocalTime {
    /// The calendar's values for a time; `None` before 1970, and for years that the system does not support.
    pub fn of(time: SystemTime) -> Option<LocalTime> {
        let since = time.duration_since(UNIX_EPOCH).ok()?;
        let seconds = i64::try_from(since.as_secs()).ok()?;
        Some(LocalTime {
            parts: sys::local_time(seconds)?,
            ms: since.subsec_millis(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_calendar_is_that_of_the_host() {
        for seconds in [0, 951_782_400, 1_764_078_144, 4_102_444_799] {
            let time = UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7);
            let local = LocalTime::of(time).unwrap();
            let [year, month, day, hour, minute, second] = local.parts;
            let ours = format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
            let said = Command::new("date")
                .args(["-d", &format!("@{seconds}"), "+%Y-%m-%d %H:%M:%S"])
                .output()
                .unwrap();
            assert_eq!(ours, String::from_utf8(said.stdout).unwrap().trim());
            assert_eq!(local.ms, 7);
        }
        assert_eq!(LocalTime::of(UNIX_EPOCH - Duration::from_secs(1)), None);
    }
}
