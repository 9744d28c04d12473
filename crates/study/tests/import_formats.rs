//! Pages of all formats become studies: what a reader of the page sees is what stands in the rows.

use wirelab_study::import::{DefaultAnswers, ImportError, ImportOptions, Imported, import};
use wirelab_study::metric::Metric;
use wirelab_study::table::{Forwarding, Row, Study};
use wirelab_trial::{Direction, Layer, Load};

fn page(text: &str, file: &str) -> (Study, Imported) {
    let came = import(
        text.as_bytes(),
        file,
        &ImportOptions::default(),
        &mut DefaultAnswers::default(),
    )
    .unwrap();
    let study =
        Study::parse(&came.text, "page.toml").unwrap_or_else(|e| panic!("{e}\n{}", came.text));
    (study, came)
}

fn shown(row: &Row) -> String {
    let trial = &row.trial;
    let cells: Vec<String> = row
        .cells
        .iter()
        .map(|cell| {
            format!(
                "{} {} @{}",
                cell.metric,
                cell.published,
                cell.source_line.unwrap_or(0)
            )
        })
        .collect();
    format!(
        "{}: {} {:?} {} {} | {}",
        row.name,
        trial.framing.layer.word(),
        trial.direction,
        if row.size_known {
            format!("{} {}", trial.size.unit.name(), trial.size.bytes)
        } else {
            "-".into()
        },
        trial.load,
        cells.join(", ")
    )
}

fn rows(study: &Study) -> Vec<String> {
    study.rows.iter().map(shown).collect()
}

#[test]
fn a_vendors_html_page() {
    let html = include_str!("data/import/vendor.html");
    let (study, came) = page(html, "vendor.html");
    insta::assert_snapshot!(format!("{}\n{}", came.text, came.notes.join("\n")));
    assert_eq!(
        came.tables, 3,
        "what a script writes is not a table of the page"
    );
    assert_eq!(study.title, "Network throughput of the EX-1000");
    assert_eq!(study.link_bits_per_s, Some(100_000_000));
    assert_eq!(study.clocks_hz, [216e6]);
    // The same lines that an editor shows.
    let lines: Vec<&str> = html.lines().collect();
    for cell in study.rows.iter().flat_map(|row| &row.cells) {
        let line = lines[cell.source_line.unwrap() - 1];
        let digits = cell.published.number.to_string();
        let there = line.replace([',', '\u{a0}'], "").contains(&digits);
        assert!(there, "{} is not in {line}", cell.published);
    }
    let found = wirelab_study::audit::audit(&study);
    let fails: Vec<_> = found
        .iter()
        .filter(|f| f.severity.fails())
        .map(|f| (f.rule.name(), f.source_line))
        .collect();
    assert_eq!(fails, [("limit", Some(57))], "{found:#?}");
}

#[test]
fn a_matrix_of_size_and_rate() {
    let (study, _) = page(
        "# Bridge\nThe link is 1 Gbps Ethernet.\n\n## Packet loss (%), UDP receive\n\n\
         | Datagram size | 10 Mbps | 100 Mbps | 1 Gbps |\n|---|---|---|---|\n| 64 B | 0 | 1.5 | – |\n| 1,470 B | 0 | 0 | ~12 |\n",
        "m.md",
    );
    assert_eq!(
        rows(&study),
        [
            "UDP receive, at 10 Mbit/s 64 B: udp4 Receive datagram 64 10M | loss 0 % @8",
            "UDP receive, at 100 Mbit/s 64 B: udp4 Receive datagram 64 100M | loss 1.5 % @8",
            "UDP receive, at 10 Mbit/s 1470 B: udp4 Receive datagram 1470 10M | loss 0 % @9",
            "UDP receive, at 100 Mbit/s 1470 B: udp4 Receive datagram 1470 100M | loss 0 % @9",
            "UDP receive, at 1 Gbit/s 1470 B: udp4 Receive datagram 1470 1G | loss ~12 % @9",
        ]
    );
    assert_eq!(study.link_bits_per_s, Some(1_000_000_000));
}

