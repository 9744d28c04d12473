//! A model as a node: it answers the same trials as a real one, with predicted figures.

use std::collections::BTreeMap;
use wirelab_trial::facts::Facts;
use wirelab_trial::node_name::MODEL;

use wirelab_trial::description::CHOSEN_AFTER;
use wirelab_trial::{
    Cancel, Capabilities, Description, Direction, Field, Layer, Node, NodeError, Observation,
    Progress, TesterCeiling, Trial, TrialOption,
};

use crate::file::NodeFile;
use crate::predict;

/// A model.
#[derive(Clone, Debug)]
pub struct ModelNode {
    file: NodeFile,
    name: String,
    intervals: bool,
}

impl ModelNode {
    /// The node of a file.
    pub fn new(file: NodeFile) -> ModelNode {
        let name = format!("model:{}", file.name);
        ModelNode {
            file,
            name,
            intervals: true,
        }
    }

    /// The same model without intervals, which cost most of the time.
    #[must_use]
    pub fn without_intervals(self) -> ModelNode {
        ModelNode {
            intervals: false,
            ..self
        }
    }

    /// The file.
    pub fn file(&self) -> &NodeFile {
        &self.file
    }
}

impl Node for ModelNode {
    fn describe(&self) -> Description {
        let file = &self.file;
        let mut setup: BTreeMap<String, String> = file.setup.clone();
        if !file.changes.is_empty() {
            setup.insert("set".to_owned(), file.changes.join(", "));
        }
        let chosen = file.parameters.iter().filter_map(|(name, parameter)| {
            let after = parameter.chosen_after.as_ref()?;
            Some(format!("{name} ({after})"))
        });
        let chosen: Vec<String> = chosen.collect();
        if !chosen.is_empty() {
            setup.insert(CHOSEN_AFTER.to_owned(), chosen.join(", "));
        }
        Description {
            name: self.name.clone(),
            node_type: MODEL.to_owned(),
            capabilities: capabilities(file),
            setup,
            facts: Some(Facts {
                is_computed: true,
                ..Facts::default()
            }),
        }
    }

    fn run(
        &mut self,
        trial: &Trial,
        _: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Observation, NodeError> {
        if !trial.faults.is_clean() {
            let why = "a model moves no frames that could be damaged; fix: leave --inject out";
            return Err(NodeError::unsupported(TrialOption::Faults, why));
        }
        let of = match self.intervals {
            true => predict::predict,
            false => predict::without_intervals,
        };
        of(&self.file, trial, self.describe(), cancel)
    }

    fn tester_ceiling(&self) -> TesterCeiling {
        Box::new(|_| Field::absent("a model needs no tester"))
    }
}

impl NodeFile {
    /// The layer of its first path.
    pub fn first_layer(&self) -> Layer {
        let first = self.paths.first().and_then(|path| path.layers.first());
        first.copied().unwrap_or_default()
    }
}

fn capabilities(file: &NodeFile) -> Capabilities {
    let mut layers: Vec<Layer> = Vec::new();
    let mut directions = Vec::new();
    let mut buffers = Vec::new();
    let mut paths = Vec::new();
    for path in &file.paths {
        add(&mut layers, &path.layers);
        add(&mut directions, &[path.direction]);
        add(&mut buffers, &path.buffers);
        add(&mut paths, path.path.as_slice());
    }
    if directions.len() == 2 {
        directions.extend([Direction::Both, Direction::Echo]);
    }
    let link = file
        .link
        .as_ref()
        .and_then(|name| file.link_rate(name).ok());
    Capabilities {
        layers,
        directions,
        buffers,
        paths,
        ports: file.ports,
        min_frame_bytes: wirelab_wire::size::MIN_FRAME,
        max_frame_bytes: file.max_frame_bytes,
        link_bits_per_s: link.map(|l| l.bits_per_s()),
    }
}

fn add<T: PartialEq + Copy>(all: &mut Vec<T>, more: &[T]) {
    for item in more {
        if !all.contains(item) {
            all.push(*item);
        }
    }
}
