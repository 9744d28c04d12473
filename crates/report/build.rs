//! Bundles the program of the page (`web/`) into `OUT_DIR`, without a network.

use std::path::Path;
use std::process::Command;

fn main() {
    let home = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let web = Path::new(&home).join("../../web");
    for of in [
        "src",
        "build.mjs",
        "package-lock.json",
        "node_modules/.package-lock.json",
    ] {
        println!("cargo::rerun-if-changed={}", web.join(of).display());
    }
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    let bundled = Command::new("node")
        .arg(web.join("build.mjs"))
        .arg(out)
        .output();
    let why = match bundled {
        Ok(output) if output.status.success() => return,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("node does not start ({error})"),
    };
    println!(
        "cargo::error=the program of the page is not bundled; {}; fix: make setup",
        why.trim().replace('\n', "; ")
    );
    std::process::exit(1);
}
