//! The page as blocks: in the order of the published page, then what that page lacks; and the page as text.

use wirelab_trial::{Direction, Kind, Layer, Observation, ResultsFile};

use super::setup::{self, SetupTable};
use super::sheet::{Datasheet, Sheet};
use super::{commands, curves, detail, gather, tables};
use crate::document::table::{Look, Table};
use crate::document::{
    Block, Chart, Document, EMULATED, Gallery, Medium, Notice, Notices, Sort, Verdict,
};
use crate::judge::{End, GoalClass, judge};
use crate::options::Options;
use crate::{
    about, charts, finding, format, headline, over_time, repeat, repeated, row, search, spans,
    summary,
};

/// The page of one node.
fn blocks(sheet: &Sheet, file: &ResultsFile, notices: &mut Notices) -> Vec<Block<'static>> {
    let mut out = Vec::new();
    let mut noted = |section: Section| {
        let here = (&*sheet.node, section);
        let is_here = |trial: &usize| place(&file.observations[trial - 1]) == here;
        // The only searches of a datasheet are those of UDP.
        let searched = |notice: &Notice| notice.sort == Sort::Search && section == Section::Udp;
        notices.beside(|notice| searched(notice) || notice.trials.iter().any(is_here))
    };
    let soc = setup::table(sheet, SetupTable::Soc);
    let mut details = Vec::new();
    if soc.is_empty() && sheet.setup.is_empty() {
        details.push(Block::Remark(
            "The node reported nothing about its set-up.".to_owned(),
        ));
    } else if !soc.is_empty() {
        details.push(setup_table(["SOC Details", "Values"], soc));
    }
    let further = setup::further(sheet);
    if !further.is_empty() {
        details.push(setup_table(["Further set-up", "Value"], further));
    }
    out.push(Block::Appendix(2, "Setup Details".to_owned(), details));
    let mut parts = [
        layer2(sheet, &mut noted),
        tcp_ip(sheet, &mut noted),
        echo(sheet, file, &mut noted),
    ];
    // Parts without figures, which this peer does not support, come last.
    parts.sort_by_key(|part| !has_figures(part));
    out.extend(parts.into_iter().flatten());
    let rates = detail::rates(sheet);
    if !rates.rows.is_empty() {
        let about = Block::Remark(
            "Bandwidth counts application data on UDP and TCP, payload on Ethernet. The line's limit is what the link \
             carries of such frames; the tester's ceiling is what it reached against itself."
                .to_owned(),
        );
        let detail = vec![about, Block::Table(rates)];
        out.push(Block::Appendix(2, "Rates in Detail".to_owned(), detail));
    }
    out
}

fn picture(gallery: Gallery) -> Block<'static> {
    Block::Chart(Chart::Gallery(gallery))
}

