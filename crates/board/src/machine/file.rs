//! Machine files: how to start a machine in QEMU, how to reach it, what to run on it, and the points of its paths.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use wirelab_config::{Entry, FileError, Read, Table, read, read_text};
use wirelab_trial::Direction;
use wirelab_trial::nearest::{did_you_mean, head};

use super::MachineError;
use super::point::{MachinePoint, PassChoice};

/// Longest machine file in bytes.
const MOST_BYTES: u64 = 64 * 1024;
/// Most points of a path: their numbers in records have eight bits.
const MOST_POINTS: usize = 64;
const PS_PER_S: u64 = 1_000_000_000_000;

/// How a machine gets its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// From the last four bytes of its Ethernet address.
    Mac,
    /// From commands at its console.
    Console,
    /// From wirelab's DHCP server.
    Dhcp,
    /// It is built into the image.
    Fixed {
        /// The machine's.
        node: Ipv4Addr,
        /// The tester's, in the same network of 24 bits.
        tester: Ipv4Addr,
    },
}

/// The console of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialogue {
    /// What it prints when it waits for a command.
    pub prompt: Option<String>,
    /// What it prints when it is up, where that is not the prompt.
    pub ready: Option<String>,
    /// Commands at each start.
    pub commands: Vec<String>,
    /// The bytes that end a command.
    pub enter: String,
}

/// The traffic of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// UDP datagrams to a port: of the machine if it receives, of the tester if it sends.
    Udp(u16),
    /// A TCP connection to such a port, with one segment in flight.
    Tcp(u16),
    /// The received frames, which the machine returns.
    Echo,
}

/// A frame's path through the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramePath {
    /// In or out.
    pub direction: Direction,
    /// Which frames take it.
    pub traffic: Traffic,
    /// Commands that start the program that receives or sends them.
    pub start: Vec<String>,
    /// Its points in their order.
    pub points: Vec<MachinePoint>,
}

/// The protocol by which `measure` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The node control protocol over UDP.
    Control,
    /// An iperf 2 server.
    Iperf,
    /// An iperf3 server.
    Iperf3,
}

/// How a machine is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The protocol or server that measures it.
    pub by: Measured,
    /// Commands that start the server.
    pub start: Vec<String>,
    /// The profile by which its iperf is started, ended and read at the console, for each trial.
    pub profile: Option<String>,
}

/// A machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFile {
    /// The name by which errors call it.
    pub name: String,
    /// The folder of the file, where it is one.
    pub folder: Option<PathBuf>,
    /// What it is, in a line.
    pub about: String,
    /// QEMU's program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The arguments of its network device.
    pub network: Vec<String>,
    /// The image where none is given.
    pub image: Option<String>,
    /// The power of two of ns that an instruction takes.
    pub icount: Option<u8>,
    /// Longest time until it is up, in ps.
    pub patience_ps: u64,
    /// Its address.
    pub address: Address,
    /// Its console.
    pub console: Dialogue,
    /// Symbols at which interrupts enter, if the image does not show it.
    pub interrupts: Option<Vec<String>>,
    /// Functions of interrupts that do not belong to a frame: timers.
    pub apart: Vec<String>,
    /// Functions that give work to a device: after them the machine stops until the work is done.
    pub kicks: Vec<String>,
    /// Its paths.
    pub frame_paths: Vec<FramePath>,
    /// Frames of each trial before those that are measured.
    pub warm_up: u64,
    /// The next frame is sent after the machine has gone to sleep this many times since a frame's last point,
    pub sleeps: u32,
    /// or has run this many instructions, if that is earlier.
    pub idle: u32,
    /// How it is measured.
    pub measure: Option<Measure>,
}

macro_rules! machine {
    ($name:literal) => {
        (
            $name,
            concat!("qemu:", $name),
            include_str!(concat!("../../../../machines/", $name, ".toml")),
        )
    };
}

/// Every file of `machines/`, in alphabetical order.
const MACHINES: &[(&str, &str, &str)] = &[
    machine!("mps2-an385"),
    machine!("nuttx-rv-virt"),
    machine!("zynq7000"),
];

