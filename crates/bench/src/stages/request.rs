//! A request for the stages of a node: its words, and the plan for the node that is opened. Start reading at
//! [`RequestWords::read`], then [`Request::prepare`].

use wirelab_trial::crossover::DMA;
use wirelab_trial::nearest::{did_you_mean, unknown};
use wirelab_trial::system_error::without_fix;
use wirelab_trial::{
    Background, Cancel, Framing, Layer, Load, Node, NodeError, NodeName, Observation, Path,
    Progress, ResultsFile, Size, SizeUnit, StageSource, Status, Wait, WarningCode,
};
use wirelab_wire::rule::{RuleError, RuleFault, Rules};

use super::half::{HalfLoad, half};
use super::{Offered, PathRequest, Trials, facts, flow, framing};
use crate::Plan;

/// Frames of a trial where no number is requested.
pub const FRAMES: u64 = 512;
/// Payload of the longest frame of a lab that is made for the trials, in bytes.
pub const LARGEST_PAYLOAD: u32 = 1500;

/// A request as options write it.
#[derive(Clone, Copy, Debug)]
pub struct RequestWords<'a> {
    /// Lengths of the frames in bytes, without FCS.
    pub lengths: &'a [u32],
    /// Frames of each trial.
    pub count: Option<u64>,
    /// Load of trials that measure time.
    pub load: &'a str,
    /// Rules of the fast track.
    pub fast_track: &'a [String],
    /// How the application waits.
    pub wait: Option<&'a str>,
    /// The background.
    pub background: Option<&'a str>,
    /// The probe set.
    pub probes: &'a str,
    /// Whether no XDP program is allowed.
    pub without_xdp: bool,
}

/// A request for the stages of a node.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    lengths: &'a [u32],
    count: Option<u64>,
    load: Load,
    paths: PathRequest,
}

/// The trials of a request for a node.
pub struct Prepared {
    /// The trials.
    pub plan: Plan,
    /// Frames of each.
    pub frames: u64,
    half: Option<HalfLoad>,
}

impl<'a> RequestWords<'a> {
    /// Reads the words; `may_add_tag` says that a VLAN interface may be on the path to the node.
    ///
    /// # Errors
    /// The option with its word, and the fix.
    pub fn read(&self, may_add_tag: bool) -> Result<Request<'a>, String> {
        let load = self.load.parse::<Load>();
        let load = load.map_err(|why| format!("--load: {why}"))?;
        if load == Load::Max {
            return Err(
                "--load max: at the highest load queues are full, and a stage's time is the queue's; fix: give a rate that \
                 the node handles easily, e.g. --load 1kpps"
                    .to_owned(),
            );
        }
        let (rule, flow) = self.rule(may_add_tag)?;
        let waits = match (self.wait, &rule) {
            (Some("both"), _) | (None, Some(_)) => vec![Some(Wait::Spin), Some(Wait::Sleep)],
            (Some(word), _) => {
                let wait = word.parse::<Wait>();
                let refuse = |_| unknown("wait method", word, ["sleep", "spin", "both"]);
                vec![Some(wait.map_err(refuse)?)]
            }
            (None, None) => vec![None],
        };
        let background = match self.background {
            None => Offered::Nothing,
            Some("half") => Offered::Half,
            Some(text) => Offered::Load(text.parse().map_err(|why| {
                let meant = did_you_mean(text, ["half"].into_iter());
                format!("--background: {meant}{why}, or half of the stack's own rate")
            })?),
        };
        let offered = match background {
            Offered::Nothing => None,
            Offered::Half => Some(Background {
                load: Load::Max,
                size: Background::SIZE,
            }),
            Offered::Load(background) => Some(background),
        };
        if let Some((rules, background)) = rule.as_ref().zip(offered) {
            flow::keeps_off(rules, &background)
                .map_err(|why| format!("--fast-track {rules}: {why}"))?;
        }
        let probes = self.probes.parse();
        Ok(Request {
            lengths: self.lengths,
            count: self.count,
            load,
            paths: PathRequest {
                waits,
                rule: rule.map(|rules| rules.to_string()),
                flow,
                background,
                probes: probes.map_err(|why| format!("--probes: {why}"))?,
            },
        })
    }

    /// The rules of the fast track, where it is requested, and the framing of a flow whose frames they can select.
    fn rule(&self, may_add_tag: bool) -> Result<(Option<Rules>, Framing), String> {
        if self.fast_track.is_empty() {
            return Ok((None, Framing::default()));
        }
        let text = self.fast_track.join(";");
        let read = || {
            let rules = rules(&text)?;
            if self.without_xdp {
                return Err(format!(
                    "{text}: the identifier is an XDP program, and --xdp off allows none; fix: leave --xdp out, or give \
                     --xdp generic"
                ));
            }
            let flow =
                flow::matching(&rules, may_add_tag).map_err(|why| format!("{text}: {why}"))?;
            Ok((Some(rules), flow))
        };
        read().map_err(|why| format!("--fast-track {why}"))
    }
}

