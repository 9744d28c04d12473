//! The node types: what each declares before a node of it is opened, and the one list of them.
//!
//! A crate with a node type has a [`NodeType`]. The command line lists them in one [`NodeTypes`], the source of help,
//! completions and the nodes themselves. Nothing else compares the name of a node type.

use std::collections::BTreeMap;

use wirelab_wire::Layer;

use crate::nearest::nearest;
use crate::node::Node;
use crate::node_name::{MODEL, NameError, NodeName};
use crate::open::{OpenError, OpenOptions};
pub use crate::stage_option::StageOption;
use crate::trial::{Direction, Extent};

/// Default extent of a trial: enough for a rate to three digits.
pub const SECOND: Extent = Extent::Time {
    time_ps: 1_000_000_000_000,
};

/// Set-up keys and their values, as in [`crate::Description`].
pub type Setup = BTreeMap<String, String>;

/// Opens the node of a name.
pub type Open = fn(&NodeName, &OpenOptions) -> Result<Box<dyn Node>, OpenError>;

/// A node type.
#[derive(Clone, Copy, Debug)]
pub struct NodeType {
    /// Its name, before the colon.
    pub name: &'static str,
    /// Its description in one line.
    pub about: &'static str,
    /// The target after the colon, e.g. `HOST[:PORT]`.
    pub target: &'static str,
    /// Complete example names.
    pub examples: &'static [&'static str],
    /// The forms of its names whose nodes have stages, as the help of `stages` shows them.
    pub with_stages: &'static [&'static str],
    /// Whether only `stages` takes its nodes: another host sends their frames, so they run no trials.
    pub only_stages: bool,
    /// Further names for lists and completion.
    pub names: fn() -> Vec<&'static str>,
    /// What a node of that name can do, and the defaults of its trials.
    pub profile: fn(&NodeName) -> Profile,
    /// The set-up keys that follow from the name alone.
    pub setup: fn(&NodeName) -> Result<Setup, OpenError>,
    /// Why this program was built without it, and the fix; `None` where it is included.
    pub left_out: Option<&'static str>,
    /// Opens the node.
    pub open: Open,
}

impl NodeType {
    /// A type without further names or set-up keys, with the usual profile.
    pub const fn new(name: &'static str, open: Open) -> NodeType {
        NodeType {
            name,
            about: "",
            target: "",
            examples: &[],
            with_stages: &[],
            only_stages: false,
            names: Vec::new,
            profile: |_| Profile::USUAL,
            setup: |_| Ok(Setup::new()),
            left_out: None,
            open,
        }
    }

    /// Refuses a console for a node that has none.
    ///
    /// # Errors
    /// [`OpenError::Usage`]
    pub fn check_console(&self, name: &NodeName) -> Result<(), OpenError> {
        match (self.profile)(name).takes_console {
            true => Ok(()),
            false => Err(OpenError::Usage(format!(
                "{name} has no console; fix: leave --console out, or measure iperf:HOST or iperf3:HOST with it"
            ))),
        }
    }

    /// A type that the program was built without: why, and the fix.
    pub const fn left_out(name: &'static str, why: &'static str) -> NodeType {
        NodeType {
            left_out: Some(why),
            ..NodeType::new(name, |name, _| {
                Err(OpenError::usage(format!(
                    "{name} was left out; fix: build wirelab with it"
                )))
            })
        }
    }
}

/// What is known of a node before it is opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Whether `measure` without options runs the whole datasheet.
    pub datasheet: bool,
    /// Default layer of trials.
    pub layer: Layer,
    /// Default direction of trials; the usual ones if `None`.
    pub direction: Option<Direction>,
    /// Default extent of trials.
    pub extent: Extent,
    /// Default extent of the trials of a search.
    pub search_extent: Extent,
    /// Whether it accepts a firmware image in place of its own.
    pub takes_image: bool,
    /// Whether it may have a console, by which a test program on it is started and read.
    pub takes_console: bool,
    /// Whether its frames pass ports of this host, of which `--path` and `--buffer-runs` are.
    pub takes_ports: bool,
    /// Whether its figures are computed, so that no frame is sent and no tester takes part.
    pub is_computed: bool,
    /// How `stages` works with it.
    pub stages: StageProfile,
}

/// How the stages of a node are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageProfile {
    /// The options of `stages` that it supports, beside those of the output and of [`StageProfile::more`].
    pub options: &'static [StageOption],
    /// Options beside those of most types.
    pub more: &'static [StageOption],
    /// Most frames of a trial whose times it keeps, where known in advance.
    pub max_frames: Option<u64>,
    /// The owner of the limit on lengths, as in "a lab's interfaces carry"; if `None`, not checked before the node is
    /// opened.
    pub lengths_limited_by: Option<&'static str>,
    /// Whether a VLAN interface on the path to it may add a tag.
    pub may_add_tag: bool,
    /// Why it has no capture points, and what to do.
    pub why_none: Option<&'static str>,
}

impl StageProfile {
    /// Whether it supports an option.
    pub fn takes(&self, option: StageOption) -> bool {
        self.options.contains(&option) || self.more.contains(&option)
    }
}

