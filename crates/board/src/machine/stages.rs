//! The counts of a machine as an observation: the stages of both directions, in instructions.

use std::collections::BTreeMap;
use std::path::Path;

use wirelab_trial::facts::Facts;
use wirelab_trial::host_clock::unix_ns;
use wirelab_trial::job::{FlowRequest, SendReport, flow_observation};
use wirelab_trial::stage::StageName;
use wirelab_trial::stage::functions::{BETWEEN, CallPaths};
use wirelab_trial::{
    Accepts, Cancel, Capabilities, Clock, ClockKind, Description, Direction, Extent, Field,
    FlowObservation, Layer, Node, NodeError, Observation, Owner, Progress, Series, SeriesBuilder,
    SizeLimits, Sizes, StageSource, Status, TesterObservation, Trial, TrialField, TrialOption,
    Warning, WarningCode, format,
};

use super::count::{CountRequest, Counts, count};
use super::file::{MachineFile, Traffic};
use super::image::Image;
use super::{MachineError, NODE_TYPE};

const NO_TIME: &str = "a count run measures instructions, not time";
/// The name of its flows' path.
const PATH: &str = "QEMU with a plugin";
/// Most frames of a trial: each has a sample in every stage.
const MOST_FRAMES: u64 = 65_536;

/// A machine whose trials count instructions. Each trial restarts it, so that all begin in the same state.
pub struct StagesNode {
    name: String,
    file: MachineFile,
    image: Image,
    kinds: bool,
    layer: Layer,
    paths: Vec<CallPaths>,
}

impl StagesNode {
    /// The machine of a file, which is `name` on the command line; with counts of loads, stores and branches where
    /// `kinds` is set.
    ///
    /// # Errors
    /// [`MachineError`]: no image, or a file without points.
    pub fn open(
        name: &str,
        file: MachineFile,
        image: Option<&Path>,
        kinds: bool,
    ) -> Result<StagesNode, MachineError> {
        let Some(first) = file.frame_paths.first() else {
            return Err(MachineError::Other(format!(
                "{}: it names no points; fix: add [receive] or [transmit] with points",
                file.name
            )));
        };
        let layer = match first.traffic {
            Traffic::Tcp(_) => Layer::TcpIpv4,
            Traffic::Udp(_) | Traffic::Echo => Layer::UdpIpv4,
        };
        let image = Image::find(&file, image)?;
        Ok(StagesNode {
            name: name.to_owned(),
            file,
            image,
            kinds,
            layer,
            paths: Vec::new(),
        })
    }

    fn count_request(&self, trial: &Trial, sizes: Sizes) -> Result<CountRequest, NodeError> {
        let frames = match trial.extent {
            Extent::Frames { frames } if (1..=MOST_FRAMES).contains(&frames) => frames,
            Extent::Frames { frames } => {
                return Err(NodeError::bad(format!(
                    "{frames} frames: a trial counts 1 to {MOST_FRAMES}; fix: request a number in that range"
                )));
            }
            Extent::Time { .. } => return Err(NodeError::unsupported(TrialField::Extent, NO_TIME)),
        };
        let layers = [self.layer];
        Accepts {
            layers: &layers,
            directions: &[Direction::Both],
            vlan_tags: 0,
            ports: 1,
            buffers: &[],
            paths: &[],
            options: &[TrialOption::Link, TrialOption::StrictGaps],
            sizes: SizeLimits::TestFrame,
            reasons: &[
                (
                    TrialField::Layer,
                    "the machine file says which traffic is counted",
                ),
                (
                    TrialField::VlanTags,
                    "the frames of a count run have no tags",
                ),
                (
                    TrialField::Direction,
                    "the machine file says which directions are counted; fix: use both",
                ),
            ],
            otherwise: "one frame at a time goes through the machine; fix: leave it out",
        }
        .check(trial)?;
        Ok(CountRequest {
            frames,
            data_bytes: sizes.datagram.unwrap_or(0),
            kinds: self.kinds,
        })
    }

