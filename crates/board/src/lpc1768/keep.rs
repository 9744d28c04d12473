//! Saves parts of a trial: its frames as pcapng, and the pin as a value change dump.

use std::path::Path;

use wirelab_emulator::emac::SentFrame;
use wirelab_emulator::gpio::Edge;
use wirelab_emulator::vcd;
use wirelab_port::iface::PortName;
use wirelab_port::packet::Replayer;
use wirelab_port::pcapng::{CaptureWriter, InterfaceSpec, WriterOptions};
use wirelab_trial::NodeError;

use super::plan::LINK_BITS_PER_S;

/// Writes frames while a trial runs. Times in the file are exact in ns: frames begin at multiples of 40 ns.
pub struct Keeper {
    writer: Option<CaptureWriter>,
    replayer: Option<Replayer>,
}

impl Keeper {
    /// A capture at `path`, and a port at which the frames are sent; or nothing.
    pub fn new(path: Option<&Path>, port: Option<&PortName>) -> Result<Keeper, NodeError> {
        let open = |path: &Path| {
            let interface = InterfaceSpec {
                link_rate_bits_per_s: Some(LINK_BITS_PER_S),
                ..InterfaceSpec::named("lpc1768")
            };
            let options = WriterOptions {
                overwrite: true,
                ..WriterOptions::default()
            };
            CaptureWriter::create(path, &[interface], &options)
        };
        let writer = path.map(open).transpose();
        let writer = writer.map_err(|error| NodeError::Failed(error.to_string()))?;
        let replayer = port.map(Replayer::open).transpose()?;
        Ok(Keeper { writer, replayer })
    }

    /// Saves a frame with a right FCS; a sniffer sees no other.
    pub fn keep(&mut self, frame: &SentFrame) -> Result<(), NodeError> {
        if !frame.fcs_is_right() {
            return Ok(());
        }
        if let Some(replayer) = &self.replayer {
            replayer.send(frame.without_fcs())?;
        }
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let kept = writer.write_frame(0, frame.start_ps / 1000, frame.without_fcs());
        kept.map_err(|error| NodeError::Failed(error.to_string()))
    }

    /// Writes the buffered rest.
    pub fn finish(self) -> Result<(), NodeError> {
        let done = self.writer.map(CaptureWriter::finish).transpose();
        done.map(drop)
            .map_err(|error| NodeError::Failed(error.to_string()))
    }
}

/// Writes the levels of the pin to `path`.
pub fn pin(path: Option<&Path>, edges: &[Edge]) -> Result<(), NodeError> {
    let Some(path) = path else {
        return Ok(());
    };
    std::fs::write(path, vcd::dump("P0.0", edges)).map_err(|error| {
        NodeError::Failed(format!(
            "cannot write the pin to {}: {error}; fix: free the space, or name another file",
            path.display()
        ))
    })
}
