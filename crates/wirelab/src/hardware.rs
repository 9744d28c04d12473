//! Ports of hardware in simulation as a node, where this program was built with them (cargo feature `hdl`).

#[cfg(feature = "hdl")]
use crate::exit::Failure;
#[cfg(feature = "hdl")]
pub use wirelab_hdl::HdlNode;

/// The node that `hdl:` and `rest` stand for; `name` is both.
#[cfg(feature = "hdl")]
pub fn start(name: &str, rest: &str) -> Result<HdlNode, Failure> {
    let options = wirelab_hdl::HdlOptions::parse(rest).map_err(Failure::usage)?;
    HdlNode::start(name, options).map_err(Failure::failed)
}

#[cfg(not(feature = "hdl"))]
pub use left_out::{HdlNode, start};

#[cfg(not(feature = "hdl"))]
mod left_out {
    use std::sync::{Arc, Mutex};

    use wirelab_port::pcapng::{CaptureWriter, InterfaceSpec};
    use wirelab_trial::{Cancel, Description, Node, NodeError, Observation, Progress, Trial};

    use crate::exit::Failure;

    /// There is none.
    pub enum HdlNode {}

    /// Says what is missing.
    pub fn start(name: &str, _: &str) -> Result<HdlNode, Failure> {
        Err(Failure::usage(format!(
            "{name}: this wirelab was built without hardware in simulation, which needs GHDL and Verilator: run \
             `make setup build` in its sources, which installs them"
        )))
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
