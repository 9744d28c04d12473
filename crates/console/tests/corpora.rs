//! The corpora of the fuzz targets, and what a wrong profile is answered.

use std::path::Path;

use wirelab_console::Profile;

use crate::fuzz;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    let files = std::fs::read_dir(folder).unwrap();
    files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn the_corpora_of_sessions_and_profiles_pass() {
    let sessions = corpus("console_session");
    assert!(sessions.len() > 3);
    for bytes in sessions {
        fuzz::fuzz_session(&bytes);
        // Cut and doubled, as a line that loses characters does.
        for at in [bytes.len() / 3, bytes.len() / 2] {
            fuzz::fuzz_session(&[&bytes[at..], &bytes[..at]].concat());
        }
    }
    let profiles = corpus("console_profile");
    assert!(profiles.len() > 3);
    profiles.iter().for_each(|bytes| fuzz::fuzz_profile(bytes));
}

#[test]
fn what_is_wrong_in_a_profile_is_named_with_its_place_and_fix() {
    const HEAD: &str = "about = \"x\"\n[prompt]\npattern = '> '\n";
    for (text, words) in [
        ("prompt = 1\n", "own.toml:1:"),
        ("about = \"x\"\n[prompt]\nfirst = 'a'\n", "pattern"),
        (
            "[iperf.udp_servr]\n",
            "own.toml:4:8: iperf.udp_servr: no such key; did you mean",
        ),
        (
            "[iperf.udp_server]\nstart = \"iperf -p {prt}\"\n",
            "there is no name {prt}; fix: write one of",
        ),
        (
            "[iperf.udp_client]\nstart = \"iperf -c {tester}\"\n",
            "it has no {bytes}; fix: add it, or say datagram = SIZE",
        ),
        (
            "[[iperf.lines]]\npattern = '(?P<byts>a)'\n",
            "unknown group 'byts'; did you mean 'bytes'? fix: write one of from,",
        ),
        (
            "[[iperf.lines]]\npattern = '(a'\n",
            "it is not a regular expression",
        ),
        (
            "[ask.version]\ncommand = \"v\"\npattern = 'a'\n",
            "it has no group value; fix: write (?P<value>",
        ),
        (
            "[cpu]\ncommand = \"v\"\nlines = ['a']\n",
            "fix: write (?P<busy>",
        ),
        ("[iperf]\nbytes_kilo = 1001\n", "write 1000 or 1024"),
        ("[variables]\nport = \"1\"\n", "this name is reserved"),
        (
            "[iperf.udp_server]\nstart = \"a\\nb\"\n",
            "control character",
        ),
    ] {
        let text = if text.starts_with("about") || text.starts_with("prompt") {
            text.to_owned()
        } else {
            format!("{HEAD}{text}")
        };
        let error = Profile::parse("own", &text, "own.toml")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(words) && error.starts_with("own.toml:"),
            "{text}: {error}"
        );
    }
    let silent = "about = \"x\"\n[iperf.tcp_server]\nstart = \"iperf -s\"\n";
    let error = Profile::parse("own", silent, "own.toml")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("it cannot be typed without a prompt; fix: add [prompt]"),
        "{error}"
    );
}
