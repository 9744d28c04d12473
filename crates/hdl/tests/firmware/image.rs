//! Finds an image made by `scripts/firmware.sh`, in the folder `firmware` beside the build.

use std::io::{self, Write as _};

/// An image, or what is missing and the fix.
pub fn find(name: &str) -> Result<Vec<u8>, String> {
    let program = std::env::current_exe().expect("a program knows where it is");
    let mut folders = program.ancestors().map(|folder| folder.join("firmware"));
    let found = folders.find_map(|folder| std::fs::read(folder.join(name)).ok());
    found.ok_or_else(|| {
        format!("there is no firmware/{name} beside the build: run scripts/firmware.sh")
    })
}

/// An image, or `None` with a skip line for the test runner.
pub fn or_skip(name: &str) -> Option<Vec<u8>> {
    let found = find(name);
    if let Err(missing) = &found {
        // Written directly, because the test harness hides printed lines.
        let _ = writeln!(io::stderr(), "WIRELAB-SKIP firmware: {missing}");
    }
    found.ok()
}
