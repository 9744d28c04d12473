//! The trial that most of the tests' observations are of.

use wirelab_trial::{Direction, Extent, FaultRates, Framing, Load, Size, SizeUnit, Trial};

pub fn trial(payload: u32, direction: Direction, ports: u32, link: Option<u64>) -> Trial {
    Trial {
        framing: Framing::default(),
        direction,
        size: Size::new(SizeUnit::Payload, payload),
        load: Load::Max,
        extent: Extent::Time {
            time_ps: 3_000_000_000_000,
        },
        ports,
        link_bits_per_s: link,
        buffers: None,
        faults: FaultRates::default(),
        path: None,
        wait: None,
        rule: None,
        background: None,
        probes: None,
    }
}
