//! The console of a board: what it printed on its UART, as in the log, and its ready message.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Most bytes of a console that errors show.
const SHOWN_BYTES: u64 = 2_000;
/// Most lines that errors show.
const SHOWN_LINES: usize = 12;
/// Bytes in which the ready message is searched: a board that prints more before it is not up.
const LOOKED_BYTES: u64 = 256 * 1024;
/// Most bytes that are searched for a text.
const MOST_SEARCHED: u64 = 1 << 20;
/// Beginning of the ready message.
const READY: &str = "READY ";

/// The log of a board's UART.
#[derive(Clone, Debug)]
pub struct Console {
    log: PathBuf,
}

/// The ready message of a board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Its name.
    pub name: Option<String>,
    /// Its IPv4 address, where it has a stack.
    pub ip: Option<Ipv4Addr>,
}

impl Console {
    pub(crate) fn new(log: PathBuf) -> Console {
        Console { log }
    }

    /// The file of the log.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last ready message of the board, and how many there were: one for each start.
    pub fn ready(&self) -> Option<(Ready, usize)> {
        let text = self.read(0, LOOKED_BYTES);
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines().filter_map(ready_line);
        let first = lines.next()?;
        let more: Vec<Ready> = lines.collect();
        let count = 1 + more.len();
        Some((more.into_iter().last().unwrap_or(first), count))
    }

    /// Bytes that it has printed so far.
    pub fn length(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |m| m.len())
    }

    /// Whether it printed a text since a place of the log. Of a longer log, only the last part is searched.
    pub fn has_printed(&self, from: u64, text: &str) -> bool {
        let from = from.max(self.length().saturating_sub(MOST_SEARCHED));
        let bytes = self.bytes(from, MOST_SEARCHED);
        let mut windows = bytes.windows(text.len().max(1));
        windows.any(|window| window == text.as_bytes())
    }

    /// The last lines, for an error message: printable, and short enough for a screen.
    pub fn tail(&self) -> String {
        let from = self.length().saturating_sub(SHOWN_BYTES);
        let text = self.read(from, SHOWN_BYTES);
        let lines: Vec<String> = text
            .lines()
            .filter(|l| !l.trim().is_empty())
            .map(printable)
            .collect();
        let skipped = lines.len().saturating_sub(SHOWN_LINES);
        match lines.is_empty() {
            true => "it printed nothing".to_owned(),
            false => format!("its console ends:\n  {}", lines[skipped..].join("\n  ")),
        }
    }

    fn read(&self, from: u64, most: u64) -> String {
        String::from_utf8_lossy(&self.bytes(from, most)).into_owned()
    }

    fn bytes(&self, from: u64, most: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Ok(mut file) = File::open(&self.log) {
            // A log that cannot be read counts as empty: the caller's message has more to say.
            let _ = file.seek(SeekFrom::Start(from));
            let _ = file.take(most).read_to_end(&mut bytes);
        }
        bytes
    }
}

fn ready_line(line: &str) -> Option<Ready> {
    let mut ready = Ready::default();
    for field in line.trim().strip_prefix(READY)?.split_whitespace() {
        match field.split_once('=') {
            Some(("name", name)) => ready.name = Some(name.to_owned()),
            Some(("ip", ip)) => ready.ip = ip.parse().ok(),
            _ => {}
        }
    }
    Some(ready)
}

/// The text without control characters, which move the cursor or change colours, except line ends.
pub fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' | '\n' => c,
        c if c.is_control() => '·',
        c => c,
    };
    text.chars().filter(|c| *c != '\r').map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(text: &[u8]) -> (tempfile::TempDir, Console) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("uart.log");
        std::fs::write(&log, text).unwrap();
        (folder, Console::new(log))
    }

    #[test]
    fn a_board_is_up_when_it_says_so_in_a_whole_line() {
        let line = "boot\r\nREADY name=zynq7000 mac=02:00:0a:37:00:02 ip=10.55.0.2";
        let (_a, half) = console(line.as_bytes());
        assert_eq!(half.ready(), None, "the line may go on");
        let (_b, whole) = console(format!("{line}\r\n").as_bytes());
        let (ready, times) = whole.ready().unwrap();
        assert_eq!((ready.ip, times), (Some([10, 55, 0, 2].into()), 1));
        assert_eq!(ready.name.as_deref(), Some("zynq7000"));
        let (_c, twice) = console(format!("{line}\nfault\n{line}\n").as_bytes());
        assert_eq!(twice.ready().unwrap().1, 2);
    }

    #[test]
    fn a_hostile_console_is_bounded_and_printable() {
        let mut bytes = vec![0xFFu8; 3_000_000];
        bytes.extend_from_slice(b"\nREADY ip=999.1.1.1 \x1b[2J\n");
        let (_folder, console) = console(&bytes);
        assert_eq!(console.ready(), None, "too late");
        let tail = console.tail();
        assert!(tail.contains("·[2J") && !tail.contains('\x1b'), "{tail}");
        assert!(tail.len() < 8_000);
        assert!(console.has_printed(0, "READY ip=999") && !console.has_printed(0, "READY ip=1"));
        assert!(!console.has_printed(console.length(), "READY"));
        let silent = Console::new("/nonexistent/uart.log".into());
        assert_eq!(
            (silent.ready(), silent.tail().as_str()),
            (None, "it printed nothing")
        );
    }
}