/// The rules of the fast track.
///
/// # Errors
/// The text and the fix, with the nearest word of rules where one is unknown.
pub fn rules(text: &str) -> Result<Rules, String> {
    text.parse().map_err(|error: RuleError| {
        let from = text.chars().skip(error.place - 1);
        let word: String = from.take_while(|c| !",;=".contains(*c)).collect();
        let words = ["ethertype", "own", "protocol", "port", "priority"];
        let meant = match error.fault {
            RuleFault::Word => did_you_mean(&word, words.into_iter()),
            _ => String::new(),
        };
        format!("{text}: {meant}{error}")
    })
}

/// Frames of each trial, for a node that keeps the times of `most` frames of a trial.
///
/// # Errors
/// More frames than `most`, of which the rest would silently lack times; or none.
pub fn frames(count: Option<u64>, most: Option<u64>) -> Result<u64, String> {
    let most = most.unwrap_or(u64::MAX);
    match count {
        Some(0) => Err(
            "--count 0: without frames there are no times; fix: write at least 1, e.g. --count 512"
                .to_owned(),
        ),
        Some(frames) if frames > most => Err(format!(
            "--count {frames}: this node keeps the records of 1 to {most} frames of a trial; fix: give --count {most}, \
             several times where more are wanted"
        )),
        Some(frames) => Ok(frames),
        None => Ok(FRAMES.min(most)),
    }
}

/// Refuses lengths that Ethernet does not carry without a tag; `who` says whose limit it is, as in "hdl:reference takes".
///
/// # Errors
/// The first such length, and the fix.
pub fn carried(lengths: &[u32], who: &str) -> Result<(), String> {
    // The MTU does not count the Ethernet header.
    let most = LARGEST_PAYLOAD + 14;
    let udp = Framing {
        layer: Layer::UdpIpv4,
        vlan_tags: 0,
    };
    for length in lengths {
        let why = match Size::new(SizeUnit::Length, *length).resolve_test(udp) {
            Ok(_) if *length <= most => continue,
            Ok(_) => format!("{who} lengths up to {most}"),
            // The error's own fix is for frames with any number of tags.
            Err(error) => without_fix(&error.to_string()).to_owned(),
        };
        return Err(format!(
            "--length {length}: {why}; fix: give lengths from 60 to {most}, as in --length 64,256,1024"
        ));
    }
    Ok(())
}

