//! The options of `stages`: the one table of their names, and of why a node type may not support them.

use crate::words::options;

options! {
    /// An option of `stages` that some node types support; the name is that on the command line, without the dashes.
    enum StageOption {
        /// Lengths of the frames.
        Length "length",
        /// Frames of each trial.
        Count "count",
        /// Load of each trial that measures time.
        Load "load",
        /// How the application waits.
        Wait "wait",
        /// Probes inside the kernel.
        Probes "probes",
        /// The frames of the fast track.
        FastTrack "fast-track",
        /// Background load.
        Background "background",
        /// XDP mode.
        Xdp "xdp",
        /// How the MAC is attached.
        Mac "mac",
        /// Wait states of the slots' bus.
        WaitStates "wait-states",
        /// The model's prediction of each delay.
        Predicted "predicted",
        /// The UDP port of the frames.
        Port "port",
        /// The stream of the frames.
        Stream "stream",
        /// Whether another program receives or sends the frames.
        Watch "watch",
        /// When to end.
        Time "time",
        /// Whether the peer is behind a router.
        Routed "routed",
        /// Times by the board's clock in place of instructions.
        Wall "wall",
        /// The firmware.
        Image "image",
        /// The run whose instructions are compared.
        Against "against",
        /// The growth of a stage that fails a run.
        Gate "gate",
    }
}

/// Why times are not compared.
const NOT_COUNTED: &str = "it compares counted instructions, and these are times";

impl StageOption {
    /// The option with this name.
    pub fn named(name: &str) -> Option<StageOption> {
        let mut all = StageOption::ALL.iter().copied();
        all.find(|option| option.name() == name)
    }

    /// Why it has no meaning for some nodes, or what replaces it there; empty where the node types that support it say
    /// enough.
    pub const fn why_not(self) -> &'static str {
        match self {
            StageOption::Load => "'wirelab send' sends at a load",
            StageOption::Xdp => {
                "a node on another host takes it itself ('wirelab node serve --xdp MODE')"
            }
            StageOption::Predicted => {
                "no model predicts its stages, 'wirelab predict' predicts frames"
            }
            StageOption::Port => {
                "the trial sets the flow's port, --fast-track port=N that of the rule"
            }
            StageOption::Stream => "the trial sets the stream",
            StageOption::Time => "trials end with their frames, whose number is --count",
            StageOption::Routed => "only a peer on a network is behind a router",
            StageOption::Wall => "only an emulated board has both times and instructions",
            StageOption::Image => "only an emulated node is given a firmware",
            StageOption::Against | StageOption::Gate => NOT_COUNTED,
            _ => "",
        }
    }
}
