//! The intervals of what is fitted to stages of a Linux node hold what was put in as often as they say.

use crate::fit_support::{FAST, SENT, STACK, Truth, linux, parameter};
use wirelab_model::fit::{FitOptions, fit};

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let ways: [(&str, &[Truth]); 3] = [
        ("udp4-receive", &STACK),
        ("udp4-receive-fast-track", &FAST),
        ("udp4-transmit", &SENT),
    ];
    let (mut inside, mut all) = (0, 0);
    for seed in 0..20 {
        let fit = fit(&linux(seed), &FitOptions::default()).expect("a fit");
        for (way, stages) in ways {
            for (name, packet, byte, _) in stages {
                let key = name.replace(' ', "-");
                for (part, truth) in [("packet", packet), ("byte", byte)] {
                    let found = parameter(&fit, &format!("{way}-{key}-{part}"));
                    let interval = found.interval.expect("samples give an interval");
                    inside += usize::from(interval.low <= *truth && *truth <= interval.high);
                    all += 1;
                    // Nowhere far off: a hundredth, or what 512 frames leave open.
                    let far = (found.value - truth).abs();
                    assert!(far < 0.02 * truth + if part == "packet" { 60.0 } else { 0.08 });
                }
            }
        }
    }
    let share = f64::from(inside as u32) / f64::from(all as u32);
    assert!(
        (0.92..=0.995).contains(&share),
        "{inside} of {all}: {share}"
    );
}