    fn flow(&self, direction: Direction, sizes: Sizes, counts: &Counts) -> FlowObservation {
        let request = FlowRequest {
            port: self.name.clone(),
            direction,
            stream: 0,
            layer: self.layer,
            sizes,
            link: None,
            frames_per_s: None,
            from: self.name.clone(),
            to: self.name.clone(),
            sender_path: PATH.to_owned(),
            receiver_path: PATH.to_owned(),
            ledger: None,
        };
        // Frames that could not be attributed were sent again; a counter and a warning report them.
        let sent = counts.frames.len() as u64;
        let report = SendReport {
            emitted_frames: sent,
            sequences: sent,
            ..SendReport::default()
        };
        let mut flow = flow_observation(&request, &report, Default::default());
        flow.without_rates(NO_TIME);
        flow.jitter_ps = Field::absent(NO_TIME);
        flow.sender = Field::absent("frames are counted inside the machine");
        const UNSEEN: &str = "the plugin sees points, not what the application gets";
        flow.counts = Field::absent(UNSEEN);
        flow.loss_ratio = Field::absent(UNSEEN);
        flow.series = series(counts);
        flow
    }
}

fn series(counts: &Counts) -> Vec<Series> {
    let clock = Clock {
        kind: ClockKind::Instructions,
        tick_ps: None,
        resolution_ticks: 1,
        owner: Owner::Node,
    };
    let pairs = counts.points.windows(2).enumerate();
    let stages = pairs.map(|(n, pair)| {
        let name = StageName::new(&pair[0], &pair[1]);
        let mut series = SeriesBuilder::new(name, clock, 0);
        counts
            .frames
            .iter()
            .for_each(|frame| series.push(frame[n].own));
        series.finish()
    });
    stages.collect()
}

/// The paths of each stage. A name may contain the separator of a path.
fn paths(direction: Direction, length_bytes: u32, counts: &Counts) -> Vec<CallPaths> {
    let pairs = counts.points.windows(2).enumerate();
    let stages = pairs.map(|(n, pair)| {
        let own = counts.paths.iter().filter(|((stage, _), _)| *stage == n);
        let mut instructions = BTreeMap::new();
        for ((_, functions), count) in own {
            let names = functions.iter().map(|name| name.replace(BETWEEN, ":"));
            let path = names.collect::<Vec<_>>().join(&BETWEEN.to_string());
            *instructions.entry(path).or_default() += count;
        }
        CallPaths {
            direction,
            length_bytes,
            from: pair[0].clone(),
            to: pair[1].clone(),
            frames: counts.frames.len() as u64,
            instructions,
        }
    });
    stages.collect()
}

/// Counters of a direction: frames in no figure, and for each stage its interruptions and, if requested, the kinds of its
/// instructions.
fn counters(
    direction: Direction,
    counts: &Counts,
    kinds: bool,
    into: &mut BTreeMap<String, Field<u64>>,
) {
    let mut put = |name: String, value: u64| into.insert(name, Field::measured(value));
    put(format!("{direction}.warm_up_frames"), counts.warm_up);
    put(
        format!("{direction}.unattributed_frames"),
        counts.apart.values().sum(),
    );
    for (n, pair) in counts.points.windows(2).enumerate() {
        let stage = StageName::new(&pair[0], &pair[1]).to_string();
        let each = || counts.frames.iter().map(move |frame| frame[n]);
        let interrupted = each().filter(|stage| stage.interrupted > 0);
        let (frames, instructions) = interrupted.fold((0, 0), |(frames, sum), stage| {
            (frames + 1, sum + stage.interrupted)
        });
        put(format!("{direction}.{stage}.interrupted_frames"), frames);
        put(
            format!("{direction}.{stage}.interrupting_instructions"),
            instructions,
        );
        if kinds {
            let sum =
                |of: fn(super::ring::Kinds) -> u32| each().map(|s| u64::from(of(s.kinds))).sum();
            put(format!("{direction}.{stage}.loads"), sum(|k| k.loads));
            put(format!("{direction}.{stage}.stores"), sum(|k| k.stores));
            put(
                format!("{direction}.{stage}.taken_branches"),
                sum(|k| k.branches),
            );
        }
    }
}

