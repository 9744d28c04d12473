//! A shell of this host on a pseudo terminal, with the profile of Linux.

use wirelab_console::profile::find;
use wirelab_console::{Board, ConsoleName};
use wirelab_trial::Cancel;

fn board(command: &str, profile: &str) -> Board {
    let name: ConsoleName = command.parse().unwrap();
    Board::open(&name, find(profile).unwrap(), Some([127, 0, 0, 1].into())).unwrap()
}

#[test]
fn a_shell_is_brought_to_its_prompt_and_answers() {
    let cancel = Cancel::new();
    let mut board = board("exec:bash --norc -i", "linux");
    board
        .ready(&cancel)
        .unwrap_or_else(|error| panic!("{error}\n{}", board.transcript().log().lines.join("\n")));
    let lines = board.command("echo one; echo two", &cancel).unwrap();
    assert_eq!(lines, ["one", "two"]);
    assert!(
        board.facts()["version"].starts_with("Linux "),
        "{:?}",
        board.facts()
    );
    assert!(board.shares_kernel());
    let error = board
        .command("no-such-program", &cancel)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("command not found") && error.contains("fix: "),
        "{error}"
    );
}