fn setup_table(heads: [&'static str; 2], rows: Vec<(String, String)>) -> Block<'static> {
    let rows = rows.into_iter().map(|(name, value)| vec![name, value]);
    Block::Table(Table {
        look: Look::Setup,
        ..Table::sentences(heads.map(|head| (head, false)).into(), rows.collect())
    })
}

fn configuration(sheet: &Sheet, of: SetupTable, out: &mut Vec<Block<'_>>) {
    let rows = setup::table(sheet, of);
    if !rows.is_empty() {
        let table = setup_table(["Configuration", "Value"], rows);
        out.push(Block::Appendix(
            3,
            "Configuration Details".to_owned(),
            vec![table],
        ));
    }
}

/// Takes the notices of a part of the page.
type Noted<'n> = dyn FnMut(Section) -> Option<Block<'static>> + 'n;

fn layer2(sheet: &Sheet, noted: &mut Noted<'_>) -> Vec<Block<'static>> {
    let mut out = Vec::new();
    if sheet.layer2_latency.is_empty() && sheet.layer2_throughput.is_empty() {
        return out;
    }
    out.push(Block::heading("Layer 2 Performance"));
    configuration(sheet, SetupTable::Layer2, &mut out);
    if !sheet.layer2_latency.is_empty() {
        out.push(Block::Heading(3, "Layer 2 Latency".to_owned()));
        out.push(Block::Remark(
            "From the driver's capture point to the application's and back, by the node's clock; the PHY's delay is that \
             of its datasheet, and the total is their sum."
                .to_owned(),
        ));
        out.push(Block::Table(tables::layer2_latency(sheet)));
        out.extend(tables::layer2_intervals(sheet).map(Block::Remark));
        let timed = sheet
            .layer2_latency
            .iter()
            .filter(|of| of.node_ps.value().is_some());
        let delays = timed.filter_map(|of| {
            Some((
                of.direction,
                of.stage.as_ref()?.points()?,
                of.phy_ps.value().is_some(),
            ))
        });
        out.extend(spans::of_layer2(delays));
    }
    if !sheet.layer2_throughput.is_empty() {
        out.push(Block::Heading(3, "Layer 2 Throughput".to_owned()));
        out.push(Block::Table(tables::layer2_throughput(sheet)));
    }
    out.extend(noted(Section::Layer2));
    out
}

fn tcp_ip(sheet: &Sheet, noted: &mut Noted<'_>) -> Vec<Block<'static>> {
    let mut out = Vec::new();
    if sheet.tcp.is_empty() && sheet.udp.is_empty() {
        return out;
    }
    out.push(Block::heading("TCP/IP Performance"));
    configuration(sheet, SetupTable::TcpIp, &mut out);
    if !sheet.tcp.is_empty() {
        out.push(Block::Heading(3, "TCP Throughput".to_owned()));
        out.push(Block::Table(tables::tcp(sheet)));
        out.push(Block::Commands(commands::tcp(sheet)));
        out.extend(noted(Section::Tcp));
    }
    if !sheet.udp.is_empty() {
        out.push(Block::Heading(3, "UDP Throughput".to_owned()));
        out.push(Block::Table(tables::udp(sheet)));
        out.push(Block::Remark(udp_legend(sheet)));
        out.push(Block::Commands(commands::udp(sheet)));
        out.push(picture(curves::rates(sheet)));
        out.extend(noted(Section::Udp));
    }
    out
}

fn echo(sheet: &Sheet, file: &ResultsFile, noted: &mut Noted<'_>) -> Vec<Block<'static>> {
    if sheet.echo.is_empty() {
        return Vec::new();
    }
    let series = gather::round_trips(file, &sheet.node);
    let mut out = vec![
        Block::heading("Echo Latency"),
        Block::Remark(
            "Round trips by the tester's clock, probes sent on time whether or not the one before came back. The \
             tester's floor is its own round trip without the node; PDV is the 99.9th percentile less the shortest."
                .to_owned(),
        ),
        Block::Table(detail::echo(sheet)),
    ];
    let timed = || sheet.echo.iter().filter(|of| of.p50_ps.value().is_some());
    if timed().next().is_some() {
        let has_floor = timed().any(|of| of.floor_p50_ps.value().is_some());
        out.extend(spans::of_round_trips(has_floor));
    }
    out.push(picture(curves::round_trips(file, &series)));
    out.extend(noted(Section::Echo));
    out
}

/// Whether any table has a figure.
fn has_figures(blocks: &[Block<'_>]) -> bool {
    blocks.iter().any(|block| match block {
        Block::Table(table) => table
            .rows
            .iter()
            .flatten()
            .any(|cell| cell.kind().is_some()),
        _ => false,
    })
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

/// What stands below the sheets: searches, and what is not on the page.
fn below(file: &ResultsFile, page: &Datasheet) -> Vec<Block<'static>> {
    let mut out = Vec::new();
    out.extend(repeated::table(file).map(|mut table| {
        let caption = std::mem::take(&mut table.caption);
        Block::Appendix(2, caption, vec![Block::Table(table)])
    }));
    let tables = search::tables(file);
    if !tables.is_empty() {
        let tables = tables.into_iter().map(Block::Table).collect();
        out.push(Block::Appendix(2, "Searches".to_owned(), tables));
    }
    let absent = page.sheets.iter().flat_map(|sheet| {
        let each = sheet.absent.iter();
        each.map(|a| format!("{}: {}", section(a.section), a.why))
    });
    let mut absent: Vec<String> = absent.collect();
    absent.extend(search::unfinished(file).1);
    absent.dedup();
    if !absent.is_empty() {
        out.push(Block::heading("Not on this page"));
        out.push(Block::List(absent));
    }
    let searches = vec![picture(Gallery {
        title: "",
        ..charts::searches(file)
    })];
    let searches = Block::Appendix(2, "Searches, trial by trial".to_owned(), searches);
    out.push(Block::Only(Medium::Page, vec![searches]));
    let runs = Gallery {
        title: "",
        ..over_time::gallery(file)
    };
    if !runs.pictures.is_empty() {
        let runs = Block::Appendix(2, "Over the run".to_owned(), vec![picture(runs)]);
        out.push(Block::Only(Medium::Page, vec![runs]));
    }
    out.push(Block::Only(
        Medium::Page,
        vec![about::nodes_and_tester(file)],
    ));
    out
}

/// A part of the page with its own trials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Layer2,
    Tcp,
    Udp,
    Echo,
}

/// Where the figures of a trial stand: its node and the part.
fn place(o: &Observation) -> (&str, Section) {
    let section = match (o.trial.direction, o.trial.framing.layer) {
        (Direction::Echo, _) => Section::Echo,
        (_, Layer::Ethernet) => Section::Layer2,
        (_, Layer::UdpIpv4 | Layer::UdpIpv6) => Section::Udp,
        (_, Layer::TcpIpv4 | Layer::TcpIpv6) => Section::Tcp,
    };
    (&o.node.name, section)
}

/// Searches that did not end, what was wrong, and warnings, each once where it stands.
fn notices(file: &ResultsFile) -> Notices {
    let searches = search::unfinished(file).0.into_iter().map(Notice::search);
    let mut out: Vec<Notice> = searches.collect();
    let wrong = finding::all_beyond_loss(file).into_iter();
    let mut wrong: Vec<(usize, String)> = wrong.map(|f| (f.trial, f.text)).collect();
    // A trial may fail by what it lacks, too. A warning says why the node does not support one.
    let ends = judge(file).trials.into_iter().zip(&file.observations);
    for (at, (end, _)) in ends
        .enumerate()
        .filter(|(_, (_, o))| !finding::unsupported(o))
    {
        if let End::Failed(_, reasons) = end {
            let reasons = reasons.into_iter().map(|why| (at + 1, why));
            let new: Vec<(usize, String)> = reasons.filter(|why| !wrong.contains(why)).collect();
            wrong.extend(new);
        }
    }
    let wrong = wrong.into_iter();
    out.extend(wrong.map(|(trial, text)| Notice::finding(trial, text)));
    out.extend(warnings(file));
    Notices::new(out, file.observations.len())
}

/// Warnings, each once for the run where all trials have it, else once for each part that has it.
fn warnings(file: &ResultsFile) -> Vec<Notice> {
    let of = |trial: usize| place(&file.observations[trial - 1]);
    let mut out = about::warnings_once(file, |_| true);
    out.retain(Notice::is_of_the_run);
    let of_the_run = out.len();
    let mut places: Vec<(&str, Section)> = Vec::new();
    for o in &file.observations {
        if !places.contains(&place(o)) {
            places.push(place(o));
        }
    }
    for here in places {
        let mut own = about::warnings_once(file, |trial| of(trial) == here);
        let said = |of: &Notice| (of.code.clone(), of.fix.clone());
        own.retain(|new| out[..of_the_run].iter().all(|old| said(old) != said(new)));
        out.extend(own);
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

/// The judgement of the run, how it ended, and the kinds of its figures, in sentences that follow the word at the head of the
/// page.
pub fn verdict(file: &ResultsFile) -> String {
    if let Some(none) = summary::supports_none(file) {
        return none;
    }
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
    let mut text = format::count(trials as u64, "trial");
    if searched > 0 {
        text.push_str(&format!(", {searched} of them in searches"));
    }
    if !kinds.is_empty() {
        text.push_str(&format!("; rates {}", kinds.join(" and ")));
    }
    text.push('.');
    let failed = judged.trials.iter().filter(|end| end.is_failed()).count();
    if failed > 0 {
        text.push_str(&format!(" {failed} of the trials failed."));
    }
    let goals = judged
        .goals
        .iter()
        .filter(|goal| goal.class == GoalClass::Search);
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

/// The page.
pub fn document<'a>(file: &'a ResultsFile, page: &Datasheet, options: &Options) -> Document<'a> {
    let mut notices = notices(file);
    let mut all: Vec<Block<'_>> = notices.of_the_run().into_iter().collect();
    let several = page.sheets.len() > 1;
    for sheet in &page.sheets {
        if several {
            all.push(Block::heading(sheet.node.clone()));
        }
        all.extend(
            blocks(sheet, file, &mut notices)
                .into_iter()
                .map(|block| match block {
                    Block::Heading(depth, text) => Block::Heading(depth + u8::from(several), text),
                    Block::Appendix(depth, text, of) => {
                        Block::Appendix(depth + u8::from(several), text, of)
                    }
                    block => block,
                }),
        );
    }
    all.extend(notices.rest());
    all.extend(below(file, page));
    Document {
        verdict: Some(Verdict {
            head: summary::head(file),
            text: verdict(file),
            first: true,
        }),
        stamp: Some((file.created_unix_ns, file.wirelab_version.clone())),
        command: commands::page(page),
        commands: repeat::commands(file),
        headlines: headline::of(file),
        limits: headline::limits(file),
        hosts: about::hosts(file),
        ..Document::new(options.title_of(file), all)
    }
}
