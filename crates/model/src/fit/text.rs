//! The text of a node file while it is written, and texts of the node in it.

/// Longest text copied from the node's description.
const MAX_TEXT: usize = 200;

/// A text under construction.
pub(super) struct Text(pub(super) String);

impl Text {
    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }
}

/// A text of the node, truncated where it is long.
pub(super) fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