/// The names of the built-in machines.
pub fn names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, ..)| *name)
}

/// The names of the nodes of the built-in machines, as `qemu:NAME`.
pub fn nodes() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(_, node, _)| *node)
}

const KEYS: &[&str] = &[
    "about",
    "program",
    "arguments",
    "network",
    "image",
    "icount",
    "patience",
    "interrupts",
    "apart",
    "kicks",
    "warm_up",
    "sleeps",
    "idle",
    "address",
    "console",
    "receive",
    "transmit",
    "measure",
];

const ADDRESS_KEYS: &[&str] = &["from", "node", "tester"];
const CONSOLE_KEYS: &[&str] = &["prompt", "ready", "commands", "enter"];
const MEASURE_KEYS: &[&str] = &["by", "start", "profile"];
const PATH_KEYS: &[&str] = &["traffic", "start", "points"];

impl MachineFile {
    /// The machine of a name: a file that ends in .toml, or a built-in one.
    ///
    /// # Errors
    /// [`MachineError`]: there is none, or what is wrong with the file and where.
    pub fn find(target: &str) -> Result<MachineFile, MachineError> {
        let path = Path::new(target);
        if path.extension().is_some_and(|e| e == "toml") {
            let text = read_text(path, "a machine file", MOST_BYTES)?;
            let mut file = MachineFile::parse(&text, target)?;
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            file.folder = whole.parent().map(Path::to_owned);
            return Ok(file);
        }
        let known = MACHINES.iter().find(|(name, ..)| *name == target);
        let Some((name, _, text)) = known else {
            return Err(MachineError::Unknown {
                name: head(target).to_owned(),
                meant: did_you_mean(target, names()),
                names: names().collect::<Vec<_>>().join(", "),
            });
        };
        Ok(MachineFile::parse(text, name)?)
    }

    /// Reads the text of a file called `file`.
    ///
    /// # Errors
    /// [`FileError::At`] with the place.
    pub fn parse(text: &str, file: &str) -> Read<MachineFile> {
        read(text, file, |top| {
            top.known_keys(KEYS)?;
            let mut machine = MachineFile {
                name: file.to_owned(),
                folder: None,
                about: top.text("about")?.unwrap_or_default(),
                program: top
                    .need("program", "write QEMU's program, e.g. \"qemu-system-arm\"")?
                    .text()?,
                arguments: words(top, "arguments")?.unwrap_or_default(),
                network: words(top, "network")?.unwrap_or_else(|| {
                    ["-netdev", "{netdev}", "-net", "nic,netdev=n0,macaddr={mac}"]
                        .map(str::to_owned)
                        .into()
                }),
                image: top.text("image")?,
                icount: whole(top, "icount", 0, 10)?.map(|shift| shift as u8),
                patience_ps: match top.get("patience") {
                    Some(entry) => entry.duration()?,
                    None => 20 * PS_PER_S,
                },
                address: address(top)?,
                console: dialogue(top)?,
                interrupts: words(top, "interrupts")?,
                apart: words(top, "apart")?.unwrap_or_default(),
                kicks: words(top, "kicks")?.unwrap_or_default(),
                frame_paths: Vec::new(),
                warm_up: whole(top, "warm_up", 0, 10_000)?.unwrap_or(32),
                sleeps: whole(top, "sleeps", 1, 1_000)?.unwrap_or(2) as u32,
                idle: whole(top, "idle", 0, 1_000_000_000)?.unwrap_or(20_000) as u32,
                measure: measure(top)?,
            };
            for (key, direction) in [
                ("receive", Direction::Receive),
                ("transmit", Direction::Transmit),
            ] {
                if let Some(table) = top.section(key)? {
                    machine.frame_paths.push(frame_path(&table, direction)?);
                }
            }
            machine.check(top)?;
            Ok(machine)
        })
    }

    /// The path of a direction.
    pub fn frame_path(&self, direction: Direction) -> Option<&FramePath> {
        self.frame_paths
            .iter()
            .find(|frame_path| frame_path.direction == direction)
    }

