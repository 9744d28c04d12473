//! Each option that takes words of a fixed set answers a misspelt one with the nearest; no option can be forgotten.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory, Parser};

use crate::args::Cli;

/// What a command needs before its options are read.
const COMMANDS: &[(&str, &str)] = &[
    ("audit", "audit"),
    ("board disassemble", "board disassemble lpc1768 main"),
    ("board disassemble board", "board disassemble WORD main"),
    ("board run", "board run"),
    ("compare", "compare a.json b.json"),
    ("completions", "completions"),
    ("console check console", "console check --profile linux"),
    ("console check profile", "console check --console exec:true"),
    ("console show", "console show"),
    ("explain", "explain am263x"),
    ("fit", "fit am263x"),
    ("hdl", "hdl tap0 --frames 1"),
    ("iperf", "iperf -c 127.0.0.1"),
    ("lab exec", "lab exec WORD true"),
    ("limits", "limits"),
    ("measure", "measure iperf:127.0.0.1"),
    ("measure console", "measure iperf:127.0.0.1 --profile linux"),
    (
        "measure profile",
        "measure iperf:127.0.0.1 --console exec:true",
    ),
    ("node serve", "node serve"),
    ("predict", "predict am263x"),
    ("pulse", "pulse a.vcd"),
    ("receive", "receive none0"),
    ("report", "report a.json"),
    ("send", "send none0 --frames 1"),
    ("stages", "stages lab:"),
    ("study run", "study run"),
    ("study run node", "study run am263x"),
    ("study show", "study show"),
    ("whatif", "whatif am263x"),
];

/// Options and arguments by their id, a value that is misspelt, and the right word.
const WORDS: [(&str, &str, &str); 30] = [
    ("active", "hihg", "high"),
    ("background", "hafl", "half"),
    ("buffers", "copeid", "copied"),
    ("by", "latancy", "latency"),
    ("console", "seral:/dev/null", "serial"),
    ("direction", "transmi", "transmit"),
    ("dscp", "CS55", "CS5"),
    ("fail_if", "wrose", "worse"),
    ("fast_track", "prot=1026", "port"),
    ("format", "htlm", "html"),
    ("hold_out", "siez=64", "size"),
    ("inject", "dorp=0.1", "drop"),
    ("layer", "udpx", "udp4"),
    ("load", "mxa", "max"),
    ("path", "xpd", "xdp"),
    ("probes", "fetry", "fentry"),
    ("profile", "nutx", "nuttx"),
    ("receive_work", "stere", "steer"),
    ("rule", "prot=1026", "port"),
    ("search", "no-los", "no-loss"),
    ("shell", "bahs", "bash"),
    ("side", "ndoe", "node"),
    ("tos", "CS77", "CS7"),
    ("wait", "slepe", "sleep"),
    ("xdp", "natvie", "native"),
    ("board", "lpc1786", "lpc1768"),
    ("node", "am263", "am263x"),
    ("studies", "am263", "am263x"),
    ("study", "am263", "am263x"),
    ("set", "alternatve=x", "alternative"),
];

/// Texts, numbers, times, rates, names and addresses, which have no fixed set of values.
const FREE: [&str; 60] = [
    "address",
    "after",
    "allow_mac",
    "allow_reverse",
    "allow",
    "around",
    "blockcount",
    "badge",
    "bandwidth",
    "bind",
    "capture",
    "channel",
    "client",
    "command",
    "compatibility",
    "congestion",
    "core_clock",
    "cpu",
    "cpus",
    "exceed",
    "extra_data",
    "figure",
    "files",
    "forward",
    "from",
    "function",
    "idle",
    "interface",
    "len",
    "link_rate",
    "listen",
    "margin",
    "max_rate",
    "max_time",
    "mss",
    "name",
    "num",
    "output",
    "patience",
    "point",
    "port",
    "pulse",
    "rate",
    "sampling",
    "selection",
    "shortest",
    "since",
    "store",
    "tag",
    "tags",
    "threshold",
    "time",
    "title",
    "to",
    "until",
    "username",
    "warmup",
    "width",
    "window",
    "z",
];

