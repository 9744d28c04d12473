//! A table that cannot be true is read and audited; what cannot be read hides nothing else.

use wirelab_study::audit::{Finding, audit};
use wirelab_study::table::{Forwarding, Study};

const TOP: &str = "title = 'a'\nsource = 'b'\nlink = '100M'\n";

fn audited(rows: &str) -> (Study, Vec<Finding>) {
    let study = Study::parse(&format!("{TOP}{rows}"), "page.toml").unwrap();
    let findings = audit(&study);
    (study, findings)
}

/// Severity, rule and first cell of each finding.
fn rules(findings: &[Finding]) -> Vec<String> {
    let of = |f: &Finding| format!("{} {} {}", f.severity.name(), f.rule, f.cells[0]);
    findings.iter().map(of).collect()
}

#[test]
fn what_cannot_be_is_a_finding_and_no_error() {
    let (study, findings) = audited(
        "[[row]]\nname='fast'\ntrial={layer='udp4', datagram=64, load='200kpps'}\npublished={cpu_load='3 %'}\n\
         [[row]]\nname='share'\ntrial={layer='udp4', datagram=64, load='120 %'}\npublished={cpu_load='3 %'}\n\
         [[row]]\nname='long'\ntrial={layer='udp4', datagram=70000}\npublished={cpu_load='3 %'}\n\
         [[row]]\nname='short'\ntrial={frame=20}\npublished={cpu_load='3 %'}\n\
         [[row]]\nname='lost'\ntrial={layer='udp4', datagram=64, load='5M'}\npublished={loss='130 %'}\n\
         [[row]]\nname='below'\ntrial={layer='udp4', datagram=64}\npublished={latency='-3 us'}\n\
         [[row]]\nname='nothing'\ntrial={layer='tcp4'}\npublished={throughput='120 Mbit/s', cpu_load='130 %'}\n",
    );
    assert_eq!(study.rows.len(), 7);
    let found = rules(&findings);
    for wanted in [
        "impossible load fast/load",
        "impossible load share/load",
        "impossible size long/size",
        "impossible size short/size",
        "impossible share lost/loss",
        "impossible negative below/latency",
        "impossible link nothing/throughput",
        "impossible share nothing/cpu_load",
    ] {
        assert!(
            found.iter().any(|f| f == wanted),
            "{wanted:?} of {found:#?}"
        );
    }
    assert_eq!(found.len(), 8, "{found:#?}");
}

#[test]
fn a_load_that_the_loss_accounts_for_is_a_remark() {
    let of = |loss: &str| {
        let (_, findings) = audited(&format!(
            "[[row]]\nname='a'\ntrial={{layer='udp4', datagram=1470, load='100M'}}\npublished={{loss='{loss}'}}\n"
        ));
        rules(&findings)
    };
    // 95.7 Mbit/s of 100 arrive at most.
    assert_eq!(of("0.0 %"), ["impossible load a/load"]);
    assert_eq!(of("5 %"), ["remark load a/load"]);
    let (_, rounded) = audited(
        "[[row]]\nname='a'\ntrial={layer='udp4', datagram=1470, load='96M'}\npublished={loss='0.0 %'}\n",
    );
    assert_eq!(rounded, [], "95.7 is printed as 96");
}

#[test]
fn a_row_that_cannot_be_read_hides_no_other() {
    let text = format!(
        "{TOP}[[row]]\nname='a'\ntrial={{frame=64}}\npublished={{tiem='3 ms'}}\n\
         [[row]]\nname='b'\ntrial={{frame=64}}\npublished={{loss='130 %'}}\n\
         [[table]]\nname='{{label}}'\ntrial={{layer='udp4', direction='receive'}}\n\
         columns=['datagram B', 'loss %']\nrows=[['c', '64 x'], ['d', '64 0.0 7'], ['e', '64 140'], ['f', 5]]\n\
         [[claim]]\nname='g'\ntext='g'\nmetric='loss'\npublished='3 %'\nvalue_of='z'\n\
         [[sum]]\ntotal='b/loss'\nparts=['a/loss']\n"
    );
    let (study, wrong) = Study::parse_whole(&text, "page.toml").unwrap();
    let names: Vec<&str> = study.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["b", "e"]);
    let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(wrong.len(), 6, "{wrong:#?}");
    assert!(
        wrong[0].starts_with("page.toml:7:17: row.published.tiem"),
        "{wrong:#?}"
    );
    assert!(
        wrong[1].starts_with("page.toml:16:13: table.rows: row 'c': row.published.loss"),
        "{wrong:#?}"
    );
    assert!(
        wrong[2].contains("3 figures stand here, and the table has 2 columns"),
        "{wrong:#?}"
    );
    let findings = audit(&study);
    let found = rules(&findings);
    assert_eq!(
        found,
        ["impossible share b/loss", "impossible share e/loss"]
    );
    // To a run the first error still is one.
    assert!(Study::parse(&text, "page.toml").is_err());
}

