//! What is wrong in a node file is named with file, line, column and field, and with what to write instead.

use std::fmt::Write as _;

use wirelab_model::file::NodeFile;

const BOARD: &str = include_str!("data/board.toml");

fn error(text: &str) -> String {
    NodeFile::parse(text, "n.toml").unwrap_err().to_string()
}

/// The board with one text, which stands in it once, replaced.
fn with(old: &str, new: &str) -> String {
    assert_eq!(BOARD.matches(old).count(), 1, "{old}");
    BOARD.replace(old, new)
}

/// The board with more at its end.
fn and(more: &str) -> String {
    format!("{BOARD}\n{more}\n")
}

/// The board with a parameter `p` more.
fn parameter(lines: &str) -> String {
    and(&format!("[parameter.p]\n{lines}"))
}

/// The board with a stage `s` more.
fn stage(lines: &str) -> String {
    and(&format!("[stage.s]\n{lines}"))
}

/// The board with a path `p` more.
fn path(lines: &str) -> String {
    and(&format!("[[path]]\nname = \"p\"\n{lines}"))
}

fn shown(cases: &[(&str, String)]) -> String {
    let mut all = String::new();
    for (name, text) in cases {
        writeln!(all, "{name}\n    {}", error(text)).unwrap();
    }
    all
}

#[test]
fn the_board_is_in_order() {
    NodeFile::parse(BOARD, "board.toml").unwrap();
}

