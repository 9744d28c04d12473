//! Where an XDP program may be attached: the request, and its result.

use std::fmt;
use std::str::FromStr;

use wirelab_port::ebpf::{self, Mode};
use wirelab_port::iface::PortName;
use wirelab_port::xdp::XdpError;
use wirelab_trial::nearest::unknown;

use crate::error::StagesError;

/// Where the XDP program of a node's port is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Xdp {
    /// In the driver; after it if the driver has no XDP, which the result then notes.
    #[default]
    Auto,
    /// In the driver, or not at all.
    Native,
    /// After the driver, which every driver supports: slower, because each frame becomes a socket buffer first.
    Generic,
    /// Nowhere.
    Off,
}

impl Xdp {
    /// All modes, in the order of help texts.
    pub const ALL: [Xdp; 4] = [Xdp::Auto, Xdp::Native, Xdp::Generic, Xdp::Off];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Xdp::Auto => "auto",
            Xdp::Native => "native",
            Xdp::Generic => "generic",
            Xdp::Off => "off",
        }
    }
}

impl fmt::Display for Xdp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Xdp {
    type Err = String;

    fn from_str(word: &str) -> Result<Xdp, String> {
        let found = Xdp::ALL.into_iter().find(|x| x.name() == word);
        found.ok_or_else(|| unknown("XDP mode", word, Xdp::ALL.map(Xdp::name)))
    }
}

/// A program on a port.
pub(super) struct Attached {
    /// Detached with this value, and with the process.
    pub _link: ebpf::XdpLink,
    pub mode: Mode,
    /// Why it is generic although that was not requested.
    pub remark: Option<String>,
}

/// Attach a program where it is requested, if no other is attached.
pub(super) fn attach(
    port: &PortName,
    program: std::os::fd::BorrowedFd<'_>,
    wanted: Xdp,
) -> Result<Attached, StagesError> {
    let done = |link, mode, remark| Attached {
        _link: link,
        mode,
        remark,
    };
    let first = match wanted {
        Xdp::Off => {
            return Err(StagesError::BadOptions(format!(
                "{port}: XDP is off, and paths past the stack need it; fix: choose auto, native or generic"
            )));
        }
        Xdp::Generic => Mode::Generic,
        Xdp::Auto | Xdp::Native => Mode::Native,
    };
    let why = match ebpf::attach(port, program, first) {
        Ok(link) => return Ok(done(link, first, None)),
        Err(XdpError::Unsupported { why, .. }) => why,
        Err(error) => return Err(in_words(error)),
    };
    if wanted == Xdp::Auto {
        // The error of generic XDP matters less than why the driver's is not available.
        if let Ok(link) = ebpf::attach(port, program, Mode::Generic) {
            let remark = format!(
                "generic XDP on {port}, since its driver refuses native XDP ({why}): it is slower, because each frame \
                 becomes a socket buffer first"
            );
            return Ok(done(link, Mode::Generic, Some(remark)));
        }
    }
    Err(StagesError::Refused {
        what: format!(
            "attaching an XDP program to {port}, {} mode",
            match first {
                Mode::Native => "native",
                Mode::Generic => "generic",
            }
        ),
        why,
        fix: match wanted {
            Xdp::Native => "choose auto or generic, which is slower and works with every driver",
            _ => "leave it out; frames then reach the application through the stack",
        },
    })
}

/// The errors of XDP in words for a node, which has no other path.
pub(super) fn in_words(error: XdpError) -> StagesError {
    match error {
        XdpError::Privilege { what } => StagesError::Privilege {
            what: what.to_owned(),
        },
        XdpError::Unsupported { what, why } => StagesError::Refused {
            what: what.to_owned(),
            why,
            fix: "leave it out; frames then reach the application through the stack",
        },
        other => StagesError::Xdp(other),
    }
}
