//! The document's Table I with all of its 512 frames: every delay of the reference node beside its model's, the start of the slot
//! MAC too, of which eight frames tell little. Minutes of simulation: `make test-long`.

mod reference_common;

use reference_common::{DOCUMENT_FRAMES, compare};

#[test]
fn every_delay_of_the_slot_mac_over_a_posted_bus_is_predicted() {
    compare("lite-device", DOCUMENT_FRAMES);
}

#[test]
fn every_delay_of_the_slot_mac_over_an_ordered_bus_is_predicted() {
    compare("lite-ordered", DOCUMENT_FRAMES);
}

#[test]
fn every_delay_of_the_ring_mac_is_predicted() {
    compare("dma", DOCUMENT_FRAMES);
}
