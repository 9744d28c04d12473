//! What is wrong in a study is named with file, line, column and field, and with what to write instead.

use wirelab_study::reader::{MAX_ROWS, fuzz_study};
use wirelab_study::table::{ClaimOf, Relation, Role, Study};

const SMALL: &str = include_str!("data/small.toml");

/// The error of the small study with `old` replaced by `new`.
fn error(old: &str, new: &str) -> String {
    assert!(SMALL.contains(old), "the small study has no {old}");
    let text = SMALL.replacen(old, new, 1);
    match Study::parse(&text, "s.toml") {
        Err(error) => error.to_string(),
        Ok(_) => format!("ACCEPTED: {new}"),
    }
}

#[test]
fn a_study_is_read_whole() {
    let study = Study::parse(SMALL, "studies/small.toml").unwrap();
    assert_eq!((study.name.as_str(), study.rows.len()), ("small", 6));
    assert_eq!(study.link_bits_per_s, Some(100_000_000));
    assert_eq!(study.clocks_hz, [100e6]);
    let row = study.row("udp 3rd second").unwrap();
    assert_eq!((row.interval, row.cells.len()), (Some(3), 5));
    assert_eq!(row.set["alternative"], "arp-cache");
    // The time of the row replaces the frames of the defaults.
    assert!(matches!(
        row.trial.extent,
        wirelab_trial::Extent::Time {
            time_ps: 15_000_000_000_000
        }
    ));
    let jitter = row.cell("jitter".parse().unwrap()).unwrap();
    assert_eq!(jitter.role, Role::Unpredictable);
    assert_eq!(jitter.reason.as_deref(), Some("it is the host's"));
    assert_eq!(jitter.line, 36);
    let data = study.row("scenario 1").unwrap();
    let roles: Vec<Role> = data.cells.iter().map(|c| c.role).collect();
    let calibration = Role::Calibration;
    assert_eq!(
        roles,
        [calibration, calibration, calibration, Role::HeldOut]
    );
    assert_eq!(study.claims[0].relation, Relation::Below);
    assert_eq!(study.claims[0].published.to_string(), "1 us");
    let ClaimOf::LargestDifference(pairs) = &study.claims[0].of else {
        panic!("a difference")
    };
    assert_eq!(pairs.len(), 1);
    assert_eq!(study.sums[0].parts[1].row, "scenario 1");
}

