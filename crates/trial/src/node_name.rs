//! The name of a node on the command line and in studies, `TYPE:TARGET[,KEY[=VALUE]]…`, which is parsed once.

use std::fmt;
use std::str::FromStr;

use crate::nearest::{did_you_mean, head};

/// The type of a name without one: a node model, by its name or file.
pub const MODEL: &str = "model";
/// Longest name in bytes: a path of Linux, and some options.
const LONGEST: usize = 8192;

/// A node's type, target and options, e.g. `lab:2`, `ports:A:B`, `iperf:HOST,token=FILE`, `hdl:reference,mac=dma`; a
/// name without a type is that of a model.
///
/// The grammar is the same for all types. [`crate::node_type::NodeTypes`] decides whether a type exists, and the type
/// decides about its target and options.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName {
    /// `None` for a bare name.
    node_type: Option<String>,
    target: String,
    /// As written.
    options: Vec<String>,
}

/// Why a text is not the name of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid node name '{}': {why}", shown(.name))]
pub struct NameError {
    /// The text.
    pub name: String,
    /// The error and its fix.
    pub why: String,
}

impl NameError {
    /// The error of `name`, with its fix.
    pub fn new(name: impl fmt::Display, why: impl Into<String>) -> NameError {
        let (name, why) = (name.to_string(), why.into());
        NameError { name, why }
    }
}

/// The part of a text that an error shows: texts may be long or hold control characters.
fn shown(name: &str) -> String {
    head(name).escape_debug().collect()
}

impl NodeName {
    /// The type, e.g. `lab`; [`MODEL`] for a bare name.
    pub fn node_type(&self) -> &str {
        self.node_type.as_deref().unwrap_or(MODEL)
    }

    /// Whether the name has no type.
    pub const fn is_bare(&self) -> bool {
        self.node_type.is_none()
    }

    /// The text between the type and the first option; may be empty.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The options, each with its value, if any.
    pub fn options(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.options.iter().map(|option| split(option))
    }

    /// The value of an option: `Some(None)` where it has none.
    pub fn option(&self, key: &str) -> Option<Option<&str>> {
        self.options().find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    /// The target and the options as written, for types whose target is a list, such as `ports:A:B,C:D`.
    pub fn items(&self) -> impl Iterator<Item = &str> {
        let options = self.options.iter().map(String::as_str);
        std::iter::once(self.target.as_str()).chain(options)
    }

    /// The same node with one more option.
    ///
    /// # Errors
    /// [`NameError`] where it already has that option, or the value has a comma.
    pub fn with(&self, key: &str, value: impl fmt::Display) -> Result<NodeName, NameError> {
        format!("{self},{key}={value}").parse()
    }

    /// The same target without options.
    #[must_use]
    pub fn without_options(&self) -> NodeName {
        NodeName {
            options: Vec::new(),
            ..self.clone()
        }
    }

    /// Refuses options that a type does not support; `known` lists the supported ones in words.
    ///
    /// # Errors
    /// [`NameError`] with the first unknown option.
    pub fn only_options(&self, keys: &[&str], known: &str) -> Result<(), NameError> {
        match self.options().find(|(key, _)| !keys.contains(key)) {
            None => Ok(()),
            Some((key, _)) => Err(NameError::new(self, unknown_option(key, keys, known))),
        }
    }
}

/// The error for an option that a type does not have; `keys` are those that it has, and `known` lists them in words.
pub fn unknown_option(key: &str, keys: &[&str], known: &str) -> String {
    let meant = did_you_mean(key, keys.iter().copied());
    format!("unknown option '{}'; {meant}fix: {known}", shown(key))
}

fn split(option: &str) -> (&str, Option<&str>) {
    match option.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (option, None),
    }
}

/// The type before the first colon. A text with a dot or a slash there is a path.
fn split_type(text: &str) -> Option<(&str, &str)> {
    let (node_type, rest) = text.split_once(':')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (!node_type.is_empty() && node_type.chars().all(is_word)).then_some((node_type, rest))
}

