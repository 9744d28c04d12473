//! `wirelab board`: lists the emulated boards, runs one, and shows its console.

use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use wirelab_board::console::printable;
use wirelab_board::folder::{Running, running};
use wirelab_board::{Board, INTERFACE, ListedBoard, Options};
use wirelab_report::document::Block;
use wirelab_report::document::table::{Cell, Table};
use wirelab_trial::OpenError;
use wirelab_trial::nearest::unknown;
use wirelab_trial::system_error::system_fix;

use crate::args::{BoardArgs, BoardCommand, BoardConsoleArgs, BoardRunArgs};
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{cancel_on_signal, complain, put, show, show_json_line, show_started};

/// Time between checks whether to end.
const LOOK: Duration = Duration::from_millis(50);
/// How long a board may be silent after the end of input before its console is closed.
const QUIET: Duration = Duration::from_millis(500);

pub fn run(args: &BoardArgs) -> Result {
    match &args.command {
        BoardCommand::List { json } => list(*json),
        BoardCommand::Run(args) => run_one(args),
        BoardCommand::Console(args) => console(args),
        BoardCommand::Disassemble(args) => super::disassemble::run(args),
    }
}

/// What `board list --json` prints.
#[derive(Serialize)]
struct Boards {
    boards: Vec<ListedBoard>,
    running: Vec<Running>,
}

fn list(json: bool) -> Result {
    let all = Boards {
        boards: ListedBoard::all(),
        running: all_running()?,
    };
    if json {
        show_json_line(&all)?;
        return Ok(Outcome::Done);
    }
    let row = |board: ListedBoard| {
        let here = match board.lacks.is_empty() {
            true => format!("in {}", board.emulator.name()).into(),
            false => Cell::Noted {
                text: "no".to_owned(),
                note: board.lacks.join("; "),
                kind: None,
                alarm: true,
            },
        };
        vec![
            format!("board:{}", board.name).into(),
            here,
            board.about.into(),
        ]
    };
    let heads = vec![("board", false), ("runs here", false), ("about", false)];
    let boards = Table::sentences(heads, all.boards.into_iter().map(row).collect());
    let mut blocks = vec![Block::Table(boards)];
    if !all.running.is_empty() {
        let row = |Running { id, about, .. }: Running| {
            let none = || "none".to_owned();
            let ip = about.ip.map_or_else(none, |ip| ip.to_string());
            vec![id, ip, about.namespace.unwrap_or_else(none)]
        };
        let heads = vec![("running", false), ("ip", false), ("namespace", false)];
        let running = all.running.into_iter().map(row).collect();
        blocks.push(Block::sentences(heads, running));
    }
    show(String::new(), blocks);
    Ok(Outcome::Done)
}

fn all_running() -> std::result::Result<Vec<Running>, Failure> {
    running().map_err(|error| {
        Failure::failed(format!(
            "the list of running boards: {error}; fix: {}",
            system_fix(&error)
        ))
    })
}

fn run_one(args: &BoardRunArgs) -> Result {
    let patience = ask::time_ps("--patience", &args.patience)?;
    let options = Options {
        image: args.image.clone(),
        patience: Duration::from_nanos(patience / 1000),
        ..Options::default()
    };
    let cancel = cancel_on_signal();
    let board = Board::start(&args.board, &options).map_err(OpenError::from)?;
    match args.json {
        true => show_json_line(&board.about())?,
        false => print(&board),
    }
    while !cancel.is_cancelled() {
        board.check().map_err(OpenError::from)?;
        std::thread::sleep(LOOK);
    }
    board.stop();
    complain(format_args!("the board has ended"));
    Ok(Outcome::Done)
}

fn print(board: &Board) {
    let name = board.info().name;
    let title = format!(
        "board {name} is up after {} ms with {}",
        board.boot_time().as_millis(),
        board.image().display()
    );
    let mut facts = match (board.ip(), board.namespace_name()) {
        (Some(ip), Some(namespace)) => {
            let inside = |command| format!("sudo ip netns exec {namespace} {command}");
            vec![
                (
                    "address",
                    format!("{ip} on {INTERFACE} in the network namespace {namespace}"),
                ),
                ("ping it", inside(format!("ping {ip}"))),
                ("iperf", inside(format!("iperf -c {ip} -u -b 100M"))),
                ("measure it", inside(format!("wirelab measure node:{ip}"))),
            ]
        }
        _ => {
            let why = board.without_tap().unwrap_or("not requested");
            vec![
                (
                    "address",
                    format!("none: it has no interface on this host ({why})"),
                ),
                (
                    "measure it",
                    format!("wirelab measure board:{name} starts one, over Ethernet and UDP"),
                ),
            ]
        }
    };
    facts.push(("console", format!("wirelab board console {name}")));
    show_started(title, facts);
}

/// The running board that the options select.
fn chosen(args: &BoardConsoleArgs) -> std::result::Result<Running, Failure> {
    let mut all = all_running()?;
    let ids = |all: &[Running]| {
        let ids: Vec<&str> = all.iter().map(|r| r.id.as_str()).collect();
        ids.join(", ")
    };
    let known = ids(&all);
    if let Some(name) = &args.board {
        all.retain(|running| running.id == *name || running.about.board == *name);
    }
    match all.len() {
        1 => Ok(all.remove(0)),
        0 if known.is_empty() => Err(Failure::usage(
            "no board runs; fix: start one with 'wirelab board run NAME', and use another terminal for its console",
        )),
        0 => Err(Failure::usage(unknown(
            "running board",
            args.board.as_deref().unwrap_or_default(),
            known.split(", "),
        ))),
        _ => Err(Failure::usage(format!(
            "several run; fix: name one of {}",
            ids(&all)
        ))),
    }
}

fn console(args: &BoardConsoleArgs) -> Result {
    let chosen = chosen(args)?;
    let socket = chosen.about.uart;
    let gone = |error: std::io::Error| {
        Failure::failed(format!(
            "the console {}: {error}; fix: {}",
            socket.display(),
            system_fix(&error)
        ))
    };
    let mut stream = UnixStream::connect(&socket).map_err(gone)?;
    stream.set_read_timeout(Some(LOOK)).map_err(gone)?;
    let cancel = cancel_on_signal();
    complain(format_args!("console of {}; Ctrl-C leaves it", chosen.id));
    let mut to_board = stream.try_clone().map_err(gone)?;
    let typed_all = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&typed_all);
    // It reads the terminal, and ends with the program.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut to_board);
        over.store(true, Ordering::Relaxed);
    });
    let (mut bytes, mut heard) = ([0; 4096], Instant::now());
    let is_done = |heard: Instant| typed_all.load(Ordering::Relaxed) && heard.elapsed() > QUIET;
    while !cancel.is_cancelled() && !is_done(heard) {
        match stream.read(&mut bytes) {
            Ok(0) => {
                return Err(Failure::failed(
                    "the board has ended; fix: start it again with 'wirelab board run'",
                ));
            }
            Ok(length) => {
                heard = Instant::now();
                put!("{}", printable(&String::from_utf8_lossy(&bytes[..length])));
            }
            Err(e) if is_not_yet(&e) => {}
            Err(error) => return Err(gone(error)),
        }
    }
    Ok(Outcome::Done)
}

fn is_not_yet(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