    fn check(&self, top: &Table<'_>) -> Read<()> {
        let has_commands = !self.console.commands.is_empty()
            || self
                .frame_paths
                .iter()
                .any(|frame_path| !frame_path.start.is_empty())
            || self
                .measure
                .as_ref()
                .is_some_and(|measure| !measure.start.is_empty());
        if has_commands && self.console.prompt.is_none() {
            return Err(top.at_key(
                "console",
                "it has commands, but no prompt that shows their end; fix: write prompt = \"nsh> \"",
            ));
        }
        if !self.network.iter().any(|word| word.contains("{netdev}")) {
            return Err(top.at_key(
                "network",
                "it has no place for the network device, whose id is n0; fix: write \"-netdev\", \"{netdev}\"",
            ));
        }
        let echoes = |frame_path: &&FramePath| frame_path.traffic == Traffic::Echo;
        match (
            self.frame_path(Direction::Receive),
            self.frame_paths.iter().find(echoes),
        ) {
            (Some(frame_path), _) if frame_path.traffic == Traffic::Echo => Err(top.at_key(
                "receive",
                "what comes back is sent; fix: write \"udp:PORT\" here, and \"echo\" in transmit",
            )),
            (None, Some(_)) => Err(top.at_key(
                "transmit",
                "an echo needs frames that are received; fix: add [receive] with traffic = \"udp:7\"",
            )),
            _ => Ok(()),
        }
    }
}

fn words(table: &Table<'_>, key: &str) -> Read<Option<Vec<String>>> {
    let Some(entry) = table.get(key) else {
        return Ok(None);
    };
    entry
        .entries()
        .iter()
        .map(Entry::text)
        .collect::<Read<_>>()
        .map(Some)
}

fn whole(table: &Table<'_>, key: &str, least: u64, most: u64) -> Read<Option<u64>> {
    table.get(key).map(|e| e.whole(least, most)).transpose()
}

fn address(top: &Table<'_>) -> Read<Address> {
    let Some(table) = top.section("address")? else {
        return Ok(Address::Mac);
    };
    table.known_keys(ADDRESS_KEYS)?;
    let fix = "write \"mac\", \"console\", \"dhcp\" or \"fixed\"";
    let from = table.need("from", fix)?;
    let known = [
        ("mac", Some(Address::Mac)),
        ("console", Some(Address::Console)),
        ("dhcp", Some(Address::Dhcp)),
        ("fixed", None),
    ];
    match from.one_of("source of an address", &known)? {
        Some(address) => Ok(address),
        None => fixed(&table),
    }
}

fn fixed(table: &Table<'_>) -> Read<Address> {
    let ip = |key, fix: &str| -> Read<(Ipv4Addr, Entry<'_>)> {
        let entry = table.need(key, fix)?;
        let text = entry.text()?;
        let ip = text
            .parse()
            .map_err(|_| entry.invalid("write an address, e.g. \"192.168.1.2\""))?;
        Ok((ip, entry))
    };
    let (node, _) = ip("node", "write the image's address, e.g. \"192.168.1.2\"")?;
    let (tester, entry) = ip("tester", "write the tester's address in the same network")?;
    match tester != node && tester.octets()[..3] == node.octets()[..3] {
        true => Ok(Address::Fixed { node, tester }),
        false => Err(entry.error(format!(
            "it is not in the network {node}/24, or is the image's own; fix: write another address of it"
        ))),
    }
}

fn dialogue(top: &Table<'_>) -> Read<Dialogue> {
    let Some(table) = top.section("console")? else {
        return Ok(Dialogue::default());
    };
    table.known_keys(CONSOLE_KEYS)?;
    Ok(Dialogue {
        prompt: table.text("prompt")?,
        ready: table.text("ready")?,
        commands: words(&table, "commands")?.unwrap_or_default(),
        enter: match table.get("enter") {
            None => "\n".to_owned(),
            Some(entry) => {
                let known = [("lf", "\n"), ("cr", "\r"), ("crlf", "\r\n")];
                entry.one_of("end of a line", &known)?.to_owned()
            }
        },
    })
}

