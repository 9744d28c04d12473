//! Prints the JSON schema of the results file: `cargo run -p wirelab-trial --example schema > spec/results.schema.json`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(wirelab_trial::ResultsFile::schema_json().as_bytes())
}
