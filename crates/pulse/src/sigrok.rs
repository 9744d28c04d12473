//! Sessions of sigrok and PulseView (`.sr`, sigrok session file format version 2): a ZIP archive with `metadata`, and
//! samples in `logic-1-1`, `logic-1-2`, … or `analog-1-N-1`, ….

use std::io::{BufReader, Read, Seek};

use zip::ZipArchive;

use crate::error::{PulseFault, choose};
use crate::levels::{self, Follower, push};
use crate::units::{clock_ps, period_ps};
use crate::{Edge, MOST_SAMPLES, PulseOptions, Samples, UncertaintySource};

/// Bytes of the longest `metadata`.
const LONGEST_METADATA: u64 = 1 << 20;
/// Bytes of samples that are read: 2 GiB, which is more than a minute at 24 MHz.
const MOST_BYTES: u64 = 1 << 31;
/// Most parts of a capture.
const MOST_PARTS: usize = 1 << 16;

/// What `metadata` says about its first device.
#[derive(Debug, Default)]
struct Metadata {
    period_ps: Option<f64>,
    unit_bytes: usize,
    capture: Option<String>,
    /// Names of the channels, and the numbers of their bits or files; digital ones first.
    names: Vec<String>,
    channels: Vec<Channel>,
}

#[derive(Clone, Copy, Debug)]
enum Channel {
    /// The bit of a sample, from 0.
    Bit(usize),
    /// The number of its files.
    Analogue(usize),
}

/// The channel of a session.
///
/// # Errors
/// Why it cannot be read, with the fix.
pub fn read(file: impl Read + Seek, wanted: &PulseOptions) -> Result<Samples, PulseFault> {
    let mut archive =
        ZipArchive::new(BufReader::new(file)).map_err(|error| bad(&error.to_string()))?;
    let metadata = metadata(&mut archive)?;
    let at = choose(&metadata.names, wanted.channel.as_deref())?;
    let (period, source) = match (wanted.sampling_ps, metadata.period_ps) {
        (Some(given), _) => (given, UncertaintySource::Given),
        (None, Some(stated)) => (stated, UncertaintySource::Sampling),
        (None, None) => {
            return Err("its metadata has no samplerate; fix: give it with --sampling, e.g. --sampling 24MHz".into());
        }
    };
    let capture = metadata.capture.as_deref().unwrap_or("logic-1");
    let mut samples = Samples {
        format: "sr",
        channel: metadata.names[at].clone(),
        begins_high: None,
        edges: Vec::new(),
        span_ps: (0, 0),
        step_ps: period.ceil() as u64,
        source,
        threshold: None,
    };
    let count = match metadata.channels[at] {
        Channel::Bit(bit) => {
            let mut levels = Bits::new(bit, metadata.unit_bytes, period);
            parts(&mut archive, capture, &mut |bytes| levels.take(bytes))?;
            (samples.begins_high, samples.edges) = (levels.begins_high, levels.edges);
            levels.samples
        }
        Channel::Analogue(number) => {
            let mut volts = Volts::default();
            let files = format!("analog-1-{number}");
            parts(&mut archive, &files, &mut |bytes| volts.take(bytes))?;
            let levels = match wanted.threshold {
                Some(_) => None,
                None => Some(levels::of(&volts.samples)?),
            };
            let mut follower = Follower::new(levels, wanted.threshold);
            for (n, value) in volts.samples.iter().enumerate() {
                follower.take(n as f64 * period, f64::from(*value))?;
            }
            samples.threshold = Some(follower.threshold());
            (samples.begins_high, samples.edges) = follower.finish();
            volts.samples.len() as u64
        }
    };
    samples.span_ps.1 = clock_ps(count as f64 * period).ok_or_else(|| bad("it is too long"))?;
    Ok(samples)
}

fn bad(why: &str) -> PulseFault {
    format!("it is not a session of sigrok: {why}; fix: save it again in PulseView or with sigrok-cli -o FILE.sr").into()
}

