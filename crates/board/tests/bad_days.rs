//! Boards that do not come up, and what is said then. Most need no QEMU: a script stands in for it.

use std::time::Duration;

use crate::common::{can_run, exists, folder_of, stand_in, unprivileged, until};
use wirelab_board::{Board, BoardError, Options};

const SHORT: Duration = Duration::from_millis(500);

/// The error of a board that is not up in time. A host that is busy may take a second for the first word of a script.
fn refused(script: &str, patience: Duration) -> BoardError {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        patience,
        ..stand_in(folder.path(), script)
    };
    Board::start("zynq7000", &options).unwrap_err()
}

#[test]
fn without_qemu_the_error_names_the_package_and_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        qemu: Some("/nonexistent/qemu-system-arm".into()),
        ..stand_in(folder.path(), "")
    };
    let error = Board::start("mps2-an385", &options)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("sudo apt-get install qemu-system-arm"),
        "{error}"
    );
}

#[test]
fn a_board_that_is_never_up_shows_its_console() {
    let error = refused(
        "printf 'PHY: no link\\r\\nwaiting\\n' > \"$log\"; exec sleep 1000",
        Duration::from_secs(5),
    );
    assert!(matches!(error, BoardError::NeverUp { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("PHY: no link") && text.contains("within 5 s"),
        "{text}"
    );
    let silent = refused("exec sleep 1000", SHORT).to_string();
    assert!(silent.contains("it printed nothing"), "{silent}");
}

#[test]
fn a_board_that_ends_at_once_shows_what_qemu_said() {
    // It is not waited for once it has ended.
    let error = refused(
        "echo 'no machine of that name' >&2; printf 'data abort\\n' > \"$log\"; exit 3",
        Duration::from_secs(60),
    );
    assert!(matches!(error, BoardError::Died { .. }), "{error:?}");
    let text = error.to_string();
    for part in ["exit status: 3", "data abort", "no machine of that name"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_console_that_floods_is_bounded_and_no_board_is_up_by_it() {
    let error = refused("yes x > \"$log\" 2> /dev/null; exec sleep 1000", SHORT);
    assert!(matches!(error, BoardError::NeverUp { .. }), "{error:?}");
    assert!(error.to_string().len() < 10_000);
}

#[test]
fn a_hostile_image_is_refused_before_anything_runs_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = stand_in(
        folder.path(),
        "echo ran > \"$log.ran\"; printf 'READY\\n' > \"$log\"",
    );
    let image = options.image.clone().unwrap();
    let mut bytes = std::fs::read(&image).unwrap();
    bytes[31] = 0xFF;
    std::fs::write(&image, bytes).unwrap();
    let error = Board::start("zynq7000", &options).unwrap_err();
    assert!(matches!(error, BoardError::BadImage { .. }), "{error:?}");
    std::fs::remove_file(&image).unwrap();
    let error = Board::start("zynq7000", &options).unwrap_err().to_string();
    assert!(error.contains("make firmware"), "{error}");
}

#[test]
fn the_emulator_of_another_board_is_not_asked_of_qemu() {
    let error = Board::start("lpc1768", &Options::default()).unwrap_err();
    assert!(matches!(error, BoardError::NotQemu { .. }), "{error:?}");
    let error = Board::start("stm32", &Options::default()).unwrap_err();
    assert!(error.to_string().contains("mps2-an385"), "{error}");
}

#[test]
fn a_stopped_board_leaves_no_process_and_no_folder() {
    if !can_run("zynq7000") {
        return;
    }
    let board = unprivileged("zynq7000");
    let (pid, folder) = (board.life().pid().unwrap(), folder_of(&board));
    assert!(exists(pid) && folder.is_dir());
    board.stop();
    assert!(!exists(pid) && !folder.exists());
}

#[test]
fn a_board_whose_emulator_is_killed_says_so_with_its_console() {
    if !can_run("zynq7000") {
        return;
    }
    let board = unprivileged("zynq7000");
    board.check().unwrap();
    let pid = nix::unistd::Pid::from_raw(board.life().pid().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    let how = until("its end is seen", || board.life().ended());
    assert!(how.contains("signal: 9"), "{how}");
    let error = board.check().unwrap_err().to_string();
    assert!(error.contains("READY name=zynq7000"), "{error}");
}
