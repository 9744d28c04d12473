//! Values of fields: numbers, words, addresses, lists and texts, and mutually exclusive fields.

use core::fmt::Write as _;
use core::net::IpAddr;
use core::str::FromStr;

use wirelab_trial::{Buffers, ClockKind, Direction, Owner, Probes, Spans, Wait};
pub use wirelab_wire::Mac;
use wirelab_wire::{Layer, Size, SizeUnit};

use crate::line::{Line, LineBuf, Value};

/// Why a field is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// The required field is missing.
    Missing(&'static str),
    /// The value is not of the field's type.
    Value(&'static str),
    /// Unknown field.
    Unknown(String),
}

/// A type that a value can have.
pub trait FieldValue: Sized {
    /// Parses it; `None` where the value has another type.
    fn parse(value: Value<'_>) -> Option<Self>;
    /// Writes it after the key.
    fn emit(&self, out: &mut LineBuf);
}

/// A field or a choice of fields of a message.
pub trait Slot: Sized {
    /// Reads it from a line.
    ///
    /// # Errors
    /// [`FieldError`] names the field.
    fn take(line: &Line<'_>, key: &'static str) -> Result<Self, FieldError>;
    /// Add it to a line.
    fn put(&self, key: &'static str, out: &mut LineBuf);
    /// Whether `field` belongs to the slot `key`.
    fn knows(key: &'static str, field: &str) -> bool {
        key == field
    }
}

impl<T: FieldValue> Slot for T {
    fn take(line: &Line<'_>, key: &'static str) -> Result<T, FieldError> {
        <Option<T> as Slot>::take(line, key)?.ok_or(FieldError::Missing(key))
    }
    fn put(&self, key: &'static str, out: &mut LineBuf) {
        out.key(key);
        self.emit(out);
    }
}

impl<T: FieldValue> Slot for Option<T> {
    fn take(line: &Line<'_>, key: &'static str) -> Result<Option<T>, FieldError> {
        line.get(key)
            .map(|value| T::parse(value).ok_or(FieldError::Value(key)))
            .transpose()
    }
    fn put(&self, key: &'static str, out: &mut LineBuf) {
        if let Some(value) = self {
            value.put(key, out);
        }
    }
}

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl FieldValue for $type {
            fn parse(value: Value<'_>) -> Option<$type> {
                <$type>::try_from(value.u64()?).ok()
            }
            fn emit(&self, out: &mut LineBuf) {
                out.number(u64::from(*self));
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64);

impl FieldValue for bool {
    fn parse(value: Value<'_>) -> Option<bool> {
        match value.raw() {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => None,
        }
    }
    fn emit(&self, out: &mut LineBuf) {
        out.encoded(if *self { b"yes" } else { b"no" });
    }
}

impl FieldValue for String {
    fn parse(value: Value<'_>) -> Option<String> {
        String::from_utf8(value.bytes().collect()).ok()
    }
    fn emit(&self, out: &mut LineBuf) {
        out.encoded(self.as_bytes());
    }
}

impl FieldValue for IpAddr {
    fn parse(value: Value<'_>) -> Option<IpAddr> {
        IpAddr::from_str(core::str::from_utf8(value.raw()).ok()?).ok()
    }
    fn emit(&self, out: &mut LineBuf) {
        let _ = write!(Text(out), "{self}");
    }
}

/// Writes displayed text into a value, percent-encoded.
struct Text<'a>(&'a mut LineBuf);

impl core::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0.encoded(text.as_bytes());
        Ok(())
    }
}

impl FieldValue for Mac {
    fn parse(value: Value<'_>) -> Option<Mac> {
        // The protocol has one form of an address.
        let text = core::str::from_utf8(value.raw()).ok()?;
        let is_upper = text.bytes().any(|c| c.is_ascii_uppercase());
        text.parse().ok().filter(|_| !is_upper)
    }
    fn emit(&self, out: &mut LineBuf) {
        let _ = write!(Text(out), "{self}");
    }
}

macro_rules! words {
    ($($type:ty { $($value:path = $word:literal),+ $(,)? })+) => {$(
        impl FieldValue for $type {
            fn parse(value: Value<'_>) -> Option<$type> {
                $(if value.raw() == $word.as_bytes() { return Some($value); })+
                None
            }
            fn emit(&self, out: &mut LineBuf) {
                out.encoded(match self { $($value => $word),+ }.as_bytes());
            }
        }
        impl FieldValue for Vec<$type> {
            fn parse(value: Value<'_>) -> Option<Vec<$type>> {
                // Unknown words of a newer node are left out, not refused.
                Some(value.raw().split(|b| *b == b',')
                    .filter_map(|part| {
                        $(if part == $word.as_bytes() { return Some($value); })+
                        None
                    }).collect())
            }
            fn emit(&self, out: &mut LineBuf) {
                for (at, one) in self.iter().enumerate() {
                    if at > 0 { out.encoded(b","); }
                    one.emit(out);
                }
            }
        }
    )+};
}

/// The contents of a trial's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Traffic {
    /// Test frames (`spec/test-frame.md`).
    #[default]
    Test,
    /// iperf 2.
    Iperf2,
}