impl Profile {
    /// Ethernet trials of a second, of which `measure` makes a matrix.
    pub const USUAL: Profile = Profile {
        datasheet: false,
        layer: Layer::Ethernet,
        direction: None,
        extent: SECOND,
        search_extent: SECOND,
        takes_image: false,
        takes_console: false,
        takes_ports: true,
        is_computed: false,
        stages: StageProfile {
            options: &[
                StageOption::Length,
                StageOption::Count,
                StageOption::Load,
                StageOption::Wait,
                StageOption::Probes,
                StageOption::FastTrack,
                StageOption::Background,
            ],
            more: &[],
            max_frames: None,
            lengths_limited_by: None,
            may_add_tag: true,
            why_none: None,
        },
    };
}

/// All types of a program, in display order.
#[derive(Clone, Copy, Debug)]
pub struct NodeTypes(pub &'static [&'static NodeType]);

impl NodeTypes {
    /// Parses the name `text`, and finds its type.
    ///
    /// # Errors
    /// [`NameError`], with the nearest type that runs trials where no type has that name.
    pub fn parse(&self, text: &str) -> Result<(NodeName, &'static NodeType), NameError> {
        self.parse_for(text, |node_type| !node_type.only_stages)
    }

    /// Parses the name `text`, and finds its type, for a command that works with some types.
    ///
    /// # Errors
    /// [`NameError`], with the nearest type that `fits` where no type has that name.
    pub fn parse_for(
        &self,
        text: &str,
        fits: impl Fn(&NodeType) -> bool,
    ) -> Result<(NodeName, &'static NodeType), NameError> {
        let name: NodeName = text.parse()?;
        let found = self
            .0
            .iter()
            .find(|node_type| node_type.name == name.node_type());
        match found {
            Some(NodeType {
                left_out: Some(why),
                ..
            }) => Err(NameError::new(&name, *why)),
            Some(node_type) => Ok((name, node_type)),
            None => Err(NameError::new(&name, self.unknown(name.node_type(), fits))),
        }
    }

