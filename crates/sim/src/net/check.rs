//! Checks that a net can run: indices, bounds, triggers, and a token on every circuit.

use super::{Net, OnMissing, Place, Stage, Trigger};

/// Most resources, stages, places or chains of a net.
pub const MAX_ITEMS: usize = 4096;
/// Longest cost, spread or period of a stage: one hour in ps, so that the sum over any circuit fits 64 bits.
pub const MAX_COST_PS: u64 = 3_600_000_000_000_000;
/// Most tokens a place may start with.
pub const MAX_TOKENS: u32 = 1 << 24;
/// Largest burst of arrivals.
const MAX_BURST: u32 = 1 << 20;
/// Range of arrival rates in frames/s: slower is effectively no load, and frames closer than 1 ps would share an
/// instant.
const RATES_PER_S: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// Why a net cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetError {
    /// More of something than [`MAX_ITEMS`].
    #[error("{count} {what} are too many for a net; fix: use at most {MAX_ITEMS}")]
    TooMany {
        /// The items that are too many.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// An index out of range.
    #[error(
        "{what} '{name}' names {target} {index}, but there are {count}; fix: name one of them, counted from 0"
    )]
    NoSuch {
        /// What holds the index.
        what: &'static str,
        /// Its name.
        name: String,
        /// What the index counts.
        target: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A chain without a stage.
    #[error("chain '{0}' has no stage; fix: give it one")]
    EmptyChain(String),
    /// A stage that is in chains more than once.
    #[error(
        "stage '{stage}' of chain '{chain}' is already in a chain; fix: use another stage for the second"
    )]
    StageTwice {
        /// The stage.
        stage: String,
        /// The chain that names it again.
        chain: String,
    },
    /// A stage that nothing ever starts.
    #[error(
        "nothing starts stage '{0}': no place leads to it, it is not the first of a chain, and nothing arrives at it; \
         fix: add a place that leads to it"
    )]
    NeverStarts(String),
    /// Arrivals do not depend on the node, so no place may lead to them.
    #[error(
        "place '{place}' leads to stage '{stage}', at which frames arrive from outside; fix: let it lead to the stage after it"
    )]
    ArrivalsWithInput {
        /// The stage of the arrivals.
        stage: String,
        /// The place.
        place: String,
    },
    /// Arrivals at a stage that is not the first of a chain.
    #[error(
        "frames arrive at stage '{0}', which is not the first of a chain; fix: let them arrive at the first"
    )]
    ArrivalsInside(String),
    /// An invalid figure of a stage.
    #[error("stage '{stage}': {what}")]
    Figure {
        /// The stage.
        stage: String,
        /// Which figure, and the fix.
        what: String,
    },
    /// More tokens than [`MAX_TOKENS`].
    #[error("place '{place}' starts with {tokens} tokens; fix: use at most {MAX_TOKENS}")]
    TooManyTokens {
        /// The place.
        place: String,
        /// Its tokens.
        tokens: u32,
    },
    /// Tokens of frames that no stage sent.
    #[error(
        "place '{0}' carries frames and starts with tokens, and frames come from the first stage of a chain only; \
         fix: let it start empty, or let it not carry frames"
    )]
    FramesAtStart(String),
    /// A place for frames that receives none.
    #[error(
        "place '{place}' carries frames from stage '{stage}', which gets none; fix: lead frames to that stage"
    )]
    NoFrames {
        /// The place.
        place: String,
        /// The stage it leads from.
        stage: String,
    },
    /// Stages that wait for each other forever.
    #[error(
        "deadlock: no token on the circuit {}; fix: give one of its places a token",
        circuit.join(" → ")
    )]
    Deadlock {
        /// Names of the stages, the first again at the end.
        circuit: Vec<String>,
    },
    /// A chain without any limit.
    #[error(
        "nothing limits how fast the net goes: stage '{0}' has neither a resource nor room to wait for; \
         fix: give it one of them"
    )]
    Unlimited(String),
    /// A loop of room around a stage that loses frames: a lost frame would never return its token.
    #[error(
        "place '{place}' leads from after stage '{stage}', which loses frames, back to before it: a lost frame would never free its room; fix: let the place begin before that stage"
    )]
    RoomLost {
        /// The place.
        place: String,
        /// The stage that loses frames.
        stage: String,
    },
}

