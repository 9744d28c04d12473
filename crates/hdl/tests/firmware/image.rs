//! Where an image that `scripts/firmware.sh` made lies: in the folder `firmware` beside the build.
#![allow(dead_code, reason = "each program takes what it needs")]

use std::io::{self, Write as _};

/// An image; what is missing, and the fix.
pub fn find(name: &str) -> Result<Vec<u8>, String> {
    let program = std::env::current_exe().expect("a program knows where it is");
    let mut folders = program.ancestors().map(|folder| folder.join("firmware"));
    let found = folders.find_map(|folder| std::fs::read(folder.join(name)).ok());
    found.ok_or_else(|| {
        format!("there is no firmware/{name} beside the build: run scripts/firmware.sh")
    })
}

/// An image, or nothing and a word for the test runner.
pub fn or_skip(name: &str) -> Option<Vec<u8>> {
    let found = find(name);
    if let Err(missing) = &found {
        // Directly, because the test harness swallows what is printed otherwise.
        let _ = writeln!(io::stderr(), "WIRELAB-SKIP firmware: {missing}");
    }
    found.ok()
}
