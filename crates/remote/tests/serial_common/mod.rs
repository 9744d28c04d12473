//! A pseudo-terminal in front of the UART of a board in QEMU, for nodes on a serial line.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::pty::openpty;
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};
use nix::unistd::ttyname;

/// A pseudo-terminal in front of a board's UART.
pub struct Pty {
    device: PathBuf,
    over: Arc<AtomicBool>,
    /// Keeps the terminal while nobody has it open.
    _slave: OwnedFd,
}

impl Pty {
    /// Copies bytes between the terminal and `uart`; loses every `lost`-th byte to the board, if that is not 0.
    pub fn before(uart: UnixStream, lost: usize) -> Pty {
        let pty = openpty(None, None).unwrap();
        let mut raw = tcgetattr(&pty.slave).unwrap();
        cfmakeraw(&mut raw);
        tcsetattr(&pty.slave, SetArg::TCSANOW, &raw).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let device = ttyname(&pty.slave).unwrap();
        let master = std::fs::File::from(pty.master);
        uart.set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let (mut to_board, mut of_tester) =
            (uart.try_clone().unwrap(), master.try_clone().unwrap());
        let stop = Arc::clone(&over);
        std::thread::spawn(move || {
            let (mut bytes, mut count) = ([0; 256], 0usize);
            while let Ok(len @ 1..) = of_tester.read(&mut bytes) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                for byte in &bytes[..len] {
                    count += 1;
                    if lost == 0 || count % lost != 0 {
                        let _ = to_board.write_all(std::slice::from_ref(byte));
                    }
                }
            }
        });
        let (mut of_board, mut to_tester) = (uart, master);
        let stop = Arc::clone(&over);
        std::thread::spawn(move || {
            let mut bytes = [0; 256];
            while !stop.load(Ordering::Relaxed) {
                if let Ok(len @ 1..) = of_board.read(&mut bytes) {
                    let _ = to_tester.write_all(&bytes[..len]);
                }
            }
        });
        Pty {
            device,
            over,
            _slave: pty.slave,
        }
    }

    pub fn name(&self, options: &str) -> String {
        format!("serial:{}{options}", self.device.display())
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
