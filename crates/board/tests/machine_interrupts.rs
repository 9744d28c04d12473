//! Interrupts between two points: what comes back is told apart, so that a stage costs the same beside a busy serial line.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::can_run;
use crate::over::Over;
use wirelab_board::machine::count::{CountRequest, Counts, count};
use wirelab_board::machine::file::MachineFile;
use wirelab_board::machine::image::Image;
use wirelab_trial::{Cancel, Direction};

const FRAMES: u64 = 512;

fn run(board: &str) -> HashMap<Direction, Counts> {
    let file = MachineFile::find(board).unwrap();
    let image = Image::find(&file, None).unwrap();
    let request = CountRequest {
        frames: FRAMES,
        data_bytes: 200,
        kinds: false,
    };
    count(&file, &image, request, &Cancel::new()).unwrap()
}

/// The serial line of the machine that this process runs.
fn line_of(board: &str) -> Option<PathBuf> {
    let own = format!("qemu-{board}-{}-", std::process::id());
    let base = wirelab_port::runtime::folder().unwrap().join("boards");
    let folders = std::fs::read_dir(base).ok()?.flatten();
    let mut own = folders.filter(|f| f.file_name().to_string_lossy().starts_with(&own));
    Some(own.next()?.path().join("uart.sock"))
}

/// Types without end while the machine runs.
fn type_in(board: &str, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let Some(mut stream) = line_of(board).and_then(|path| UnixStream::connect(path).ok())
        else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        stream.set_nonblocking(true).unwrap();
        let mut answers = [0; 256];
        while !over.load(Ordering::Relaxed) && stream.peer_addr().is_ok() {
            let _ = stream.write(b"xx");
            // Answers of the board would stop it.
            while stream.read(&mut answers).is_ok_and(|count| count > 0) {}
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

fn usual(counts: &Counts, stage: usize) -> u64 {
    let mut all = BTreeMap::new();
    counts
        .frames
        .iter()
        .for_each(|frame| *all.entry(frame[stage].own).or_insert(0) += 1);
    all.into_iter().max_by_key(|(_, n)| *n).unwrap().0
}

fn is_undisturbed_by_its_serial_line(board: &str) {
    if !can_run(board) {
        return;
    }
    let quiet = run(board);
    let over = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        scope.spawn(|| type_in(board, &over));
        let _over = Over(&over);
        run(board)
    });
    let (mut interrupted, mut instructions) = (0, 0);
    for (way, counts) in &busy {
        let stages = counts.points.len() - 1;
        assert_eq!(counts.frames.len() as u64, FRAMES, "{board} {way}");
        for stage in 0..stages {
            // The main loop may be at its serial line when the frame's own interrupt comes.
            if counts.points[stage] == "interrupt" {
                continue;
            }
            let name = format!(
                "{board} {way}: {} to {}",
                counts.points[stage],
                counts.points[stage + 1]
            );
            let own = usual(&quiet[way], stage);
            // How many were interrupted depends on the host: more are typed to a machine that waits for a core.
            let calm = counts.frames.iter().filter(|f| f[stage].interrupted == 0);
            let (calm, same) = calm.fold((0, 0), |(calm, same), frame| {
                (calm + 1, same + u64::from(frame[stage].own == own))
            });
            assert!(
                same >= calm * 9 / 10,
                "{name}: {same} of {calm} frames that were not interrupted have {own}"
            );
            for frame in counts
                .frames
                .iter()
                .filter(|frame| frame[stage].interrupted > 0)
            {
                // An instruction of I/O at which an interrupt comes is run twice by QEMU with -icount.
                let more = frame[stage].own.checked_sub(own);
                assert!(
                    (0..=3).contains(&more.unwrap_or(u64::MAX)),
                    "{name}: {own}, {:?}",
                    frame[stage]
                );
                interrupted += 1;
                instructions += frame[stage].interrupted;
            }
        }
    }
    assert!(
        interrupted > 10,
        "{board}: {interrupted} stages were interrupted"
    );
    assert!(
        instructions / interrupted > 10,
        "{board}: {instructions} instructions"
    );
}

#[test]
fn a_busy_serial_line_is_told_apart_on_a_cortex_m3() {
    is_undisturbed_by_its_serial_line("mps2-an385");
}

#[test]
fn a_busy_serial_line_is_told_apart_on_a_cortex_a9() {
    is_undisturbed_by_its_serial_line("zynq7000");
}
