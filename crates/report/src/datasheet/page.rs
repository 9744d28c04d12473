//! The page as blocks in the order of the published one, then what that one lacks; and as text.

use wirelab_trial::{Kind, Observation, ResultsFile};

use super::commands::{self, Command};
use super::grid::Grid;
use super::setup::{self, Of};
use super::sheet::{Datasheet, Sheet};
use super::{detail, tables};
use crate::escape::{line, markdown as escape};
use crate::finding;
use crate::format;
use crate::judge::{End, judge};
use crate::options::Options;
use crate::row;
use crate::search;
use crate::summary::{self, Head};
use crate::table::Notes;
use crate::terminal::{self, RED, YELLOW, paint};
use crate::{markdown, table};

/// A part of the page.
pub enum Block {
    /// A heading of depth 2 or 3.
    Heading(u8, String),
    /// A set-up table: its heads and its rows.
    Setup([&'static str; 2], Vec<(String, String)>),
    /// A table of figures.
    Grid(Grid),
    /// A table without groups.
    Table(table::Table),
    /// A sentence.
    Words(String),
    /// Sentences.
    List(Vec<String>),
    /// Commands, each with what it tests.
    Commands(Vec<Command>),
    /// The pictures of UDP rates go here.
    RatePictures,
    /// The pictures of round trips go here.
    EchoPictures,
}

/// The page of one node.
pub fn blocks(sheet: &Sheet) -> Vec<Block> {
    let mut out = Vec::new();
    let title = |text: &str| Block::Heading(2, text.to_owned());
    let soc = setup::table(sheet, Of::Soc);
    out.push(title("Setup Details"));
    if soc.is_empty() && sheet.setup.is_empty() {
        out.push(Block::Words(
            "The node told nothing of its set-up.".to_owned(),
        ));
    } else if !soc.is_empty() {
        out.push(Block::Setup(["SOC Details", "Values"], soc));
    }
    let further = setup::further(sheet);
    if !further.is_empty() {
        out.push(Block::Setup(["Further set-up", "Value"], further));
    }
    layer2(sheet, &mut out);
    tcp_ip(sheet, &mut out);
    if !sheet.echo.is_empty() {
        out.push(title("Echo Latency"));
        out.push(Block::Words(
            "Round trips by the tester's clock, probes sent on time whether or not the one before came back. The \
             tester's floor is its own round trip without the node; PDV is the 99.9th percentile less the shortest."
                .to_owned(),
        ));
        out.push(Block::Grid(detail::echo(sheet)));
        out.push(Block::EchoPictures);
    }
    let rates = detail::rates(sheet);
    if !rates.rows.is_empty() {
        out.push(title("Rates in Detail"));
        out.push(Block::Words(
            "Bandwidth counts application data on UDP and TCP, payload on Ethernet. The line's limit is what the link \
             carries of such frames; the tester's ceiling is what it reached against itself."
                .to_owned(),
        ));
        out.push(Block::Grid(rates));
    }
    out
}

fn configuration(sheet: &Sheet, of: Of, out: &mut Vec<Block>) {
    let rows = setup::table(sheet, of);
    if !rows.is_empty() {
        out.push(Block::Heading(3, "Configuration Details".to_owned()));
        out.push(Block::Setup(["Configuration", "Value"], rows));
    }
}

fn layer2(sheet: &Sheet, out: &mut Vec<Block>) {
    if sheet.layer2_latency.is_empty() && sheet.layer2_throughput.is_empty() {
        return;
    }
    out.push(Block::Heading(2, "Layer 2 Performance".to_owned()));
    configuration(sheet, Of::Layer2, out);
    if !sheet.layer2_latency.is_empty() {
        out.push(Block::Heading(3, "Layer 2 Latency".to_owned()));
        out.push(Block::Grid(tables::layer2_latency(sheet)));
        out.extend(tables::layer2_intervals(sheet).map(Block::Words));
    }
    if !sheet.layer2_throughput.is_empty() {
        out.push(Block::Heading(3, "Layer 2 Throughput".to_owned()));
        out.push(Block::Grid(tables::layer2_throughput(sheet)));
    }
}

fn tcp_ip(sheet: &Sheet, out: &mut Vec<Block>) {
    if sheet.tcp.is_empty() && sheet.udp.is_empty() {
        return;
    }
    out.push(Block::Heading(2, "TCP/IP Performance".to_owned()));
    configuration(sheet, Of::TcpIp, out);
    if !sheet.tcp.is_empty() {
        out.push(Block::Heading(3, "TCP Throughput".to_owned()));
        out.push(Block::Grid(tables::tcp(sheet)));
        out.push(Block::Commands(commands::tcp(sheet)));
    }
    if !sheet.udp.is_empty() {
        out.push(Block::Heading(3, "UDP Throughput".to_owned()));
        out.push(Block::Grid(tables::udp(sheet)));
        out.push(Block::Words(udp_legend(sheet)));
        out.push(Block::Commands(commands::udp(sheet)));
        out.push(Block::RatePictures);
    }
}

fn udp_legend(sheet: &Sheet) -> String {
    let allowed = sheet.udp.iter().find_map(|u| u.receive_max.as_ref());
    let max = allowed.map_or(String::new(), |found| {
        format!(
            " UDP RX (Max) is the highest rate at a loss of {}, found by search in trials of {}; its bandwidth is what \
             arrived.",
            search::allowed(found.allowed_loss_ratio),
            format::time(found.trial_ps)
        )
    });
    format!(
        "The bandwidth of a UDP RX row is the rate that was offered.{max} UDP TX (Max) is what arrived at the tester."
    )
}

/// What stands below the sheets: searches, what was wrong, what is absent, warnings.
pub fn below(file: &ResultsFile, page: &Datasheet) -> Vec<Block> {
    let mut out = Vec::new();
    let tables = search::tables(file);
    if !tables.is_empty() {
        out.push(Block::Heading(2, "Searches".to_owned()));
        out.extend(tables.into_iter().map(Block::Table));
    }
    let absent = page.sheets.iter().flat_map(|sheet| {
        let each = sheet.absent.iter();
        each.map(|a| format!("{}: {}", section(a.section), a.why))
    });
    let mut absent: Vec<String> = absent.collect();
    let (shown, missing) = search::unfinished(file);
    absent.extend(missing);
    absent.dedup();
    for (heading, list) in [
        ("Searches that did not end", shown),
        ("Not on this page", absent),
    ] {
        if !list.is_empty() {
            out.push(Block::Heading(2, heading.to_owned()));
            out.push(Block::List(list));
        }
    }
    let wrong = finding::all_beyond_loss(file).into_iter();
    let mut wrong: Vec<String> = wrong
        .map(|f| format!("Trial {}: {}", f.trial, f.text))
        .collect();
    // A trial may fail by what it lacks, too.
    for (at, end) in judge(file).trials.into_iter().enumerate() {
        if let End::Failed(_, reasons) = end {
            let reasons = reasons.into_iter();
            let reasons = reasons.map(|why| format!("Trial {}: {why}", at + 1));
            let new: Vec<String> = reasons.filter(|why| !wrong.contains(why)).collect();
            wrong.extend(new);
        }
    }
    if !wrong.is_empty() {
        out.push(Block::Heading(2, "Findings".to_owned()));
        out.push(Block::List(wrong));
    }
    out
}

/// A section's name for a reader.
pub fn section(name: &str) -> &str {
    match name {
        "layer2_latency" => "Layer 2 latency",
        "layer2_throughput" => "Layer 2 throughput",
        "tcp" => "TCP",
        "udp" => "UDP",
        "echo" => "Echo latency",
        "search" => "Search",
        _ => "Further trials",
    }
}

/// The kinds of the figures in a sentence.
pub const KINDS: &str = "measured: seen in this run; emulated: timed on an emulated target, so it depends on the host and \
    is no figure of the hardware; predicted: computed by a model that was not fitted to it; calibrated: computed by a \
    model that was; published: printed by somebody else. Prefixes are powers of ten.";

/// What stands at the top of a page of an emulated node.
pub const EMULATED: &str = "Emulated: times, rates, losses and CPU loads are those of the emulation on this host. They are \
    no figures of the hardware, and are not to be compared with measured ones.";

/// How the run was judged, how it ended and what kinds of figures there are, in sentences after the word that the head of
/// every page has.
pub fn verdict(file: &ResultsFile) -> String {
    let trials = file.observations.len();
    let judged = judge(file);
    let searched = row::searched(file).iter().filter(|s| **s).count();
    let mut kinds: Vec<&str> = Vec::new();
    for kind in Kind::ALL {
        let flows = file.observations.iter().flat_map(|o| &o.flows);
        let of = |f: &wirelab_trial::FlowObservation| {
            [
                f.goodput_bits_per_s.kind(),
                f.payload_bits_per_s.kind(),
                f.frames_per_s.kind(),
            ]
        };
        if flows.flat_map(of).flatten().any(|k| k == kind) {
            kinds.push(row::kind(kind));
        }
    }
    let mut text = format!(
        "{}, {searched} of them in searches",
        format::count(trials as u64, "trial")
    );
    if !kinds.is_empty() {
        text.push_str(&format!("; rates {}", kinds.join(" and ")));
    }
    text.push('.');
    let failed = judged.trials.iter().filter(|end| end.is_failed()).count();
    if failed > 0 {
        text.push_str(&format!(" {failed} of the trials failed."));
    }
    let goals = judged.goals.iter().filter(|goal| goal.class == "search");
    let missed = goals.filter(|goal| goal.end.is_failed()).count();
    if missed > 0 {
        text.push_str(&format!(
            " {missed} of the rates or losses searched not found."
        ));
    }
    if let Some(limited) = summary::limited_by_tester(file) {
        text.push_str(&format!(" {limited}"));
    }
    if file.interrupted {
        text.push_str(" The run ended before its plan was done.");
    }
    if file.observations.iter().any(Observation::is_emulated) {
        text.push_str(&format!(" {EMULATED}"));
    }
    text
}

/// The page for a terminal.
pub fn terminal(file: &ResultsFile, page: &Datasheet, options: &Options) -> String {
    let mut notes = Notes::default();
    let mut out = terminal::heading(&options.title_of(file), options);
    let head = summary::head(file);
    let colour = match head {
        Head::NotClean => RED,
        Head::TesterLimited | Head::NotJudged => YELLOW,
        Head::Clean | Head::Passed => "",
    };
    let word = match colour {
        "" => head.words().to_owned(),
        colour => paint(colour, head.words(), options),
    };
    out.push_str(&format!("{word} {}\n", verdict(file)));
    for sheet in &page.sheets {
        if page.sheets.len() > 1 {
            out.push_str(&format!("\n{}", terminal::heading(&sheet.node, options)));
        }
        for block in blocks(sheet) {
            terminal_block(block, options, &mut notes, &mut out);
        }
    }
    for block in below(file, page) {
        terminal_block(block, options, &mut notes, &mut out);
    }
    let reasons = terminal::reasons(&notes);
    if !reasons.is_empty() {
        out.push_str(&format!("\n{reasons}"));
    }
    for (trials, code, text, way_out) in row::warnings_once(file) {
        let head = format!("warning ({}, {trials}):", line(code));
        out.push_str(&format!(
            "{} {}\n  fix: {}\n",
            paint(YELLOW, &head, options),
            line(&text),
            line(way_out)
        ));
    }
    out
}

/// A part of the page for a terminal.
pub fn terminal_block(block: Block, options: &Options, notes: &mut Notes, out: &mut String) {
    match block {
        Block::Heading(_, text) => {
            out.push_str(&format!("\n{}", terminal::heading(&text, options)))
        }
        Block::Setup(heads, rows) => {
            let names = rows.iter().map(|(name, _)| line(name).chars().count());
            let wide = names.chain([heads[0].len()]).max().unwrap_or(0).min(40);
            out.push_str(&format!("{:wide$}  {}\n", heads[0], heads[1]));
            for (name, value) in rows {
                out.push_str(&format!("{:wide$}  {}\n", line(&name), line(&value)));
            }
        }
        Block::Grid(grid) => out.push_str(&grid.terminal(options, notes)),
        Block::Table(table) => {
            out.push_str(&format!("{}\n", line(&table.caption)));
            out.push_str(&terminal::draw(table, options, notes));
        }
        Block::Words(text) => out.push_str(&format!("{}\n", line(&text))),
        Block::List(items) => {
            for item in items {
                out.push_str(&format!("- {}\n", line(&item)));
            }
        }
        Block::Commands(commands) => {
            out.push_str("Host PC commands:\n");
            for (name, command) in commands {
                out.push_str(&format!("  {}\n    $ {}\n", line(&name), line(&command)));
            }
        }
        Block::RatePictures | Block::EchoPictures => {}
    }
}

/// The page as Markdown.
pub fn markdown(file: &ResultsFile, page: &Datasheet, options: &Options) -> String {
    let mut notes = Notes::default();
    let mut out = format!("# {}\n\n", escape(&options.title_of(file)));
    out.push_str(&format!(
        "**{}** {}\n",
        summary::head(file).words(),
        escape(&verdict(file))
    ));
    let deeper = u8::from(page.sheets.len() > 1);
    for sheet in &page.sheets {
        if deeper > 0 {
            out.push_str(&format!("\n## {}\n", escape(&sheet.node)));
        }
        for block in blocks(sheet) {
            markdown_block(block, deeper, &mut notes, &mut out);
        }
    }
    for block in below(file, page) {
        markdown_block(block, 0, &mut notes, &mut out);
    }
    let warnings = row::warnings_once(file);
    if !warnings.is_empty() {
        out.push_str("\n## Warnings\n\n");
    }
    for (trials, code, text, way_out) in warnings {
        out.push_str(&format!(
            "- **{}** ({trials}): {} *Fix:* {}\n",
            escape(code),
            escape(&text),
            escape(way_out)
        ));
    }
    out.push_str(&markdown::reasons(&notes));
    out.push_str(&format!("\n{KINDS}\n"));
    if let Some(command) = commands::page(page) {
        out.push_str(&format!("\nCommand: {}\n", code(&command)));
    }
    out.push_str(&format!(
        "\n`wirelab` {}, {}\n",
        escape(&file.wirelab_version),
        format::utc(file.created_unix_ns)
    ));
    out
}

/// A part of the page as Markdown, its heading so much deeper.
pub fn markdown_block(block: Block, deeper: u8, notes: &mut Notes, out: &mut String) {
    out.push('\n');
    match block {
        Block::Heading(depth, text) => {
            let marks = "#".repeat(usize::from(depth + deeper));
            out.push_str(&format!("{marks} {}\n", escape(&text)));
        }
        Block::Setup(heads, rows) => {
            out.push_str(&format!("| {} | {} |\n| --- | --- |\n", heads[0], heads[1]));
            for (name, value) in rows {
                out.push_str(&format!("| {} | {} |\n", escape(&name), escape(&value)));
            }
        }
        Block::Grid(grid) => out.push_str(&grid.markdown(notes)),
        Block::Table(table) => {
            out.push_str(&format!("{}\n\n", escape(&table.caption)));
            out.push_str(&markdown::draw(&table, notes));
        }
        Block::Words(text) => out.push_str(&format!("{}\n", escape(&text))),
        Block::List(items) => {
            for item in items {
                out.push_str(&format!("- {}\n", escape(&item)));
            }
        }
        Block::Commands(commands) => {
            out.push_str("**Host PC commands:**\n\n");
            for (name, command) in commands {
                out.push_str(&format!("- {}: {}\n", escape(&name), code(&command)));
            }
        }
        Block::RatePictures | Block::EchoPictures => {
            out.pop();
        }
    }
}

/// A command as code; a backtick in it would end the code, so that such a text is shown as plain text.
fn code(command: &str) -> String {
    let command = line(command);
    if command.contains('`') {
        escape(&command)
    } else {
        format!("`{command}`")
    }
}