fn warnings(direction: Direction, counts: &Counts) -> Vec<Warning> {
    let mut all = Vec::new();
    if !counts.apart.is_empty() {
        let why: Vec<String> = counts
            .apart
            .iter()
            .map(|(why, n)| format!("{why}: {n}"))
            .collect();
        let text = format!(
            "{direction}: {} of {} could not be attributed ({})",
            format::count(counts.apart.values().sum(), "frame"),
            counts.tried,
            why.join(", ")
        );
        all.push(note(&text));
    }
    let stages = counts.points.windows(2).enumerate();
    let interrupted: Vec<String> = stages
        .filter_map(|(n, pair)| {
            let each = counts.frames.iter().map(|frame| frame[n].interrupted);
            let hit: Vec<u64> = each.filter(|count| *count > 0).collect();
            let most = hit.iter().max()?;
            let name = StageName::new(&pair[0], &pair[1]);
            Some(format!("{name} {} (up to {most} instructions)", hit.len()))
        })
        .collect();
    if !interrupted.is_empty() {
        all.push(note(&format!(
            "{direction}: interrupts returned within stages, and are counted separately: {}",
            interrupted.join(", ")
        )));
    }
    all
}

fn note(text: &str) -> Warning {
    Warning::new(
        WarningCode::CAPTURE_NOTES,
        text,
        "no stage's figures include them; the others are valid",
    )
}

impl Node for StagesNode {
    fn describe(&self) -> Description {
        let mut setup = BTreeMap::new();
        let image = self.image.path.file_name().unwrap_or_default();
        setup.insert("machine".to_owned(), self.file.name.clone());
        setup.insert("image".to_owned(), image.to_string_lossy().into_owned());
        if let Some(version) = crate::qemu::version_of(&self.file.program) {
            setup.insert("emulator".to_owned(), version);
        }
        Description {
            name: self.name.clone(),
            node_type: NODE_TYPE.to_owned(),
            capabilities: Capabilities {
                layers: vec![self.layer],
                directions: vec![Direction::Both],
                ..Capabilities::default()
            },
            setup,
            facts: Some(Facts::default()),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        let sizes = trial.sizes().map_err(NodeError::bad)?;
        let request = self.count_request(trial, sizes)?;
        progress.report(0, 1, "counting instructions");
        let started_unix_ns = unix_ns();
        let all = count(&self.file, &self.image, request, cancel)?;
        let (mut counters_of_all, mut warnings_of_all, mut flows) =
            (BTreeMap::new(), Vec::new(), Vec::new());
        let mut least = request.frames;
        for frame_path in &self.file.frame_paths {
            let Some(counts) = all.get(&frame_path.direction) else {
                continue;
            };
            flows.push(self.flow(frame_path.direction, sizes, counts));
            counters(
                frame_path.direction,
                counts,
                self.kinds,
                &mut counters_of_all,
            );
            warnings_of_all.extend(warnings(frame_path.direction, counts));
            self.paths
                .extend(paths(frame_path.direction, sizes.length, counts));
            least = least.min(counts.frames.len() as u64);
        }
        let status = match (cancel.is_cancelled(), least < request.frames) {
            (true, _) => Status::cancelled(),
            (false, true) => Status::Partial {
                why: format!(
                    "{least} of {} frames were attributed to their points",
                    request.frames
                ),
            },
            (false, false) => Status::Complete,
        };
        Ok(Observation {
            trial: trial.clone(),
            sizes,
            node: self.describe(),
            status,
            started_unix_ns: Field::measured(started_unix_ns),
            flows,
            cpu_load: Field::absent(NO_TIME),
            busy_over_time: Vec::new(),
            series: Vec::new(),
            counters: counters_of_all,
            tester: TesterObservation::new(Field::absent(NO_TIME), Field::measured(false)),
            warnings: warnings_of_all,
        })
    }

    fn call_paths(&mut self) -> Vec<CallPaths> {
        std::mem::take(&mut self.paths)
    }

    fn stages(&self) -> StageSource {
        StageSource::Counted
    }
}
