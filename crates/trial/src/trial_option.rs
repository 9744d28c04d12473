//! The fields of a trial that a node may leave aside, and whether a trial asks them.

use crate::load::Load;
use crate::trial::{Buffers, Trial};
use crate::way::{Background, Path, Probes, Wait};

macro_rules! options {
    ($($(#[$doc:meta])* $option:ident $name:literal,)+) => {
        /// A field of [`Trial`] that says more than which frames go where, how many and how fast.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TrialOption { $($(#[$doc])* $option,)+ }

        impl TrialOption {
            /// All of them.
            pub const ALL: &[TrialOption] = &[$(TrialOption::$option),+];

            /// The field's name.
            pub const fn name(self) -> &'static str {
                match self { $(TrialOption::$option => $name,)+ }
            }
        }
    };
}

options! {
    /// The link's rate.
    Link "link_bits_per_s",
    /// How frame data reach the MAC.
    Buffers "buffers",
    /// The way through the node.
    Path "path",
    /// How its application waits.
    Wait "wait",
    /// The frames that take the fast track.
    Rule "rule",
    /// What else is sent meanwhile.
    Background "background",
    /// What takes the times at its capture points.
    Probes "probes",
    /// Whether a late frame keeps its distance to the next.
    StrictGaps "strict_gaps",
    /// Faults made by the sender.
    Faults "faults",
}

impl Trial {
    /// The optional fields that this trial asks.
    pub fn options(&self) -> impl Iterator<Item = TrialOption> + use<> {
        // Without `..`, so that the compiler asks for a new field here; from then on each kind refuses it or declares it.
        let Trial {
            framing: _,
            direction: _,
            size: _,
            load: _,
            extent: _,
            ports: _,
            link_bits_per_s,
            buffers,
            path,
            wait,
            rule,
            background,
            probes,
            strict_gaps,
            faults,
        } = self;
        [
            (TrialOption::Link, link_bits_per_s.is_some()),
            (TrialOption::Buffers, buffers.is_some()),
            (TrialOption::Path, path.is_some()),
            (TrialOption::Wait, wait.is_some()),
            (TrialOption::Rule, rule.is_some()),
            (TrialOption::Background, background.is_some()),
            (TrialOption::Probes, probes.is_some()),
            (TrialOption::StrictGaps, *strict_gaps),
            (TrialOption::Faults, !faults.is_clean()),
        ]
        .into_iter()
        .filter_map(|(option, asked)| asked.then_some(option))
    }

    /// This trial with one optional field asked: what a kind of node that refuses the field is tested with.
    #[must_use]
    pub fn asking(&self, option: TrialOption) -> Trial {
        let mut trial = self.clone();
        match option {
            TrialOption::Link => trial.link_bits_per_s = Some(1_000_000_000),
            TrialOption::Buffers => trial.buffers = Some(Buffers::Copied),
            TrialOption::Path => trial.path = Some(Path::Stack),
            TrialOption::Wait => trial.wait = Some(Wait::Sleep),
            TrialOption::Rule => trial.rule = Some("port=1026".to_owned()),
            TrialOption::Background => {
                trial.background = Some(Background {
                    load: Load::FrameRate {
                        frames_per_s: 1000.0,
                    },
                    size: Background::SIZE,
                });
            }
            TrialOption::Probes => trial.probes = Some(Probes::Off),
            TrialOption::StrictGaps => trial.strict_gaps = true,
            TrialOption::Faults => trial.faults.drop = 0.1,
        }
        trial
    }

    /// This trial with each optional field but those of `taken`, alone, and the name of the field: what a kind of node that
    /// takes no others is tested with.
    pub fn asking_all_but<'a>(
        &'a self,
        taken: &'a [TrialOption],
    ) -> impl Iterator<Item = (&'static str, Trial)> + use<'a> {
        let refused = TrialOption::ALL
            .iter()
            .filter(|option| !taken.contains(option));
        refused.map(|option| (option.name(), self.asking(*option)))
    }
}