impl Request<'_> {
    /// The trials for this node. Half of its rate without loss is searched first, where it is requested as background.
    ///
    /// # Errors
    /// What this node cannot do, and the fix.
    pub fn prepare(
        &self,
        node: &mut dyn Node,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Prepared, String> {
        let (description, kept) = (node.describe(), node.capture_limits());
        let (paths, able) = (&self.paths, &description.capabilities);
        let frames = frames(self.count, kept.in_all)?;
        let source = node.stages();
        let trials = Trials {
            lengths: self.lengths,
            frames,
            load: self.load,
            able,
        };
        let mut found = None;
        let plan = match source {
            StageSource::Traced => {
                if paths.rule.is_some() && !able.paths.contains(&Path::FastTrack) {
                    let why = description.setup.get("xdp").map_or("none", String::as_str);
                    return Err(format!(
                        "{}: this node has no path fast-track (XDP: {why}); fix: see what it says when it starts, or leave \
                         --fast-track out",
                        description.name
                    ));
                }
                if paths.background == Offered::Half {
                    let wait = paths.waits.first().copied().flatten();
                    let half = half(node, framing(able), wait, progress, cancel);
                    found = Some(half.map_err(|error| error.to_string())?);
                }
                let background = paths.beside(found.as_ref());
                trials.linux(kept.of_a_trial, paths, background, self.count)?
            }
            StageSource::Simulated => trials.at_once(paths.rule.as_deref()),
            _ if !paths.is_plain() => {
                return Err(format!(
                    "{}: --fast-track, --wait, --background and --probes are for Linux nodes that trace themselves; fix: \
                     leave them out, or name lab:, or node:HOST where 'wirelab node serve' runs",
                    description.name
                ));
            }
            StageSource::Counted => trials.at_once(None),
            StageSource::Timed => trials.timed(kept.of_a_trial)?,
        };
        Ok(Prepared {
            plan,
            frames,
            half: found,
        })
    }

    /// Adds further facts to the results of its trials; returns whether everything requested was measured.
    pub fn complete(
        &self,
        prepared: Prepared,
        node: &mut dyn Node,
        file: &mut ResultsFile,
        cancel: &Cancel,
    ) -> bool {
        let half = prepared.half.as_ref();
        let is_whole = half.is_none_or(|half| half.background.is_some());
        let (notes, searched) = prepared.half.map(|half| (half.text, half.part)).unzip();
        let notes = notes.into_iter().collect();
        let observations = &file.observations;
        file.measuring = facts(
            node,
            self.lengths[0],
            &self.paths,
            observations,
            notes,
            cancel,
        );
        file.parts.extend(searched);
        is_whole
    }
}

impl Prepared {
    /// What the search for half of the rate found, for the reader.
    pub fn search_note(&self) -> Option<&str> {
        self.half.as_ref().map(|half| half.text.as_str())
    }
}

/// The nodes to measure: one, with the options that are not in its name; or, for several pairs of wait states, one for
/// each and one with DMA.
///
/// # Errors
/// A pair that is incomplete or given twice, or an option that the name has already.
pub fn nodes(
    node: &NodeName,
    mac: Option<&str>,
    wait_states: &[u8],
) -> Result<Vec<NodeName>, String> {
    let with = |name: &NodeName, key, value: String| {
        name.with(key, value).map_err(|error| error.to_string())
    };
    let name = match mac {
        Some(mac) => with(node, "mac", mac.to_owned())?,
        None => node.clone(),
    };
    if wait_states.is_empty() {
        return Ok(vec![name]);
    }
    if wait_states.len() % 2 == 1 {
        return Err(
            "--wait-states: one of the two numbers of a pair is missing; fix: write the clocks from one read to the next \
             and from one write to the next, e.g. 17,18"
                .to_owned(),
        );
    }
    let of_slots = |pair: &[u8]| {
        let name = with(&name, "read-clocks", pair[0].to_string())?;
        with(&name, "write-clocks", pair[1].to_string())
    };
    let names = wait_states.chunks_exact(2).map(of_slots);
    let mut names: Vec<NodeName> = names.collect::<Result<_, _>>()?;
    let given = names.len();
    names.sort();
    names.dedup();
    if names.len() < given {
        return Err("--wait-states: the same pair was given twice; fix: give each once".to_owned());
    }
    if given > 1 {
        names.push(with(&node.without_options(), "mac", DMA.to_owned())?);
    }
    Ok(names)
}

/// Refuses results whose trials did not begin: an empty table would hide the reason.
///
/// # Errors
/// Why the first of them did not.
pub fn begun(observations: &[Observation]) -> Result<(), NodeError> {
    observations.iter().try_for_each(|o| match &o.status {
        Status::Void { why } if o.warned(WarningCode::NODE_FAILED) => {
            Err(NodeError::Failed(why.clone()))
        }
        Status::Void { why } => Err(NodeError::BadTrial(why.clone())),
        _ => Ok(()),
    })
}