#[test]
fn a_list_with_commas_and_one_with_semicolons() {
    let (study, _) = page(
        "Protocol,Direction,Frame size (bytes),Offered load (Mbps),Received throughput (Mbps),Loss (%),CPU (%)\n\
         UDP,RX,64,10,10,0.0,12\nUDP,RX,1518,95,\"94,5\",0.5 %,40\nUDP,TX,1518,,\"95,0\",,33*\n",
        "list.csv",
    );
    assert_eq!(
        rows(&study),
        [
            "UDP RX 64 B: udp4 Receive frame 64 10M | throughput 10 Mbit/s @2, cpu_load 12 % @2, loss 0.0 % @2",
            "UDP RX 1518 B: udp4 Receive frame 1518 95M | throughput 94.5 Mbit/s @3, cpu_load 40 % @3, loss 0.5 % @3",
            "UDP TX 1518 B: udp4 Transmit frame 1518 max | throughput 95.0 Mbit/s @4, cpu_load 33 % @4",
        ]
    );
    let (study, _) = page(
        "Test;Datagram (bytes);Throughput (MB/s)\nUDP TX;64;2,5\nUDP TX;1024;11,25\n",
        "list.csv",
    );
    assert_eq!(
        rows(&study),
        [
            "UDP TX 64 B: udp4 Transmit datagram 64 max | throughput 2.5 MB/s @2",
            "UDP TX 1024 B: udp4 Transmit datagram 1024 max | throughput 11.25 MB/s @3",
        ]
    );
}

#[test]
fn latencies_with_percentiles_of_a_cut_through_switch() {
    let (study, _) = page(
        "Latency of the switch, cut-through, in echo\nFrame size\tMin (us)\tAvg (us)\t99% (us)\tMax (us)\n\
         64\t1.1\t1.25 ± 0.05\t1.4\t2\n1518\t1.1\t1.26\t1.3–1.5\t<3\n",
        "latency.tsv",
    );
    assert_eq!(
        rows(&study),
        [
            "Ethernet echo 64 B: ethernet Echo frame 64 max | latency 1.25 ± 0.05 us @3, latency_min 1.1 us @3, latency_p99 1.4 us @3, latency_max 2 us @3",
            "Ethernet echo 1518 B: ethernet Echo frame 1518 max | latency 1.26 us @4, latency_min 1.1 us @4, latency_p99 1.3 to 1.5 us @4, latency_max 0 to 3 us @4",
        ]
    );
    assert!(
        study
            .rows
            .iter()
            .all(|row| row.forwarding == Some(wirelab_study::table::Forwarding::CutThrough))
    );
}

#[test]
fn tcp_windows() {
    let (study, _) = page(
        "## TCP receive\n| TCP window (KiB) | Throughput (Mbps) |\n|---|---|\n| 4 | 31 |\n| 64 | 93.5 |\n",
        "w.md",
    );
    assert_eq!(
        rows(&study),
        [
            "TCP receive window 4 KiB: tcp4 Receive datagram 1460 max | throughput 31 Mbit/s @4",
            "TCP receive window 64 KiB: tcp4 Receive datagram 1460 max | throughput 93.5 Mbit/s @5",
        ]
    );
    assert_eq!(study.rows[0].window.as_ref().unwrap().to_string(), "4 KiB");
}

