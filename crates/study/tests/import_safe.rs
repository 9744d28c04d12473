//! Hostile pages: no panic, bounded work, and what is written can be read.

use wirelab_study::import::{DefaultAnswers, ImportOptions, fuzz_import, import};
use wirelab_study::table::Study;

fn corpus() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    let files = std::fs::read_dir(folder).unwrap();
    let mut all: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all.iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    let corpus = corpus();
    assert!(!corpus.is_empty(), "no corpus for import");
    for bytes in corpus {
        fuzz_import(&bytes);
    }
}

/// Pages with bytes changed, dropped and doubled, always the same ones.
#[test]
fn damaged_pages_are_read_or_refused() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let signs = b"<>|,\t\n-.~%0159 \"{}[]@#\\+\xc2\xb1\xff";
    for bytes in corpus() {
        for _ in 0..40 {
            let mut page = bytes.clone();
            for _ in 0..1 + next(6) {
                let at = next(page.len());
                match next(4) {
                    0 => page[at] = signs[next(signs.len())],
                    1 => page.truncate(at.max(1)),
                    2 => page.insert(at, signs[next(signs.len())]),
                    _ => {
                        let end = (at + next(60)).min(page.len());
                        let part = page[at..end].to_vec();
                        let to = next(page.len());
                        page.splice(to..to, part);
                    }
                }
            }
            fuzz_import(&page);
        }
    }
}

#[test]
fn spans_and_depths_are_bounded() {
    let wide = "<table><tr><td colspan=1000000 rowspan=1000000>Loss (%)</td></tr>".repeat(300);
    let deep = "<table><tr><td>".repeat(20_000);
    let rows = format!(
        "<table><tr><th>Loss (%)</th></tr>{}</table>",
        "<tr><td>5</td></tr>".repeat(50_000)
    );
    let mut long = format!(
        "| Size (bytes) | Loss (%) |\n|---|---|\n| 64 | {} |\n",
        "9".repeat(10_000)
    );
    long.push_str(&"|".repeat(10_000));
    for page in [wide, deep, rows, long] {
        let came = import(
            page.as_bytes(),
            "page.html",
            &ImportOptions::default(),
            &mut DefaultAnswers::default(),
        );
        if let Ok(came) = came {
            // Too many rows are refused by name; nothing else is.
            if let Err(error) = Study::parse_whole(&came.text, "page.toml") {
                let error = error.to_string();
                assert!(
                    error.contains("split") || error.contains("too long"),
                    "{error}"
                );
            }
        }
    }
}

/// Names and figures of a page do not leave the strings that they are written into.
#[test]
fn hostile_text_stays_text() {
    let page = "# a\" ]\n[[row]]\n\n## UDP receive \u{1b}[31m\n| Test \" ] ] | Loss (%) |\n|---|---|\n| \"]]\\n[[row]] {label} @9 | 3 |\n| x\u{7} | 4\u{1b} |\n";
    let came = import(
        page.as_bytes(),
        "a\n[[row]].md",
        &ImportOptions::default(),
        &mut DefaultAnswers::default(),
    )
    .unwrap();
    let (study, wrong) = Study::parse_whole(&came.text, "page.toml").unwrap();
    assert!(!came.text.contains('\u{1b}'), "{}", came.text);
    assert_eq!(study.rows.len(), 1, "{}", came.text);
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(study.rows[0].cells.len(), 1);
}
