//! Writing test frames into a capture instead of sending them: with a link's times, and with faults if requested.

use std::path::Path;

use wirelab_trial::Ledger;
use wirelab_wire::{Flags, FrameSpec, Header, LineRate, Sizes};

use super::encode::InterfaceSpec;
use super::error::CaptureError;
use super::writer::{CaptureSummary, CaptureWriter, WriterOptions};
use crate::inject::Schedule;

/// What to write.
#[derive(Clone, Debug)]
pub struct GenerateSpec {
    /// Name of the interface in the capture.
    pub interface: String,
    /// Addresses, tags and transport.
    pub frame: FrameSpec,
    /// Sizes of the frames, used in turn.
    pub sizes: Vec<Sizes>,
    /// Stream number.
    pub stream: u8,
    /// Sequences to use, from 0 on.
    pub sequences: u64,
    /// The link, whose rate determines the times of the frames.
    pub link: LineRate,
    /// Time of the first frame in ns since 1970.
    pub start_ns: u64,
    /// Whether each frame carries its time.
    pub with_time: bool,
    /// Slots of repeating frames: the sequence is taken modulo this, and the flag is set.
    pub slots: Option<u32>,
    /// Faults to make; empty for a clean capture.
    pub faults: Schedule,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The file.
    pub file: CaptureSummary,
    /// What a judge must find in it.
    pub ledger: Ledger,
}

/// Write a capture at `path`.
///
/// # Errors
/// [`CaptureError`] of the writer; [`CaptureError::BadRequest`] if there is no size.
pub fn generate(
    path: &Path,
    spec: &GenerateSpec,
    options: &WriterOptions,
) -> Result<Generated, CaptureError> {
    let interface = InterfaceSpec {
        link_rate_bits_per_s: Some(spec.link.bits_per_s()),
        ..InterfaceSpec::named(&spec.interface)
    };
    let mut writer = CaptureWriter::create(path, &[interface], options)?;
    let ledger = generate_into(&mut writer, 0, spec)?;
    let file = writer.finish()?;
    Ok(Generated { file, ledger })
}

/// Write the frames of `spec` as frames of `interface` into a capture that is being written.
///
/// # Errors
/// As [`generate`].
pub fn generate_into(
    writer: &mut CaptureWriter,
    interface: u32,
    spec: &GenerateSpec,
) -> Result<Ledger, CaptureError> {
    let Some(longest) = spec.sizes.iter().map(|s| s.length).max() else {
        return Err(CaptureError::BadRequest {
            name: spec.interface.clone(),
            why: "no size was given for its frames; fix: give one".to_owned(),
        });
    };
    let mut out = vec![0; longest as usize];
    let offset = spec.frame.header_offset();
    let emissions = spec.faults.emissions(spec.sequences);
    let mut faults = spec.faults.cursor();
    let mut elapsed_ps: u128 = 0;
    for (_, sizes) in (0..emissions).zip(spec.sizes.iter().cycle()) {
        let (sequence, mutation) = faults.next();
        let time_ns = spec.start_ns.saturating_add((elapsed_ps / 1000) as u64);
        let length = spec
            .frame
            .build(sizes, &header(spec, sequence, time_ns), &mut out);
        let length = mutation.apply(&mut out[..length], offset);
        writer.write_frame(interface, time_ns, &out[..length])?;
        elapsed_ps += u128::from(spec.link.frame_time_ps(sizes));
    }
    Ok(spec.faults.ledger(emissions))
}

fn header(spec: &GenerateSpec, sequence: u32, time_ns: u64) -> Header {
    let time = match spec.with_time {
        true => Flags::TIME_VALID,
        false => Flags::NONE,
    };
    let (flags, sequence) = match spec.slots {
        Some(slots) => (time.with(Flags::REPEATING), sequence % slots.max(1)),
        None => (time, sequence),
    };
    Header {
        flags,
        stream: spec.stream,
        sequence,
        time_ns: if spec.with_time { time_ns } else { 0 },
        lfsr_len: 0,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use wirelab_wire::{Size, SizeUnit, Transport};

    use super::*;

    pub(crate) fn ethernet() -> FrameSpec {
        FrameSpec {
            destination: [2, 0x57, 0x4C, 0, 0, 2],
            source: [2, 0x57, 0x4C, 0, 0, 1],
            vlans: [None, None],
            transport: Transport::Ethernet,
            dscp: 0,
        }
    }

    pub(crate) fn udp4() -> FrameSpec {
        FrameSpec {
            transport: Transport::UdpIpv4 {
                addresses: [[198, 18, 0, 1].into(), [198, 18, 0, 2].into()],
                ports: [5003, 5003],
            },
            ..ethernet()
        }
    }

    pub(crate) fn build(spec: &FrameSpec, frame: u32, sequence: u32) -> Vec<u8> {
        let sizes = Size::new(SizeUnit::Frame, frame)
            .resolve_test(spec.framing())
            .unwrap();
        let header = Header {
            flags: Flags::NONE,
            stream: 0,
            sequence,
            time_ns: 0,
            lfsr_len: 0,
        };
        let mut out = vec![0; sizes.length as usize];
        spec.build(&sizes, &header, &mut out);
        out
    }
}
