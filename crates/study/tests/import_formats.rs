//! Pages of all formats become studies: what a reader of the page sees is what stands in the rows.

use wirelab_study::import::{ImportError, Imported, Nobody, Options, import};
use wirelab_study::metric::Metric;
use wirelab_study::table::{Row, Study};
use wirelab_trial::{Direction, Layer, Load};

fn page(text: &str, file: &str) -> (Study, Imported) {
    let came = import(
        text.as_bytes(),
        file,
        &Options::default(),
        &mut Nobody::default(),
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
        "what a script writes is no table of the page"
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
        .map(|f| (f.rule, f.source_line))
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
            &Options::default(),
            &mut Nobody::default(),
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
fn what_is_not_known_is_told() {
    let text = "| Size (bytes) | Bandwidth (Mbps) | CPU load (%) |\n|---|---|---|\n| 64 | 12 | 50 |\n| 512 | what | 60 |\n";
    let mut nobody = Nobody::default();
    let came = import(text.as_bytes(), "page.md", &Options::default(), &mut nobody).unwrap();
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
        assumed.contains("which way do the frames go, as the node sees it: transmit is assumed"),
        "{assumed}"
    );
    let options = Options {
        link_bits_per_s: Some(100_000_000),
        core_clock: Some("80 MHz".into()),
        ..Options::default()
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
    let mut nobody = Nobody::default();
    let came = import(text.as_bytes(), "page.md", &Options::default(), &mut nobody).unwrap();
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
    let came = import(text.as_bytes(), "page.md", &Options::default(), &mut asker).unwrap();
    let study = Study::parse(&came.text, "page.toml").unwrap();
    assert_eq!(asker.0, 3, "layer, direction and link are asked");
    assert_eq!(
        (
            study.rows[0].trial.framing.layer,
            study.rows[0].trial.direction
        ),
        (Layer::Ethernet, Direction::Echo)
    );
    assert_eq!(study.link_bits_per_s, Some(2_500_000_000));
}
