//! A server that ends with its test, also where the test is killed.

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Stdio};

/// A process, and a shell that waits for the end of this one: the kernel then closes the shell's standard input.
pub struct Leashed {
    child: Child,
    keeper: Child,
}

impl Leashed {
    /// Ends the process with this one.
    pub fn new(child: Child) -> Leashed {
        let kill = "read -r line; kill -9 \"$0\" 2>/dev/null";
        let keeper = Command::new("sh")
            .args(["-c", kill, &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        Leashed { child, keeper }
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        // First the keeper: the number of the process may be another's once it is gone.
        for process in [&mut self.keeper, &mut self.child] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Deref for Leashed {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Leashed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

#[test]
fn a_server_ends_with_a_test_that_is_killed() {
    let mut server = Leashed::new(Command::new("sleep").arg("1000").spawn().expect("sleep"));
    assert!(server.try_wait().expect("a child").is_none());
    // What the kernel does to a killed test.
    drop(server.keeper.stdin.take());
    let ended = server.wait().expect("a child");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&ended),
        Some(9)
    );
}