#[test]
fn parameters() {
    let all = shown(&[
        ("no unit", parameter("value = 1\nsource = \"x\"")),
        ("no value", parameter("unit = \"us\"\nsource = \"x\"")),
        (
            "unknown unit",
            parameter("value = 1\nunit = \"cycles\"\nsource = \"x\""),
        ),
        ("no source", parameter("value = 1\nunit = \"us\"")),
        (
            "empty source",
            parameter("value = 1\nunit = \"us\"\nsource = \" \""),
        ),
        (
            "both sources",
            parameter("value = 1\nunit = \"us\"\nsource = \"x\"\ncalibrated_from = \"scenario-1\""),
        ),
        (
            "unknown calibration",
            parameter("value = 1\nunit = \"us\"\ncalibrated_from = \"scenario-3\""),
        ),
        (
            "clk without a clock",
            parameter("value = 1\nunit = \"clk\"\nsource = \"x\""),
        ),
        (
            "unknown clock",
            parameter("value = 1\nunit = \"clk\"\nclock = \"cpu\"\nsource = \"x\""),
        ),
        (
            "a clock that is none",
            parameter("value = 1\nunit = \"clk\"\nclock = \"idle\"\nsource = \"x\""),
        ),
        (
            "a clock of no clk",
            parameter("value = 1\nunit = \"us\"\nclock = \"cpu-clock\"\nsource = \"x\""),
        ),
        (
            "a clock that stands still",
            with("value = 100\nunit = \"MHz\"", "value = 0\nunit = \"MHz\""),
        ),
        (
            "negative",
            parameter("value = -1\nunit = \"us\"\nsource = \"x\""),
        ),
        (
            "not finite",
            parameter("value = inf\nunit = \"us\"\nsource = \"x\""),
        ),
        (
            "too large to be finite",
            parameter("value = 1e999\nunit = \"us\"\nsource = \"x\""),
        ),
        (
            "a text",
            parameter("value = \"1\"\nunit = \"us\"\nsource = \"x\""),
        ),
        (
            "unknown key",
            parameter("valeu = 1\nunit = \"us\"\nsource = \"x\""),
        ),
        (
            "twice",
            and("[parameter.idle]\nvalue = 1\nunit = \"%\"\nsource = \"x\""),
        ),
        (
            "a name with a dot",
            and("[parameter.\"a.b\"]\nvalue = 1\nunit = \"%\"\nsource = \"x\""),
        ),
        (
            "called link",
            and("[parameter.link]\nvalue = 1\nunit = \"%\"\nsource = \"x\""),
        ),
        (
            "unknown link rate",
            with("rate = \"link-rate\"", "rate = \"rate\""),
        ),
        (
            "link rate of a wrong unit",
            with("rate = \"link-rate\"", "rate = \"idle\""),
        ),
        (
            "link rate of nothing",
            with(
                "value = 100\nunit = \"Mbit/s\"",
                "value = 0\nunit = \"Mbit/s\"",
            ),
        ),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn stages() {
    let all = shown(&[
        ("no source", stage("cost = []")),
        (
            "unknown resource",
            stage("source = \"x\"\nresource = \"cpus\""),
        ),
        (
            "unknown parameter",
            stage("source = \"x\"\ncost = { constant = \"restrat-gap\" }"),
        ),
        (
            "constant of a wrong unit",
            stage("source = \"x\"\ncost = { constant = \"gpdma-word\" }"),
        ),
        (
            "rate of a wrong unit",
            stage("source = \"x\"\ncost = [{ bytes = \"length\", at = \"restart-gap\" }]"),
        ),
        (
            "latency of a wrong unit",
            stage("source = \"x\"\ncost = { accesses = 1, of = \"in-flight\" }"),
        ),
        (
            "an expression",
            stage("source = \"x\"\ncost = { accesses = \"words\", of = \"register\" }"),
        ),
        (
            "a negative count",
            stage("source = \"x\"\ncost = { accesses = -1, of = \"register\" }"),
        ),
        (
            "a law of its own",
            stage("source = \"x\"\ncost = { bytes = \"length\", of = \"register\" }"),
        ),
        ("a number", stage("source = \"x\"\ncost = 12")),
        (
            "the link alone",
            stage("source = \"x\"\ncost = { constant = \"link\" }"),
        ),
        (
            "spread of a wrong unit",
            stage("source = \"x\"\nspread = { normal = \"idle\" }"),
        ),
        (
            "two spreads",
            stage("source = \"x\"\nspread = { normal = \"isr\", uniform = \"isr\" }"),
        ),
        (
            "paced by a wrong unit",
            stage("source = \"x\"\npaced = \"in-flight\""),
        ),
        (
            "paced and polled",
            stage("source = \"x\"\npaced = \"isr\"\npolled = \"isr\""),
        ),
        (
            "on missing",
            stage("source = \"x\"\non_missing = \"explode\""),
        ),
        ("unknown key", stage("source = \"x\"\ncosts = []")),
        (
            "endless",
            with("value = 1.96\nunit = \"us\"", "value = 1e12\nunit = \"s\""),
        ),
        (
            "too many terms",
            stage(&format!(
                "source = \"x\"\ncost = [{}]",
                "{ constant = \"isr\" },".repeat(65)
            )),
        ),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn paths() {
    let transmit = "layer = \"ethernet\"\ndirection = \"transmit\"\n";
    let room = |from, to, tokens| {
        path(&format!(
            "{transmit}stages = [\"restart\", \"wire-tx\"]\n[[path.room]]\nfrom = \"{from}\"\nto = \"{to}\"\ntokens = \"{tokens}\""
        ))
    };
    let point = |from, to| {
        path(&format!(
            "layer = \"udp4\"\ndirection = \"receive\"\nstages = [\"wire-rx\", \"read\"]\n\
             point = [{{ name = \"x\", from = \"{from}\", to = \"{to}\" }}]"
        ))
    };
    let no_path = BOARD.split("[[path]]").next().unwrap().to_owned();
    let all = shown(&[
        ("no path", no_path),
        (
            "not [[path]]",
            and("")
                .replace("[[path]]", "[path]")
                .replace("[[path.", "[[pith."),
        ),
        ("no stages", path(transmit)),
        ("empty stages", path(&format!("{transmit}stages = []"))),
        (
            "unknown stage",
            path(&format!("{transmit}stages = [\"restart\", \"wire\"]")),
        ),
        (
            "a stage twice",
            path(&format!(
                "{transmit}stages = [\"restart\", \"wire-tx\", \"restart\"]"
            )),
        ),
        (
            "both",
            path("layer = \"udp4\"\ndirection = \"both\"\nstages = [\"read\"]"),
        ),
        (
            "no layer",
            path("direction = \"transmit\"\nstages = [\"wire-tx\"]"),
        ),
        (
            "unknown layer",
            path("layer = \"udp\"\ndirection = \"transmit\"\nstages = [\"wire-tx\"]"),
        ),
        (
            "unknown buffers",
            path(&format!(
                "{transmit}stages = [\"wire-tx\"]\nbuffers = \"melted\""
            )),
        ),
        (
            "a wire that is elsewhere",
            path(&format!(
                "{transmit}stages = [\"wire-tx\"]\nwire = \"restart\""
            )),
        ),
        (
            "unknown spans",
            path(&format!(
                "{transmit}stages = [\"wire-tx\"]\nspans = \"pni\""
            )),
        ),
        (
            "unknown load",
            path(&format!(
                "{transmit}stages = [\"wire-tx\"]\nload = {{ resource = \"core\" }}"
            )),
        ),
        (
            "idle of a wrong unit",
            path(&format!(
                "{transmit}stages = [\"wire-tx\"]\nload = {{ resource = \"cpu\", idle = \"isr\" }}"
            )),
        ),
        (
            "without a room",
            path(&format!("{transmit}stages = [\"copy-cpu\", \"wire-tx\"]")),
        ),
        (
            "without a cost",
            path(&format!(
                "{transmit}stages = [\"free\"]\n[stage.free]\nresource = \"cpu\"\nsource = \"x\""
            )),
        ),
        (
            "room from elsewhere",
            room("copy-cpu", "restart", "in-flight"),
        ),
        (
            "room to elsewhere",
            room("wire-tx", "copy-cpu", "in-flight"),
        ),
        ("room of no tokens", room("wire-tx", "restart", "isr")),
        (
            "room of an unknown number",
            room("wire-tx", "restart", "frames"),
        ),
        (
            "a circuit without a token",
            with(
                "value = 1\nunit = \"frames\"",
                "value = 0\nunit = \"frames\"",
            ),
        ),
        ("point at an unknown stage", point("wire end", "read end")),
        ("point the wrong way", point("read end", "wire-rx end")),
        ("point of no instant", point("wire-rx", "read end")),
        (
            "probe without a clock",
            path(&format!(
                "{transmit}stages = [\"wire-tx\"]\nprobe = [{{ name = \"x\", at = \"wire-tx start\", clock = \"idle\" }}]"
            )),
        ),
        (
            "a datagram on Ethernet",
            path(&format!(
                "{transmit}stages = [\"wire-tx\", \"sum\"]\nwire = \"wire-tx\"\n[stage.sum]\nsource = \"x\"\ncost = {{ bytes = \"datagram\", at = \"gpdma-word\" }}"
            )),
        ),
        (
            "a name twice",
            path(&format!("{transmit}stages = [\"wire-tx\"]"))
                .replace("name = \"p\"", "name = \"copied\""),
        ),
        (
            "unknown key",
            path(&format!("{transmit}stages = [\"wire-tx\"]\nrooms = 3")),
        ),
        ("too many", format!("{BOARD}{}", "[[path]]\n".repeat(32))),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn the_rest() {
    let alternative = |lines: &str| {
        and(&format!(
            "[[alternative]]\nname = \"a\"\nwhat = \"x\"\n{lines}"
        ))
    };
    let all = shown(&[
        ("no TOML", "name = ".to_owned()),
        ("no name", with("name   = \"board\"", "")),
        (
            "a name with a space",
            with("name   = \"board\"", "name = \"my board\""),
        ),
        ("no source", with("source = \"tests\"\n", "")),
        ("no ports", with("ports  = 2", "ports = 0")),
        ("unknown key", with("ports  = 2", "prots = 2")),
        ("setup", with("core = \"Cortex-M3\"", "core = 3")),
        (
            "calibration trial",
            with(
                "length = 1514, frames = 50, buffers = \"prefilled\"",
                "length = 1514, frames = 50, buffers = \"in-place\"",
            ),
        ),
        (
            "calibration of an impossible trial",
            with(
                "length = 1514, frames = 50, buffers = \"prefilled\"",
                "length = 15",
            ),
        ),
        (
            "calibration cell",
            with("board/scenario 1/time", "board/time"),
        ),
        (
            "calibration point",
            with(
                "metric = \"time\"",
                "metric = \"latency\"\npoint = \"Rx UDP\"",
            ),
        ),
        (
            "calibration metric",
            with("metric = \"time\"", "metric = \"speed\""),
        ),
        ("burst", and("[arrivals]\nburst = \"idle\"")),
        (
            "lost before",
            and("[arrivals]\nlost_before = \"in-flihgt\""),
        ),
        (
            "tool",
            with(
                "min_datagram = \"smallest\"",
                "min_datagram = \"in-flight\"",
            ),
        ),
        (
            "tool interval",
            with("min_datagram = \"smallest\"", "interval = \"0s\""),
        ),
        ("alternative of nothing", alternative("")),
        (
            "alternative to an unknown stage",
            alternative("replace = { copy-cpu = \"copy-gpu\" }"),
        ),
        (
            "alternative of an unknown stage",
            alternative("replace = { copy = \"copy-dma\" }"),
        ),
        (
            "alternative of an unused stage",
            alternative("replace = { copy-dma = \"copy-cpu\" }"),
        ),
        (
            "alternative that deadlocks",
            alternative("set = \"in-flight=0\""),
        ),
        (
            "alternative of an alternative",
            alternative("set = [\"alternative=dma-copy\"]"),
        ),
        (
            "alternative that cannot be read",
            alternative("set = [\"in-flight=many\"]"),
        ),
    ]);
    insta::assert_snapshot!(all);
}
