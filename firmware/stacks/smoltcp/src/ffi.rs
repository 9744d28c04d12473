//! The board's functions in C (firmware/boards/common/board.h) as safe functions, and the function that C calls.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_uint};
use core::panic::PanicInfo;

/// `struct wl_piece`.
#[repr(C)]
struct Piece {
    bytes: *const u8,
    count: usize,
}

/// The head of `struct board_info`.
#[repr(C)]
struct Board {
    name: *const c_char,
    tick_ps: u64,
}

// SAFETY: these are declared in board.h and print.h with the same types.
unsafe extern "C" {
    static board: Board;
    fn board_init();
    fn board_exit() -> !;
    fn board_irq_off() -> u32;
    fn board_irq_on(was: u32);
    fn board_sleep_until(ticks: u64);
    fn wl_clock() -> u64;
    fn mac_init(address: *mut u8) -> bool;
    fn mac_send(pieces: *const Piece, count: c_uint) -> bool;
    fn mac_receive(frame: *mut *const u8) -> usize;
    fn mac_receive_done();
    fn mac_pending() -> bool;
    fn print(text: *const c_char);
}

/// A value that lives in static memory and has one owner.
pub struct Single<T> {
    value: UnsafeCell<T>,
    taken: UnsafeCell<bool>,
}

// SAFETY: the board has one core, and no interrupt names it.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    pub const fn new(value: T) -> Self {
        Self {
            value: UnsafeCell::new(value),
            taken: UnsafeCell::new(false),
        }
    }

    /// The value, once.
    ///
    /// # Panics
    ///
    /// If it was already taken.
    pub fn take(&'static self) -> &'static mut T {
        // SAFETY: one core, so that nothing comes between check and mark; from then on only the caller has it.
        unsafe {
            assert!(!self.taken.get().replace(true), "it has an owner");
            &mut *self.value.get()
        }
    }
}

const PS_PER_US: u64 = 1_000_000;

fn ticks_per_us() -> u64 {
    // SAFETY: a constant of the board.
    PS_PER_US / unsafe { board.tick_ps }
}

pub fn now_us() -> u64 {
    // SAFETY: reads a timer.
    unsafe { wl_clock() / ticks_per_us() }
}

/// Sleeps at most so long, and wakes for a received frame.
pub fn sleep_us(most: u64) {
    // SAFETY: interrupts are off between the look for work and the sleep, as board.h requires.
    unsafe {
        let was = board_irq_off();
        if !mac_pending() {
            board_sleep_until(wl_clock() + most * ticks_per_us());
        }
        board_irq_on(was);
    }
}

/// The oldest received frame, until `received_done()`.
pub fn received() -> Option<&'static [u8]> {
    let mut frame = core::ptr::null();
    // SAFETY: the driver lends a frame of its ring and does not touch it until received_done().
    unsafe {
        match mac_receive(&mut frame) {
            0 => None,
            length => Some(core::slice::from_raw_parts(frame, length)),
        }
    }
}

pub fn received_done() {
    // SAFETY: only after received().
    unsafe { mac_receive_done() }
}

/// A frame that does not fit into the FIFO is lost, as on a wire.
pub fn send(frame: &[u8]) {
    let piece = Piece {
        bytes: frame.as_ptr(),
        count: frame.len(),
    };
    // SAFETY: the piece lives until the frame is copied.
    unsafe { mac_send(&piece, 1) };
}

/// A text that ends with 0.
pub fn say(text: &'static str) {
    debug_assert!(text.ends_with('\0'));
    // SAFETY: all callers end it with 0.
    unsafe { print(text.as_ptr().cast()) }
}

/// A symbol for the point at which the application has its data: all its other code is compiled into one function.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn echo_has_data() {
    // The compiler would remove a call that does nothing.
    core::hint::black_box(());
}

/// Called by the board's start.c.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let mut mac = [0; 6];
    // SAFETY: first of all, once.
    let up = unsafe {
        board_init();
        mac_init(mac.as_mut_ptr())
    };
    assert!(up, "the MAC or its PHY does not answer");
    crate::run(mac)
}

#[panic_handler]
fn panic(_why: &PanicInfo) -> ! {
    // SAFETY: the text ends with 0; it does not return.
    unsafe {
        print(c"FAULT a panic of the echo on smoltcp\n".as_ptr());
        board_exit()
    }
}