#[test]
fn reports_of_iperf() {
    let log = "$ iperf -c 10.0.0.2 -u -b 50M -l 1000 -i 1\n[  3] local 10.0.0.1 port 5001 connected with 10.0.0.2 port 5001\n\
        [ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n\
        [  3]  0.0- 1.0 sec  5.96 MBytes  50.0 Mbits/sec   0.020 ms    0/ 6250 (0%)\n\
        [  3]  1.0- 2.0 sec  5.95 MBytes  49.9 Mbits/sec   0.021 ms   10/ 6250 (0.16%)\n\
        [  3]  0.0- 2.0 sec  11.9 MBytes  50.0 Mbits/sec   0.021 ms   10/12500 (0.08%)\n";
    let (study, _) = page(log, "server.log");
    assert_eq!(
        rows(&study),
        [
            "0.0- 1.0 sec: udp4 Transmit datagram 1000 50M | jitter 0.020 ms @4, transfer 5.96 MiB @4, bandwidth 50.0 Mbit/s @4, lost 0 @4, datagrams 6250 @4",
            "1.0- 2.0 sec: udp4 Transmit datagram 1000 50M | jitter 0.021 ms @5, transfer 5.95 MiB @5, bandwidth 49.9 Mbit/s @5, lost 10 @5, datagrams 6250 @5",
        ]
    );
    assert_eq!(study.rows[1].interval, Some(2));
    let three = "Connecting to host 10.0.0.2, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
        [  5]   0.00-1.00   sec  11.6 MBytes  97.4 Mbits/sec    0    136 KBytes\n\
        [  5]   1.00-2.00   sec  11.2 MBytes  94.2 Mbits/sec    0    136 KBytes\n\
        - - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [ ID] Interval           Transfer     Bitrate         Retr\n\
        [  5]   0.00-2.00   sec  22.8 MBytes  95.8 Mbits/sec    0             sender\n";
    let (study, _) = page(three, "client.log");
    assert_eq!(
        rows(&study),
        [
            "0.00-1.00 sec: tcp4 Transmit datagram 1460 max | transfer 11.6 MiB @3, bandwidth 97.4 Mbit/s @3",
            "1.00-2.00 sec: tcp4 Transmit datagram 1460 max | transfer 11.2 MiB @4, bandwidth 94.2 Mbit/s @4",
        ]
    );
}

#[test]
fn lines_pasted_from_a_pdf() {
    let (study, came) = page(
        "Table 3. UDP transmit throughput (Fast Ethernet)\n\n\
         Payload (bytes)   Throughput (Mbps)   CPU load (%)\n\
         18                5.1                 100\n256               51.0                100\n1472              95.7                62\n",
        "pdf.txt",
    );
    assert_eq!(
        rows(&study),
        [
            "UDP transmit 18 B: udp4 Transmit datagram 18 max | throughput 5.1 Mbit/s @4, cpu_load 100 % @4",
            "UDP transmit 256 B: udp4 Transmit datagram 256 max | throughput 51.0 Mbit/s @5, cpu_load 100 % @5",
            "UDP transmit 1472 B: udp4 Transmit datagram 1472 max | throughput 95.7 Mbit/s @6, cpu_load 62 % @6",
        ],
        "{}",
        came.text
    );
    assert_eq!(study.link_bits_per_s, Some(100_000_000));
}

#[test]
fn what_is_no_table_of_figures_is_said() {
    let import = |text: &str| {
        import(
            text.as_bytes(),
            "page.txt",
            &ImportOptions::default(),
            &mut DefaultAnswers::default(),
        )
    };
    let error = import("Nothing to see here.\n").unwrap_err();
    assert!(matches!(error, ImportError::Nothing { tables: 0, .. }));
    assert!(error.to_string().contains("--mapping FILE"));
    let error = import("| Price | Amount |\n|---|---|\n| 3 | 4 |\n").unwrap_err();
    assert!(
        matches!(error, ImportError::Nothing { tables: 1, .. }),
        "{error}"
    );
    assert!(matches!(
        import(&"a".repeat(5 << 20)).unwrap_err(),
        ImportError::TooLong(_)
    ));
}

