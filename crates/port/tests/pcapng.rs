//! Captures as a user sees them: written captures are read back, those of other programs are understood, each fault
//! in a file is found and named, and in a truncated or damaged file only the part after the damage is lost.

#[path = "pcapng/bad_days.rs"]
mod bad_days;
#[path = "pcapng/bytes.rs"]
mod bytes;
#[path = "pcapng/faults.rs"]
mod faults;
#[path = "pcapng/flows.rs"]
mod flows;
#[path = "pcapng/formats.rs"]
mod formats;
#[path = "pcapng/round_trip.rs"]
mod round_trip;
