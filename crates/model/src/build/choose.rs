//! Chooses the paths of the file for a trial, and words the refusal if none fits.

use wirelab_trial::{
    Accepts, Buffers, Direction, Layer, NodeError, Path, SizeLimits, Trial, TrialField,
    TrialOption, Wait,
};

use super::{BuildError, unsupported};
use crate::file::{NodeFile, PathDecl};

/// Indices of the paths that a trial takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// One direction.
    One(usize),
    /// Both directions at once.
    Both { transmit: usize, receive: usize },
    /// An echo: the node returns what it receives.
    Echo { transmit: usize, receive: usize },
}

/// Refuses what no model can do, whatever its file says. The file's paths decide about layers, directions, buffers and paths.
fn accepts(file: &NodeFile, trial: &Trial) -> Result<(), NodeError> {
    let accepts = Accepts {
        layers: &[trial.framing.layer],
        directions: &[trial.direction],
        vlan_tags: trial.framing.vlan_tags,
        ports: file.ports,
        buffers: trial.buffers.as_slice(),
        paths: trial.path.as_slice(),
        // Options without effect: strict gaps, since in simulated time no frame is late, and the code point, which no
        // stage reads.
        options: &[
            TrialOption::Dscp,
            TrialOption::Link,
            TrialOption::Buffers,
            TrialOption::Path,
            TrialOption::Wait,
            TrialOption::StrictGaps,
        ],
        sizes: SizeLimits::TestFrame,
        reasons: &[
            (
                TrialField::Option(TrialOption::Faults),
                "a model sends no damaged frames; fix: leave them out",
            ),
            (
                TrialField::Option(TrialOption::Background),
                "a model has no other traffic; fix: leave it out",
            ),
            (
                TrialField::Option(TrialOption::Rule),
                "a model's fast track takes every frame of the trial; fix: leave it out",
            ),
            (
                TrialField::Option(TrialOption::Probes),
                "a model takes its times without probes; fix: leave it out",
            ),
        ],
        otherwise: "a model does not have this; fix: leave it out",
    };
    accepts.check(trial)
}

/// Chooses the paths for `trial`, and checks everything that does not depend on them.
pub(crate) fn choose(file: &NodeFile, trial: &Trial) -> Result<Choice, BuildError> {
    accepts(file, trial)?;
    let pick = |direction| pick(file, trial, direction);
    Ok(match trial.direction {
        Direction::Transmit | Direction::Receive => Choice::One(pick(trial.direction)?),
        Direction::Both => Choice::Both {
            transmit: pick(Direction::Transmit)?,
            receive: pick(Direction::Receive)?,
        },
        Direction::Echo => Choice::Echo {
            transmit: pick(Direction::Transmit)?,
            receive: pick(Direction::Receive)?,
        },
    })
}

fn pick(file: &NodeFile, trial: &Trial, direction: Direction) -> Result<usize, BuildError> {
    let layer = trial.framing.layer;
    let bytes = trial.sizes().map_or(0, |s| s.datagram.unwrap_or(s.length));
    let same_frames = |path: &PathDecl| path.direction == direction && path.layers.contains(&layer);
    let fits = |path: &PathDecl| same_frames(path) && path.up_to_bytes.is_none_or(|m| bytes <= m);
    let paths: Vec<(usize, &PathDecl)> = file
        .paths
        .iter()
        .enumerate()
        .filter(|(_, path)| fits(path))
        .collect();
    if paths.is_empty() {
        let largest = file
            .paths
            .iter()
            .filter(|p| same_frames(p))
            .filter_map(|p| p.up_to_bytes)
            .max();
        return Err(match largest {
            Some(largest) => unsupported(
                TrialField::Size,
                format!(
                    "the paths of the file end at {largest} bytes of data, and this is {bytes}; fix: request a smaller size"
                ),
            ),
            None => no_path(file, layer, direction),
        });
    }
    let paths = of_path_and_wait(file, trial, direction, paths)?;
    // Buffers are how frame data reach the MAC, so a receive path may leave them out.
    let unsaid =
        direction == Direction::Receive && paths.iter().all(|(_, path)| path.buffers.is_empty());
    let found = match trial.buffers {
        Some(wanted) if !unsaid => paths
            .iter()
            .find(|(_, path)| path.buffers.contains(&wanted)),
        _ => paths
            .iter()
            .find(|(_, path)| path.default)
            .or_else(|| paths.iter().find(|(_, path)| path.buffers.is_empty()))
            .or(paths.first()),
    };
    found
        .map(|(index, _)| *index)
        .ok_or_else(|| no_buffers(&paths, trial.buffers, layer, direction))
}