#[test]
fn what_is_not_known_is_reported() {
    let text = "| Size (bytes) | Bandwidth (Mbps) | CPU load (%) |\n|---|---|---|\n| 64 | 12 | 50 |\n| 512 | what | 60 |\n";
    let mut nobody = DefaultAnswers::default();
    let came = import(
        text.as_bytes(),
        "page.md",
        &ImportOptions::default(),
        &mut nobody,
    )
    .unwrap();
    let told = came.notes.join("\n");
    assert!(
        told.contains("the page does not say how fast the link is"),
        "{told}"
    );
    assert!(
        told.contains("line 4: 'what' below 'Bandwidth (Mbps)' is left out"),
        "{told}"
    );
    let assumed = nobody.assumed.join("\n");
    assert!(
        assumed.contains("which layer do the figures count: ethernet is assumed"),
        "{assumed}"
    );
    assert!(
        assumed.contains(
            "in which direction do the frames go, as the node sees it: transmit is assumed"
        ),
        "{assumed}"
    );
    let options = ImportOptions {
        link_bits_per_s: Some(100_000_000),
        core_clock: Some("80 MHz".into()),
        ..ImportOptions::default()
    };
    let came = import(text.as_bytes(), "page.md", &options, &mut nobody).unwrap();
    let study = Study::parse(&came.text, "page.toml").unwrap();
    assert_eq!(
        (study.link_bits_per_s, study.clocks_hz.as_slice()),
        (Some(100_000_000), [80e6].as_slice())
    );
    assert_eq!(
        study.rows[1]
            .cell(Metric::CpuLoad)
            .unwrap()
            .published
            .number,
        60.0
    );
    assert_eq!(study.rows[0].trial.load, Load::Max);
    assert_eq!(
        (
            study.rows[0].trial.framing.layer,
            study.rows[0].trial.direction
        ),
        (Layer::Ethernet, Direction::Transmit)
    );
}

/// Answers every question with its last choice, and texts with `2.5G`.
struct Last(usize);

impl wirelab_study::import::Asker for Last {
    fn choose(&mut self, question: &wirelab_study::import::Question) -> &'static str {
        self.0 += 1;
        question.choices.last().unwrap()
    }
    fn text(&mut self, _: &str, _: &str) -> Option<String> {
        self.0 += 1;
        Some("2.5G".into())
    }
}

#[test]
fn a_unit_that_stands_nowhere_is_assumed_and_told() {
    let text = "## TCP receive\n| Hardware Platform | Max Throughput | Latency |\n|---|---|---|\n| Board A | 70 | 3 ms |\n| Board B | 92 | 5 |\n";
    let mut nobody = DefaultAnswers::default();
    let came = import(
        text.as_bytes(),
        "page.md",
        &ImportOptions::default(),
        &mut nobody,
    )
    .unwrap();
    let study = Study::parse(&came.text, "page.toml").unwrap();
    assert_eq!(
        rows(&study),
        [
            "Board A: tcp4 Receive datagram 1460 max | throughput 70 Mbit/s @4, latency 3 ms @4",
            "Board B: tcp4 Receive datagram 1460 max | throughput 92 Mbit/s @5, latency 5 us @5",
        ]
    );
    let told = nobody.assumed.join("\n");
    assert!(
        told.contains("which unit has 'Max Throughput': Mbit/s is assumed"),
        "{told}"
    );
    assert!(
        told.contains("which unit has 'Latency': us is assumed"),
        "{told}"
    );
}

#[test]
fn answers_are_taken() {
    let text =
        "| Datagram size (bytes) | Bandwidth (Mbps) | Loss (%) |\n|---|---|---|\n| 64 | 12 | 0 |\n";
    let mut asker = Last(0);
    let came = import(
        text.as_bytes(),
        "page.md",
        &ImportOptions::default(),
        &mut asker,
    )
    .unwrap();
    let study = Study::parse(&came.text, "page.toml").unwrap();
    assert_eq!(asker.0, 3, "questions about layer, direction and link");
    assert_eq!(
        (
            study.rows[0].trial.framing.layer,
            study.rows[0].trial.direction
        ),
        (Layer::Ethernet, Direction::Echo)
    );
    assert_eq!(study.link_bits_per_s, Some(2_500_000_000));
}