/// The path of frames through the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Path {
    /// The node's network stack (its driver for Ethernet trials).
    #[default]
    Stack,
    /// Past the stack: the blaster, or a reflector in the driver.
    Driver,
    /// From the driver to the application by the packet identifier.
    FastTrack,
    /// Out and back inside the MAC, without the wire.
    Loopback,
}

impl Path {
    /// The path in a trial; `None` for one that no trial has.
    pub const fn of_a_trial(self) -> Option<wirelab_trial::Path> {
        match self {
            Path::Stack => Some(wirelab_trial::Path::Stack),
            Path::Driver => Some(wirelab_trial::Path::Driver),
            Path::FastTrack => Some(wirelab_trial::Path::FastTrack),
            Path::Loopback => None,
        }
    }
}

impl From<wirelab_trial::Path> for Path {
    fn from(path: wirelab_trial::Path) -> Path {
        match path {
            wirelab_trial::Path::Stack => Path::Stack,
            wirelab_trial::Path::Driver => Path::Driver,
            wirelab_trial::Path::FastTrack => Path::FastTrack,
        }
    }
}

/// What hardware capture units record of a frame: the time from the line to a point or from a point to the line, or all
/// of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnitPoint {
    /// From the end of a received frame until the interrupt's function is entered.
    InInterrupt,
    /// Until the driver has copied it and queued it for the stack.
    InDriver,
    /// Until the application has its data.
    InApplication,
    /// From when the application hands the data over to the first byte of the frame on the line.
    OutApplication,
    /// From when the driver begins to copy the frame.
    OutDriver,
    /// From the write that starts the MAC.
    OutMac,
    /// All of these, of each frame of an echo.
    All,
}

/// The state of the last trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// No trial was started yet.
    #[default]
    Idle,
    /// The trial runs.
    Running,
    /// It reached its extent.
    Done,
    /// A stop or its time limit ended it.
    Stopped,
    /// Its client was silent too long.
    Abandoned,
    /// The node could not continue.
    Failed,
}

words! {
    Direction { Direction::Transmit = "transmit", Direction::Receive = "receive",
        Direction::Both = "both", Direction::Echo = "echo" }
    Buffers { Buffers::Prefilled = "prefilled", Buffers::Copied = "copied", Buffers::DmaCopied = "dma-copied",
        Buffers::CopiedAhead = "copied-ahead", Buffers::InPlace = "in-place" }
    Layer { Layer::Ethernet = "ethernet", Layer::UdpIpv4 = "udp-ipv4", Layer::UdpIpv6 = "udp-ipv6",
        Layer::TcpIpv4 = "tcp-ipv4", Layer::TcpIpv6 = "tcp-ipv6" }
    Traffic { Traffic::Test = "test", Traffic::Iperf2 = "iperf2" }
    Path { Path::Stack = "stack", Path::Driver = "driver", Path::FastTrack = "fast-track",
        Path::Loopback = "loopback" }
    State { State::Idle = "idle", State::Running = "running", State::Done = "done", State::Stopped = "stopped",
        State::Abandoned = "abandoned", State::Failed = "failed" }
    ClockKind { ClockKind::Wall = "wall", ClockKind::Simulated = "simulated",
        ClockKind::Instructions = "instructions" }
    Owner { Owner::Tester = "tester", Owner::Node = "node" }
    Wait { Wait::Sleep = "sleep", Wait::Spin = "spin" }
    Probes { Probes::Auto = "auto", Probes::Fentry = "fentry", Probes::Raw = "raw", Probes::Off = "off" }
    UnitPoint { UnitPoint::InInterrupt = "in.interrupt", UnitPoint::InDriver = "in.driver",
        UnitPoint::InApplication = "in.application", UnitPoint::OutApplication = "out.application",
        UnitPoint::OutDriver = "out.driver", UnitPoint::OutMac = "out.mac",
        UnitPoint::All = "all" }
    Spans { Spans::Wire = "wire", Spans::Pin = "pin", Spans::Call = "call" }
}

/// The load that the node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// `load=max`: as fast as it can.
    Max,
    /// `load_ppm`: millionths of the link rate.
    LinkPpm(u32),
    /// `load_milliframes_per_s`: thousandths of a frame per second.
    MilliframesPerS(u64),
    /// `load_bits_per_s`: link bits on Ethernet, application bits on UDP and TCP.
    BitsPerS(u64),
    /// `load_gap_bytes`: bytes between the end of one frame and the preamble of the next.
    GapBytes(u32),
}