/// The paths with the kernel path and the wait that the trial requests. A trial that requests neither gets the stack
/// and an application that sleeps, if the node has those.
fn of_path_and_wait<'p>(
    file: &NodeFile,
    trial: &Trial,
    direction: Direction,
    mut paths: Paths<'p>,
) -> Result<Paths<'p>, BuildError> {
    let stack = Path::Stack;
    let said = file.paths.iter().any(|p| p.path.is_some());
    paths = narrowed(
        paths,
        (TrialOption::Path, said, direction),
        (trial.path, stack),
        |p| p.path,
    )?;
    let said = file.paths.iter().any(|p| p.wait.is_some());
    narrowed(
        paths,
        (TrialOption::Wait, said, direction),
        (trial.wait, Wait::Sleep),
        |p| p.wait,
    )
}

type Paths<'p> = Vec<(usize, &'p PathDecl)>;

fn narrowed<'p, T: Copy + PartialEq + ToString>(
    paths: Paths<'p>,
    (field, said, direction): (TrialOption, bool, Direction),
    (wanted, unasked): (Option<T>, T),
    of: impl Fn(&PathDecl) -> Option<T>,
) -> Result<Paths<'p>, BuildError> {
    let have = distinct(paths.iter().filter_map(|(_, p)| of(p)));
    let like = |word: T| -> Paths<'p> {
        let like = |p: &PathDecl| of(p).is_none_or(|is| is == word);
        paths.iter().filter(|(_, p)| like(p)).copied().collect()
    };
    match wanted {
        // This field matters only to the other direction.
        Some(_) if have.is_empty() && said => Ok(paths),
        Some(_) if have.is_empty() => Err(unsupported(
            field,
            "the paths of this file name none; fix: leave it out",
        )),
        Some(word) if !have.contains(&word) => Err(unsupported(
            field,
            format!(
                "no path for {direction} by {}; fix: choose {}",
                word.to_string(),
                have.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        )),
        Some(word) => Ok(like(word)),
        None if like(unasked).is_empty() => Ok(paths),
        None => Ok(like(unasked)),
    }
}

fn no_path(file: &NodeFile, layer: Layer, direction: Direction) -> BuildError {
    let layers = distinct(
        file.paths
            .iter()
            .filter(|p| p.direction == direction)
            .flat_map(|p| p.layers.iter().copied()),
    );
    if layers.is_empty() {
        let other = if direction == Direction::Transmit {
            Direction::Receive
        } else {
            Direction::Transmit
        };
        return unsupported(
            TrialField::Direction,
            format!("the file has no path for {direction}; fix: choose {other}"),
        );
    }
    let names: Vec<&str> = layers.into_iter().map(Layer::word).collect();
    unsupported(
        TrialField::Layer,
        format!(
            "no path for {direction} on {}; fix: choose {}",
            layer.word(),
            names.join(", ")
        ),
    )
}

fn no_buffers(
    paths: &[(usize, &PathDecl)],
    wanted: Option<Buffers>,
    layer: Layer,
    direction: Direction,
) -> BuildError {
    let names: Vec<String> = distinct(paths.iter().flat_map(|(_, p)| p.buffers.iter().copied()))
        .iter()
        .map(Buffers::to_string)
        .collect();
    let wanted = wanted.map_or(String::new(), |b| b.to_string());
    let ask = if names.is_empty() {
        "leave them out".to_owned()
    } else {
        format!("choose {}", names.join(", "))
    };
    unsupported(
        TrialOption::Buffers,
        format!(
            "no path for {direction} on {} with {wanted} buffers; fix: {ask}",
            layer.word()
        ),
    )
}

/// The items in their order, without duplicates.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}
