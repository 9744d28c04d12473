//! A trial in files: the keys of a plan's matrix, with one value each.

use wirelab_trial::{Buffers, Extent, Framing, Layer, Load, Size, SizeUnit, Trial};

use crate::error::Read;
use crate::table::Entry;
use crate::table::Table;
use crate::units::parse_percent;

/// The keys of a trial.
pub const TRIAL_KEYS: [&str; 20] = [
    "layer",
    "vlan",
    "frame",
    "length",
    "payload",
    "datagram",
    "load",
    "direction",
    "ports",
    "buffers",
    "time",
    "frames",
    "rate",
    "path",
    "wait",
    "rule",
    "background",
    "probes",
    "strict_gaps",
    "dscp",
];

/// The keys that a section of a plan, matrix or search, has once for all its trials.
pub const SHARED_KEYS: [&str; 3] = ["rate", "strict_gaps", "dscp"];

/// The four units of a size.
pub const SIZE_UNITS: [SizeUnit; 4] = [
    SizeUnit::Frame,
    SizeUnit::Length,
    SizeUnit::Payload,
    SizeUnit::Datagram,
];

/// Default time of a trial without time and frames, in ps.
pub const DEFAULT_TIME_PS: u64 = 1_000_000_000_000;

/// The trial of the table `own`, with `defaults` for missing keys. A size or an extent in `own` replaces any in
/// `defaults`.
///
/// # Errors
/// At unknown keys, invalid values, a missing size, and sizes that the framing does not allow.
pub fn trial(own: &Table<'_>, defaults: Option<&Table<'_>>) -> Read<Trial> {
    read_trial(
        own,
        defaults,
        &|framing| size(own, defaults, framing),
        &load,
    )
}

/// The trial of a published row, like [`trial`] but without its limits: an audit looks for sizes that no frame has and
/// loads above the link. The size is `None` where the page gives none.
///
/// # Errors
/// As [`trial`], without the limits of a test frame and of a link.
pub fn published(own: &Table<'_>, defaults: Option<&Table<'_>>) -> Read<(Trial, Option<Size>)> {
    let printed = |framing: Framing| -> Read<Option<Size>> {
        for table in [Some(own), defaults].into_iter().flatten() {
            let mut found = one_size(table, |entry, unit| {
                let size = Size::new(unit, entry.whole(1, u64::from(u32::MAX))? as u32);
                size.resolve(framing).map_err(|what| entry.error(what))?;
                Ok(size)
            })?;
            if found.is_some() {
                return Ok(found.take());
            }
        }
        Ok(None)
    };
    let size = |framing: Framing| {
        let any = Size::new(SizeUnit::Frame, wirelab_wire::size::MIN_FRAME);
        Ok(printed(framing)?.unwrap_or(any))
    };
    let trial = read_trial(own, defaults, &size, &printed_load)?;
    let known = printed(trial.framing)?;
    Ok((trial, known))
}

fn load(entry: &Entry<'_>) -> Read<Load> {
    entry.word()
}

/// A load as printed: a share may be above 100 %.
fn printed_load(entry: &Entry<'_>) -> Read<Load> {
    let share = entry.text().ok();
    let share = share.and_then(|text| parse_percent(text.trim()));
    match share {
        Some(ratio) if ratio > 1.0 && ratio < 1e9 => Ok(Load::LinkShare {
            percent: 100.0 * ratio,
        }),
        _ => load(entry),
    }
}

