//! What the tests of boards share: what they need of this host, stand-ins for QEMU, and images that load.

pub mod lpc1768;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wirelab_board::{Board, Connect, Options, catalogue, image, qemu};

/// Whether this host has QEMU and the image of a board; says so in the way the test runner understands if not.
pub fn can_run(board: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| dir.join(qemu::PROGRAM).is_file()) {
        skip("qemu", &format!("{} is not installed", qemu::PROGRAM));
        return false;
    }
    has_image(board)
}

/// Whether the image of a board was built.
pub fn has_image(board: &str) -> bool {
    let info = catalogue::find(board).unwrap();
    match image::installed(info, info.images[0]) {
        Ok(_) => true,
        Err(error) => {
            skip("firmware", &error.to_string());
            false
        }
    }
}

/// Whether TAP devices in namespaces are available.
pub fn can_tap() -> bool {
    if let Err(error) = wirelab_port::netns::probe() {
        assert!(error.is_privilege(), "{error}");
        skip("root", &error.to_string());
        return false;
    }
    if !Path::new("/dev/net/tun").exists() {
        skip("tun", "there is no /dev/net/tun");
        return false;
    }
    true
}

pub fn skip(feature: &str, why: &str) {
    // Directly, because the test harness swallows what is printed otherwise.
    let _ = writeln!(std::io::stderr(), "WIRELAB-SKIP {feature}: {why}");
}

/// A board that needs no privilege.
pub fn unprivileged(board: &str) -> Board {
    let options = Options {
        connect: Connect::Unix,
        ..Options::default()
    };
    Board::start(board, &options).unwrap()
}

/// Wait for something that comes when it comes.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{what}: not within a minute"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An image that passes the check and does nothing, and a stand-in for QEMU that runs `script` with its log as `$log`.
pub fn stand_in(folder: &Path, script: &str) -> Options {
    let image = folder.join("image.elf");
    std::fs::write(&image, elf()).unwrap();
    let program = folder.join("qemu");
    let find_log = "log=$(printf '%s\\n' \"$@\" | sed -n 's/.*logfile=\\([^,]*\\).*/\\1/p')";
    std::fs::write(&program, format!("#!/bin/sh\n{find_log}\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    Options {
        image: Some(image),
        connect: Connect::Open,
        qemu: Some(program),
        ..Options::default()
    }
}

/// The smallest image: a header, and one segment of eight bytes at 0x100000 that is its entry.
fn elf() -> Vec<u8> {
    let mut bytes = vec![0; 84];
    bytes[..6].copy_from_slice(b"\x7fELF\x01\x01");
    let words = [
        (16, 40 << 16 | 2),
        (24, 0x10_0000),
        (28, 52),
        (42, 1 << 16 | 32),
        (52, 1),
        (56, 84),
        (60, 0x10_0000),
        (68, 8),
        (72, 8),
    ];
    for (at, word) in words {
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
    }
    bytes.extend_from_slice(b"firmware");
    bytes
}

/// Whether a process of that number exists.
pub fn exists(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is dead.
    !stat.is_empty() && !stat.contains(") Z ")
}

/// The folder of a board, by its UART.
pub fn folder_of(board: &Board) -> PathBuf {
    board.uart_socket().parent().unwrap().to_owned()
}
