//! Shortest cycle times, for a reader.

use wirelab_trial::Field;
use wirelab_trial::cycle::{CycleTime, CycleTimes, NodeDelay};
use wirelab_trial::format::{integer, micros, percent, si, time};

use crate::document::table::{Cell, Head};
use crate::document::{Block, NoExplanation};
use crate::explain::document;
use crate::options::{Format, Options};
use crate::row;

/// The shortest cycles of like nodes, in one of the formats; the text ends with a line end.
///
/// # Errors
/// [`NoExplanation`] for CSV and JUnit, which have no place for it.
pub fn render_cycle(
    cycle: &CycleTimes,
    format: Format,
    options: &Options,
) -> Result<String, NoExplanation> {
    let title = options.title.clone().unwrap_or_else(|| {
        let nodes = if cycle.nodes == 1 { "node" } else { "nodes" };
        format!(
            "Shortest cycle of {} {nodes} like {}",
            integer(cycle.nodes.into()),
            cycle.node
        )
    });
    match format {
        Format::Json => Ok(cycle.to_json()),
        _ => document(title, blocks(cycle)).written(format, options),
    }
}

fn blocks(c: &CycleTimes) -> Vec<Block<'static>> {
    let heads = vec![
        Head::text("method"),
        Head::number("frames", ""),
        Head::number("on the link", "B"),
        Head::number("share of data", "%"),
        Head::number("cycle", "µs"),
        Head::number("with the node", "µs"),
    ];
    let row = |name: &str, cycle: &CycleTime| {
        vec![
            Cell::from(name),
            integer(cycle.frames).into(),
            integer(cycle.link_bytes).into(),
            percent(cycle.efficiency_ratio).into(),
            micros(cycle.cycle_ps as f64).into(),
            Cell::of(cycle.cycle_with_node_ps.clone(), |ps| micros(ps as f64)),
        ]
    };
    let mut out = vec![
        Block::Words(c.title.clone()),
        Block::Words(format!(
            "{} B of data for each node in each direction, {} link, {} to pass a summation frame on; frames with an individual \
             node's data have {} B ({}).",
            integer(c.data_bytes.into()),
            si(c.link_bits_per_s as f64, "bit/s"),
            time(c.forward_ps),
            integer(c.frame_bytes.into()),
            row::layer(c.framing.layer),
        )),
        Block::sentences(
            heads,
            vec![
                row("individual frames", &c.individual),
                row("summation frame", &c.summation),
            ],
        ),
    ];
    for (name, cycle) in [
        ("Individual frames", &c.individual),
        ("Summation frame", &c.summation),
    ] {
        out.push(Block::heading(name.to_owned()));
        let terms = cycle.terms.iter();
        out.push(Block::List(
            terms
                .map(|term| format!("{}: {}", term.what, time(term.time_ps)))
                .collect(),
        ));
    }
    out.push(Block::heading("The node's own time, once in each cycle"));
    out.push(Block::List(vec![
        delay("receive", &c.receive),
        delay("transmit", &c.transmit),
    ]));
    out.push(Block::heading("Notes"));
    out.push(Block::List(c.notes.clone()));
    out
}

fn field(value: &Field<u64>) -> String {
    match value {
        Field::Observed { value, kind } => format!("{} {}", time(*value), row::kind(*kind)),
        Field::Absent { .. } => "–".to_owned(),
    }
}

fn delay(direction: &str, delay: &NodeDelay) -> String {
    match &delay.mean_ps {
        Field::Observed { .. } => {
            format!("{direction}: {} ({})", field(&delay.mean_ps), delay.span)
        }
        Field::Absent { absent } => format!("{direction}: – ({absent})"),
    }
}
