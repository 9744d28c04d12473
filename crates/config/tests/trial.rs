//! A trial in files, with defaults, and errors.

use wirelab_config::trial::{TRIAL_KEYS, trial};
use wirelab_config::{Read, read};
use wirelab_trial::{Extent, Load, Size, SizeUnit, Trial};

fn read_trial(text: &str) -> Read<Trial> {
    read(text, "t.toml", |top| {
        let defaults = top.section("defaults")?;
        let own = top
            .need("trial", "write trial = { length = 64 }")?
            .table()?;
        trial(&own, defaults.as_ref())
    })
}

#[test]
fn own_keys_go_before_defaults() {
    let defaults = "defaults = { length = 64, frames = 50, layer = \"udp4\", load = \"5M\" }\n";
    let text = format!("{defaults}trial = {{ datagram = 512, time = \"2s\" }}");
    let trial = read_trial(&text).unwrap();
    assert_eq!(trial.size, Size::new(SizeUnit::Datagram, 512));
    assert_eq!(
        trial.extent,
        Extent::Time {
            time_ps: 2_000_000_000_000
        }
    );
    assert_eq!(trial.load, Load::BitRate { bits_per_s: 5e6 });
    let trial = read_trial(&format!("{defaults}trial = {{}}")).unwrap();
    assert_eq!(trial.size, Size::new(SizeUnit::Length, 64));
    assert_eq!(trial.extent, Extent::Frames { frames: 50 });
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let keys = TRIAL_KEYS.join(", ");
    let no_such_key = format!(
        "t.toml:1:11: trial.lenght: no such key; did you mean 'length'? fix: write one of {keys}"
    );
    let cases = [
        (
            "x = 1",
            "t.toml:1:1: trial: it is missing; fix: write trial = { length = 64 }",
        ),
        (
            "trial = 5",
            "t.toml:1:9: trial: invalid value 5; fix: write a table, e.g. { key = \"value\" }",
        ),
        ("trial = { lenght = 64 }", &no_such_key),
        (
            "trial = { frames = 5 }",
            "t.toml:1:9: trial: it has no size; fix: write frame = 64, or length, payload or datagram",
        ),
        (
            "trial = { frame = 64, length = 64 }",
            "t.toml:1:32: trial.length: the trial also has another size; fix: keep one of them",
        ),
        (
            "trial = { frame = 64, frames = 1, time = \"1s\" }",
            "t.toml:1:32: trial.frames: the trial also has a time; fix: keep one of the two",
        ),
        (
            "trial = { frame = 60 }",
            "t.toml:1:19: trial.frame: frame 60 is too small: the smallest test frame with this framing has 64; fix: give 64 or more",
        ),
        (
            "trial = { frame = 64, load = \"fast\" }",
            "t.toml:1:30: trial.load: invalid load 'fast'; fix: write max, 95%, 50kpps, 800M (bit/s) or gap=96B",
        ),
    ];
    for (text, error) in cases {
        assert_eq!(read_trial(text).unwrap_err().to_string(), error, "{text}");
    }
}

#[test]
fn sections_are_read_under_their_names() {
    let text = "[part.a]\nx = 1\n[part.b]\nx = 2.5\n[[row]]\non = true\n";
    let (names, numbers, on) = read(text, "t.toml", |top| {
        let parts = top.named("part")?;
        let names: Vec<String> = parts.iter().map(|p| p.1.name().to_owned()).collect();
        let numbers: Read<Vec<f64>> = parts
            .iter()
            .map(|p| p.1.need("x", "write x")?.number())
            .collect();
        let rows = top.sections("row")?;
        Ok((names, numbers?, rows[0].need("on", "write on")?.flag()?))
    })
    .unwrap();
    assert_eq!(names, ["part.a", "part.b"]);
    assert_eq!(numbers, [1.0, 2.5]);
    assert!(on);
    let error = read("row = 5", "t.toml", |top| top.sections("row").map(|_| ())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.toml:1:7: row: it is not a list of sections; fix: write each row as a section of its own, [[row]]"
    );
}