fn traffic(entry: &Entry<'_>) -> Read<Traffic> {
    let text = entry.text()?;
    let port = |text: &str| text.parse().ok().filter(|port| *port > 0u16);
    let known = match text.split_once(':') {
        None if text == "echo" => Some(Traffic::Echo),
        Some(("udp", number)) => port(number).map(Traffic::Udp),
        Some(("tcp", number)) => port(number).map(Traffic::Tcp),
        _ => None,
    };
    known.ok_or_else(|| {
        let word = text.split(':').next().unwrap_or_default();
        let meant = match ["udp", "tcp"].contains(&word) {
            true => String::new(),
            false => did_you_mean(word, ["udp", "tcp", "echo"].into_iter()),
        };
        entry.error(format!(
            "no such traffic; {meant}fix: write \"udp:PORT\", \"tcp:PORT\", or \"echo\" of what comes in"
        ))
    })
}

fn frame_path(table: &Table<'_>, direction: Direction) -> Read<FramePath> {
    table.known_keys(PATH_KEYS)?;
    let fix = "write \"udp:7\", \"tcp:5001\" or \"echo\"";
    let entry = table.need(
        "points",
        "write [{ name = \"driver\", at = \"SYMBOL\" }, …]",
    )?;
    let mut points: Vec<MachinePoint> = Vec::new();
    for each in entry.entries() {
        let next = point(&each.table()?)?;
        if points.iter().any(|p| p.name == next.name) {
            return Err(each.error(format!(
                "there is a point '{}' before; fix: choose another name",
                next.name
            )));
        }
        points.push(next);
    }
    if !(2..=MOST_POINTS).contains(&points.len()) {
        return Err(entry.error(format!(
            "it has {} points; fix: write 2 to {MOST_POINTS}",
            points.len()
        )));
    }
    Ok(FramePath {
        direction,
        traffic: traffic(&table.need("traffic", fix)?)?,
        start: words(table, "start")?.unwrap_or_default(),
        points,
    })
}

fn point(table: &Table<'_>) -> Read<MachinePoint> {
    table.known_keys(&["name", "at", "take"])?;
    let name = table.need("name", "write the point's name, e.g. \"driver\"")?;
    let text = name.text()?;
    let is_word = text.len() <= 40 && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if !is_word {
        return Err(name.invalid("write one word of at most 40 bytes"));
    }
    let at = table.need(
        "at",
        "write a symbol, \"symbol+0x10\", an address or \"return of symbol\"",
    )?;
    let take = match table.get("take") {
        None => PassChoice::Only,
        Some(entry) => entry.one_of(
            "choice",
            &[("first", PassChoice::First), ("last", PassChoice::Last)],
        )?,
    };
    Ok(MachinePoint {
        name: text,
        place: at.word()?,
        take,
    })
}

fn measure(top: &Table<'_>) -> Read<Option<Measure>> {
    let Some(table) = top.section("measure")? else {
        return Ok(None);
    };
    table.known_keys(MEASURE_KEYS)?;
    let fix = "write \"control\", \"iperf\" or \"iperf3\"";
    let by = table.need("by", fix)?;
    let known = [
        ("control", Measured::Control),
        ("iperf", Measured::Iperf),
        ("iperf3", Measured::Iperf3),
    ];
    let measured = by.one_of("service", &known)?;
    if let (Some(profile), Measured::Control) = (table.get("profile"), measured) {
        return Err(
            profile.error("a profile starts an iperf; fix: write by = \"iperf\" or \"iperf3\"")
        );
    }
    Ok(Some(Measure {
        by: measured,
        start: words(&table, "start")?.unwrap_or_default(),
        profile: table.text("profile")?,
    }))
}

/// Reads any bytes as a machine file; for fuzzing.
pub fn fuzz_machine_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(error) = MachineFile::parse(text, "fuzz.toml") {
        let FileError::At { what, .. } = &error else {
            panic!("{error}");
        };
        assert!(what.contains("fix: "), "{error}");
    }
}

#[cfg(test)]
#[path = "../../../trial/tests/common/table.rs"]
mod table;

#[cfg(test)]
mod tests {
    use super::table::{quoted, rows};
    use super::*;

