//! The time of a flow by a pin that is active while its frames are sent.

use wirelab_wire::{LineRate, Overhead, Sizes};

use crate::clock::ClockKind;
use crate::counter::Counter;
use crate::field::Field;
use crate::observation::{Elapsed, FlowObservation, Spans};

impl FlowObservation {
    /// Makes the pulse of a pin the time of the flow, and the rates of its `frames` those of the pulse.
    pub fn take_pin(
        &mut self,
        ps: u64,
        clock: ClockKind,
        frames: u64,
        sizes: &Sizes,
        link: Option<LineRate>,
    ) {
        let frames_per_s = frames as f64 * 1e12 / ps.max(1) as f64;
        let bits = |bytes: u64| frames_per_s * 8.0 * bytes as f64;
        let payload = u64::from(sizes.payload);
        self.elapsed = Field::measured(Elapsed {
            ps,
            spans: Spans::Pin,
            clock,
        });
        let name = Counter::PIN_ELAPSED.word().to_owned();
        self.counters.insert(name, Field::measured(ps));
        self.intervals.without_rates();
        self.frames_per_s = Field::measured(frames_per_s);
        self.payload_bits_per_s = Field::measured(bits(payload));
        let overhead = link.map_or(Overhead::default(), |link| link.overhead);
        self.link_bits_per_s = Field::measured(bits(overhead.link_bytes(sizes)));
        if let (Some(datagram), Some(_)) = (sizes.datagram, self.goodput_bits_per_s.value()) {
            self.goodput_bits_per_s = Field::measured(bits(datagram.into()));
        }
        self.efficiency = Field::measured_or(
            link.map(|link| bits(payload) / link.bits_per_s() as f64),
            "the link has no known rate",
        );
    }
}
