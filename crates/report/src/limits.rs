//! The most that a link can carry. Every figure is computed from the link's rate.

use serde::Serialize;
use wirelab_trial::Kind;
use wirelab_wire::{Framing, LineRate, Size, SizeUnit, Sizes};

use crate::document::table::{Cell, Head, Shown, Table};
use crate::document::{Block, Document};
use crate::format;

/// What a link carries at most, of one size. The kind of each figure is `predicted`: it follows from the rate.
#[derive(Debug, Serialize)]
pub struct SizeLimit {
    #[serde(flatten)]
    sizes: Sizes,
    link_bits_per_s: u64,
    kind: Kind,
    frames_per_s: f64,
    whole_frames_per_s: u64,
    payload_bytes_per_s: u64,
    payload_bits_per_s: f64,
    efficiency: f64,
    frame_time_ps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_cycles_per_frame: Option<f64>,
}

impl SizeLimit {
    /// Of frames of a size on a link; with a CPU of `cpu_hz` also its cycles.
    ///
    /// # Errors
    /// Why a test frame cannot have the size, and the fix.
    pub fn of(
        size: Size,
        framing: Framing,
        link: LineRate,
        cpu_hz: Option<u64>,
    ) -> Result<SizeLimit, String> {
        let sizes = size.resolve(framing).map_err(|error| error.to_string())?;
        refuse_padded(size, &sizes, framing)?;
        refuse_large(size, &sizes, framing)?;
        let frames_per_s = link.frames_per_s(&sizes);
        Ok(SizeLimit {
            sizes,
            link_bits_per_s: link.bits_per_s(),
            kind: Kind::Predicted,
            frames_per_s,
            whole_frames_per_s: link.whole_frames_per_s(&sizes),
            payload_bytes_per_s: link.payload_bytes_per_s(&sizes),
            payload_bits_per_s: frames_per_s * 8.0 * f64::from(sizes.payload),
            efficiency: link.overhead.efficiency(&sizes),
            frame_time_ps: link.frame_time_ps(&sizes),
            cpu_cycles_per_frame: cpu_hz.map(|hz| link.cycles_per_frame(&sizes, hz)),
        })
    }
}

/// The limits of a link of that rate.
pub fn document(bits_per_s: u64, limits: &[SizeLimit]) -> Document<'static> {
    Document {
        title: format!(
            "Limits of a link of {}",
            format::si(bits_per_s as f64, "bit/s")
        ),
        blocks: vec![Block::Table(table(limits))],
        ..Document::default()
    }
}

/// The figures of a size below the standard's are those of its padded frame, which nobody requested. A datagram of any size
/// has a frame.
fn refuse_padded(size: Size, sizes: &Sizes, framing: Framing) -> Result<(), String> {
    if size.unit == SizeUnit::Datagram {
        return Ok(());
    }
    let least = size.unit.of_frame(sizes.frame, framing);
    if size.bytes >= least {
        return Ok(());
    }
    let (unit, given) = (size.unit.name(), size.bytes);
    Err(format!(
        "--{unit} {given} is too small: the smallest frame of IEEE 802.3 ({} bytes) has {unit} {least}; fix: give --{unit} {least} \
         or more",
        sizes.frame
    ))
}

/// Larger frames are none that this tool sends, so nobody could measure against the limit.
fn refuse_large(size: Size, sizes: &Sizes, framing: Framing) -> Result<(), String> {
    let largest = framing.max_test_frame();
    if sizes.frame <= largest {
        return Ok(());
    }
    let (unit, given) = (size.unit.name(), size.bytes);
    let most = size.unit.of_frame(largest, framing);
    Err(format!(
        "--{unit} {given} is too large: the largest frame that wirelab sends ({largest} bytes) has {unit} {most}; fix: give \
         --{unit} {most} or less"
    ))
}

/// Each figure follows from the rate alone.
fn table(limits: &[SizeLimit]) -> Table {
    let figure = |text: String| Cell::Figure {
        text,
        kind: Kind::Predicted,
        alarm: false,
    };
    let bytes_cell = |bytes: u32| Cell::from(format::integer(bytes.into()));
    let column = |name, unit| Head::figures(name, unit, Shown::Always, 0);
    let heads = vec![
        column("frame", "B"),
        column("length", "B"),
        column("payload", "B"),
        column("whole frames/s", ""),
        column("payload", "MB/s"),
        column("payload", "Mbit/s"),
        column("efficiency", "%"),
        column("time a frame", "ns"),
        Head::figures("cycles a frame", "", Shown::IfObserved, 0),
    ];
    let row = |l: &SizeLimit| {
        vec![
            bytes_cell(l.sizes.frame),
            bytes_cell(l.sizes.length),
            bytes_cell(l.sizes.payload),
            figure(format::integer(l.whole_frames_per_s)),
            figure(format::decimal(l.payload_bytes_per_s as f64 / 1e6, 3)),
            figure(format::decimal(l.payload_bits_per_s / 1e6, 2)),
            figure(format::decimal(l.efficiency * 100.0, 2)),
            figure(format::decimal(l.frame_time_ps as f64 / 1e3, 2)),
            match l.cpu_cycles_per_frame {
                Some(cycles) => figure(format::decimal(cycles, 1)),
                None => Cell::from(""),
            },
        ]
    };
    Table::new("", heads, limits.iter().map(row).collect())
}