    /// Opens the node called `text`.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn open(&self, text: &str, options: &OpenOptions) -> Result<Box<dyn Node>, OpenError> {
        let (name, node_type) = self.parse(text)?;
        self.open_parsed(&name, node_type, options)
    }

    /// Opens a node whose name is already parsed.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn open_parsed(
        &self,
        name: &NodeName,
        node_type: &NodeType,
        options: &OpenOptions,
    ) -> Result<Box<dyn Node>, OpenError> {
        if options.image.is_some() && !(node_type.profile)(name).takes_image {
            return Err(OpenError::usage(
                "--image is the firmware of a board; fix: measure board:NAME (wirelab board list)",
            ));
        }
        if options.console.is_some() {
            node_type.check_console(name)?;
        }
        (node_type.open)(name, options).map_err(|error| self.or_of_a_type(name, error))
    }

    /// Adds to the error of an unknown bare name what it may mean; other errors are unchanged.
    fn or_of_a_type(&self, name: &NodeName, error: OpenError) -> OpenError {
        let OpenError::Unknown(why) = &error else {
            return error;
        };
        if !name.is_bare() {
            return error;
        }
        let types = self.0.iter().map(|node_type| node_type.name);
        let word = name.target();
        let alike =
            types.filter(|node_type| *node_type != MODEL && word.starts_with(&node_type[..1]));
        OpenError::Unknown(match nearest(word, alike) {
            Some(node_type) => format!("{why}, or {node_type}:TARGET"),
            None => format!("{why}, or TYPE:TARGET with a type of {}", self.names()),
        })
    }

    fn unknown(&self, node_type: &str, fits: impl Fn(&NodeType) -> bool) -> String {
        let fitting = self.0.iter().filter(|node_type| fits(node_type));
        let names: Vec<&str> = fitting.map(|node_type| node_type.name).collect();
        let meant = nearest(node_type, names.iter().copied());
        let meant = meant.map_or(String::new(), |name| format!("did you mean '{name}:'? "));
        let or_a_file = match names.contains(&MODEL) {
            true => ", or a model's file as ./FILE.toml",
            false => "",
        };
        format!(
            "unknown node type '{}'; {meant}fix: write TYPE:TARGET, e.g. lab:1, with a type of {}{or_a_file}",
            crate::nearest::head(node_type),
            names.join(", ")
        )
    }

    /// A line for each type whose nodes have stages: the forms of their names, and its description.
    pub fn stage_lines(&self) -> Vec<(String, &'static str)> {
        let each = self
            .0
            .iter()
            .filter(|node_type| !node_type.with_stages.is_empty());
        each.map(|node_type| (node_type.with_stages.join(", "), node_type.about))
            .collect()
    }

    /// The forms of names whose nodes have stages and support an option of `stages`.
    pub fn stages_taking(&self, option: StageOption) -> Vec<&'static str> {
        let takes = |node_type: &NodeType, form: &str| {
            let name = form.parse::<NodeName>();
            name.is_ok_and(|name| (node_type.profile)(&name).stages.takes(option))
        };
        let forms = self.0.iter().flat_map(|node_type| {
            let forms = node_type.with_stages.iter().copied();
            forms.filter(|form| takes(node_type, form))
        });
        forms.collect()
    }

    fn names(&self) -> String {
        let types = self.0.iter().filter(|node_type| !node_type.only_stages);
        let names: Vec<&str> = types.map(|node_type| node_type.name).collect();
        names.join(", ")
    }

    /// A line for each type that runs trials, for help: the form of its names, and its description.
    pub fn lines(&self) -> Vec<(String, &'static str)> {
        let each = self.0.iter().filter(|node_type| !node_type.only_stages);
        each.map(|node_type| {
            (
                format!("{}:{}", node_type.name, node_type.target),
                node_type.about,
            )
        })
        .collect()
    }

    /// The types of whose nodes `measure` runs the whole datasheet, as far as their names decide it.
    pub fn with_datasheet(&self) -> Vec<&'static str> {
        let has = |node_type: &&&NodeType| {
            let names = node_type.examples.iter();
            let names = names.filter_map(|name| name.parse::<NodeName>().ok());
            names
                .map(|name| (node_type.profile)(&name))
                .any(|profile| profile.datasheet)
        };
        self.0
            .iter()
            .filter(has)
            .map(|node_type| node_type.name)
            .collect()
    }

    /// Complete names to show and to complete: the examples and the names of each type that is `wanted`, without duplicates.
    pub fn completions(
        &self,
        wanted: impl Fn(&NodeType) -> bool,
    ) -> Vec<(&'static str, &'static str)> {
        let mut all: Vec<(&str, &str)> = Vec::new();
        for node_type in self.0.iter().filter(|node_type| wanted(node_type)) {
            let examples = node_type.examples.iter().copied();
            for name in examples.chain((node_type.names)()) {
                if !all.iter().any(|(known, _)| *known == name) {
                    all.push((name, node_type.about));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Description;
    use crate::node::{Cancel, NodeError, Progress};
    use crate::observation::Observation;
    use crate::trial::Trial;

    /// A node type is a type with `Node`, and one value.
    struct Nothing(String);

    impl Node for Nothing {
        fn describe(&self) -> Description {
            Description {
                name: self.0.clone(),
                ..Description::default()
            }
        }

        fn run(
            &mut self,
            _: &Trial,
            _: &dyn Progress,
            _: &Cancel,
        ) -> Result<Observation, NodeError> {
            Err(NodeError::unsupported(None, "it does nothing"))
        }
    }

    static NOTHING: NodeType = NodeType {
        about: "a node that does nothing",
        target: "NAME",
        examples: &["nothing:much"],
        ..NodeType::new("nothing", |name, _| Ok(Box::new(Nothing(name.to_string()))))
    };
    static NO_MODEL: NodeType = NodeType {
        profile: |_| Profile {
            takes_image: true,
            ..Profile::USUAL
        },
        ..NodeType::new(MODEL, |name, _| {
            Err(OpenError::Unknown(format!("there is no model '{name}'")))
        })
    };
    static NODE_TYPES: NodeTypes = NodeTypes(&[&NOTHING, &NO_MODEL, &GONE]);
    static GONE: NodeType = NodeType::left_out("gone", "it is not built in; fix: build it");

    #[test]
    fn a_node_is_opened_by_its_type() {
        let options = OpenOptions::default();
        let node = NODE_TYPES.open("nothing:else,x=1", &options).unwrap();
        assert_eq!(node.describe().name, "nothing:else,x=1");
        assert_eq!(
            NODE_TYPES.completions(|_| true),
            [("nothing:much", "a node that does nothing")]
        );
    }

    #[test]
    fn a_misspelt_type_gets_the_nearest_one() {
        let refusal = |text: &str, options: &OpenOptions| {
            NODE_TYPES.open(text, options).err().unwrap().to_string()
        };
        let options = OpenOptions::default();
        let error = refusal("nothign:much", &options);
        for words in [
            "'nothign:much'",
            "did you mean 'nothing:'?",
            "nothing, model",
            "fix:",
        ] {
            assert!(error.contains(words), "{words}: {error}");
        }
        assert!(
            refusal("gone:1", &options).contains("'gone:1': it is not built in; fix: build it")
        );
        assert!(!refusal("zzzzzzzzzzz:1", &options).contains("did you mean"));
        let bare = refusal("nothin", &options);
        for words in ["no model 'nothin'", "or nothing:TARGET"] {
            assert!(bare.contains(words), "{words}: {bare}");
        }
    }

    #[test]
    fn an_image_is_for_nodes_that_take_one() {
        let options = OpenOptions {
            image: Some("a.elf".into()),
            ..OpenOptions::default()
        };
        let error = NODE_TYPES.open("nothing:", &options).err().unwrap();
        assert!(
            error
                .to_string()
                .contains("--image is the firmware of a board")
        );
        let error = NODE_TYPES.open("x", &options).err().unwrap();
        assert!(error.to_string().contains("no model 'x'"), "{error}");
    }
}