impl Net {
    /// Checks that the net can run.
    ///
    /// # Errors
    /// [`NetError`] names the invalid part.
    pub fn check(&self) -> Result<(), NetError> {
        self.check_sizes()?;
        self.check_indices()?;
        for place in &self.places {
            check_place(place)?;
        }
        for (index, stage) in self.stages.iter().enumerate() {
            check_figures(stage)?;
            self.check_start(index, stage)?;
        }
        self.check_frames()?;
        self.check_lost_room()?;
        match empty_circuit(self) {
            None => Ok(()),
            Some(stages) => {
                let circuit = stages
                    .iter()
                    .map(|&stage| self.stages[stage].name.clone())
                    .collect();
                Err(NetError::Deadlock { circuit })
            }
        }
    }

    fn check_sizes(&self) -> Result<(), NetError> {
        let counts = [
            ("resources", self.resources.len()),
            ("stages", self.stages.len()),
            ("places", self.places.len()),
            ("chains", self.chains.len()),
        ];
        match counts.into_iter().find(|(_, count)| *count > MAX_ITEMS) {
            Some((what, count)) => Err(NetError::TooMany { what, count }),
            None => Ok(()),
        }
    }

    fn check_indices(&self) -> Result<(), NetError> {
        let no_such = |what, name: &str, target, index, count| {
            Err(NetError::NoSuch {
                what,
                name: name.to_owned(),
                target,
                index,
                count,
            })
        };
        for stage in &self.stages {
            match stage.resource {
                Some(index) if index >= self.resources.len() => {
                    return no_such(
                        "stage",
                        &stage.name,
                        "resource",
                        index,
                        self.resources.len(),
                    );
                }
                _ => {}
            }
        }
        let stages = self.stages.len();
        for place in &self.places {
            if let Some(index) = [place.from, place.to]
                .into_iter()
                .find(|&index| index >= stages)
            {
                return no_such("place", &place.name, "stage", index, stages);
            }
        }
        let mut used = vec![false; stages];
        for chain in &self.chains {
            if chain.stages.is_empty() {
                return Err(NetError::EmptyChain(chain.name.clone()));
            }
            for &index in &chain.stages {
                if index >= stages {
                    return no_such("chain", &chain.name, "stage", index, stages);
                }
                if std::mem::replace(&mut used[index], true) {
                    let stage = self.stages[index].name.clone();
                    return Err(NetError::StageTwice {
                        stage,
                        chain: chain.name.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    fn check_start(&self, index: usize, stage: &Stage) -> Result<(), NetError> {
        let input = self.places.iter().find(|place| place.to == index);
        let first = self.chains.iter().any(|chain| chain.stages[0] == index);
        match (stage.trigger, input) {
            (Trigger::Arrivals(_), Some(place)) => {
                let place = place.name.clone();
                Err(NetError::ArrivalsWithInput {
                    stage: stage.name.clone(),
                    place,
                })
            }
            (Trigger::Arrivals(_), None) if !first => {
                Err(NetError::ArrivalsInside(stage.name.clone()))
            }
            (Trigger::Arrivals(_), None) => Ok(()),
            (_, None) if !first => Err(NetError::NeverStarts(stage.name.clone())),
            _ => Ok(()),
        }
    }

    fn check_frames(&self) -> Result<(), NetError> {
        let mut has_frames = vec![false; self.stages.len()];
        self.chains
            .iter()
            .for_each(|chain| has_frames[chain.stages[0]] = true);
        self.places
            .iter()
            .filter(|place| place.carries_frames)
            .for_each(|place| has_frames[place.to] = true);
        match self
            .places
            .iter()
            .find(|place| place.carries_frames && !has_frames[place.from])
        {
            None => Ok(()),
            Some(place) => {
                let stage = self.stages[place.from].name.clone();
                Err(NetError::NoFrames {
                    place: place.name.clone(),
                    stage,
                })
            }
        }
    }

    fn check_lost_room(&self) -> Result<(), NetError> {
        for chain in &self.chains {
            let position = |stage| chain.stages.iter().position(|&other| other == stage);
            for (lossy, &index) in chain.stages.iter().enumerate() {
                if self.stages[index].on_missing == OnMissing::Wait {
                    continue;
                }
                let back = self.places.iter().find(|place| {
                    match (position(place.from), position(place.to)) {
                        (Some(from), Some(to)) => {
                            !place.carries_frames && from > lossy && to < lossy
                        }
                        _ => false,
                    }
                });
                if let Some(place) = back {
                    let stage = self.stages[index].name.clone();
                    return Err(NetError::RoomLost {
                        place: place.name.clone(),
                        stage,
                    });
                }
            }
        }
        Ok(())
    }
}

fn check_place(place: &Place) -> Result<(), NetError> {
    if place.tokens > MAX_TOKENS {
        return Err(NetError::TooManyTokens {
            place: place.name.clone(),
            tokens: place.tokens,
        });
    }
    if place.carries_frames && place.tokens > 0 {
        return Err(NetError::FramesAtStart(place.name.clone()));
    }
    Ok(())
}

fn check_figures(stage: &Stage) -> Result<(), NetError> {
    let refuse = |what: String| {
        Err(NetError::Figure {
            stage: stage.name.clone(),
            what,
        })
    };
    let spread_ps = match stage.spread {
        super::Spread::None => 0,
        super::Spread::Uniform { width_ps } => width_ps,
        super::Spread::Normal { sigma_ps } => sigma_ps,
    };
    if stage.cost_ps > MAX_COST_PS || spread_ps > MAX_COST_PS {
        return refuse("its cost or the spread of it is more than an hour; fix: lower it".into());
    }
    match stage.trigger {
        Trigger::Tokens => Ok(()),
        Trigger::Paced { period_ps } | Trigger::Polled { period_ps } => {
            if period_ps == 0 || period_ps > MAX_COST_PS {
                return refuse(
                    "its period is 0 or more than an hour; fix: choose one between".into(),
                );
            }
            Ok(())
        }
        Trigger::Arrivals(arrivals) => {
            let rate = arrivals.frames_per_s;
            if !RATES_PER_S.contains(&rate) {
                return refuse(format!("{rate} frames/s arrive; fix: choose 0.001 to 1e12"));
            }
            if arrivals.burst == 0 || arrivals.burst > MAX_BURST {
                return refuse(format!(
                    "bursts of {} frames; fix: choose 1 to {MAX_BURST}",
                    arrivals.burst
                ));
            }
            if !(0.0..=1.0).contains(&arrivals.lost_before_ratio) {
                return refuse(format!(
                    "a share of {} is lost before; fix: choose 0 to 1",
                    arrivals.lost_before_ratio
                ));
            }
            Ok(())
        }
    }
}

/// Stages of a circuit of places without a token, the first again at the end.
fn empty_circuit(net: &Net) -> Option<Vec<usize>> {
    let mut next = vec![Vec::new(); net.stages.len()];
    for place in net.places.iter().filter(|place| place.tokens == 0) {
        next[place.from].push(place.to);
    }
    // Depth first without recursion: `path` holds each stage and the number of its successors visited.
    let (mut done, mut on_path) = (vec![false; next.len()], vec![false; next.len()]);
    for start in 0..next.len() {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !done[start] {
            path.push((start, 0));
            on_path[start] = true;
        }
        while let Some((stage, taken)) = path.last_mut() {
            let Some(&to) = next[*stage].get(*taken) else {
                (done[*stage], on_path[*stage]) = (true, false);
                path.pop();
                continue;
            };
            *taken += 1;
            if on_path[to] {
                let begin = path.iter().position(|&(stage, _)| stage == to)?;
                return Some(
                    path[begin..]
                        .iter()
                        .map(|&(stage, _)| stage)
                        .chain([to])
                        .collect(),
                );
            }
            if !done[to] {
                on_path[to] = true;
                path.push((to, 0));
            }
        }
    }
    None
}
