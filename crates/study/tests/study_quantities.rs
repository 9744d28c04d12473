//! Printed figures: what they are worth, how precisely, and that they print as they were read.

use proptest::prelude::*;
use wirelab_study::quantity::{Dimension, Quantity, UNITS};

fn read(text: &str) -> Quantity {
    text.parse().unwrap()
}

#[test]
fn a_figure_keeps_its_printed_precision() {
    let time = read("7.10 ms");
    assert_eq!(time.decimals, 2);
    let (low, high) = time.range();
    assert!((low - 7.095e-3).abs() < 1e-12 && (high - 7.105e-3).abs() < 1e-12);
    assert_eq!(read("3.84 MiB").base(), 3.84 * 8.0 * 1_048_576.0);
    assert_eq!(read("10.56 MB/s").base(), 84.48e6);
    assert_eq!(read("148_809 frames/s").base(), 148_809.0);
    assert_eq!(read("86.66%").unit.dimension, Dimension::Share);
    assert_eq!(read("680 µs").to_string(), "680 us");
    assert!((read("5 %").base() - 0.05).abs() < 1e-12);
    assert!(
        read("75 kbit")
            .unit
            .dimension
            .compares_with(Dimension::Bytes)
    );
    assert!(
        !read("75 kbit/s")
            .unit
            .dimension
            .compares_with(Dimension::Bytes)
    );
}

#[test]
fn what_is_no_figure_says_what_to_write() {
    let refused = |text: &str| text.parse::<Quantity>().unwrap_err();
    assert_eq!(
        refused("6.84 MB/sec"),
        "invalid figure '6.84 MB/sec': unknown unit 'MB/sec'; did you mean 'MB/s'? fix: write one of ps, ns, us, ms, s, bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, \
         MB/s, GB/s, KiB/s, MiB/s, bit, kbit, Mbit, B, kB, MB, KiB, MiB, %, frames/s, kpps, Mpps, Hz, kHz, MHz, GHz"
    );
    assert!(refused("148,809 frames/s").contains("nothing between thousands"));
    assert!(refused("12 Mb/s").contains("write bit or B"));
    assert!(refused("75 Kb").contains("write bit or B"));
    for bad in [
        "", "ms", "-- ms", "1.2.3 ms", "1-2 ms", "1e3 ms", "nan ms", "inf",
    ] {
        assert!(refused(bad).contains("invalid figure"), "{bad}");
    }
    let long = refused(&"9".repeat(100_000));
    assert!(long.len() < 200, "{long}");
}

proptest! {
    #[test]
    fn a_printed_figure_is_read_back(whole in 0u64..u64::MAX, part in "[0-9]{0,10}", unit in 0..UNITS.len()) {
        let point = if part.is_empty() { "" } else { "." };
        let figure = read(&format!("{whole}{point}{part} {}", UNITS[unit].name));
        prop_assert_eq!(figure.decimals, part.len());
        prop_assert_eq!(&read(&figure.to_string()), &figure);
        let (low, high) = figure.range();
        prop_assert!(low <= figure.base() && figure.base() <= high);
    }

    #[test]
    fn figures_as_people_print_them_print_alike(whole in 0u64..1_000_000, part in "[0-9]{1,4}", unit in 0..UNITS.len()) {
        let name = UNITS[unit].name;
        let text = if name.is_empty() { format!("{whole}.{part}") } else { format!("{whole}.{part} {name}") };
        prop_assert_eq!(read(&text).to_string(), text);
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        if let Ok(figure) = text.parse::<Quantity>() {
            prop_assert_eq!(&read(&figure.to_string()), &figure);
        }
    }
}