#[test]
fn the_short_form_says_what_the_long_one_says() {
    let short = format!(
        "{TOP}[[table]]\nname = '{{label}} {{datagram}} B at {{load}} Mbit/s'\n\
         trial = {{ layer = 'udp4', direction = 'receive', time = '10s' }}\ncolumn = 'RX {{datagram}}'\n\
         set = {{ host-loss = '{{loss}} %' }}\ncolumns = ['load+throughput Mbit/s', 'cpu_load %', 'loss %']\n\
         groups = [{{ datagram = 64 }}, {{ datagram = 1470, node = 'other' }}]\nrows = [\n\
         ['RX', '@131 5 37 0.0', '50 37 0.0'],\n\
         ['RX', '', '@140 60 @141 44 -'],\n]\n\
         [[note]]\nrows = ['RX * at 50 *']\nrole = {{ loss = 'disputed' }}\nreason = 'no'\n"
    );
    let long = format!(
        "{TOP}[defaults]\ntrial = {{ layer = 'udp4', direction = 'receive', time = '10s' }}\n\
         [[row]]\nname = 'RX 64 B at 5 Mbit/s'\ntrial = {{ datagram = 64, load = '5M' }}\ncolumn = 'RX 64'\nset = {{ host-loss = '0.0 %' }}\n\
         published = {{ throughput = '5 Mbit/s', cpu_load = '37 %', loss = '0.0 %' }}\n\
         [[row]]\nname = 'RX 1470 B at 50 Mbit/s'\ntrial = {{ datagram = 1470, load = '50M' }}\ncolumn = 'RX 1470'\nset = {{ host-loss = '0.0 %' }}\nnode='other'\n\
         published = {{ throughput = '50 Mbit/s', cpu_load = '37 %', loss = '0.0 %' }}\nrole = {{ loss = 'disputed' }}\nreason = 'no'\n\
         [[row]]\nname = 'RX 1470 B at 60 Mbit/s'\ntrial = {{ datagram = 1470, load = '60M' }}\ncolumn = 'RX 1470'\nset = {{ host-loss = '- %' }}\nnode='other'\n\
         published = {{ throughput = '60 Mbit/s', cpu_load = '44 %' }}\n"
    );
    let mut short = Study::parse(&short, "page.toml").unwrap();
    let long = Study::parse(&long, "page.toml").unwrap();
    let lines: Vec<Vec<Option<usize>>> = short
        .rows
        .iter()
        .map(|row| row.cells.iter().map(|c| c.source_line).collect())
        .collect();
    assert_eq!(lines[0], [Some(131); 3]);
    assert_eq!(lines[1], [Some(131); 3]);
    assert_eq!(lines[2], [Some(140), Some(141)]);
    for (row, other) in short.rows.iter_mut().zip(&long.rows) {
        row.line = other.line;
        for (cell, other) in row.cells.iter_mut().zip(&other.cells) {
            cell.line = other.line;
            cell.source_line = None;
        }
    }
    assert_eq!(short, long);
}

#[test]
fn a_note_about_no_row_is_a_slip() {
    let text = format!(
        "{TOP}[[table]]\ncolumns=['datagram B', 'loss %']\ntrial={{layer='udp4'}}\nrows=[['c', '64 3']]\n\
         [[note]]\nrows='d'\nrole='calibration'\n"
    );
    let error = Study::parse(&text, "page.toml").unwrap_err().to_string();
    assert!(
        error.starts_with("page.toml:9:6: note.rows: no row of a [[table]] has such a name"),
        "{error}"
    );
}

#[test]
fn conditions_that_pages_state_are_expressible() {
    let (study, findings) = audited(
        "[[row]]\nname='tiny'\ntrial={layer='udp4', datagram=4, load='1kpps'}\npublished={loss='0.0 %'}\n\
         [[row]]\nname='tcp'\nwindow='64 KiB'\ntrial={layer='tcp4', datagram=1460}\npublished={throughput='90 Mbit/s'}\n\
         [[row]]\nname='switch'\nforwarding='cut-through'\ntrial={frame=64}\n\
         published={latency_min='~2 us', latency='2.5 ± 0.2 us', latency_p99='3 to 4 us', latency_max='2.2 us'}\n",
    );
    let tiny = &study.rows[0]
        .trial
        .size
        .resolve(study.rows[0].trial.framing)
        .unwrap();
    assert_eq!((tiny.frame, tiny.datagram), (64, Some(4)));
    assert_eq!(study.rows[1].window.as_ref().unwrap().to_string(), "64 KiB");
    assert_eq!(study.rows[2].forwarding, Some(Forwarding::CutThrough));
    // 3 to 4 us of 99 % is above a maximum of 2.2 us; a mean of 2.5 ± 0.2 us is, after rounding, not.
    assert_eq!(
        rules(&findings),
        ["inconsistent percentiles switch/latency_p99"]
    );
}