/// As performance guides of whole kits have it: boards side by side, disks and cameras between the networks, repeats with
/// their least and most, and a long command as a label.
#[test]
fn a_guide_of_a_whole_kit_gives_its_networks_by_board() {
    let text = "<h1>Guide</h1>\
<h2>Camera</h2><table><tr><th>Sampling Rate (Hz)</th><th>Throughput (bits/sec)</th></tr><tr><td>11025</td><td>352798.00</td></tr></table>\
<h2>UDP Ingress Throughput 0 loss</h2><table>\
<tr><th>Frame Size(bytes)</th><th>kit-a: THROUGHPUT (Mbits/sec)</th><th>kit-a: CPU Load % (LOCAL)</th><th>kit-b: THROUGHPUT (Mbits/sec)</th><th>kit-b: CPU Load % (LOCAL)</th></tr>\
<tr><td>256</td><td>170.60</td><td>24.6</td><td>160.11</td><td>23.1</td></tr>\
<tr><td>1518</td><td>954.19</td><td>39.9</td><td>956.87</td><td>39.9</td></tr></table>\
<h2>UDP Ingress Throughput possible loss</h2><table>\
<tr><th>Frame Size(bytes)</th><th>kit-a: THROUGHPUT (Mbits/sec)</th><th>kit-a: Packet Loss %</th></tr>\
<tr><td>256</td><td>258.83 (min 235.45, max 282.21)</td><td>11.20</td></tr>\
<tr><td>1518</td><td>875.44</td><td>0.78</td></tr></table>\
<h2>TCP Bidirectional Throughput of the second port</h2><table>\
<tr><th>Command Used</th><th>kit-a: THROUGHPUT (Mbits/sec)</th></tr>\
<tr><td>netperf -H 192.168.0.1 -j -c -C -l 60 -t TCP_STREAM; netperf -H 192.168.0.1 -j -c -C -l 60 -t TCP_MAERTS</td><td>1720.59</td></tr></table>";
    let (study, imported) = page(text, "guide.html");
    let figures = |node: &str, metric: Metric| -> Vec<f64> {
        let rows = study
            .rows
            .iter()
            .filter(|row| row.node.as_deref() == Some(node));
        rows.filter_map(|row| Some(row.cell(metric)?.published.number))
            .collect()
    };
    assert_eq!(figures("kit-b", Metric::Throughput), [160.11, 956.87]);
    assert_eq!(figures("kit-b", Metric::CpuLoad), [23.1, 39.9]);
    let mean = study
        .rows
        .iter()
        .find(|row| row.cell(Metric::Loss).is_some())
        .unwrap();
    let mean = &mean.cell(Metric::Throughput).unwrap().published;
    assert_eq!(
        (mean.number, mean.to_string().as_str()),
        (258.83, "258.83 ± 23.38 Mbit/s")
    );
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.contains("left out (Camera)")),
        "{:?}",
        imported.notes
    );
    // The highest rate without loss and the highest of all are two trials.
    let found = wirelab_study::audit::audit(&study);
    assert!(found.iter().all(|f| f.rule.name() != "twice"), "{found:#?}");
}

/// TI's table of a switch: three links, with and without cut-through.
#[test]
fn links_and_ways_of_forwarding_in_headings_are_conditions() {
    let text = "# Switch\n\n<table><tr><td rowspan=\"2\"><b>Datagram Length</b></td><td colspan=\"2\"><b>Latency @ 1Gbps link (in us)</b></td>\
<td colspan=\"2\"><b>Latency @ 100Mbps link (in us)</b></td></tr>\n\
<tr><td><b>Without Cut-Through</b></td><td><b>With Cut-Through</b></td><td><b>Without Cut-Through</b></td><td><b>With Cut-Through</b></td></tr>\n\
<tr><td><b>64 Bytes</b></td><td>1.8</td><td>1.7</td><td>7.9</td><td>7.8</td></tr>\n\
<tr><td><b>1518 Bytes</b></td><td>13.2</td><td>2.0</td><td>124.0</td><td>13.8</td></tr></table>\n";
    let (study, _) = page(text, "switch.md");
    let of = |link: u64, way: Forwarding| -> Vec<f64> {
        let rows = study.rows.iter();
        let rows =
            rows.filter(|r| r.trial.link_bits_per_s == Some(link) && r.forwarding == Some(way));
        rows.filter_map(|row| Some(row.cell(Metric::Latency)?.published.number))
            .collect()
    };
    assert_eq!(of(1_000_000_000, Forwarding::StoreAndForward), [1.8, 13.2]);
    assert_eq!(of(100_000_000, Forwarding::CutThrough), [7.8, 13.8]);
}