fn read_trial(
    own: &Table<'_>,
    defaults: Option<&Table<'_>>,
    size: &dyn Fn(Framing) -> Read<Size>,
    load: &dyn Fn(&Entry<'_>) -> Read<Load>,
) -> Read<Trial> {
    own.known_keys(&TRIAL_KEYS)?;
    if let Some(defaults) = defaults {
        defaults.known_keys(&TRIAL_KEYS)?;
    }
    let get = |key: &'static str| own.get(key).or_else(|| defaults?.get(key));
    let framing = Framing {
        layer: get("layer").map_or(Ok(Layer::Ethernet), |e| e.layer())?,
        vlan_tags: get("vlan").map_or(Ok(0), |e| e.whole(0, 2).map(|n| n as u8))?,
    };
    let direction = match get("direction") {
        Some(entry) => entry.word()?,
        None => wirelab_trial::Direction::Transmit,
    };
    let load = get("load").map_or(Ok(Load::Max), |e| load(&e))?;
    let extent = extent_of(own)?.or(defaults.map(extent_of).transpose()?.flatten());
    let extent = extent.unwrap_or(Extent::Time {
        time_ps: DEFAULT_TIME_PS,
    });
    let mut trial = Trial {
        ports: get("ports").map_or(Ok(1), |e| e.whole(1, 256).map(|n| n as u32))?,
        buffers: get("buffers").map(|e| e.word::<Buffers>()).transpose()?,
        path: get("path").map(|e| e.word()).transpose()?,
        wait: get("wait").map(|e| e.word()).transpose()?,
        rule: get("rule").map(|e| e.text()).transpose()?,
        background: get("background").map_or(Ok(None), |e| e.background())?,
        probes: get("probes").map(|e| e.word()).transpose()?,
        ..Trial::new(framing, direction, size(framing)?, load, extent)
    };
    shared(get, &mut trial)?;
    Ok(trial)
}

/// Reads the keys that a trial, a matrix and a search share ([`SHARED_KEYS`]), with one value each, into `trial`.
///
/// # Errors
/// At invalid values.
pub fn shared<'a>(get: impl Fn(&'static str) -> Option<Entry<'a>>, trial: &mut Trial) -> Read<()> {
    if let Some(entry) = get("rate") {
        trial.link_bits_per_s = Some(entry.rate()?);
    }
    if let Some(entry) = get("strict_gaps") {
        trial.strict_gaps = entry.flag()?;
    }
    if let Some(entry) = get("dscp") {
        trial.dscp = Some(entry.word()?);
    }
    Ok(())
}

fn size(own: &Table<'_>, defaults: Option<&Table<'_>>, framing: Framing) -> Read<Size> {
    let of = |table: &Table<'_>| one_size(table, |entry, unit| read_size(entry, unit, &[framing]));
    let size = match of(own)? {
        Some(size) => Some(size),
        None => defaults.map(of).transpose()?.flatten(),
    };
    size.ok_or_else(|| {
        own.error_here("it has no size; fix: write frame = 64, or length, payload or datagram")
    })
}

/// The one size of a table, in whichever unit.
fn one_size(
    table: &Table<'_>,
    read: impl Fn(&Entry<'_>, SizeUnit) -> Read<Size>,
) -> Read<Option<Size>> {
    let mut found = None;
    for unit in SIZE_UNITS {
        let Some(entry) = table.get(unit.name()) else {
            continue;
        };
        if found.is_some() {
            return Err(entry.error("the trial also has another size; fix: keep one of them"));
        }
        found = Some(read(&entry, unit)?);
    }
    Ok(found)
}

/// A size in one of the units, valid in each of the framings.
///
/// # Errors
/// If it is not a number of bytes, or a framing does not allow it.
pub fn read_size(entry: &Entry<'_>, unit: SizeUnit, framings: &[Framing]) -> Read<Size> {
    let size = Size::new(unit, entry.whole(1, u64::from(u32::MAX))? as u32);
    for framing in framings {
        size.resolve_test(*framing)
            .map_err(|what| entry.error(what))?;
    }
    Ok(size)
}

/// When a trial ends, if the table says so.
///
/// # Errors
/// If it has both a time and a number of frames, or a value of 0.
pub fn extent_of(table: &Table<'_>) -> Read<Option<Extent>> {
    match (table.get("time"), table.get("frames")) {
        (Some(_), Some(frames)) => {
            let name = table
                .name()
                .rsplit('.')
                .next()
                .unwrap_or_default()
                .to_owned();
            Err(frames.error(format!(
                "the {name} also has a time; fix: keep one of the two"
            )))
        }
        (Some(time), None) => match time.duration()? {
            0 => Err(time.error("a trial needs time; fix: write e.g. \"3s\"")),
            time_ps => Ok(Some(Extent::Time { time_ps })),
        },
        (None, Some(frames)) => Ok(Some(Extent::Frames {
            frames: frames.whole(1, i64::MAX as u64)?,
        })),
        (None, None) => Ok(None),
    }
}
