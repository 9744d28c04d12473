//! The lab: pairs of veth interfaces between two private network namespaces, which wirelab makes and removes.
//!
//! ```text
//! NAME-node                     NAME-tester
//!   n0  198.18.0.1  ── veth ──  t0  198.18.0.2
//!   n1  198.18.1.1  ── veth ──  t1  198.18.1.2
//! ```
//!
//! A [`Lab`] stays until [`Lab::down`]. An [`EphemeralLab`] belongs to a process and ends with it, however that
//! process ends. Its links carry only the lab's own frames: IPv6, which would solicit routers and neighbours, is off.

mod build;
mod ephemeral;
mod error;
mod napi;
mod record;
mod shape;
mod spec;
mod status;

use std::net::Ipv4Addr;
use std::process::Command;

use crate::iface::{Interface, Mac, PortName};
use crate::netns::NetNs;

pub use ephemeral::EphemeralLab;
pub use error::LabError;
pub use shape::Shape;
pub use spec::{LabSpec, MOST_PAIRS, Side};
pub use status::{LabInterface, LabOwner, LabStatus};

/// A lab on this host. The value is a handle: dropping it does not remove the lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lab {
    spec: LabSpec,
}

impl Lab {
    /// Makes a lab that stays until [`Lab::down`], and waits until its links are up.
    ///
    /// # Errors
    /// [`LabError::Exists`] if there is one of that name; [`LabError::Spec`]; a missing tool or capability, with the
    /// fix. What was made until then is removed again.
    pub fn up(spec: &LabSpec) -> Result<Lab, LabError> {
        EphemeralLab::up(spec)?.keep()
    }

    /// The lab called `name`, made by this process or another.
    ///
    /// # Errors
    /// [`LabError::Unknown`], which lists the labs that exist.
    pub fn open(name: &str) -> Result<Lab, LabError> {
        spec::check_name(name)?;
        let _lock = record::lock()?;
        build::sweep()?;
        let record = record::read(name)?.ok_or_else(|| build::unknown(name))?;
        Ok(Lab { spec: record.spec })
    }

    /// Removes the lab called `name`: ends the processes inside, then deletes interfaces and namespaces. Missing
    /// parts are not an error.
    ///
    /// # Errors
    /// [`LabError::Unknown`], which lists the labs that exist, or [`LabError::NoneUp`]; [`LabError::InUse`] if it belongs to a process
    /// that is still running; errors of the tools.
    pub fn down(name: &str) -> Result<(), LabError> {
        build::down(name)
    }

    /// Removes the labs that a dead process left, and returns their names. One that cannot be removed stays. Every
    /// other operation does this first.
    ///
    /// # Errors
    /// [`LabError::Registry`] if the list cannot be read.
    pub fn sweep() -> Result<Vec<String>, LabError> {
        let _lock = record::lock()?;
        build::sweep()
    }

    /// All labs on this host.
    ///
    /// # Errors
    /// [`LabError::Registry`] if the list cannot be read.
    pub fn status() -> Result<Vec<LabStatus>, LabError> {
        status::status()
    }

