//! Waits for a recording that is saved after the trials.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use wirelab_trial::Cancel;

/// How long the recording may take to be saved.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// Time between two checks of the file.
const LOOK: Duration = Duration::from_millis(200);
/// A file that did not grow for this long is complete.
const WHOLE: Duration = Duration::from_millis(500);
/// Tolerance of a file's time: the clocks of file systems are coarse.
const SLACK: Duration = Duration::from_secs(2);

/// No recording was saved in time, or the user did not wait for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no recording was saved there since the trials began; the results are without the pin; fix: save it there when the trials are \
     over, or read it with 'wirelab pulse'"
)]
pub struct NotSaved;

/// Waits until the file was written since `begun`, and no longer grows. Calls `on_wait` once if it was not written yet.
///
/// # Errors
/// [`NotSaved`] after [`PATIENCE`], or if the user ends the wait.
pub fn wait(
    path: &Path,
    begun: SystemTime,
    cancel: &Cancel,
    on_wait: impl FnOnce(),
) -> Result<(), NotSaved> {
    let since = begun - SLACK;
    let started = Instant::now();
    let mut on_wait = Some(on_wait);
    let mut still: Option<(u64, Instant)> = None;
    loop {
        let data = std::fs::metadata(path).ok();
        let written = data.as_ref().and_then(|data| data.modified().ok());
        match (data, written) {
            (Some(data), Some(written)) if written >= since => {
                let old = written.elapsed().is_ok_and(|age| age > WHOLE);
                match still {
                    _ if old => return Ok(()),
                    Some((len, at)) if len == data.len() => {
                        if at.elapsed() > WHOLE {
                            return Ok(());
                        }
                    }
                    _ => still = Some((data.len(), Instant::now())),
                }
            }
            _ => {
                if let Some(on_wait) = on_wait.take() {
                    on_wait();
                }
            }
        }
        if cancel.is_cancelled() || started.elapsed() > PATIENCE {
            return Err(NotSaved);
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, write};

    use super::*;

    #[test]
    fn a_file_of_an_earlier_run_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin.vcd");
        let begun = SystemTime::now();
        write(&path, "old").unwrap();
        let earlier = begun - Duration::from_secs(60);
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(earlier))
            .unwrap();
        let cancel = Cancel::new();
        let on_wait = || cancel.cancel();
        assert_eq!(wait(&path, begun, &cancel, on_wait), Err(NotSaved));
        assert!(cancel.is_cancelled(), "the user was not told");
    }

    #[test]
    fn a_file_that_is_saved_later_is_taken_when_it_no_longer_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin.vcd");
        let save = || write(&path, "new").unwrap();
        assert_eq!(wait(&path, SystemTime::now(), &Cancel::new(), save), Ok(()));
        let age = path.metadata().unwrap().modified().unwrap().elapsed();
        assert!(age.unwrap() >= WHOLE);
    }
}