/// When a trial ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// `frames`: after this many frames of a flow.
    Frames(u64),
    /// `time_ps`: after this many picoseconds of the node's clock.
    TimePs(u64),
}

/// A key and the parser of its value.
type Choice<T> = (&'static str, fn(Value<'_>) -> Option<T>);

/// At most one of several keys may be present; `first` names the choice in the error for several.
fn choice<T>(
    line: &Line<'_>,
    first: &'static str,
    keys: &[Choice<T>],
) -> Result<Option<T>, FieldError> {
    let mut found = None;
    for (key, parse) in keys {
        let Some(value) = line.get(key) else { continue };
        if found.is_some() {
            return Err(FieldError::Value(first));
        }
        found = Some(parse(value).ok_or(FieldError::Value(key))?);
    }
    Ok(found)
}

fn sized<T: FieldValue, U>(value: Value<'_>, make: fn(T) -> U) -> Option<U> {
    T::parse(value).map(make)
}

impl Slot for Option<Load> {
    fn take(line: &Line<'_>, _: &'static str) -> Result<Option<Load>, FieldError> {
        choice(
            line,
            "load",
            &[
                ("load", |v| (v.raw() == b"max").then_some(Load::Max)),
                ("load_ppm", |v| sized(v, Load::LinkPpm)),
                ("load_milliframes_per_s", |v| {
                    sized(v, Load::MilliframesPerS)
                }),
                ("load_bits_per_s", |v| sized(v, Load::BitsPerS)),
                ("load_gap_bytes", |v| sized(v, Load::GapBytes)),
            ],
        )
    }
    fn put(&self, _: &'static str, out: &mut LineBuf) {
        match *self {
            None => {}
            Some(Load::Max) => out.field("load", b"max"),
            Some(Load::LinkPpm(n)) => out.number_field("load_ppm", u64::from(n)),
            Some(Load::MilliframesPerS(n)) => out.number_field("load_milliframes_per_s", n),
            Some(Load::BitsPerS(n)) => out.number_field("load_bits_per_s", n),
            Some(Load::GapBytes(n)) => out.number_field("load_gap_bytes", u64::from(n)),
        }
    }
    fn knows(_: &'static str, field: &str) -> bool {
        [
            "load",
            "load_ppm",
            "load_milliframes_per_s",
            "load_bits_per_s",
            "load_gap_bytes",
        ]
        .contains(&field)
    }
}

impl Slot for Extent {
    fn take(line: &Line<'_>, _: &'static str) -> Result<Extent, FieldError> {
        let found = choice(
            line,
            "frames",
            &[
                ("frames", |v| sized(v, Extent::Frames)),
                ("time_ps", |v| sized(v, Extent::TimePs)),
            ],
        )?;
        found.ok_or(FieldError::Missing("frames"))
    }
    fn put(&self, _: &'static str, out: &mut LineBuf) {
        match *self {
            Extent::Frames(n) => out.number_field("frames", n),
            Extent::TimePs(n) => out.number_field("time_ps", n),
        }
    }
    fn knows(_: &'static str, field: &str) -> bool {
        field == "frames" || field == "time_ps"
    }
}

const fn size(unit: SizeUnit) -> (&'static str, SizeUnit) {
    match unit {
        SizeUnit::Frame => ("frame_bytes", unit),
        SizeUnit::Length => ("length_bytes", unit),
        SizeUnit::Payload => ("payload_bytes", unit),
        SizeUnit::Datagram => ("datagram_bytes", unit),
    }
}
const UNITS: [SizeUnit; 4] = [
    SizeUnit::Frame,
    SizeUnit::Length,
    SizeUnit::Payload,
    SizeUnit::Datagram,
];

impl Slot for Option<Size> {
    fn take(line: &Line<'_>, _: &'static str) -> Result<Option<Size>, FieldError> {
        let mut found = None;
        for (key, unit) in UNITS.map(size) {
            if let Some(bytes) = <Option<u32> as Slot>::take(line, key)? {
                if found.is_some() {
                    return Err(FieldError::Value("frame_bytes"));
                }
                found = Some(Size { unit, bytes });
            }
        }
        Ok(found)
    }
    fn put(&self, _: &'static str, out: &mut LineBuf) {
        if let Some(size_field) = self {
            out.number_field(size(size_field.unit).0, u64::from(size_field.bytes));
        }
    }
    fn knows(_: &'static str, field: &str) -> bool {
        UNITS.map(size).iter().any(|(key, _)| *key == field)
    }
}