    #[test]
    fn the_machines_that_come_along_are_read() {
        for name in names() {
            let machine = MachineFile::find(name).unwrap();
            assert!(
                !machine.frame_paths.is_empty() && !machine.about.is_empty(),
                "{name}"
            );
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(
            files,
            names().count(),
            "each file of machines/ is in the list"
        );
        let error = MachineFile::find("zynq700").unwrap_err().to_string();
        assert!(error.contains("did you mean 'zynq7000'?"), "{error}");
    }

    #[test]
    fn the_page_has_a_row_for_each_key() {
        let page = include_str!("../../../../docs/machines.md");
        let heads = ["| key | meaning | default |", "| key of a path | meaning |"];
        let rows = heads.iter().flat_map(|head| rows(page, head));
        let mut documented: Vec<&str> = rows.flat_map(|row| quoted(row[0])).collect();
        let tables = [
            ("address", ADDRESS_KEYS),
            ("console", CONSOLE_KEYS),
            ("measure", MEASURE_KEYS),
        ];
        let top = KEYS
            .iter()
            .filter(|key| tables.iter().all(|(of, _)| of != *key));
        let inner = tables
            .iter()
            .flat_map(|(of, keys)| keys.iter().map(move |key| format!("{of}.{key}")));
        let mut read: Vec<String> = top
            .chain(PATH_KEYS)
            .map(|key| (*key).to_owned())
            .chain(inner)
            .collect();
        documented.sort_unstable();
        read.sort_unstable();
        assert_eq!(documented, read);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_the_fix() {
        let whole = "program = \"qemu-system-arm\"\n\
                     [receive]\ntraffic = \"udp:7\"\n\
                     points = [{ name = \"a\", at = \"x\" }, { name = \"b\", at = \"y\" }]\n";
        assert!(MachineFile::parse(whole, "m.toml").is_ok());
        for (from, to, words) in [
            (
                "program",
                "programme",
                "m.toml:1:1: programme: no such key; did you mean 'program'?",
            ),
            (
                "udp:7",
                "udp:0",
                "m.toml:3:11: receive.traffic: no such traffic",
            ),
            ("udp:7", "echo", "what comes back is sent"),
            ("\"x\"", "\"x y\"", "invalid place 'x y'; fix: write"),
            (
                "name = \"b\"",
                "name = \"a\"",
                "there is a point 'a' before",
            ),
            ("name = \"b\"", "name = \"b c\"", "one word"),
            (
                ", { name = \"b\", at = \"y\" }",
                "",
                "it has 1 points; fix: write 2 to 64",
            ),
            (
                "[receive]",
                "[console]\nready = \"\"\n[receive]",
                "write a text in quotes",
            ),
            (
                "[receive]",
                "[address]\nfrom = \"luck\"\n[receive]",
                "unknown source of an address",
            ),
            (
                "[receive]",
                "[measure]\nby = \"control\"\nprofile = \"nuttx\"\n[receive]",
                "m.toml:4:11: measure.profile: a profile starts an iperf",
            ),
            ("[receive]", "sleeps = 0\n[receive]", "sleeps"),
            (
                "[receive]",
                "[measure]\nby = \"luck\"\n[receive]",
                "unknown service",
            ),
            (
                "[receive]",
                "[console]\ncommands = [\"help\"]\n[receive]",
                "no prompt",
            ),
            (
                "[receive]",
                "network = [\"-nic\", \"none\"]\n[receive]",
                "no place for the network",
            ),
            (
                "[receive]",
                "[address]\nfrom = \"fixed\"\nnode = \"10.0.0.2\"\ntester = \"10.0.1.1\"\n[receive]",
                "it is not in the network 10.0.0.2/24",
            ),
        ] {
            let text = whole.replacen(from, to, 1);
            let error = MachineFile::parse(&text, "m.toml").unwrap_err().to_string();
            assert!(error.contains(words), "{error}\n{text}");
        }
    }

    #[test]
    fn the_fuzz_corpus_is_read_without_panic() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fuzz/corpus/machine_file"
        );
        let files = std::fs::read_dir(folder).unwrap();
        let read =
            files.map(|file| fuzz_machine_file(&std::fs::read(file.unwrap().path()).unwrap()));
        assert!(read.count() >= 3);
    }
}
