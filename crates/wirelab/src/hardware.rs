//! Hardware in simulation as nodes, where this program was built with it (cargo feature `hdl`).

#[cfg(feature = "hdl")]
use std::collections::BTreeMap;
#[cfg(feature = "hdl")]
use std::path::Path;

#[cfg(feature = "hdl")]
use crate::exit::Failure;
#[cfg(feature = "hdl")]
pub use wirelab_hdl::HdlNode;
#[cfg(feature = "hdl")]
use wirelab_hdl::reference_node::StartError;
#[cfg(feature = "hdl")]
pub use wirelab_hdl::reference_node::{MOST_CAPTURED_FRAMES, ReferenceNode};
#[cfg(feature = "hdl")]
pub use wirelab_hdl::{JoinError, Joined, JoinedAsked, JoinedPort, NOT_COUNTED};

/// The image of the reference node, as `scripts/firmware.sh` makes it.
#[cfg(feature = "hdl")]
const IMAGE: &str = "reference.elf";

/// The node that `hdl:` and `rest` stand for; `name` is both.
#[cfg(feature = "hdl")]
pub fn start(name: &str, rest: &str) -> Result<HdlNode, Failure> {
    let options = wirelab_hdl::HdlOptions::parse(rest).map_err(Failure::usage)?;
    HdlNode::start(name, options).map_err(Failure::failed)
}

/// The node that `hdl:reference` and `rest` stand for, with its own program or that of a file.
#[cfg(feature = "hdl")]
pub fn reference(name: &str, rest: &str, image: Option<&Path>) -> Result<ReferenceNode, Failure> {
    let straps = wirelab_hdl::reference_node::straps(rest).map_err(Failure::usage)?;
    let path = match image {
        Some(path) => path.to_owned(),
        None => installed()?,
    };
    let elf = std::fs::read(&path)
        .map_err(|error| Failure::usage(format!("{name}: {}: {error}", path.display())))?;
    ReferenceNode::start(name, straps, &elf).map_err(|error| match error {
        StartError::Image(why) => Failure::usage(format!(
            "{name}: {}: {why}; `make firmware` builds {IMAGE}, which is one",
            path.display()
        )),
        other => Failure::failed(other),
    })
}

/// The set-up keys of the node that `hdl:reference` and `rest` stand for, which is not started for them.
#[cfg(feature = "hdl")]
pub fn reference_setup(_: &str, rest: &str) -> Result<BTreeMap<String, String>, Failure> {
    let straps = wirelab_hdl::reference_node::straps(rest).map_err(Failure::usage)?;
    Ok(wirelab_hdl::reference_node::setup(straps)
        .into_iter()
        .collect())
}

#[cfg(feature = "hdl")]
fn installed() -> Result<std::path::PathBuf, Failure> {
    let folders = wirelab_board::image::folders();
    let mut paths = folders.iter().map(|folder| folder.join(IMAGE));
    paths.find(|path| path.is_file()).ok_or_else(|| {
        let searched: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        Failure::usage(format!(
            "hdl:reference: its program {IMAGE} is not in {}: run `make firmware`, or name a file with --image",
            searched.join(", ")
        ))
    })
}

#[cfg(not(feature = "hdl"))]
pub use left_out::{
    HdlNode, MOST_CAPTURED_FRAMES, ReferenceNode, missing, reference, reference_setup, start,
};

#[cfg(not(feature = "hdl"))]
mod left_out {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use wirelab_port::pcapng::{CaptureWriter, InterfaceSpec};
    use wirelab_trial::{Cancel, Description, Node, NodeError, Observation, Progress, Trial};

    use crate::exit::Failure;

    /// There is none.
    pub enum HdlNode {}

    /// There is none.
    pub type ReferenceNode = HdlNode;

    /// Says what is missing.
    pub fn reference(name: &str, rest: &str, _: Option<&Path>) -> Result<ReferenceNode, Failure> {
        start(name, rest)
    }

    /// There are none to be refused.
    pub const MOST_CAPTURED_FRAMES: u64 = u64::MAX;

    /// Says what is missing.
    pub fn reference_setup(name: &str, _: &str) -> Result<BTreeMap<String, String>, Failure> {
        Err(missing(name))
    }

    /// Says what is missing.
    pub fn start(name: &str, _: &str) -> Result<HdlNode, Failure> {
        Err(missing(name))
    }

    /// What `name` lacks, and how to have it.
    pub fn missing(name: &str) -> Failure {
        Failure::usage(format!(
            "{name}: this wirelab was built without hardware in simulation (cargo feature `hdl`), which needs GHDL and \
             Verilator; fix: in its sources run `make setup build`, which installs both"
        ))
    }

    impl HdlNode {
        pub fn capture_into(&mut self, _: Arc<Mutex<CaptureWriter>>) {
            match *self {}
        }
        pub fn end_capture(&mut self) {
            match *self {}
        }
        pub fn capture_interfaces(&self) -> Vec<InterfaceSpec> {
            match *self {}
        }
    }

    impl Node for HdlNode {
        fn describe(&self) -> Description {
            match *self {}
        }
        fn run(
            &mut self,
            _: &Trial,
            _: &dyn Progress,
            _: &Cancel,
        ) -> Result<Observation, NodeError> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "hdl")]
    fn what_follows_hdl_is_said_where_it_is_wrong() {
        let failure = start("hdl:5", "5").err().unwrap();
        assert_eq!(failure.code(), 2);
        assert!(failure.to_string().contains("hdl:5,loopback"), "{failure}");
    }

    #[test]
    #[cfg(feature = "hdl")]
    fn a_file_that_is_no_program_is_bad_usage_and_named() {
        let path = std::env::temp_dir().join(format!("wirelab-no-program-{}", std::process::id()));
        for (content, words) in [
            (&b"no firmware"[..], "no ELF file"),
            (b"\x7fELF\x02\x01", "no program for the reference node"),
        ] {
            std::fs::write(&path, content).unwrap();
            let failure = reference("hdl:reference", "", Some(&path)).err().unwrap();
            assert_eq!(failure.code(), 2, "{failure}");
            let told = failure.to_string();
            for words in [words, &path.display().to_string(), "make firmware"] {
                assert!(told.contains(words), "{words}: {told}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    #[cfg(not(feature = "hdl"))]
    fn what_was_left_out_says_how_to_have_it() {
        let failure = start("hdl:4", "4").err().unwrap();
        assert_eq!(failure.code(), 2);
        assert!(
            failure.to_string().contains("make setup build"),
            "{failure}"
        );
    }
}
