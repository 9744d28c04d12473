//! Results with hostile text wherever text can be.

use wirelab_trial::*;

use super::{HOSTILE, am263x, faulty, series};

/// A file with hostile text wherever text can be.
pub fn hostile() -> ResultsFile {
    let mut file = faulty();
    let bad = || HOSTILE.to_owned();
    file.wirelab_version = bad();
    file.command = vec![bad()];
    file.environment.cpu = Field::measured(bad());
    file.environment.kernel = Field::absent(bad());
    for o in &mut file.observations {
        o.node.name = bad();
        o.node.node_type = bad();
        o.node.setup.insert(bad(), bad());
        o.status = Status::Partial { why: bad() };
        o.counters.insert(bad(), Field::absent(bad()));
        o.warnings.push(Warning {
            code: bad(),
            text: bad(),
            fix: bad(),
        });
        let mut s = series(HOSTILE, 5_000_000, 100_000);
        s.clock.tick_ps = None;
        o.series.push(s);
        for flow in &mut o.flows {
            flow.port = bad();
            flow.receiver_path = bad();
            flow.jitter_ps = Field::absent(bad());
        }
    }
    file
}

/// A datasheet with hostile text wherever text can be.
pub fn hostile_page() -> ResultsFile {
    let mut file = am263x::page();
    let bad = || HOSTILE.to_owned();
    file.command = vec![bad()];
    for o in &mut file.observations {
        o.node.name = bad();
        o.node.node_type = bad();
        for value in o.node.setup.values_mut() {
            *value = bad();
        }
        o.node.setup.insert(bad(), bad());
        o.cpu_load = Field::absent(bad());
        for flow in &mut o.flows {
            flow.jitter_ps = Field::absent(bad());
        }
    }
    for part in &mut file.parts {
        part.name = bad();
        part.refused = Some(bad());
        if let Some(SearchOutcome::Rates(result)) = &mut part.found {
            result.node = bad();
            result.ended = search::SearchEnded::Failed { why: bad() };
        }
    }
    file
}
