//! The drivers and examples of `firmware/drivers`, and the register accesses that this program provides for them.
#![allow(unsafe_code)]

use std::cell::RefCell;

use wirelab_hdl::Bench;

/// Start of a port's registers for the drivers; not 0, so that an address is not an offset.
pub const PORT: usize = 0x8010_0000;

thread_local! {
    // Tests run in threads, each with its own ports.
    static BENCH: RefCell<Option<Bench>> = const { RefCell::new(None) };
}

/// A C function that takes the address of a port.
// SAFETY: each passes the address to the two functions below and accesses nothing else.
pub type Function<T> = unsafe extern "C" fn(usize) -> T;

macro_rules! functions {
    ($type:ty: $($name:ident),* $(,)?) => {
        mod raw {
            // SAFETY: firmware/drivers declares them so.
            unsafe extern "C" {
                $(pub fn $name(port: usize) -> $type;)*
            }
        }
        /// Each function by its name.
        pub const ALL: &[(&str, super::Function<$type>)] = &[$((stringify!($name), raw::$name)),*];
    };
}

/// The examples: they return whether everything was as expected.
pub mod examples {
    functions!(bool: example_generator, example_checker, example_capture_unit, example_packet_identifier,
        example_rate_meter, example_port_mac);
}

/// The tests: 0, or the line of the failed condition.
pub mod tests {
    functions!(i32: test_port, test_generator_writes_all_it_is_told, test_generator_refuses,
        test_generator_goes_on_until_it_is_stopped, test_checker_forgets, test_checker_follows_slots, test_capture_unit_edges,
        test_identifier_writes_all_it_is_told, test_counts_are_read_from_their_places);
}

/// Runs a C function by its name with a bench whose first port it drives; returns the bench.
///
/// # Panics
/// If there is no such function.
pub fn run<T>(all: &[(&str, Function<T>)], name: &str, bench: Option<Bench>) -> (T, Option<Bench>) {
    let (_, function) = all.iter().find(|it| it.0 == name).expect("it is listed");
    BENCH.set(bench);
    // SAFETY: see `Function`.
    let result = unsafe { function(PORT) };
    (result, BENCH.take())
}

/// Reads a register for a driver; without a bench it reads as its own address.
///
/// # Panics
/// If the port refuses: then a driver is wrong.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn wl_register_read(address: usize) -> u32 {
    BENCH.with_borrow_mut(|bench| match bench {
        Some(bench) => bench.read(0, offset(address)).expect("a register to read"),
        None => u32::try_from(address).expect("an address of 32 bits"),
    })
}

/// Writes a register for a driver.
///
/// # Panics
/// If the port refuses: then a driver is wrong.
// SAFETY: no other function has this name.
#[unsafe(no_mangle)]
extern "C" fn wl_register_write(address: usize, word: u32) {
    BENCH.with_borrow_mut(|bench| {
        let bench = bench.as_mut().expect("only counts are read without a port");
        bench
            .write(0, offset(address), word)
            .expect("a register to write");
    });
}

fn offset(address: usize) -> u16 {
    u16::try_from(address.wrapping_sub(PORT)).expect("an address of the port")
}
