//! A pulse of known width is found within the uncertainty of its sampling, in every format.

use crate::common::{FORMATS, Recorded, write};
use proptest::prelude::*;
use wirelab_pulse::{Active, PulseOptions, UncertaintySource, read};

/// Finds the pulse of a recording of this format.
fn found(format: &str, recorded: &Recorded, sampling: Option<&str>) -> wirelab_pulse::Pulses {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format);
    std::fs::write(&path, write(format, recorded)).unwrap();
    let mut wanted = PulseOptions {
        channel: Some("D1".to_owned()),
        ..PulseOptions::default()
    };
    if let Some(rate) = sampling {
        wanted.set("sampling", rate).unwrap();
    }
    read(&path, &wanted).unwrap_or_else(|error| panic!("{format}: {error}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_pulse_is_found_within_its_uncertainty(
        phase_ps in 0u64..1_000_000,
        width_ps in 20_000_000u64..400_000_000,
        period in prop::sample::select(vec![41_667u64, 100_000, 500_000, 1_000_000]),
    ) {
        for format in FORMATS {
            let recorded = Recorded {
                start_ps: 30_000_000 + phase_ps,
                width_ps,
                period_ps: period,
                length_ps: 500_000_000,
            };
            let mut found = found(format.name, &recorded, None);
            prop_assert_eq!(
                found.uncertainty.from == UncertaintySource::Sampling,
                format.states_sampling,
                "{}: {:?}", format.name, found
            );
            let period = match format.states_sampling {
                true => period,
                // The tables of changes here were sampled each ns, which they do not state.
                false => {
                    prop_assert!(!found.uncertainty.is_known());
                    found = self::found(format.name, &recorded, Some("1GHz"));
                    1000
                }
            };
            prop_assert_eq!(found.pulses.len(), 1, "{}: {:?}", format.name, found);
            let (pulse, within) = (found.pulses[0], found.uncertainty);
            prop_assert!(within.is_known());
            prop_assert!(
                pulse.width_ps.abs_diff(width_ps) <= within.ps,
                "{}: {:?} of {}", format.name, found, width_ps
            );
            // A bound is of use where it is close: the period, and the digits of the times.
            prop_assert!(
                (period..=period + period / 4 + 2_000).contains(&within.ps),
                "{}: {:?}", format.name, found
            );
            prop_assert_eq!(found.threshold_v.is_some(), format.is_analogue, "{}: {:?}", format.name, found);
        }
    }
}

#[test]
fn a_low_pulse_is_the_time_between_two_high_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("low.csv");
    std::fs::write(&path, "Time [s],Reset\n0,1\n0.001,0\n0.003,1\n0.010,1\n").unwrap();
    let wanted = PulseOptions {
        active: Active::Low,
        ..PulseOptions::default()
    };
    let found = read(&path, &wanted).unwrap();
    assert_eq!(found.pulses[0].width_ps, 2_000_000_000);
}

#[test]
fn files_that_are_none_are_named_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    for (bytes, words) in [
        (&b""[..], "the file is empty"),
        (b"  \n\n", "the file is empty"),
        (b"\x00\x01\x02", "neither a value change dump"),
        (b"PK\x03\x04 but no archive", "not a session of sigrok"),
        (b"Time,CH1\n", "no rows of numbers"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = read(&path, &PulseOptions::default())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        assert!(error.contains(words) && error.contains("fix: "), "{error}");
    }
    let none = read(&folder.path().join("none"), &PulseOptions::default())
        .unwrap_err()
        .to_string();
    assert!(none.contains("none: "), "{none}");
}

#[test]
fn a_file_that_is_not_there_is_named_with_the_fix() {
    let path = std::path::Path::new("/nowhere/d0.vcd");
    let error = wirelab_pulse::read(path, &wirelab_pulse::PulseOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("/nowhere/d0.vcd: "), "{text}");
    assert!(text.contains("; fix: name the file"), "{text}");
}