#[test]
fn bad_files_say_where_and_what_to_write() {
    let cases = [
        ("title  =", "titel  ="),
        ("source = \"Nobody's datasheet, Table 1\"\n", ""),
        ("[\"100 MHz\"]", "[\"100 ns\"]"),
        ("link   = \"100M\"", "link = \"fast\""),
        (
            "trial     = { payload = 1500 }",
            "trial = { payload = 1500 }\nnode = \"x\"",
        ),
        ("frame_bits = \"12304 bit\"", "cpu_load = \"5 %\""),
        // Cells.
        ("{ time = \"7.1 ms\"", "{ tiem = \"7.1 ms\""),
        ("{ time = \"7.1 ms\"", "{ time = \"7.1 MB\""),
        ("{ time = \"7.1 ms\"", "{ time = \"7.1\""),
        ("{ time = \"7.1 ms\"", "{ time = 7.1"),
        ("{ time = \"7.1 ms\"", "{ time = \"7,1 ms\""),
        ("{ time = \"7.1 ms\"", "{ time = \"7.1 fortnights\""),
        ("\"10.56 MB/s\"", "\"10.56 Mb/s\""),
        ("\"10.56 MB/s\"", "\"84.5 Mbps\""),
        ("published = { latency = \"2.70 us\" }", "published = {}"),
        ("published = { latency = \"2.70 us\" }", ""),
        ("{ latency = \"2.70 us\" }", "\"2.70 us\""),
        ("datagrams = \"4023\"", "cpu_load = \"3 %\""),
        ("datagrams = \"4023\"", "latency = \"3 us\""),
        ("lost = \"0\"", "throughput_receive = \"1 bit/s\""),
        (
            "{ latency = \"2.70 us\" }",
            "{ throughput_sum = \"1 bit/s\" }",
        ),
        // Roles and reasons.
        ("{ latency_3sigma = \"disputed\" }", "\"held out\""),
        (
            "reason    = { latency_3sigma = \"not what the text says\" }\n",
            "",
        ),
        ("reason = { jitter = \"it is the host's\" }\n", ""),
        (
            "{ latency_3sigma = \"disputed\" }",
            "{ tiem = \"disputed\" }",
        ),
        (
            "{ latency_3sigma = \"disputed\" }",
            "{ time = \"disputed\" }",
        ),
        ("role   = { jitter", "role   = { jiter"),
        ("reason    = \"the table says 1.75\"\n", ""),
        // Rows and their trials.
        ("name      = \"scenario 3\"", "name      = \"scenario 1\""),
        ("name      = \"scenario 3\"\n", ""),
        ("name      = \"scenario 3\"\n", "nmae = \"scenario 3\"\n"),
        ("length = 256, ", "length = 4294967296, "),
        ("length = 256, ", "length = 256, frame = 260, "),
        ("layer = \"udp4\", datagram = 1000", "datagram = 1000"),
        ("load = \"1kpps\"", "laod = \"1kpps\""),
        ("direction = \"receive\"", "direction = \"sideways\""),
        ("interval  = 3", "interval  = 0"),
        (
            "set       = { alternative = \"arp-cache\" }",
            "set = { alternative = 3 }",
        ),
        ("limit     = true", "limit     = \"yes\""),
        ("column    = \"udp\"", "colunm    = \"udp\""),
        // Claims and sums.
        ("\"< 1 us\"", "\"< 1 MB\""),
        ("\"< 1 us\"", "\"= 1 us\""),
        ("metric    = \"latency\"", "metric    = \"latenzy\""),
        (
            "[[\"latency 256\", \"latency 64\"]]",
            "[[\"latency 256\", \"latency 46\"]]",
        ),
        (
            "[[\"latency 256\", \"latency 64\"]]",
            "[\"latency 256\", \"latency 64\"]",
        ),
        ("[[\"latency 256\", \"latency 64\"]]", "[]"),
        ("value_of  = \"latency 64\"", "value_of  = \"Latency 64\""),
        (
            "value_of  = \"latency 64\"",
            "value_of = \"latency 64\"\ndifference = []",
        ),
        ("value_of  = \"latency 64\"\n", ""),
        ("name      = \"received in\"", "name      = \"latency 64\""),
        ("total = \"latency 256/latency\"", "total = \"latency 256\""),
        (
            "total = \"latency 256/latency\"",
            "total = \"latency 265/latency\"",
        ),
        (
            "total = \"latency 256/latency\"",
            "total = \"latency 256/time\"",
        ),
        ("\"scenario 1/time\"]", "\"scenario 1/throughput\"]"),
        ("[[sum]]", "[sum]"),
        ("[[row]]", "[[row]"),
    ];
    let all: Vec<String> = cases.iter().map(|(old, new)| error(old, new)).collect();
    assert!(!all.iter().any(|e| e.starts_with("ACCEPTED")), "{all:#?}");
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn hostile_sizes_are_bounded() {
    let parse = |text: &str| Study::parse(text, "s.toml").unwrap_err().to_string();
    assert_eq!(
        parse(&"#".repeat(300_000)),
        "s.toml: too long for a study: at most 256 KiB are read; fix: split it into several files"
    );
    let top = "title='a'\nsource='b'\nlink='1M'\n[defaults]\ntrial={frame=64}\n";
    let row = "[[row]]\nlimit=true\npublished={payload='46 B'}\n";
    let rows = |n: usize| {
        (0..n)
            .map(|i| format!("{row}name='{i}'\n"))
            .collect::<String>()
    };
    assert!(Study::parse(&format!("{top}{}", rows(MAX_ROWS)), "s.toml").is_ok());
    let error = parse(&format!("{top}{}", rows(MAX_ROWS + 1)));
    assert!(error.contains("at most 1000 rows are read"), "{error}");
    let long = format!("{top}{row}name='{}'", "x".repeat(5_000));
    assert!(parse(&long).len() < 200, "{}", parse(&long));
    let many = format!("{top}{}", rows(1)) + &"[[claim]]\n".repeat(201);
    assert!(
        parse(&many).contains("write at most 200"),
        "{}",
        parse(&many)
    );
    let parts = "'0/payload',".repeat(65);
    let sum = format!(
        "{top}{}[[sum]]\ntotal='0/payload'\nparts=[{parts}]",
        rows(1)
    );
    assert!(parse(&sum).contains("write at most 64"), "{}", parse(&sum));
    let nested = format!("{top}{row}name='0'\nset={}", "{a=".repeat(2_000));
    assert!(parse(&nested).len() < 500, "{}", parse(&nested));
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/study");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        fuzz_study(&std::fs::read(entry.unwrap().path()).unwrap());
        seen += 1;
    }
    assert!(seen > 0, "no corpus for study");
}
