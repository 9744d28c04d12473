//! How a page's commands are run: the words of the table.

/// A page with commands of wirelab.
pub struct Page {
    pub name: &'static str,
    /// Made in the folder before the first command.
    pub files: &'static [(&'static str, Text)],
    /// Typed before the first command: what others have to be there for.
    pub before: &'static [Before],
    pub rows: &'static [Row],
}

/// What is in a file.
pub enum Text {
    /// A file of the repository, with these words replaced.
    File(&'static str, &'static [(&'static str, &'static str)]),
    /// The block of the page itself that has these words in it, with others replaced.
    Block(&'static str, &'static [(&'static str, &'static str)]),
}

pub enum Before {
    /// Run to its end.
    Run(&'static str),
    /// Runs on the other machine until the page's end, once it has said this.
    Peer(&'static str, &'static str),
}

pub struct Row {
    pub command: &'static str,
    /// What is run in its place.
    pub instead: Option<&'static str>,
    pub how: How,
    pub status: i32,
    /// Why it is not run as it is written and ends with 0.
    pub why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// To its end.
    Runs,
    /// Begun as it is written, and interrupted.
    Interrupted,
    /// Until the page's end, once it has said this, when it is interrupted and ends with 0.
    Serves(&'static str),
    /// The same on the other machine.
    ServesThere(&'static str),
    /// Until the next command has ended, which begins when this command of a shell has ended: then it ends by itself.
    Beside(&'static str),
    /// The same, but it is interrupted.
    BesideUntilInterrupted(&'static str),
}

const MINUTES: &str = "a whole page takes minutes; an interrupt is a documented end";

pub const fn row(command: &'static str, how: How, status: i32, why: &'static str) -> Row {
    Row {
        command,
        instead: None,
        how,
        status,
        why,
    }
}

pub const fn instead(command: &'static str, other: &'static str, why: &'static str) -> Row {
    let row = row(command, How::Runs, 0, why);
    Row {
        instead: Some(other),
        ..row
    }
}

pub const fn interrupted(command: &'static str) -> Row {
    row(command, How::Interrupted, 1, MINUTES)
}

pub const fn ends(command: &'static str, status: i32, why: &'static str) -> Row {
    row(command, How::Runs, status, why)
}

pub const fn plain(name: &'static str) -> Page {
    Page {
        name,
        files: &[],
        before: &[],
        rows: &[],
    }
}
