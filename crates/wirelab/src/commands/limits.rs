//! `wirelab limits`: the most that a link can carry. Every figure is computed from the link's rate.

use wirelab_report::limits::{SizeLimit, document};
use wirelab_wire::{Layer, LineRate, Overhead, Size};

use crate::args::LimitsArgs;
use crate::ask;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{show_document, show_json};

pub fn run(args: &LimitsArgs) -> Result {
    let overhead = Overhead {
        preamble: args.preamble,
        gap: args.gap,
    };
    let bits_per_s = ask::rate("--rate", &args.rate)?;
    let link = LineRate::new(bits_per_s)
        .expect("a rate of 0 is refused")
        .with_overhead(overhead);
    let cpu_hz = args
        .cpu
        .as_deref()
        .map(|hz| ask::frequency("--cpu", hz))
        .transpose()?;
    let framing = ask::framing(&args.framing, Layer::Ethernet)?;
    let sizes = ask::sizes(&args.size, Size::usual(Layer::Ethernet));
    let limits = sizes
        .into_iter()
        .map(|size| SizeLimit::of(size, framing, link, cpu_hz))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Failure::usage)?;
    match args.json {
        true => show_json(&limits)?,
        false => show_document(&document(bits_per_s, &limits)),
    }
    Ok(Outcome::Done)
}