    /// Runs a command on one side of the lab `name` and returns its exit code; 128 plus the signal's number if a
    /// signal ended it, as shells do. Input and output are those of this process.
    ///
    /// # Errors
    /// [`LabError::Unknown`]; [`LabError::Spec`] for an empty command; a command that cannot be started.
    pub fn exec(name: &str, side: Side, argv: &[String]) -> Result<i32, LabError> {
        use std::os::unix::process::ExitStatusExt;
        let (program, arguments) = argv.split_first().ok_or(LabError::Spec {
            why: "the command to run is missing; fix: write `wirelab lab exec NAME SIDE COMMAND…`"
                .to_owned(),
        })?;
        let lab = Lab::open(name)?;
        let mut child = lab
            .netns(side)?
            .spawn(Command::new(program).args(arguments))?;
        let status = child
            .wait()
            .map_err(|source| LabError::io(format!("waiting for {program}"), source))?;
        Ok(status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }

    /// The lab's name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The description from which it was made.
    pub fn spec(&self) -> &LabSpec {
        &self.spec
    }

    /// Number of veth pairs.
    pub fn pairs(&self) -> u8 {
        self.spec.pairs
    }

    /// Opens the namespace of one side.
    ///
    /// # Errors
    /// The errors of [`NetNs::open`].
    pub fn netns(&self, side: Side) -> Result<NetNs, LabError> {
        Ok(NetNs::open(&self.spec.namespace(side))?)
    }

    /// The port of one side of a pair, counted from 0.
    ///
    /// # Errors
    /// [`LabError::Spec`] if the lab has no such pair.
    pub fn port(&self, pair: u8, side: Side) -> Result<PortName, LabError> {
        self.spec.check_pair(pair)?;
        Ok(self.spec.port(pair, side))
    }

    /// All ports of one side, in order.
    pub fn ports(&self, side: Side) -> Vec<PortName> {
        (0..self.spec.pairs)
            .map(|pair| self.spec.port(pair, side))
            .collect()
    }

    /// The state of one side's interface of a pair.
    ///
    /// # Errors
    /// [`LabError::Spec`] if the lab has no such pair; the errors of [`Interface::query`].
    pub fn interface(&self, pair: u8, side: Side) -> Result<Interface, LabError> {
        Ok(Interface::query(&self.port(pair, side)?)?)
    }

    /// The IPv4 address of one side of a pair: 198.18.PAIR.1 for the node and .2 for the tester, of the block that
    /// RFC 2544 (appendix C.2.2) reserves for benchmarks.
    pub fn address(&self, pair: u8, side: Side) -> Ipv4Addr {
        self.spec.address(pair, side)
    }

    /// The Ethernet address of one side of a pair: 02:57:4C (locally administered, "WL"), a hash of the lab's
    /// name, the pair, and 01 for the node or 02 for the tester.
    pub fn mac(&self, pair: u8, side: Side) -> Mac {
        self.spec.mac(pair, side)
    }

    /// Shapes the frames that one side of a pair sends to `bits_per_s` link bits (preamble, FCS and gap included), or
    /// removes the shaper. Frames that XDP redirects bypass the shaper: on the fast path the sender's own pacing
    /// keeps the rate.
    ///
    /// # Errors
    /// [`LabError::Spec`] for a rate of 0 or an unknown pair; [`LabError::NoShaper`] if the kernel has neither
    /// TBF nor HTB; errors of `tc`.
    pub fn set_link_rate(
        &self,
        pair: u8,
        side: Side,
        bits_per_s: Option<u64>,
    ) -> Result<(), LabError> {
        self.spec.check_pair(pair)?;
        shape::set(&self.spec.port(pair, side), self.spec.mtu, bits_per_s)
    }

    /// Shapes both sides of all pairs, see [`Lab::set_link_rate`].
    ///
    /// # Errors
    /// As [`Lab::set_link_rate`].
    pub fn set_link_rates(&self, bits_per_s: Option<u64>) -> Result<(), LabError> {
        for side in Side::BOTH {
            for pair in 0..self.spec.pairs {
                self.set_link_rate(pair, side, bits_per_s)?;
            }
        }
        Ok(())
    }

    /// Lets dedicated kernel threads do the receive work of one interface (threaded NAPI), or the softirq of the
    /// sender's CPU again. Switches generic receive offload on, without which veth has no NAPI.
    ///
    /// # Errors
    /// [`LabError::Spec`] for an unknown pair; [`LabError::Napi`] if the kernel refuses.
    pub fn set_threaded_napi(&self, pair: u8, side: Side, on: bool) -> Result<(), LabError> {
        self.spec.check_pair(pair)?;
        napi::set_threaded(&self.spec.port(pair, side), on)
    }

    /// Binds the NAPI threads of one interface to a CPU and returns their process numbers.
    ///
    /// # Errors
    /// [`LabError::Spec`] for an unknown pair; [`LabError::Napi`] if there are no such threads or the CPU
    /// does not exist.
    pub fn pin_napi_threads(&self, pair: u8, side: Side, cpu: usize) -> Result<Vec<i32>, LabError> {
        self.spec.check_pair(pair)?;
        napi::pin(&self.spec.port(pair, side), cpu)
    }
}