/// Options that share their id with one of [`WORDS`], take a single letter, or belong to a node that is not built in.
const OTHERS: [&str; 9] = [
    "board console board",
    "fit node",
    "iperf format",
    "iperf reportstyle",
    "measure background",
    "node serve set",
    "results list node",
    "stages gate",
    "stages mac",
];

/// The answer to a command line: the parser's, or the command's own. A command that is not refused may run forever.
fn answer(line: &[String]) -> String {
    let (sender, receiver) = mpsc::channel();
    let all: Vec<String> = [&["wirelab".to_owned()], line].concat();
    std::thread::spawn(move || {
        let answer = match Cli::try_parse_from(all) {
            Err(error) => crate::refused_line::failure(&error).to_string(),
            Ok(cli) => match crate::run(cli.command) {
                Err(failure) => failure.to_string(),
                Ok(_) => "it was not refused".to_owned(),
            },
        };
        sender.send(answer)
    });
    let answer = receiver.recv_timeout(Duration::from_secs(20));
    answer.unwrap_or_else(|_| "it was not refused in 20 s".to_owned())
}

/// The commands below one, with their names from the first on.
fn each(command: &Command, above: &str, found: &mut Vec<(String, Vec<Arg>)>) {
    for below in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = format!("{above} {}", below.get_name());
        let name = name.trim_start().to_owned();
        found.push((name.clone(), below.get_arguments().cloned().collect()));
        each(below, &name, found);
    }
}

/// Whether an option takes a number, a file or an address.
fn is_free(arg: &Arg) -> bool {
    let kind = arg.get_value_parser().type_id();
    let free = [
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<f64>(),
        TypeId::of::<PathBuf>(),
        TypeId::of::<OsString>(),
        TypeId::of::<IpAddr>(),
        TypeId::of::<SocketAddr>(),
    ];
    free.iter().any(|known| kind == *known) || !arg.get_action().takes_values()
}

#[test]
fn each_misspelt_word_gets_the_nearest() {
    let mut all = Vec::new();
    each(&Cli::command(), "", &mut all);
    let (mut tried, mut wrong) = (BTreeSet::new(), Vec::new());
    for (command, args) in &all {
        let without_hdl = command == "hdl" && !cfg!(feature = "hdl");
        for arg in args.iter().filter(|arg| !is_free(arg) && !without_hdl) {
            let id = arg.get_id().as_str();
            let whole = format!("{command} {id}");
            if OTHERS.contains(&&*whole) || FREE.contains(&id) {
                continue;
            }
            let Some((_, word, right)) = WORDS.iter().find(|(known, ..)| *known == id) else {
                wrong.push(format!("{command} {id}: WORDS or FREE lacks it"));
                continue;
            };
            let of = |name: &str| COMMANDS.iter().find(|(known, _)| *known == name);
            let Some((_, before)) = of(&whole).or_else(|| of(command)) else {
                wrong.push(format!("{command}: COMMANDS lacks it, for {id}"));
                continue;
            };
            let mut line: Vec<String> = before.split(' ').map(str::to_owned).collect();
            match (arg.get_long(), line.iter_mut().find(|part| *part == "WORD")) {
                (_, Some(place)) => *place = (*word).to_owned(),
                (Some(long), None) => line.push(format!("--{long}={word}")),
                (None, None) => {
                    line.truncate(command.split(' ').count());
                    line.push((*word).to_owned());
                }
            }
            tried.insert(id.to_owned());
            let answer = answer(&line);
            let named = [format!("'{right}'"), format!("'{right}:'")];
            if !named.iter().any(|named| answer.contains(named)) {
                wrong.push(format!("{}: lacks {right}: {answer}", line.join(" ")));
            }
        }
    }
    let known = WORDS.iter().map(|(id, ..)| (*id).to_owned());
    wrong.extend(
        known
            .filter(|id| !tried.contains(id))
            .map(|id| format!("{id}: of no command")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
