//! Reads `[[path]]`: which stages a frame goes through, and what is seen of it on the way.

use wirelab_config::{Entry, Read, Table};
use wirelab_trial::Direction;
use wirelab_trial::observation::Spans;

use super::read::{bounded_list, sections};
use super::{At, Edge, LoadDecl, PathDecl, PointDecl, ProbeDecl, Room};

const PATH_KEYS: [&str; 16] = [
    "name",
    "layer",
    "direction",
    "buffers",
    "path",
    "wait",
    "up_to",
    "default",
    "stages",
    "wire",
    "spans",
    "load",
    "busy_wait",
    "room",
    "point",
    "probe",
];
/// Most stages, rooms, points or probes of a path.
const MAX_ITEMS: usize = 64;
const ONCE: &str = "name it once";

pub(super) fn path(table: &Table<'_>) -> Read<PathDecl> {
    table.known_keys(&PATH_KEYS)?;
    let stages = match table.get("stages") {
        Some(entry) => bounded_list(&entry, MAX_ITEMS, Entry::text)?,
        None => Vec::new(),
    };
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
        return Err(table.at_key(
            "stages",
            "a path has at least one stage: write stages = [\"NAME\", ...]",
        ));
    };
    let direction = table.need("direction", "write \"transmit\" or \"receive\"")?;
    let direction = match direction.word()? {
        Direction::Transmit => Direction::Transmit,
        Direction::Receive => Direction::Receive,
        other => {
            return Err(direction.error(format!(
                "a path is transmit or receive; a trial with {other} takes one of each by itself"
            )));
        }
    };
    let wire = if direction == Direction::Transmit {
        last
    } else {
        first
    }
    .clone();
    Ok(PathDecl {
        name: table.need("name", "write name = \"...\"")?.text()?,
        layers: table
            .need("layer", "write e.g. layer = [\"ethernet\", \"udp4\"]")?
            .list(ONCE, Entry::layer)?,
        direction,
        buffers: table
            .get("buffers")
            .map_or(Ok(Vec::new()), |e| e.list(ONCE, Entry::word))?,
        path: table.get("path").map(|e| e.word()).transpose()?,
        wait: table.get("wait").map(|e| e.word()).transpose()?,
        up_to_bytes: table
            .get("up_to")
            .map(|e| e.whole(1, 65_535).map(|n| n as u32))
            .transpose()?,
        default: table.get("default").map_or(Ok(false), |e| e.flag())?,
        wire: table.text("wire")?.unwrap_or(wire),
        spans: table.get("spans").map_or(Ok(Spans::Wire), |e| spans(&e))?,
        load: table.section("load")?.map(|t| load(&t)).transpose()?,
        busy_wait: table.get("busy_wait").map_or(Ok(false), |e| e.flag())?,
        rooms: sections(table, "room", MAX_ITEMS)?
            .iter()
            .map(room)
            .collect::<Read<_>>()?,
        points: sections(table, "point", MAX_ITEMS)?
            .iter()
            .map(point)
            .collect::<Read<_>>()?,
        probes: sections(table, "probe", MAX_ITEMS)?
            .iter()
            .map(probe)
            .collect::<Read<_>>()?,
        stages,
    })
}

fn spans(entry: &Entry<'_>) -> Read<Spans> {
    match entry.text()?.as_str() {
        "wire" => Ok(Spans::Wire),
        "pin" => Ok(Spans::Pin),
        "call" => Ok(Spans::Call),
        _ => Err(entry.error("choose one of \"wire\", \"pin\", \"call\"")),
    }
}

fn load(table: &Table<'_>) -> Read<LoadDecl> {
    table.known_keys(&["resource", "idle"])?;
    Ok(LoadDecl {
        resource: table
            .need("resource", "name the resource whose use is the load")?
            .text()?,
        idle: table.text("idle")?,
    })
}

fn room(table: &Table<'_>) -> Read<Room> {
    table.known_keys(&["name", "from", "to", "tokens"])?;
    Ok(Room {
        name: table.text("name")?.unwrap_or_else(|| "room".to_owned()),
        from: table
            .need("from", "name the stage that gives a token back")?
            .text()?,
        to: table
            .need("to", "name the stage that takes a token")?
            .text()?,
        tokens: table
            .need("tokens", "name the parameter with their number")?
            .text()?,
    })
}

fn point(table: &Table<'_>) -> Read<PointDecl> {
    table.known_keys(&["name", "from", "to"])?;
    let forms = "write \"STAGE start\" or \"STAGE end\"";
    Ok(PointDecl {
        name: table.need("name", "write name = \"...\"")?.text()?,
        from: at(&table.need("from", forms)?)?,
        to: at(&table.need("to", forms)?)?,
    })
}

fn probe(table: &Table<'_>) -> Read<ProbeDecl> {
    table.known_keys(&["name", "at", "clock"])?;
    Ok(ProbeDecl {
        name: table.need("name", "write name = \"...\"")?.text()?,
        at: at(&table.need("at", "write \"STAGE start\" or \"STAGE end\"")?)?,
        clock: table
            .need("clock", "name the parameter that is its clock")?
            .text()?,
    })
}

fn at(entry: &Entry<'_>) -> Read<At> {
    let text = entry.text()?;
    let (stage, edge) = match text.trim().rsplit_once(' ') {
        Some((stage, "start")) => (stage, Edge::Start),
        Some((stage, "end")) => (stage, Edge::End),
        _ => return Err(entry.error("write \"STAGE start\" or \"STAGE end\"")),
    };
    Ok(At {
        stage: stage.trim().to_owned(),
        edge,
    })
}
