//! The trial that most of the tests' observations are of.

use wirelab_trial::{Direction, Extent, Framing, Load, Size, SizeUnit, Trial};

pub fn trial(payload: u32, direction: Direction, ports: u32, link: Option<u64>) -> Trial {
    Trial {
        ports,
        link_bits_per_s: link,
        ..Trial::new(
            Framing::default(),
            direction,
            Size::new(SizeUnit::Payload, payload),
            Load::Max,
            Extent::Time {
                time_ps: 3_000_000_000_000,
            },
        )
    }
}
