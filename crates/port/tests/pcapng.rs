//! Captures from outside: what is written is read back, what somebody else wrote is understood, each fault put
//! into a file is found as what it is, and a file that is cut or damaged costs nothing but what is behind it.

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
