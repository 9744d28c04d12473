//! How long a results file of many trials takes to open, and its size: repeats the trials of FILE up to N of them.
//! `cargo run --release -p wirelab-bench --example open -- FILE [N]`; 10,000 trials of FILE where no N is given.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use wirelab_bench::results_writer::{load, save};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let from = args.next().ok_or("usage: open FILE [N]")?;
    let trials = args.next().map_or(Ok(10_000), |n| n.parse())?;
    let before = std::fs::metadata(&from)?.len();
    let mut file = load(Path::new(&from))?;
    let one = file.observations.clone();
    println!(
        "{from}: {} trials, {before} bytes; written again {}",
        one.len(),
        file.to_json().len()
    );
    // Parts would end before the trials that are added.
    file.parts.clear();
    file.observations = one.into_iter().cycle().take(trials).collect();
    let folder = std::env::temp_dir().join(format!("wirelab-open-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("many.json");
    let measured = time_to_open(&file, &path);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn time_to_open(file: &wirelab_trial::ResultsFile, path: &Path) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    save(file, path)?;
    let (took, bytes) = (begun.elapsed(), std::fs::metadata(path)?.len());
    println!(
        "{} trials: {bytes} bytes, written in {took:.2?}",
        file.observations.len()
    );
    for _ in 0..5 {
        let begun = Instant::now();
        let read = load(path)?;
        println!("  opened in {:.3?}", begun.elapsed());
        assert!(read == *file, "written and read, it is another");
    }
    Ok(())
}
