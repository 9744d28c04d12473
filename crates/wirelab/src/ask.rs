//! Turns words on the command line into sizes, loads, trials and nodes; every error has a fix.

use wirelab_bench::{Matrix, Plan, Section, expand, parse_duration_ps};
use wirelab_model::file::NodeFile;
use wirelab_port::iface::PortName;
use wirelab_port::lab::Side;
use wirelab_trial::nearest::unknown;
use wirelab_trial::node_type::SECOND;
use wirelab_trial::{Extent, FaultRates, Framing, Layer, Size, SizeUnit, Trial};
use wirelab_wire::Mac;

use crate::args::{ExtentArgs, FramingArgs, MatrixArgs, SizeArgs};
use crate::exit::{Failure, Fallible};

/// Sizes in their given unit; by default `default`.
pub fn sizes(args: &SizeArgs, default: impl IntoIterator<Item = Size>) -> Vec<Size> {
    let with = |unit, list: &[u32]| list.iter().map(|b| Size::new(unit, *b)).collect::<Vec<_>>();
    let given = [
        with(SizeUnit::Frame, &args.frame),
        with(SizeUnit::Length, &args.length),
        with(SizeUnit::Payload, &args.payload),
        with(SizeUnit::Datagram, &args.datagram),
    ]
    .concat();
    if given.is_empty() {
        default.into_iter().collect()
    } else {
        given
    }
}

/// The matrix of the options; `default` is the default extent of a trial.
pub fn matrix(
    args: &MatrixArgs,
    extent: &ExtentArgs,
    unsaid: Layer,
    default: Extent,
) -> Fallible<Matrix> {
    let framing = framing(&args.framing, unsaid)?;
    let sizes = sizes(&args.size, Size::usual(framing.layer));
    let mut matrix = Matrix::new("command line", sizes);
    matrix.framings = vec![framing];
    if !args.load.is_empty() {
        matrix.loads = parse_all(&args.load)?;
    }
    if !args.direction.is_empty() {
        matrix.directions = parse_all(&args.direction)?;
    }
    matrix.ports = args.ports.clone();
    matrix.shared.extent = self::extent(extent, default)?;
    matrix.shared.link_bits_per_s = extent
        .rate
        .as_deref()
        .map(|r| rate("--rate", r))
        .transpose()?;
    if !args.buffers.is_empty() {
        matrix.buffers = parse_all(&args.buffers)?.into_iter().map(Some).collect();
    }
    Ok(matrix)
}

/// Whether any option says what to offer.
pub fn asks_something(args: &MatrixArgs, extent: &ExtentArgs) -> bool {
    !sizes(&args.size, []).is_empty()
        || args.framing.layer.is_some()
        || args.framing.vlan.is_some()
        || !args.load.is_empty()
        || !args.direction.is_empty()
        || !args.ports.is_empty()
        || !args.buffers.is_empty()
        || extent.rate.is_some()
        || extent.time.is_some()
        || extent.frames.is_some()
}

/// The trials of the options on one port of a model; by default of the largest usual size.
pub fn model_trials(
    file: &NodeFile,
    args: &MatrixArgs,
    extent: &ExtentArgs,
) -> Fallible<Vec<Trial>> {
    let mut matrix = matrix(args, extent, file.first_layer(), SECOND)?;
    if sizes(&args.size, []).is_empty() {
        matrix.sizes = matrix.sizes.split_off(matrix.sizes.len() - 1);
    }
    let plan = Plan::of(Section::Matrix(matrix));
    let steps = expand(&plan, 1).map_err(Failure::usage)?;
    Ok(steps.into_iter().map(|step| step.trial).collect())
}

/// Parses each word.
pub fn parse_all<T: std::str::FromStr>(words: &[String]) -> Fallible<Vec<T>>
where
    T::Err: std::fmt::Display,
{
    words
        .iter()
        .map(|word| word.parse().map_err(Failure::usage))
        .collect()
}

/// Layer and tags; `unsaid` is the default layer.
pub fn framing(args: &FramingArgs, unsaid: Layer) -> Fallible<Framing> {
    let layer = match args.layer.as_deref() {
        None => unsaid,
        Some(word) => Layer::of_word(word).ok_or_else(|| {
            let known = Layer::ALL.map(Layer::word);
            Failure::usage(format!("--layer: {}", unknown("layer", word, known)))
        })?,
    };
    Ok(Framing {
        layer,
        vlan_tags: args.vlan.unwrap_or(0),
    })
}

/// Rates and frequencies are below this.
const MOST: f64 = 1e15;

/// A rate in bit/s with an SI prefix or its unit. A number alone is refused: 100 may mean 100 Mbit/s.
pub fn rate(option: &str, text: &str) -> Fallible<u64> {
    with_unit(option, text, "bit/s")
}