impl FromStr for NodeName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<NodeName, NameError> {
        let bad = |why: &str| Err(NameError::new(text, why));
        if text.is_empty() {
            return bad("it is empty; fix: name a node, e.g. lab:1");
        }
        if text.len() > LONGEST {
            return bad(&format!(
                "it has more than {LONGEST} bytes; fix: shorten it"
            ));
        }
        if text.chars().any(char::is_control) {
            return bad("it has a control character; fix: leave that out");
        }
        let (node_type, rest) = match split_type(text) {
            Some((node_type, rest)) => (Some(node_type), rest),
            None => (None, text),
        };
        let is_model = node_type.is_none_or(|node_type| node_type == MODEL);
        // The file name of a model may contain a comma; its options have values.
        let (target, options) = match rest.split_once(',') {
            Some((_, options)) if is_model && !options.contains('=') => (rest, None),
            Some((target, options)) => (target, Some(options)),
            None => (rest, None),
        };
        let options = options.into_iter().flat_map(|all| all.split(','));
        let options: Vec<String> = options.map(str::to_owned).collect();
        for (at, option) in options.iter().enumerate() {
            let (key, _) = split(option);
            if key.is_empty() {
                return bad(
                    "nothing follows a comma; fix: leave the comma out, or write KEY=VALUE after it",
                );
            }
            if options[..at].iter().any(|before| split(before).0 == key) {
                let key = shown(key);
                return bad(&format!(
                    "'{key}' was given before; fix: give each option once"
                ));
            }
        }
        Ok(NodeName {
            node_type: node_type.map(str::to_owned),
            target: target.to_owned(),
            options,
        })
    }
}

/// As written.
impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node_type) = &self.node_type {
            write!(f, "{node_type}:")?;
        }
        f.write_str(&self.target)?;
        self.options
            .iter()
            .try_for_each(|option| write!(f, ",{option}"))
    }
}

/// Entry for fuzzing: parses any bytes; a name must survive a round trip, and an error must fit on a line.
pub fn fuzz_node_name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match text.parse::<NodeName>() {
        Ok(name) => assert_eq!(name.to_string(), text),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> NodeName {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_has_a_type_a_target_and_options() {
        for (text, node_type, target, options) in [
            ("lab:2", "lab", "2", vec![]),
            ("lab:", "lab", "", vec![]),
            ("iperf:[fd00::1]:5001", "iperf", "[fd00::1]:5001", vec![]),
            (
                "iperf:host,token=a=b",
                "iperf",
                "host",
                vec![("token", Some("a=b"))],
            ),
            ("hdl:3,loopback", "hdl", "3", vec![("loopback", None)]),
            (
                "board:lpc1768,image=my.elf,descriptors=4",
                "board",
                "lpc1768",
                vec![("image", Some("my.elf")), ("descriptors", Some("4"))],
            ),
            ("model:a,b", MODEL, "a,b", vec![]),
            (
                "model:a,clk.core=3",
                MODEL,
                "a",
                vec![("clk.core", Some("3"))],
            ),
            ("a,clk.core=3", MODEL, "a", vec![("clk.core", Some("3"))]),
            ("am263x", MODEL, "am263x", vec![]),
            ("./a:b,c.toml", MODEL, "./a:b,c.toml", vec![]),
        ] {
            let name = name(text);
            assert_eq!(
                (name.node_type(), name.target()),
                (node_type, target),
                "{text}"
            );
            assert_eq!(name.options().collect::<Vec<_>>(), options, "{text}");
            assert_eq!(name.to_string(), text);
        }
        assert!(name("am263x").is_bare() && !name("model:am263x").is_bare());
        let pairs = name("ports:a/n0:b/t0,eth0:eth1");
        assert!(pairs.items().eq(["a/n0:b/t0", "eth0:eth1"]));
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_the_fix() {
        let long = format!("lab:{}", "x".repeat(LONGEST));
        for (text, words) in [
            ("", "it is empty"),
            (&long[..], "more than 8192 bytes"),
            ("lab:\n", "control character"),
            ("hdl:4,", "nothing follows a comma"),
            ("board:lpc1768,=x", "nothing follows a comma"),
            ("hdl:4,loopback,loopback", "'loopback' was given before"),
            ("hdl:reference,mac=dma,mac=x", "'mac' was given before"),
        ] {
            let error = text.parse::<NodeName>().unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("fix:"), "{error}");
            assert!(error.len() < 300, "{error}");
        }
    }

    #[test]
    fn an_option_is_added_once() {
        let node = name("hdl:reference").with("mac", "dma").unwrap();
        assert_eq!(node.option("mac"), Some(Some("dma")));
        assert!(node.with("mac", "lite-device").is_err());
        assert_eq!(node.without_options(), name("hdl:reference"));
        let error = node.only_options(&["clocks"], "write clocks=N");
        let text = error.unwrap_err().to_string();
        assert!(text.contains("unknown option 'mac'; fix: write clocks=N"));
        let error = node.only_options(&["mec"], "write mec=N");
        let text = error.unwrap_err().to_string();
        assert!(text.contains("unknown option 'mac'; did you mean 'mec'? fix: write mec=N"));
    }

    #[test]
    fn the_fuzz_corpus_is_read_without_panic() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/node_name");
        let files = std::fs::read_dir(folder).unwrap();
        let read = files.map(|file| fuzz_node_name(&std::fs::read(file.unwrap().path()).unwrap()));
        assert!(read.count() > 8);
    }
}