fn metadata<R: Read + Seek>(archive: &mut ZipArchive<R>) -> Result<Metadata, PulseFault> {
    let file = archive
        .by_name("metadata")
        .map_err(|error| bad(&format!("metadata: {error}")))?;
    let mut text = String::new();
    let read = file.take(LONGEST_METADATA).read_to_string(&mut text);
    read.map_err(|error| bad(&format!("metadata: {error}")))?;
    let mut found = Metadata {
        unit_bytes: 1,
        ..Metadata::default()
    };
    let lines = text
        .lines()
        .skip_while(|line| !line.trim().starts_with("[device "));
    // Of the first device: a second one is another section.
    let of_first = lines
        .skip(1)
        .take_while(|line| !line.trim().starts_with('['));
    let digital = text.lines().find_map(|line| {
        Some(
            line.trim()
                .strip_prefix("total probes=")?
                .trim()
                .parse::<usize>(),
        )
    });
    let digital = digital.and_then(Result::ok).unwrap_or(0);
    let (mut bits, mut volts) = (Vec::new(), Vec::new());
    for line in of_first {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let numbered = |word: &str| {
            key.strip_prefix(word)
                .and_then(|n| n.parse::<usize>().ok())
                .filter(|n| *n > 0)
        };
        match key {
            "samplerate" => found.period_ps = period_ps(value),
            "capturefile" => found.capture = Some(value.to_owned()),
            "unitsize" => {
                let bytes = value.parse().ok().filter(|bytes| (1..=64).contains(bytes));
                found.unit_bytes = bytes.ok_or_else(|| bad(&format!("unitsize is {value}")))?;
            }
            _ => {
                if let Some(number) = numbered("probe") {
                    bits.push((value.to_owned(), Channel::Bit(number - 1)));
                } else if let Some(number) = numbered("analog") {
                    volts.push((value.to_owned(), Channel::Analogue(number)));
                }
            }
        }
    }
    let fits = |channel: &Channel| match channel {
        Channel::Bit(bit) => *bit < 8 * found.unit_bytes && *bit < digital.max(1),
        Channel::Analogue(_) => true,
    };
    let all = bits
        .into_iter()
        .chain(volts)
        .filter(|(_, channel)| fits(channel));
    (found.names, found.channels) = all.unzip();
    Ok(found)
}

/// Gives the bytes of all parts of a capture, in their order.
fn parts<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
    take: &mut dyn FnMut(&[u8]) -> Result<(), PulseFault>,
) -> Result<(), PulseFault> {
    let mut left = MOST_BYTES;
    let alone = archive.index_for_name(name).is_some();
    for number in 1..=MOST_PARTS {
        let part = match alone {
            true => name.to_owned(),
            false => format!("{name}-{number}"),
        };
        let Some(index) = archive.index_for_name(&part) else {
            return match number {
                1 => Err(bad(&format!("{part} is missing"))),
                _ => Ok(()),
            };
        };
        let wrong = |error: &dyn std::fmt::Display| bad(&format!("{part}: {error}"));
        let mut file = archive.by_index(index).map_err(|error| wrong(&error))?;
        let mut buffer = [0; 1 << 14];
        loop {
            let read = file.read(&mut buffer).map_err(|error| wrong(&error))?;
            if read == 0 {
                break;
            }
            left = left.checked_sub(read as u64).ok_or(
                "it has more than 2 GiB of samples; fix: save the part with the pulse alone",
            )?;
            take(&buffer[..read])?;
        }
        if alone {
            return Ok(());
        }
    }
    Err(bad("it has more than 65536 parts"))
}

/// The levels of a bit.
struct Bits {
    bit: usize,
    unit: usize,
    period_ps: f64,
    /// Position within a sample, which may be split between two reads.
    phase: usize,
    samples: u64,
    high: Option<bool>,
    begins_high: Option<bool>,
    edges: Vec<Edge>,
}

impl Bits {
    fn new(bit: usize, unit: usize, period_ps: f64) -> Bits {
        Bits {
            bit,
            unit,
            period_ps,
            phase: 0,
            samples: 0,
            high: None,
            begins_high: None,
            edges: Vec::new(),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), PulseFault> {
        for byte in bytes {
            if self.phase == self.bit / 8 {
                self.level(byte >> (self.bit % 8) & 1 == 1)?;
            }
            self.phase += 1;
            if self.phase == self.unit {
                (self.phase, self.samples) = (0, self.samples + 1);
            }
        }
        Ok(())
    }

    fn level(&mut self, high: bool) -> Result<(), PulseFault> {
        match self.high.replace(high) {
            None => self.begins_high = Some(high),
            Some(before) if before != high => {
                push(
                    &mut self.edges,
                    clock_ps(self.samples as f64 * self.period_ps),
                    high,
                )?;
            }
            Some(_) => {}
        }
        Ok(())
    }
}

/// Samples in V, little-endian floats.
#[derive(Default)]
struct Volts {
    rest: Vec<u8>,
    samples: Vec<f32>,
}

impl Volts {
    fn take(&mut self, bytes: &[u8]) -> Result<(), PulseFault> {
        self.rest.extend(bytes);
        let whole = self.rest.len() / 4 * 4;
        for four in self.rest[..whole].chunks_exact(4) {
            let four = four.try_into().unwrap_or_default();
            self.samples.push(f32::from_le_bytes(four));
        }
        self.rest.drain(..whole);
        match self.samples.len() > MOST_SAMPLES {
            true => Err(
                "it has more than 32 Mi analogue samples; fix: save the part with the pulse alone"
                    .into(),
            ),
            false => Ok(()),
        }
    }
}