/// A frequency in Hz, in the same form.
pub fn frequency(option: &str, text: &str) -> Fallible<u64> {
    with_unit(option, text, "Hz")
}

fn with_unit(option: &str, text: &str, unit: &str) -> Fallible<u64> {
    let bare = text.strip_suffix(unit);
    let number = wirelab_trial::load::parse_si(bare.unwrap_or(text));
    let is_bare = bare.is_none() && text.ends_with(|c: char| !c.is_ascii_alphabetic());
    let example = format!("write a number with k, M, G or T, e.g. {option} 100M");
    let (what, fix) = match number {
        None => (format!("invalid {option} '{text}'"), example),
        Some(n) if n < 1.0 => (format!("{option} {text} is less than 1 {unit}"), example),
        Some(n) if n >= MOST => (format!("{option} {text} is more than 1000T{unit}"), example),
        Some(_) if is_bare => (
            format!("{option} {text} has no unit"),
            format!("write {text}M or {text}{unit}"),
        ),
        Some(number) => return Ok(number.round() as u64),
    };
    Err(Failure::usage(format!("{what}; fix: {fix}")))
}

/// A time in ps.
pub fn time_ps(option: &str, text: &str) -> Fallible<u64> {
    parse_duration_ps(text).map_err(|why| Failure::usage(format!("{option}: {why}")))
}

/// The extent of a trial; `default` where neither time nor frames are given.
pub fn extent(args: &ExtentArgs, default: Extent) -> Fallible<Extent> {
    match (args.frames, &args.time) {
        (Some(0), _) => Err(Failure::usage(
            "--frames 0 requests nothing; fix: give at least 1",
        )),
        (Some(frames), _) => Ok(Extent::Frames { frames }),
        (None, Some(text)) => match time_ps("--time", text)? {
            0 => Err(Failure::usage(format!(
                "--time {text} requests nothing; fix: give a longer time, e.g. 200ms"
            ))),
            time_ps => Ok(Extent::Time { time_ps }),
        },
        (None, None) => Ok(default),
    }
}

/// Parses faults such as `drop=1e-4,corrupt=1e-5,seed=7`, or `corrupt=1/s`.
pub fn faults(text: Option<&str>) -> Fallible<FaultRates> {
    let mut rates = FaultRates::default();
    for part in text
        .unwrap_or_default()
        .split(',')
        .filter(|p| !p.is_empty())
    {
        let bad = |why: &str| Failure::usage(format!("--inject {part}: {why}"));
        let (name, value) = part.split_once('=').ok_or_else(|| {
            bad("it is not a fault; fix: write FAULT=PROBABILITY, e.g. drop=1e-4, or FAULT=TIMES/s")
        })?;
        if name == "seed" {
            rates.seed = value
                .parse()
                .map_err(|_| bad("invalid seed; fix: write a whole number"))?;
            continue;
        }
        rates
            .set(name, value)
            .map_err(|error| bad(&error.to_string()))?;
    }
    Ok(rates)
}

/// A port's name.
pub fn port(text: &str) -> Fallible<PortName> {
    text.parse().map_err(Failure::usage)
}

/// A MAC address such as `02:57:4c:00:00:01` or `02-57-4c-00-00-01`.
pub fn mac(option: &str, text: &str) -> Fallible<[u8; 6]> {
    let mac = text.replace('-', ":").parse::<Mac>();
    mac.map(|mac| mac.0).map_err(|_| {
        Failure::usage(format!(
            "invalid {option} {text}; fix: write a MAC address, e.g. 02:57:4c:00:00:01"
        ))
    })
}

/// A side of a lab.
pub fn side(text: &str) -> Fallible<Side> {
    Ok(text.parse::<Side>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelab_trial::FaultsPer;

    #[test]
    fn faults_are_read_and_refused() {
        let rates = faults(Some("drop=1e-4,header-corrupt=0.5,seed=7")).unwrap();
        assert_eq!(
            (rates.drop, rates.header_corrupt, rates.seed),
            (1e-4, 0.5, 7)
        );
        assert!(faults(None).unwrap().is_clean());
        let error = faults(Some("melt=1")).unwrap_err().to_string();
        assert!(
            error.contains("--inject melt=1: unknown fault 'melt'; fix: write one of drop,"),
            "{error}"
        );
        let by_time = faults(Some("corrupt=1/s,bad-fcs=2/s")).unwrap();
        assert_eq!(
            (by_time.corrupt, by_time.bad_fcs, by_time.per),
            (1.0, 2.0, FaultsPer::Second)
        );
        let error = faults(Some("drop=0.5,corrupt=1/s"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("--inject corrupt=1/s: the faults of a trial are either all"),
            "{error}"
        );
        for bad in ["drop", "drop=2", "drop=-1", "drop=nan", "drop=1/h"] {
            assert!(faults(Some(bad)).is_err(), "{bad}");
        }
    }
}
